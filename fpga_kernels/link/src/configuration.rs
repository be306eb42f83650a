// SPDX-License-Identifier: Apache-2.0
//! Writes the linker's configurations, with the number of units of each kernel and the banks of
//! their ports, and the command lines of `v++`.
//!
//! Beside the images there is one for each kernel of the SmartSSD study and of the fast set, 1 to
//! 15 times, each with its one port on the drive's one bank. None is committed: whoever needs them
//! has them written.

use std::fmt::Write;

use crate::description::{BANK, BUNDLES, ImageDescription, Kernel, PLATFORM, PORTS_MAX};

/// The sets of kernels: `ns_SET_NAME` in `fpga_kernels/hls/SET/NAME_top.cpp`.
pub const SETS: &[&str] = &["study", "fast"];

/// The kernels of each set.
pub const SET_KERNELS: [&str; 4] = ["count", "average", "vector_addition", "array_merge"];

/// The bundle of all arguments of a kernel of a set, as the linker calls its port.
const SET_PORT: &str = "m_axi_memory";

/// A configuration: its name, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Relative to the folder that all are written to, with `/` between its parts.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// The configuration of each kernel of the sets and number of units. `marker` is what a generated
/// file says of itself.
pub fn of_sets(marker: &str) -> impl Iterator<Item = Configuration> {
    let kernels = SETS.iter().flat_map(|set| SET_KERNELS.iter().map(move |kernel| (set, kernel)));
    kernels.flat_map(move |(set, kernel)| {
        (1..=PORTS_MAX).map(move |units| Configuration {
            path: format!("{set}/{kernel}_{units}.cfg"),
            text: of_set(&format!("ns_{set}_{kernel}"), units, marker),
        })
    })
}

/// `name` is that of the kernel's function.
fn of_set(name: &str, units: u32, marker: &str) -> String {
    let mut text = opening(marker);
    // Writing to a string does not fail.
    let _ = writeln!(text, "nk={name}:{units}");
    for unit in 1..=units {
        let _ = writeln!(text, "sp={name}_{unit}.{SET_PORT}:{BANK}");
    }
    text
}

/// The configuration of an image.
pub fn of_image(image: &ImageDescription, marker: &str) -> Configuration {
    let mut text = opening(marker);
    for (kernel, count) in image.units {
        let names: Vec<String> = (1..=*count).map(|unit| kernel.unit_name(unit)).collect();
        let _ = writeln!(text, "nk={}:{count}:{}", kernel.name(), names.join("."));
        for (name, bundle) in names.iter().flat_map(|name| BUNDLES.map(|bundle| (name, bundle))) {
            let _ = writeln!(text, "sp={name}.m_axi_{bundle}:{BANK}");
        }
    }
    Configuration { path: format!("images/{}.cfg", image.name), text }
}

fn opening(marker: &str) -> String {
    format!("# SPDX-License-Identifier: Apache-2.0\n# {marker}\n[connectivity]\n")
}

/// The name of the file that describes a black box, in the folder of the black box.
pub fn black_box_file(name: &str) -> String {
    format!("{name}_blackbox.json")
}

/// The script of the HLS tool that adds the black boxes of a kernel; `None` for a kernel without.
/// They are below `folder`, a folder each: paths in a description begin there, so the tool goes
/// there.
pub fn black_box_script(kernel: Kernel, folder: &str, marker: &str) -> Option<String> {
    if kernel.black_boxes().is_empty() {
        return None;
    }
    let mut text =
        format!("# SPDX-License-Identifier: Apache-2.0\n# {marker}\nset nearscan_back [pwd]\n");
    for name in kernel.black_boxes() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "cd {{{folder}/{name}}}");
        let _ = writeln!(text, "add_files -blackbox {}", black_box_file(name));
    }
    text.push_str("cd $nearscan_back\n");
    Some(text)
}

/// The arguments of `v++` that compile a kernel into `object`. The HLS tool runs `script` before,
/// which [`black_box_script`] has written.
pub fn compile_arguments(
    image: &ImageDescription,
    kernel: Kernel,
    object: &str,
    script: Option<&str>,
) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["-c", "-t", "hw", "--platform", PLATFORM, "-k", kernel.name(), "-I", "fpga_kernels/hls"]
            .map(str::to_owned)
            .into();
    if kernel == Kernel::Scan {
        arguments.push(format!("-DNS_LANES={}", image.lanes));
    }
    if let Some(script) = script {
        arguments.extend(["--hls.pre_tcl".to_owned(), script.to_owned()]);
    }
    arguments.extend(["-o".to_owned(), object.to_owned()]);
    arguments.push(format!("fpga_kernels/hls/{}", kernel.source()));
    arguments
}

