// SPDX-License-Identifier: Apache-2.0
//! The fault model: what can go wrong with an emulated drive, on purpose.
//!
//! | fault | what happens | what the host sees |
//! |---|---|---|
//! | `queue_full` | the submission queue has no place | [`Refusal::Busy`](nearscan_drive::Refusal::Busy) |
//! | `low_memory` | no device memory is free | [`Refusal::LowMemory`](nearscan_drive::Refusal::LowMemory) |
//! | `read_error` | the media cannot read a chunk | [`Failure::Read`](nearscan_drive::Failure::Read) |
//! | `timeout` | the kernel does not end before its deadline, in the drive's own time | [`Failure::Timeout`](nearscan_drive::Failure::Timeout) |
//! | `hang` | the kernel does not end at all, until it is cancelled | nothing, until the host gives up |
//! | `corrupt` | one byte of the result changes on its way | a checksum that does not match |
//! | `gone` | the drive is lost while the command runs, for the rest of the query | [`Failure::Gone`](nearscan_drive::Failure::Gone) |
//!
//! A plan gives each kind a probability for each attempt of each command:
//! `faults=read_error:0.05,gone:0.001`. Whether a fault strikes is decided from the seed, the kind,
//! the fragment and the unit, not from any order of events, so a run can be repeated. A merge is
//! struck as a whole, as all its fragments and units decide. A fragment that a dynamic filter has
//! narrowed is another fragment: where a join runs beside a scan, which of the two a unit gets is
//! up to the host's threads.
//!
//! Left out on purpose: faults in the host's own memory, and bytes of the file that change under
//! the drive without its version changing. No drive could notice either.

use nearscan_drive::Work;

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
    /// The drive is lost.
    Gone,
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
    ];
}

/// Probabilities of faults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FaultPlan {
    /// Probability of each kind, in the order of [`Fault::ALL`].
    probabilities: [f64; Fault::ALL.len()],
}

impl FaultPlan {
    /// Reads `kind:probability,...`.
    ///
    /// # Errors
    /// What would have been expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Fault::ALL.iter().map(|(_, name)| *name).collect();
        let mut plan = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let expected = || format!("kind:probability with a kind of {}", names.join(", "));
            let (name, probability) = part.split_once(':').ok_or_else(expected)?;
            let index = names.iter().position(|other| *other == name).ok_or_else(expected)?;
            let probability: f64 = probability.parse().map_err(|_| expected())?;
            if !(0.0..=1.0).contains(&probability) {
                return Err("a probability is between 0 and 1".to_owned());
            }
            plan.probabilities[index] = probability;
        }
        Ok(plan)
    }

    /// Whether `fault` strikes this attempt of `work`; a merge is struck as a whole.
    pub fn strikes(&self, seed: u64, fault: Fault, work: &Work) -> bool {
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

/// A number for a kind of fault and some work; `salt` tells draws apart.
pub(crate) fn draw(seed: u64, salt: u64, work: &Work) -> u64 {
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
            output: Output::Rows { columns: vec![], limit: None, top: None },
        };
        let unit = Unit { rows, inputs: vec![], chunks: vec![] };
        Command::bind(&fragment, unit, Envelope::default()).unwrap().into()
    }

    #[test]
    fn a_plan_strikes_about_as_often_as_it_says_and_always_alike() {
        let plan = FaultPlan::parse("read_error:0.25,gone:1").unwrap();
        let struck = |seed| {
            (0..4000).filter(|rows| plan.strikes(seed, Fault::ReadError, &command(*rows))).count()
        };
        assert!((900..1100).contains(&struck(7)), "{}", struck(7));
        assert_eq!(struck(7), struck(7));
        assert!(plan.strikes(1, Fault::Gone, &command(1)));
        assert!(!plan.strikes(1, Fault::Hang, &command(1)));
    }

    #[test]
    fn probabilities_outside_of_their_range_are_refused() {
        assert!(FaultPlan::parse("gone:1.5").is_err());
        assert!(FaultPlan::parse("gone").is_err());
    }
}
