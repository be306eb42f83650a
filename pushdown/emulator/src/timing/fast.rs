// SPDX-License-Identifier: Apache-2.0
//! Models the fast set: the four jobs of the SmartSSD study on kernels that reach the bank's limit.
//!
//! The study's parameters, on another structure: a port of 512 bits, bursts of whole lines, sixteen
//! lanes, and a merge that is cut by merge path. Cycles come from what each unit did:
//!
//! ```text
//! search   a round trip for each probe: the next one depends on it
//! stream   the longest of its lanes (an iteration per cycle) and the two channels of its port (a
//!          line a cycle), which run side by side; a round trip each to fill and to drain
//! bank     the bursts of a unit take at least what the bank takes for them, alone as well
//! ```
//!
//! A pass takes as long as its slowest unit, held up by those that share the bank with it; passes
//! come one after the other. Times are of kernels alone, as in the study.

use nearscan_models::{
    fast::Form,
    study::{Accesses, Steps},
};

use super::{
    Parameters, bank::Bursts, schedule::Pipelining, study::Kernel, unbuildable::Unbuildable,
};

/// Bytes of a line: the width of the kernels' port.
const LINE_BYTES: f64 = 64.0;

/// The share of the bank's limit that makes a number of units enough.
pub const SHARE_ENOUGH: f64 = 0.8;

/// A job of the fast set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Job {
    /// Counts the elements that equal a value.
    Count,
    /// The mean of all elements.
    Average,
    /// `c[i] = a[i] + b[i]`.
    VectorAddition,
    /// Two sorted arrays into one without duplicates.
    ArrayMerge(Form),
}

impl Job {
    /// All jobs in all forms.
    pub const ALL: [Self; 5] = [
        Self::Count,
        Self::Average,
        Self::VectorAddition,
        Self::ArrayMerge(Form::Segments),
        Self::ArrayMerge(Form::OneArray),
    ];

    /// The kernel of the study that does the same.
    pub fn kernel(self) -> Kernel {
        match self {
            Self::Count => Kernel::Count,
            Self::Average => Kernel::Average,
            Self::VectorAddition => Kernel::VectorAddition,
            Self::ArrayMerge(_) => Kernel::ArrayMerge,
        }
    }
}

/// The work that a job did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performed {
    /// Elements of one array; of a merge, elements of both inputs.
    pub elements: u64,
    /// The steps of each unit in each pass.
    pub passes: Vec<Vec<Steps>>,
}

/// The bottleneck of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The memory bank, which all units share.
    Bank,
    /// The port of the slowest unit.
    Port,
    /// The lanes of the slowest unit: an iteration a cycle.
    Lanes,
    /// The search for its cuts.
    Search,
}

/// The speed of a job on so many units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// The job.
    pub job: Job,
    /// Compute units.
    pub units: u32,
    /// Elements a second; of a merge, elements of both inputs.
    pub elements_per_s: f64,
    /// Bytes a second to and from the memory, of all passes.
    pub bytes_per_s: f64,
    /// The rate of the bank for this mix of reads and writes in the longest bursts.
    pub bank_bytes_per_s: f64,
    /// Its bottleneck.
    pub limit: Limit,
}

impl Profile {
    /// Share of the bank's limit that is reached.
    pub fn bank_share(&self) -> f64 {
        self.bytes_per_s / self.bank_bytes_per_s
    }
}

/// The times of one unit in one pass, with the bank to itself.
#[derive(Debug, Clone, Copy)]
struct Alone {
    search_ns: f64,
    port_ns: f64,
    lanes_ns: f64,
    /// All but the search, held up by the bank.
    stream_ns: f64,
    bursts: Bursts,
}

impl Parameters {
    /// The speed of a job that did this.
    ///
    /// # Errors
    /// When the bank has no ports for so many units.
    pub fn fast(&self, job: Job, performed: &Performed) -> Result<Profile, Unbuildable> {
        let units = performed.passes.first().map_or(0, Vec::len);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        if units == 0 {
            return Err(Unbuildable::NoUnits);
        }
        if f64::from(units) * self.unit_ports > self.bank_ports {
            return Err(Unbuildable::Ports { units });
        }
        let passes: Vec<Vec<Alone>> = performed
            .passes
            .iter()
            .map(|pass| pass.iter().map(|steps| self.unit_alone(steps)).collect())
            .collect();
        let seconds = passes.iter().map(|pass| self.pass_ns(pass)).sum::<f64>() / 1e9;
        let all = performed.passes.iter().flatten();
        let (read, written) = all.fold((0.0, 0.0), |(read, written), steps| {
            (read + bytes(steps.a) + bytes(steps.b), written + bytes(steps.c))
        });
        let longest = self.port_burst_beats * LINE_BYTES;
        let at_best = Bursts { reads: read / longest, writes: written / longest, bytes: longest };
        Ok(Profile {
            job,
            units,
            elements_per_s: performed.elements as f64 / seconds,
            bytes_per_s: (read + written) / seconds,
            bank_bytes_per_s: (read + written) / self.bank_ns(&at_best) * 1e9,
            limit: self.limit(&passes),
        })
    }

