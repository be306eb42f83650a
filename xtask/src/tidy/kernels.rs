// SPDX-License-Identifier: Apache-2.0
//! Checks that every kernel in HLS C++ and module in SystemVerilog has a test bench.

use std::collections::HashSet;

use super::{Finding, Source};

/// `scan_top.cpp` has `scan_tb.cpp` beside it, or its folder has one bench of the folder's name for
/// all kernels (`study/study_tb.cpp`); a module `ns_x.sv` under `rtl` has a bench `tb_ns_x`.
///
/// Packages (`*_pkg.sv`) hold no behaviour and need none.
pub(super) fn test_benches(sources: &[Source]) -> Vec<Finding> {
    let paths: HashSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let names: HashSet<&str> = sources.iter().map(Source::file_name).collect();
    let mut findings = Vec::new();
    for source in sources {
        if let Some(kernel) = source.path.strip_suffix("_top.cpp") {
            let bench = format!("{kernel}_tb.cpp");
            let folder = source.folder();
            let name = folder.rsplit_once('/').map_or(folder, |(_, name)| name);
            let shared = format!("{folder}/{name}_tb.cpp");
            if !paths.contains(bench.as_str()) && !paths.contains(shared.as_str()) {
                findings.push(Finding::in_file(source, format!("has no test bench {bench}")));
            }
        }
        if let Some(module) = rtl_module(source) {
            let has_bench = ["sv", "cpp"]
                .iter()
                .any(|extension| names.contains(format!("tb_{module}.{extension}").as_str()));
            if !has_bench {
                let message = format!("has no test bench tb_{module}.sv or tb_{module}.cpp");
                findings.push(Finding::in_file(source, message));
            }
        }
    }
    findings
}

/// The name of the module that a file under `fpga_kernels/rtl` holds, if it holds one.
fn rtl_module(source: &Source) -> Option<&str> {
    if !source.path.starts_with("fpga_kernels/rtl/") {
        return None;
    }
    let module = source.file_name().strip_suffix(".sv")?;
    (!module.starts_with("tb_") && !module.ends_with("_pkg")).then_some(module)
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    #[test]
    fn wants_a_bench_beside_every_kernel() {
        let top = ("fpga_kernels/hls/scan_top.cpp", "");
        let missing =
            "fpga_kernels/hls/scan_top.cpp: has no test bench fpga_kernels/hls/scan_tb.cpp";
        assert_eq!(findings(test_benches, &[top]), [missing]);
        assert_eq!(findings(test_benches, &[top, ("elsewhere/scan_tb.cpp", "")]), [missing]);
        assert!(findings(test_benches, &[top, ("fpga_kernels/hls/scan_tb.cpp", "")]).is_empty());
    }

    #[test]
    fn takes_one_bench_for_all_kernels_of_a_folder() {
        let tops = [("hls/study/count_top.cpp", ""), ("hls/study/average_top.cpp", "")];
        assert_eq!(findings(test_benches, &tops).len(), 2);
        let with = |bench| [tops[0], tops[1], (bench, "")];
        assert!(findings(test_benches, &with("hls/study/study_tb.cpp")).is_empty());
        assert_eq!(findings(test_benches, &with("hls/scan/study_tb.cpp")).len(), 2);
        assert_eq!(findings(test_benches, &with("hls/study/other_tb.cpp")).len(), 2);
    }

    #[test]
    fn wants_a_bench_for_every_rtl_module() {
        let module = ("fpga_kernels/rtl/ns_queue.sv", "");
        let package = ("fpga_kernels/rtl/ns_types_pkg.sv", "");
        assert_eq!(
            findings(test_benches, &[module, package]),
            ["fpga_kernels/rtl/ns_queue.sv: has no test bench tb_ns_queue.sv or tb_ns_queue.cpp"]
        );
        let bench = ("fpga_kernels/rtl/test/tb_ns_queue.sv", "");
        assert!(findings(test_benches, &[module, package, bench]).is_empty());
    }
}
