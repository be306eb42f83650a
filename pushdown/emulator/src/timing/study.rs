// SPDX-License-Identifier: Apache-2.0
//! Models the four kernels of the SmartSSD study.
//!
//! A kernel is a plain loop over global memory, or works on a buffer on chip that it fills block by
//! block; it is built with 1 to 15 compute units, each on a slice of the data. Cycles come from
//! what each unit counted ([`Performed`]), with these rules:
//!
//! ```text
//! Count, Average   plain     one iteration an element
//!                  buffered  an iteration to copy it and one to look at it; a round trip a block
//! Vector Addition  plain     three accesses an element, on one port
//!                  buffered  the three loops over a block overlap; a round trip a block
//! Array Merge      plain     a round trip a read, a comparison an iteration, one beat to write
//!                  buffered  a comparison per iteration, copies hidden; a round trip a block
//!                  both      a round trip for each read in search of a unit's share; then one unit
//!                            joins the pieces: single beats, not shared out
//! ```
//!
//! The slowest unit decides. It waits for the memory bank as if all units that have anything to do
//! were as busy as it, so of shares that differ the time is an upper bound.
//!
//! Times are of kernels alone: arrays are in device memory, and nothing is started. The host is the
//! study's, as its own figures imply.

use std::fmt;

use nearscan_models::study::{Accesses, Steps};

use super::{LocalMemory, Parameters, bank::Bursts, port::Access};

pub use super::{schedule::Pipelining, unbuildable::Unbuildable};

/// A kernel of the study, on 32-bit integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Counts the elements that equal a value.
    Count,
    /// The mean of all elements.
    Average,
    /// `c[i] = a[i] + b[i]`.
    VectorAddition,
    /// Two sorted arrays into one without duplicates.
    ArrayMerge,
}

impl Kernel {
    /// All of them, in the study's order.
    pub const ALL: [Self; 4] = [Self::Count, Self::Average, Self::VectorAddition, Self::ArrayMerge];
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Count => "Count",
            Self::Average => "Average",
            Self::VectorAddition => "Vector Addition",
            Self::ArrayMerge => "Array Merge",
        })
    }
}

/// The build of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Build {
    /// The kernel.
    pub kernel: Kernel,
    /// Bytes of the buffer on chip, of all its arrays; a plain loop over global memory without.
    pub buffer_bytes: Option<u64>,
    /// Compute units.
    pub units: u32,
    /// Whether its loops have a pipeline pragma.
    pub pipelining: Pipelining,
}

/// The work of a kernel, by its counters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Performed<'a> {
    /// Each unit, at the same time as the others.
    pub units: &'a [Steps],
    /// The pass that joins the pieces of a merge, behind all units.
    pub join: Option<&'a Steps>,
}

/// The time of a kernel, and where it went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Cycles of the kernel clock.
    pub cycles: f64,
    /// The kernel clock, which a large buffer slows.
    pub clock_hz: f64,
}

impl Run {
    /// The same in seconds.
    pub fn seconds(&self) -> f64 {
        self.cycles / self.clock_hz
    }
}

/// One unit on its slice, with the memory bank to itself.
struct Alone {
    cycles: f64,
    bursts: Bursts,
}

impl Parameters {
    /// The time of a kernel of the study.
    ///
    /// # Errors
    /// When the build does not fit on the part.
    pub fn study(&self, build: Build, performed: Performed<'_>) -> Result<Run, Unbuildable> {
        let clock_hz = self.study_clock_hz(build)?;
        let busy = performed.units.iter().filter(|steps| steps.iterations > 0);
        let alone: Vec<Alone> = busy.map(|steps| self.alone(build, steps)).collect();
        let count = u32::try_from(alone.len()).unwrap_or(u32::MAX);
        let slowest = alone.iter().max_by(|one, other| one.cycles.total_cmp(&other.cycles));
        let together = slowest.map_or(0.0, |unit| {
            // So many times as long as a unit alone takes for its slice.
            let speedup = self.speedup(count, unit.cycles / clock_hz * 1e9, &unit.bursts);
            unit.cycles * f64::from(count) / speedup
        });
        let joined = performed.join.map_or(0, |join| join.joined);
        let join = joined as f64 * self.join_accesses * self.single_beat_cycles();
        Ok(Run { cycles: together + join, clock_hz })
    }