    /// The profile with as few units as come to [`SHARE_ENOUGH`] of the bank's limit, or with all
    /// that there are ports for. `perform` runs the job on so many units.
    ///
    /// # Errors
    /// The errors of `perform`.
    pub fn fast_enough<E: From<Unbuildable>>(
        &self,
        job: Job,
        mut perform: impl FnMut(u32) -> Result<Performed, E>,
    ) -> Result<Profile, E> {
        let mut units = 1;
        loop {
            let profile = self.fast(job, &perform(units)?)?;
            let is_last = f64::from(units + 1) * self.unit_ports > self.bank_ports;
            if is_last || profile.bank_share() >= SHARE_ENOUGH {
                return Ok(profile);
            }
            units += 1;
        }
    }

    fn unit_alone(&self, steps: &Steps) -> Alone {
        let cycle_ns = 1e9 / self.clock_hz;
        let probes = steps.a.singles + steps.b.singles;
        let reads = (steps.a.beats + steps.b.beats) as f64;
        let writes = steps.c.beats as f64 + steps.c.singles as f64 * self.single_beat_cycles();
        let iterations = self.element_loop(Pipelining::Requested).cycles(steps.iterations as f64);
        let port = reads.max(writes);
        let fill_and_drain = 2.0 * self.dependent_read_cycles();
        let bursts = self.line_bursts(steps);
        let unheld_ns = (port.max(iterations) + fill_and_drain) * cycle_ns;
        Alone {
            search_ns: probes as f64 * self.dependent_read_cycles() * cycle_ns,
            port_ns: port * cycle_ns,
            lanes_ns: iterations * cycle_ns,
            stream_ns: unheld_ns.max(self.bank_ns(&bursts)),
            bursts,
        }
    }

    /// The bursts that a unit asks of the bank. The port cuts a longer burst into several.
    fn line_bursts(&self, steps: &Steps) -> Bursts {
        let bursts =
            |array: Accesses| (array.bursts as f64).max(array.beats as f64 / self.port_burst_beats);
        let reads = bursts(steps.a) + bursts(steps.b);
        let writes = bursts(steps.c) + steps.c.singles as f64;
        let moved = bytes(steps.a) + bytes(steps.b) + bytes(steps.c);
        let count = reads + writes;
        Bursts { reads, writes, bytes: if count > 0.0 { moved / count } else { 0.0 } }
    }

    /// The slowest unit, held up by all others that have something to do.
    fn pass_ns(&self, pass: &[Alone]) -> f64 {
        let has_work = |unit: &&Alone| unit.bursts.reads > 0.0;
        let working = u32::try_from(pass.iter().filter(has_work).count()).unwrap_or(u32::MAX);
        let unit_ns = |unit: &Alone| {
            let speedup = self.speedup(working, unit.stream_ns, &unit.bursts);
            unit.search_ns + unit.stream_ns * f64::from(working) / speedup
        };
        pass.iter().map(unit_ns).fold(0.0, f64::max)
    }

    /// The bottleneck over all passes.
    fn limit(&self, passes: &[Vec<Alone>]) -> Limit {
        let slowest = |time: fn(&Alone) -> f64| -> f64 {
            passes.iter().map(|pass| pass.iter().map(time).fold(0.0, f64::max)).sum()
        };
        let bank = passes.iter().flatten().map(|unit| self.bank_ns(&unit.bursts)).sum::<f64>();
        let times = [
            (Limit::Bank, bank),
            (Limit::Port, slowest(|unit| unit.port_ns)),
            (Limit::Lanes, slowest(|unit| unit.lanes_ns)),
            (Limit::Search, slowest(|unit| unit.search_ns)),
        ];
        let [first, rest @ ..] = times;
        rest.into_iter().fold(first, |most, one| if one.1 > most.1 { one } else { most }).0
    }
}

/// Bytes moved of an array, without the probes of a search.
fn bytes(array: Accesses) -> f64 {
    array.beats as f64 * LINE_BYTES
}