/// The arguments of `v++` that link `objects` into `file`, as the file `configuration` says.
pub fn link_arguments(configuration: &str, objects: &[String], file: &str) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["-l", "-t", "hw", "--platform", PLATFORM, "--config", configuration, "-o", file]
            .map(str::to_owned)
            .into();
    arguments.extend_from_slice(objects);
    arguments
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_unit_has_its_port_on_the_bank() {
        let expected = "# SPDX-License-Identifier: Apache-2.0\n# marker\n\
             [connectivity]\n\
             nk=ns_study_count:2\n\
             sp=ns_study_count_1.m_axi_memory:DDR[0]\n\
             sp=ns_study_count_2.m_axi_memory:DDR[0]\n";
        assert_eq!(of_set("ns_study_count", 2, "marker"), expected);
    }

    #[test]
    fn every_kernel_of_a_set_has_a_configuration_for_each_number_of_units() {
        let mut all: Vec<Configuration> = of_sets("marker").collect();
        let found = |path: &str| all.iter().find(|found| found.path == path).unwrap();
        assert_eq!(found("study/count_2.cfg").text, of_set("ns_study_count", 2, "marker"));
        for configuration in &all {
            let stem = configuration.path.strip_suffix(".cfg").unwrap().replace('/', "_");
            let (kernel, units) = stem.rsplit_once('_').unwrap();
            let of_kernel = of_set(&format!("ns_{kernel}"), units.parse().unwrap(), "marker");
            assert_eq!(configuration.text, of_kernel, "{}", configuration.path);
            let ports = configuration.text.lines().filter(|line| line.starts_with("sp="));
            assert_eq!(ports.count().to_string(), units, "{}", configuration.path);
        }
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all.dedup_by(|one, other| one.path == other.path);
        assert_eq!(all.len(), 2 * 4 * 15);
    }

    #[test]
    fn image_names_its_units_and_places_their_ports() {
        let image = ImageDescription::of_name("smartssd_scan_merge").unwrap();
        let expected = "# SPDX-License-Identifier: Apache-2.0\n# marker\n\
             [connectivity]\n\
             nk=ns_scan:1:ns_scan_1\n\
             sp=ns_scan_1.m_axi_media:DDR[0]\n\
             sp=ns_scan_1.m_axi_memory:DDR[0]\n\
             nk=ns_merge:1:ns_merge_1\n\
             sp=ns_merge_1.m_axi_media:DDR[0]\n\
             sp=ns_merge_1.m_axi_memory:DDR[0]\n";
        assert_eq!(of_image(image, "marker").text, expected);
    }

    #[test]
    fn compiler_is_told_how_many_lanes_there_are_and_of_black_boxes() {
        let image = ImageDescription::of_name("smartssd_scan").unwrap();
        let arguments =
            compile_arguments(image, Kernel::Scan, "scan.xo", Some("scan.tcl")).join(" ");
        assert_eq!(
            arguments,
            "-c -t hw --platform xilinx_u2_gen3x4_xdma_gc_base_2 -k ns_scan -I fpga_kernels/hls \
             -DNS_LANES=7 --hls.pre_tcl scan.tcl -o scan.xo fpga_kernels/hls/scan/scan_top.cpp"
        );
        let linked = link_arguments("a.cfg", &["scan.xo".to_owned()], "a.xclbin").join(" ");
        assert_eq!(
            linked,
            "-l -t hw --platform xilinx_u2_gen3x4_xdma_gc_base_2 --config a.cfg -o a.xclbin scan.xo"
        );
    }

    #[test]
    fn script_adds_the_black_boxes_of_a_kernel() {
        assert_eq!(black_box_script(Kernel::Merge, "/a", "marker"), None);
        let expected = "# SPDX-License-Identifier: Apache-2.0\n# marker\n\
             set nearscan_back [pwd]\n\
             cd {/a/snappy_decoder}\n\
             add_files -blackbox snappy_decoder_blackbox.json\n\
             cd $nearscan_back\n";
        assert_eq!(black_box_script(Kernel::Scan, "/a", "marker").unwrap(), expected);
    }

    #[test]
    fn kernels_of_the_sets_have_that_name_and_that_one_port() {
        let root = Path::new("../hls");
        for (set, kernel) in SETS.iter().flat_map(|set| SET_KERNELS.map(|kernel| (set, kernel))) {
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
        assert!(record.contains(&format!("uint32_t UNITS_MAX = {PORTS_MAX};")));
    }
}
