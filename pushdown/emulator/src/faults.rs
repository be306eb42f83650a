// SPDX-License-Identifier: Apache-2.0
//! Defines the fault model: the deliberate faults of an emulated drive.
//!
//! | fault | what happens | what the host sees |
//! |---|---|---|
//! | `queue_full` | the submission queue has no place | [`Refusal::Busy`](nearscan_drive::Refusal::Busy) |
//! | `low_memory` | no device memory is free | [`Refusal::LowMemory`](nearscan_drive::Refusal::LowMemory) |
//! | `read_error` | the media cannot read a chunk | [`Failure::Read`] |
//! | `timeout` | the kernel does not end before its deadline, in the drive's own time | [`Failure::Timeout`] |
//! | `hang` | the kernel does not end at all, until it is cancelled | nothing, until the host gives up |
//! | `corrupt` | one byte of the result changes on its way | a checksum that does not match |
//! | `gone` | the drive is lost while the command runs, for the rest of the query | [`Failure::Gone`] |
//! | `short_read` | fewer bytes come from the media than were requested | the drive counts them: [`Failure::Read`] |
//! | `corrupt_page` | a bit of a page header changes in device memory | a status of the kernel |
//! | `kernel_error` | the kernel ends with a status and no rows | that status |
//! | `slow` | the media take [`SLOWDOWN`] times as long, on the modelled clock; a little on the real one too | the right rows, later |
//! | `reset` | the drive starts anew while commands are in flight: all of them fail | [`Failure::Gone`], then a new epoch |
//! | `back` | the drive is gone for every query, and back after [`ABSENT_REQUESTS`] requests | the same, and refusals in between |
//!
//! A plan gives each kind a probability for each attempt of each command, or a command that it
//! strikes: `faults=read_error:0.05,gone:0.001,hang@3`. Whether a probable fault strikes is decided
//! from the seed, the kind, the fragment and the unit, not from any order of events, so a run can
//! be repeated. A merge is struck as a whole, as all its fragments and units decide. A fragment
//! that a dynamic filter has narrowed is another fragment: where a join runs beside a scan, which
//! of the two a unit gets is up to the host's threads.
//!
//! `KIND@N` strikes the command that was submitted as the N-th since the drive was opened, from 0,
//! and no other. That is an order of events: which unit it is may differ from run to run where
//! several threads submit, but N from 0 upward meets every command once. The drive counts what
//! struck.
//!
//! A card behind the vendor's runtime knows one session, not the drive: `gone`, `reset` and `back`
//! are all the end of that session there.
//!
//! Left out on purpose: faults in the host's own memory, and bytes of the file that change under
//! the drive without its version changing. No drive could notice either. Nor could it notice a byte
//! of the values of a page that changes in device memory: pages have no checksum that a kernel
//! checks, so `corrupt_page` strikes the header of a page, whose fields must agree. The bytes on
//! their way into device memory are the media's to protect, and in it those of its ECC.

use std::time::Duration;

use nearscan_command::MediaPlan;
use nearscan_drive::{Failure, Modelled, Work};

/// Factor on the media time of a slow command: what a drive that collects garbage
/// shows in its slowest percent of reads.
pub const SLOWDOWN: u64 = 8;

/// Additional time of a slow command on the real clock: enough for other commands to overtake
/// it.
pub(crate) const SLOW_PAUSE: Duration = Duration::from_millis(20);

/// Requests that are refused while a drive that will be [`Fault::Back`] is gone.
pub const ABSENT_REQUESTS: u64 = 4;

/// The bit of a page header that changes: it makes the first field, the type of the page, one that
/// has no value.
pub(crate) const PAGE_BIT: u8 = 0x04;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The submission queue has no place.
    QueueFull,
    /// No device memory is free.
    LowMemory,
    /// The media cannot read a chunk.
    ReadError,
    /// The kernel does not end in time.
    Timeout,
    /// The kernel does not end until it is cancelled.
    Hang,
    /// A byte of the result changes.
    Corrupt,
    /// The drive is lost for a query.
    Gone,
    /// Fewer bytes come from the media than were requested.
    ShortRead,
    /// A bit of a page header changes in device memory.
    CorruptPage,
    /// The kernel ends with a status that is no result.
    KernelError,
    /// The media are slow.
    Slow,
    /// The drive starts anew.
    Reset,
    /// The drive is lost, and comes back.
    Back,
}

