// SPDX-License-Identifier: Apache-2.0
//! Lists the numbers of the model: name with unit, value, source.
//!
//! No other module of the model has a disputable number. A calibrated number was set so that the
//! model reproduces a published figure; an assumed one has no source.

use std::fmt;

/// The source of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A vendor's data sheet, or the documented default of its tool.
    DataSheet,
    /// The SmartSSD study says it.
    Study,
    /// A vendor's published log of one card.
    VendorLog,
    /// Published documentation says it of such devices, not of this one.
    Published,
    /// Set so that the model reproduces a figure of the study.
    Calibrated,
    /// A guess, with its reason.
    Assumed,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DataSheet => "data sheet",
            Self::Study => "study",
            Self::VendorLog => "vendor log",
            Self::Published => "published",
            Self::Calibrated => "calibrated",
            Self::Assumed => "assumed",
        })
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name, the unit last.
    pub name: &'static str,
    /// Value in that unit.
    pub value: f64,
    /// Source of the default value.
    pub source: Source,
    /// The meaning of the parameter, and the reason for its value.
    pub meaning: &'static str,
}

macro_rules! parameters {
    ($($name:ident = $value:expr, $source:ident, $meaning:literal;)*) => {
        /// Parameters of the model. A mechanism is turned off by its parameter, often by 0.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Parameters {
            $(#[doc = $meaning] pub $name: f64,)*
        }

        impl Default for Parameters {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }

        impl Parameters {
            /// All parameters, in the order of the struct.
            pub fn table(&self) -> Vec<Parameter> {
                vec![$(Parameter {
                    name: stringify!($name),
                    value: self.$name,
                    source: Source::$source,
                    meaning: $meaning,
                },)*]
            }
        }
    };
}

parameters! {
    clock_hz = 300e6, Study, "Kernel clock.";
    clock_row_delay_ns = 0.25, Assumed,
        "Added to the period for each further row of clock regions that a local memory reaches.";
    row_block_memories = 90.0, Assumed, "Block RAMs of one row of clock regions: 984 in 11 rows.";
    row_ultra_memories = 16.0, Assumed, "URAMs of one row of clock regions: one column of 16.";
    block_memories = 984.0, DataSheet, "Block RAMs (BRAM36) of the KU15P.";
    block_memory_bytes = 4096.0, DataSheet, "Bytes of a block RAM, without parity.";
    ultra_memories = 128.0, DataSheet, "URAMs of the KU15P.";
    ultra_memory_bytes = 32_768.0, DataSheet, "Bytes of a URAM as 64-bit words.";
    dynamic_share = 0.8, Assumed, "Share of the part that is left beside the shell.";
    fill_share = 0.7, Assumed, "Share of what is left that a design may fill and still be routed.";
    unit_block_memories = 2.0, Assumed, "Block RAMs of a unit of the study beside its buffer.";
    port_round_trip_cycles = 58.0, Calibrated,
        "From a request to its data. Set on 8.8 and 11.2; the tool's own default is 64.";
    port_outstanding = 16.0, DataSheet, "Requests in flight on a port, the tool's default.";
    port_burst_beats = 16.0, DataSheet, "Longest burst that a plain loop makes, the default.";
    unit_ports = 1.0, Study, "Ports that the arguments of a kernel share.";
    element_bytes = 4.0, Study, "Bytes of an element, and of a beat of a plain loop's port.";
    copy_burst_bytes = 256.0, Assumed, "Burst of a loop that copies a block.";
    bank_ports = 15.0, Study, "Ports that the memory bank has.";
    bank_bytes_per_s = 19.2e9, Assumed, "Peak of the bank: DDR4-2400, 64 bits.";
    bank_burst_overhead_ns = 11.27, Calibrated,
        "Of a burst beside its data. Set on 3.5 and 3.8; a row takes 14 to open.";
    bank_turnaround_ns = 11.5, Calibrated,
        "Of a burst of writes in addition. Set on 2.5; the data sheet has 7.5 from write to read.";
    loop_interval_cycles = 1.0, Assumed,
        "Cycles from one iteration of a pipelined loop to the next.";
    loop_body_cycles = 4.0, Assumed,
        "Cycles of one iteration of a small loop that is not pipelined.";
    pipelined_by_default = 1.0, DataSheet,
        "1: the tool pipelines innermost loops that do not ask for it. 0: it does not.";
    compare_cycles = 6.0, Assumed,
        "Cycles of an iteration of the study's merge on chip: the next one needs its outcome.";
    join_accesses = 2.0, Assumed,
        "Single beats for each element that is moved after a merge into one array. 0: none moves.";
    host_light_cycles = 7.4, Calibrated,
        "Cycles an element of the study's host for Count, Average, Vector Addition. Set on 10.1.";
    host_merge_cycles = 7.3, Calibrated,
        "Cycles an element of the study's host for Array Merge. Set on 0.36.";
    order_step_cycles = 4.0, Assumed,
        "A choice of the merge kernel: read a key, compare it with all heads, note, choose.";
    start_ns = 5000.0, Assumed,
        "Of a compute unit between two commands of its queue: registers, interrupt, loading.";
    fill_cycles = 2000.0, Assumed, "From the first byte in to the last row out of an empty scan.";
    setup_ns = 100_000.0, Assumed,
        "From a submission to its start when none was queued; the study bounds it by 150 us.";
    image_load_ns = 2.4e9, Assumed,
        "Loading another image. XRT allows for 8 s on a card whose part has 3.3 times the LUTs.";
    media_bytes_per_s = 3.25e9, VendorLog, "Flash to device memory, requests overlapped.";
    media_in_flight = 8.0, Assumed,
        "Requests that the drive keeps in flight; the published peak does not say how many it had.";
    p2p_4_kib_bytes_per_s = 0.05e9, VendorLog, "Flash to device memory, one request of 4 KiB.";
    p2p_64_kib_bytes_per_s = 0.87e9, VendorLog, "The same, 64 KiB.";
    p2p_1_mib_bytes_per_s = 1.59e9, VendorLog, "The same, 1 MiB.";
    p2p_4_mib_bytes_per_s = 2.15e9, VendorLog, "The same, 4 MiB.";
    link_bytes_per_s = 1.86e9, VendorLog, "Device memory to host.";
    link_latency_ns = 10_000.0, Assumed, "Until the first byte of a transfer to the host.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_one_name_and_a_value() {
        let table = Parameters::default().table();
        let mut names: Vec<_> = table.iter().map(|parameter| parameter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.len());
        for Parameter { name, value, .. } in table {
            assert!(value.is_finite() && value > 0.0, "{name}");
        }
    }
}