    /// The kernel clock of a build, in Hz.
    ///
    /// # Errors
    /// When it does not fit on the part.
    pub fn study_clock_hz(&self, build: Build) -> Result<f64, Unbuildable> {
        let Build { buffer_bytes, units, .. } = build;
        if units == 0 {
            return Err(Unbuildable::NoUnits);
        }
        if let Some(bytes) = buffer_bytes
            && (bytes as f64) < self.element_bytes
        {
            return Err(Unbuildable::NoBuffer { bytes });
        }
        if f64::from(units) * self.unit_ports > self.bank_ports {
            return Err(Unbuildable::Ports { units });
        }
        self.kernel_clock_hz(LocalMemory { bytes: buffer_bytes.unwrap_or(0), units })
    }

    /// Elements a second of the study's host, one core at this clock.
    pub fn host_elements_per_s(&self, kernel: Kernel, clock_hz: f64) -> f64 {
        clock_hz
            / match kernel {
                Kernel::Count | Kernel::Average | Kernel::VectorAddition => self.host_light_cycles,
                Kernel::ArrayMerge => self.host_merge_cycles,
            }
    }

    fn alone(&self, build: Build, steps: &Steps) -> Alone {
        match build.kernel {
            Kernel::Count | Kernel::Average => self.light(build, steps),
            Kernel::VectorAddition => self.addition(build, steps),
            Kernel::ArrayMerge => self.merging(build, steps),
        }
    }

    fn light(&self, build: Build, steps: &Steps) -> Alone {
        let iterations = self.element_loop(build.pipelining).cycles(steps.iterations as f64);
        let read = moved(steps.a);
        match build.buffer_bytes {
            None => Alone {
                cycles: iterations.max(read * self.iteration_cycles(1))
                    + self.dependent_read_cycles(),
                bursts: self.plain(Access::Bursts, read, 0.0),
            },
            Some(_) => Alone {
                cycles: read * self.iteration_cycles(1) + iterations + self.blocks_cycles(steps),
                bursts: self.copied(read, 0.0),
            },
        }
    }

    fn addition(&self, build: Build, steps: &Steps) -> Alone {
        let iterations = self.element_loop(build.pipelining).cycles(steps.iterations as f64);
        let (read, written) = (moved(steps.a) + moved(steps.b), moved(steps.c));
        match build.buffer_bytes {
            None => Alone {
                cycles: iterations.max(steps.iterations as f64 * self.iteration_cycles(3))
                    + self.dependent_read_cycles(),
                bursts: self.plain(self.access(3), read, written),
            },
            Some(_) => Alone {
                cycles: iterations + self.blocks_cycles(steps),
                bursts: self.copied(read, written),
            },
        }
    }

    /// The merging of one unit, without the join.
    fn merging(&self, build: Build, steps: &Steps) -> Alone {
        let compare = self.compare_loop().cycles(steps.iterations as f64);
        let (read, written) = (moved(steps.a) + moved(steps.b), moved(steps.c));
        // Each read one by one, those in search of the unit's share among them, waits for what the
        // one before it brought.
        let one_by_one = (steps.a.singles + steps.b.singles) as f64;
        let waiting = one_by_one * self.dependent_read_cycles();
        match build.buffer_bytes {
            None => Alone {
                cycles: waiting + compare + written * self.single_beat_cycles(),
                bursts: self.plain(Access::SingleBeats, read, written),
            },
            Some(_) => Alone {
                cycles: waiting
                    + compare.max((read - one_by_one) * self.iteration_cycles(1))
                    + self.blocks_cycles(steps),
                bursts: self.copied(read, written),
            },
        }
    }

    /// The round trips that a unit waits for when it fills its buffer.
    fn blocks_cycles(&self, steps: &Steps) -> f64 {
        steps.blocks as f64 * self.dependent_read_cycles()
    }

    /// The bursts of a plain loop that reads and writes so many elements.
    fn plain(&self, access: Access, read: f64, written: f64) -> Bursts {
        let beats = match access {
            Access::Bursts => self.port_burst_beats,
            Access::SingleBeats => 1.0,
        };
        Bursts { reads: read / beats, writes: written / beats, bytes: beats * self.element_bytes }
    }

    /// The bursts of a loop that copies blocks.
    fn copied(&self, read: f64, written: f64) -> Bursts {
        let elements = self.copy_burst_bytes / self.element_bytes;
        let bytes = self.copy_burst_bytes;
        Bursts { reads: read / elements, writes: written / elements, bytes }
    }
}

/// Elements that were moved, by either way.
fn moved(accesses: Accesses) -> f64 {
    (accesses.singles + accesses.beats) as f64
}
