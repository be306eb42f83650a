// SPDX-License-Identifier: Apache-2.0
//! The four kernels of the SmartSSD study: what they take on this model.
//!
//! A kernel is a plain loop over global memory, or works on a buffer on chip that it fills block by
//! block; it is built with 1 to 15 compute units, each on a slice of the data. Cycles come from
//! what the kernel did ([`Performed`]), with these rules:
//!
//! ```text
//! Count, Average   plain     one turn an element
//!                  buffered  a turn to copy it and a turn to look at it; a round trip a block
//! Vector Addition  plain     three accesses an element, on one port
//!                  buffered  the three loops over a block overlap; a round trip a block
//! Array Merge      plain     a round trip and a comparison a step, and a single beat to write
//!                  buffered  a comparison a step, copies hidden; a round trip a block
//!                  both      then one unit joins the pieces: single beats, not shared out
//! ```
//!
//! Times are of kernels alone: arrays are in device memory, and nothing is started. The host is the
//! study's, as its own figures imply.

use super::port::Access;
use super::{LocalMemory, Parameters, bank::Bursts};

pub use super::schedule::Pipelining;

/// A kernel of the study, on 32-bit integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// How many elements equal a value.
    Count,
    /// The mean of all elements.
    Average,
    /// `c[i] = a[i] + b[i]`.
    VectorAddition,
    /// Two sorted arrays into one without duplicates.
    ArrayMerge,
}

/// How a kernel is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build {
    /// The kernel.
    pub kernel: Kernel,
    /// Bytes of the buffer on chip, of all its arrays; a plain loop over global memory without.
    pub buffer_bytes: Option<u64>,
    /// Compute units.
    pub units: u32,
    /// Whether its loops ask to be pipelined.
    pub pipelining: Pipelining,
}

/// What all units of a kernel did together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Performed {
    /// Elements of one array; of a merge, elements of both inputs.
    pub elements: u64,
    /// Steps of a merge in which two elements were compared.
    pub comparisons: u64,
    /// Elements that a merge wrote.
    pub written: u64,
    /// Elements that were moved when the pieces of a merge were joined.
    pub joined: u64,
}

/// What a kernel takes.
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

/// A build that the part has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unbuildable {
    /// A kernel runs on at least one unit.
    #[error("there are no compute units")]
    NoUnits,
    /// A buffer holds at least one element.
    #[error("a buffer of {bytes} bytes holds no element")]
    NoBuffer {
        /// Its size.
        bytes: u64,
    },
    /// The memory bank has too few ports.
    #[error("{units} compute units need more ports than the memory bank has")]
    Ports {
        /// Compute units asked for.
        units: u32,
    },
    /// The part has too little memory on chip.
    #[error("local memories of {bytes} bytes in {units} compute units do not fit on the part")]
    LocalMemory {
        /// Bytes of one unit.
        bytes: u64,
        /// Compute units.
        units: u32,
    },
}

/// One unit on its slice, with the memory bank to itself.
struct Alone {
    cycles: f64,
    bursts: Bursts,
}

impl Parameters {
    /// What a kernel of the study takes.
    ///
    /// # Errors
    /// When the build does not fit on the part.
    pub fn study(&self, build: Build, performed: Performed) -> Result<Run, Unbuildable> {
        let Build { buffer_bytes, units, .. } = build;
        if units == 0 {
            return Err(Unbuildable::NoUnits);
        }
        if let Some(bytes) = buffer_bytes
            && (bytes as f64) < self.element_bytes
        {
            return Err(Unbuildable::NoBuffer { bytes });
        }
        let count = f64::from(units);
        if count * self.unit_ports > self.bank_ports {
            return Err(Unbuildable::Ports { units });
        }
        let clock_hz =
            self.kernel_clock_hz(LocalMemory { bytes: buffer_bytes.unwrap_or(0), units })?;
        let alone = match build.kernel {
            Kernel::Count | Kernel::Average => self.light(build, performed.elements as f64 / count),
            Kernel::VectorAddition => self.addition(build, performed.elements as f64 / count),
            Kernel::ArrayMerge => self.merging(build, performed),
        };
        // So many times as long as a unit alone takes for its slice.
        let slowed = count / self.speedup(units, alone.cycles / clock_hz * 1e9, &alone.bursts);
        let join = performed.joined as f64 * self.join_accesses * self.single_beat_cycles();
        Ok(Run { cycles: alone.cycles * slowed + join, clock_hz })
    }

    /// Elements a second of the study's host, one core at this clock.
    pub fn host_elements_per_s(&self, kernel: Kernel, clock_hz: f64) -> f64 {
        clock_hz
            / match kernel {
                Kernel::Count | Kernel::Average | Kernel::VectorAddition => self.host_light_cycles,
                Kernel::ArrayMerge => self.host_merge_cycles,
            }
    }

    fn light(&self, build: Build, elements: f64) -> Alone {
        let turns = self.element_loop(build.pipelining).cycles(elements);
        match build.buffer_bytes {
            None => Alone {
                cycles: turns.max(elements * self.turn_cycles(1)) + self.dependent_read_cycles(),
                bursts: self.plain(Access::Bursts, elements, 0.0),
            },
            Some(bytes) => Alone {
                cycles: elements * self.turn_cycles(1)
                    + turns
                    + self.blocks_cycles(elements, bytes),
                bursts: self.copied(elements, 0.0),
            },
        }
    }

    fn addition(&self, build: Build, elements: f64) -> Alone {
        let turns = self.element_loop(build.pipelining).cycles(elements);
        match build.buffer_bytes {
            None => Alone {
                cycles: turns.max(elements * self.turn_cycles(3)) + self.dependent_read_cycles(),
                bursts: self.plain(self.access(3), 2.0 * elements, elements),
            },
            Some(bytes) => Alone {
                cycles: turns + self.blocks_cycles(elements, bytes),
                bursts: self.copied(2.0 * elements, elements),
            },
        }
    }

    /// The merging of one unit, without the join.
    fn merging(&self, build: Build, performed: Performed) -> Alone {
        let units = f64::from(build.units);
        let elements = performed.elements as f64 / units;
        let comparisons = performed.comparisons as f64 / units;
        let written = performed.written as f64 / units;
        let compare = self.compare_loop().cycles(comparisons);
        match build.buffer_bytes {
            None => Alone {
                cycles: comparisons * self.dependent_read_cycles()
                    + compare
                    + written * self.single_beat_cycles(),
                bursts: self.plain(Access::SingleBeats, comparisons, written),
            },
            Some(bytes) => Alone {
                cycles: compare.max(elements * self.turn_cycles(1))
                    + self.blocks_cycles(elements, bytes),
                bursts: self.copied(elements, written),
            },
        }
    }

    /// The round trips that a unit waits for when it starts a block.
    fn blocks_cycles(&self, elements: f64, buffer_bytes: u64) -> f64 {
        (elements * self.element_bytes / buffer_bytes as f64) * self.dependent_read_cycles()
    }

    /// What a plain loop asks of the bank to read and write so many elements.
    fn plain(&self, access: Access, read: f64, written: f64) -> Bursts {
        let beats = match access {
            Access::Bursts => self.port_burst_beats,
            Access::SingleBeats => 1.0,
        };
        Bursts { reads: read / beats, writes: written / beats, bytes: beats * self.element_bytes }
    }

    /// What a loop that copies blocks asks of the bank.
    fn copied(&self, read: f64, written: f64) -> Bursts {
        let elements = self.copy_burst_bytes / self.element_bytes;
        let bytes = self.copy_burst_bytes;
        Bursts { reads: read / elements, writes: written / elements, bytes }
    }
}