impl Fault {
    /// Every kind with its name in a plan.
    pub const ALL: &'static [(Self, &'static str)] = &[
        (Self::QueueFull, "queue_full"),
        (Self::LowMemory, "low_memory"),
        (Self::ReadError, "read_error"),
        (Self::Timeout, "timeout"),
        (Self::Hang, "hang"),
        (Self::Corrupt, "corrupt"),
        (Self::Gone, "gone"),
        (Self::ShortRead, "short_read"),
        (Self::CorruptPage, "corrupt_page"),
        (Self::KernelError, "kernel_error"),
        (Self::Slow, "slow"),
        (Self::Reset, "reset"),
        (Self::Back, "back"),
    ];
}

/// Which faults strike which commands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FaultPlan {
    /// Probability of each kind, in the order of [`Fault::ALL`].
    probabilities: [f64; Fault::ALL.len()],
    /// Commands that are struck, by their place in the order of submission.
    places: Vec<(Fault, u64)>,
}

impl FaultPlan {
    /// Reads `kind:probability,kind@place,...`.
    ///
    /// # Errors
    /// The form that was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Fault::ALL.iter().map(|(_, name)| *name).collect();
        let kind = |name: &str| Fault::ALL.iter().find(|(_, other)| *other == name);
        let mut plan = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let expected =
                || format!("kind:probability or kind@place with a kind of {}", names.join(", "));
            if let Some((name, place)) = part.split_once('@') {
                let (fault, _) = kind(name).ok_or_else(expected)?;
                plan.places.push((*fault, place.parse().map_err(|_| expected())?));
                continue;
            }
            let (name, probability) = part.split_once(':').ok_or_else(expected)?;
            let (fault, _) = kind(name).ok_or_else(expected)?;
            let probability: f64 = probability.parse().map_err(|_| expected())?;
            if !(0.0..=1.0).contains(&probability) {
                return Err("a probability is between 0 and 1".to_owned());
            }
            plan.probabilities[*fault as usize] = probability;
        }
        Ok(plan)
    }

    /// Whether `fault` strikes this attempt of `work`, which was submitted as the `place`-th; a
    /// merge is struck as a whole.
    pub fn strikes(&self, seed: u64, fault: Fault, work: &Work, place: u64) -> bool {
        if self.places.contains(&(fault, place)) {
            return true;
        }
        let index = fault as usize;
        let probability = self.probabilities[index];
        if probability == 0.0 {
            return false;
        }
        // 53 bits make an even double in [0, 1).
        let even = (draw(seed, index as u64, work) >> 11) as f64 / (1u64 << 53) as f64;
        even < probability
    }
}

/// The reason of a simulated loss of the drive.
pub(crate) const INJECTED: &str = "an injected fault";

/// Returns the failure of media that cannot be read.
pub(crate) fn read_error(path: String) -> Failure {
    Failure::Read { path, reason: "uncorrectable error".to_owned() }
}

/// Returns the failure of a short read, of half of the first request.
pub(crate) fn short_read(work: &Work, path: String) -> Failure {
    let plan = work.scans().first().map(|scan| MediaPlan::of(&scan.unit.inputs));
    let asked = plan.and_then(|plan| plan.requests().next()).unwrap_or_default();
    Failure::Read { path, reason: format!("{} of {asked} bytes were read", asked / 2) }
}

/// The byte of device memory that [`Fault::CorruptPage`] changes by [`PAGE_BIT`]: the first of a
/// page header of the first scan. There is none where no column is read.
pub(crate) fn page_byte(seed: u64, work: &Work) -> Option<u64> {
    let unit = &work.scans().first()?.unit;
    let count = unit.chunks.len() as u64;
    let chosen = draw(seed, PAGE_SALT, work).checked_rem(count)?;
    let chunk = unit.chunks.get(usize::try_from(chosen).ok()?)?;
    let places = MediaPlan::of(&unit.inputs).places;
    Some(places.get(usize::from(chunk.input))? + chunk.offset)
}

