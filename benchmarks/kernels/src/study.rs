// SPDX-License-Identifier: Apache-2.0
//! Lists the figures that the SmartSSD study (Byun et al., 2021) reports.
//!
//! The study has no tables of its curves: of each it names one or two points and a shape. Its text
//! does not say how far the gain of a buffer falls beyond 256 KiB, nor how much one unit among many
//! does, nor by how much a buffer slows the kernels of one argument.

use nearscan_emulator::timing::study::Kernel;

/// The buffer that the study chose, in bytes.
pub(crate) const BEST_BUFFER_BYTES: u64 = 256 << 10;
/// Compute units, at most: the ports of the memory bank.
pub(crate) const UNITS_MAX: u32 = 15;
/// Lowest and highest clock of the study's host, in GHz; those between are ours.
pub(crate) const HOST_GHZ: [f64; 6] = [0.8, 1.6, 2.4, 3.2, 4.0, 4.7];
/// The largest gain of a pragma for pipelines.
pub(crate) const PIPELINING_GAIN_MAX: f64 = 1.01;
/// Units at which light kernels are about as fast as they get: "about five".
pub(crate) const SATURATED_UNITS: std::ops::RangeInclusive<u32> = 4..=6;

/// Gain of Vector Addition by a buffer of this size, where the study gives one.
pub(crate) fn sweep_gain(buffer_bytes: u64) -> Option<f64> {
    match buffer_bytes {
        0x400 => Some(8.8),
        BEST_BUFFER_BYTES => Some(11.2),
        _ => None,
    }
}

/// Gain by the best buffer; none where the study says no more than "slower".
pub(crate) fn buffer_gain(kernel: Kernel) -> Option<f64> {
    match kernel {
        Kernel::Count | Kernel::Average => None,
        Kernel::VectorAddition => Some(11.2),
        Kernel::ArrayMerge => Some(5.2),
    }
}

/// Most that several compute units gain.
pub(crate) fn units_gain(kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Count => 3.5,
        Kernel::Average => 3.8,
        Kernel::VectorAddition => 2.5,
        Kernel::ArrayMerge => 1.7,
    }
}

/// Number of units where that is reached: light kernels change little from there on.
pub(crate) fn units_of_gain(kernel: Kernel) -> u32 {
    match kernel {
        Kernel::Count | Kernel::Average | Kernel::VectorAddition => 5,
        Kernel::ArrayMerge => UNITS_MAX,
    }
}

/// Gain of all that helps a kernel.
pub(crate) fn whole_gain(kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Count => 3.5,
        Kernel::Average => 3.8,
        Kernel::VectorAddition => 28.6,
        Kernel::ArrayMerge => 9.0,
    }
}

/// The drive against one core of the host: clock in GHz, and how many times as fast.
pub(crate) fn against_host(kernel: Kernel) -> &'static [(f64, f64)] {
    match kernel {
        Kernel::Count | Kernel::VectorAddition => &[],
        Kernel::Average => &[(0.8, 10.1)],
        Kernel::ArrayMerge => &[(0.8, 0.36), (4.7, 0.06)],
    }
}
