// SPDX-License-Identifier: Apache-2.0
//! Lists and names the builds of the study's kernels that the tables need.

use nearscan_emulator::timing::study::{Build, Kernel, Pipelining};

use crate::study::{BEST_BUFFER_BYTES, UNITS_MAX};

const KIB: u64 = 1024;

/// Sizes of the buffer in the sweep, in bytes: 1 KiB to 1 MiB.
pub fn sweep_bytes() -> impl Iterator<Item = u64> + Clone {
    (0..=10).map(|power| KIB << power)
}

/// A loop over global memory, on one unit.
#[must_use]
pub fn plain(kernel: Kernel) -> Build {
    Build { kernel, buffer_bytes: None, units: 1, pipelining: Pipelining::Default }
}

/// A loop over blocks in a buffer of so many bytes, on one unit.
#[must_use]
pub fn buffered(kernel: Kernel, bytes: u64) -> Build {
    Build { buffer_bytes: Some(bytes), ..plain(kernel) }
}

/// The form whose compute units the study counts up: with a buffer where that helps. Which form it
/// was is assumed.
#[must_use]
pub fn best(kernel: Kernel, units: u32) -> Build {
    let form = match kernel {
        Kernel::Count | Kernel::Average => plain(kernel),
        Kernel::VectorAddition | Kernel::ArrayMerge => buffered(kernel, BEST_BUFFER_BYTES),
    };
    Build { units, ..form }
}

/// The same with the pragma for pipelines.
#[must_use]
pub fn pipelined(build: Build) -> Build {
    Build { pipelining: Pipelining::Requested, ..build }
}

/// All builds that the tables need, each once.
#[must_use]
pub fn all() -> Vec<Build> {
    let mut builds = Vec::new();
    for kernel in Kernel::ALL {
        let forms = [plain(kernel), best(kernel, 1)];
        builds.extend(forms);
        builds.extend(forms.map(pipelined));
        builds.push(buffered(kernel, BEST_BUFFER_BYTES));
        builds.extend((1..=UNITS_MAX).map(|units| best(kernel, units)));
    }
    for units in [1, UNITS_MAX] {
        let sized = |bytes| Build { units, ..buffered(Kernel::VectorAddition, bytes) };
        builds.extend(sweep_bytes().map(sized));
    }
    let mut seen = std::collections::HashSet::new();
    builds.retain(|build| seen.insert(*build));
    builds
}

/// Describes a build in words.
#[must_use]
pub fn describe(build: Build) -> String {
    let Build { kernel, buffer_bytes, units, pipelining } = build;
    let mut text = kernel.to_string();
    if let Some(bytes) = buffer_bytes {
        text.push_str(&format!(", buffer of {}", describe_bytes(bytes)));
    }
    text.push_str(&format!(", {}", describe_units(units)));
    match pipelining {
        Pipelining::Default => {}
        Pipelining::Requested => text.push_str(", pipelined"),
    }
    text
}

/// A number of units, for people.
pub(crate) fn describe_units(units: u32) -> String {
    if units == 1 { "1 unit".to_owned() } else { format!("{units} units") }
}

/// A size of a buffer, for people.
#[must_use]
pub fn describe_bytes(bytes: u64) -> String {
    if bytes >= KIB * KIB {
        format!("{} MiB", bytes / KIB / KIB)
    } else {
        format!("{} KiB", bytes / KIB)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn each_build_is_listed_once() {
        let builds = all();
        // Two forms of four kernels, two of which are one form; each with the pragma.
        let pipelines = 4 * 4 - 2 * 2;
        // One unit, or the buffer of a kernel that goes without, are among those above.
        let (units, buffers) = (4 * 14, 2);
        // All sizes but 256 KiB, for one unit and for fifteen.
        let sweeps = 2 * 10;
        assert_eq!(builds.len(), pipelines + units + buffers + sweeps);
    }

    #[rstest]
    #[case(plain(Kernel::Count), "Count, 1 unit")]
    #[case(best(Kernel::ArrayMerge, 15), "Array Merge, buffer of 256 KiB, 15 units")]
    #[case(pipelined(plain(Kernel::Average)), "Average, 1 unit, pipelined")]
    #[case(buffered(Kernel::VectorAddition, 1 << 20), "Vector Addition, buffer of 1 MiB, 1 unit")]
    fn description_names_kernel_buffer_and_units(#[case] build: Build, #[case] name: &str) {
        assert_eq!(describe(build), name);
    }
}