/// The byte of a result that [`Fault::Corrupt`] changes: a number to be cut to its length.
pub(crate) fn result_byte(seed: u64, work: &Work) -> u64 {
    draw(seed, RESULT_SALT, work)
}

/// The time of a command while the media are slow.
pub(crate) fn slowed(time: Modelled) -> Modelled {
    Modelled { media_ns: time.media_ns.saturating_mul(SLOWDOWN), ..time }
}

/// Salts of draws that are not about whether a fault strikes.
const RESULT_SALT: u64 = u64::MAX;
const PAGE_SALT: u64 = u64::MAX - 1;

/// A number for a kind of fault and some work; `salt` distinguishes draws.
fn draw(seed: u64, salt: u64, work: &Work) -> u64 {
    let attempt = u64::from(work.envelope().attempt);
    let merge = match work {
        Work::Scan(_) => None,
        Work::Merge(command) => Some(command.hash()),
    };
    let scans = work.scans().iter().flat_map(|command| {
        let chunk = command.unit.chunks.first();
        [
            command.fragment.hash(),
            command.unit.rows,
            chunk.map_or(0, |chunk| chunk.length),
            command.unit.inputs.first().map_or(0, offset_of),
        ]
    });
    let words = [seed, salt].into_iter().chain(merge).chain(scans).chain([attempt]);
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

fn offset_of(input: &nearscan_command::InputRef) -> u64 {
    match input {
        nearscan_command::InputRef::FileRange { offset, .. } => *offset,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use nearscan_command::{Command, Envelope, Fragment, Output, Program, Unit};

    use super::*;

    fn command(rows: u64) -> Work {
        let fragment = Fragment {
            columns: vec![],
            predicate: Program::default(),
            projection: Program::default(),
            literals: vec![],
            tests: vec![],
            key_filters: vec![],
            output: Output::Rows { columns: vec![], limit: None, top: None },
        };
        let unit = Unit { rows, inputs: vec![], chunks: vec![] };
        Command::bind(&fragment, unit, Envelope::default()).unwrap().into()
    }

    #[test]
    fn plan_strikes_with_its_probability_and_is_deterministic() {
        let plan = FaultPlan::parse("read_error:0.25,gone:1").unwrap();
        let struck = |seed| {
            let strikes = |rows: &u64| plan.strikes(seed, Fault::ReadError, &command(*rows), 0);
            (0..4000).filter(strikes).count()
        };
        assert!((900..1100).contains(&struck(7)), "{}", struck(7));
        assert_eq!(struck(7), struck(7));
        assert!(plan.strikes(1, Fault::Gone, &command(1), 0));
        assert!(!plan.strikes(1, Fault::Hang, &command(1), 0));
    }

    #[test]
    fn fault_at_a_place_strikes_that_place_only() {
        let plan = FaultPlan::parse("hang@2,hang@5,gone@2").unwrap();
        let struck = |fault| -> Vec<u64> {
            (0..9).filter(|place| plan.strikes(7, fault, &command(*place), *place)).collect()
        };
        assert_eq!((struck(Fault::Hang), struck(Fault::Gone)), (vec![2, 5], vec![2]));
        assert!(struck(Fault::Corrupt).is_empty());
    }

    #[test]
    fn kinds_are_listed_in_the_order_of_the_enum() {
        let places: Vec<usize> = Fault::ALL.iter().map(|(fault, _)| *fault as usize).collect();
        assert_eq!(places, (0..Fault::ALL.len()).collect::<Vec<_>>());
    }

    #[test]
    fn invalid_probability_or_place_is_refused() {
        assert!(FaultPlan::parse("gone:1.5").is_err());
        assert!(FaultPlan::parse("gone").is_err());
        assert!(FaultPlan::parse("gone@-1").is_err());
        assert!(FaultPlan::parse("rain@1").is_err());
    }
}
