// SPDX-License-Identifier: Apache-2.0
//! How many units of a kernel are linked, and where their ports go: the linker's configurations.
//!
//! A bitstream has one kernel of the SmartSSD study or of the fast set, 1 to 15 times, each with
//! its one port on the drive's one bank. The scan and merge kernels have none yet: nobody has
//! linked them.

use std::fmt::Write;

use super::{Generated, marker};

/// The sets of kernels: `ns_SET_NAME` in `fpga_kernels/hls/SET/NAME_top.cpp`.
const SETS: &[&str] = &["study", "fast"];

/// The kernels of each set.
const KERNELS: [&str; 4] = ["count", "average", "vector_addition", "array_merge"];

/// Ports of the bank, and units of a kernel, which take one each.
const UNITS_MAX: u32 = 15;

/// The bundle of all arguments, as the linker calls its port.
const PORT: &str = "m_axi_memory";

/// The drive's one bank. Assumed until a platform has been asked (`platforminfo`).
const BANK: &str = "DDR[0]";

/// A configuration for each kernel and number of units.
pub(super) fn configurations() -> impl Iterator<Item = Generated> {
    let kernels = SETS.iter().flat_map(|set| KERNELS.iter().map(move |kernel| (set, kernel)));
    kernels.flat_map(|(set, kernel)| {
        (1..=UNITS_MAX).map(move |units| Generated {
            path: format!("fpga_kernels/link/{set}/{kernel}_{units}.cfg"),
            text: configuration(&format!("ns_{set}_{kernel}"), units),
        })
    })
}

/// `name` is that of the kernel's function.
fn configuration(name: &str, units: u32) -> String {
    let mut text = format!(
        "# SPDX-License-Identifier: Apache-2.0\n# {}\n[connectivity]\nnk={name}:{units}\n",
        marker()
    );
    for unit in 1..=units {
        // Writing to a string does not fail.
        let _ = writeln!(text, "sp={name}_{unit}.{PORT}:{BANK}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    #[test]
    fn every_unit_has_its_port_on_the_bank() {
        assert_eq!(configurations().count(), 120);
        let expected = format!(
            "# SPDX-License-Identifier: Apache-2.0\n# {}\n\
             [connectivity]\n\
             nk=ns_study_count:2\n\
             sp=ns_study_count_1.m_axi_memory:DDR[0]\n\
             sp=ns_study_count_2.m_axi_memory:DDR[0]\n",
            marker()
        );
        assert_eq!(configuration("ns_study_count", 2), expected);
    }

    #[test]
    fn the_kernels_have_that_name_and_that_one_port() {
        let root = Project::open().unwrap().root().join("fpga_kernels/hls");
        for (set, kernel) in SETS.iter().flat_map(|set| KERNELS.map(|kernel| (set, kernel))) {
            let path = root.join(format!("{set}/{kernel}_top.cpp"));
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.contains(&format!("void ns_{set}_{kernel}(")), "{set}, {kernel}");
            let ports: Vec<&str> =
                text.lines().filter(|line| line.contains("mode = m_axi")).collect();
            assert!(!ports.is_empty(), "{set}, {kernel}");
            for port in ports {
                assert!(port.contains(" bundle = memory "), "{set}, {kernel}: {port}");
            }
        }
        let record = std::fs::read_to_string(root.join("study/record.hpp")).unwrap();
        assert!(record.contains(&format!("uint32_t UNITS_MAX = {UNITS_MAX};")));
    }
}
