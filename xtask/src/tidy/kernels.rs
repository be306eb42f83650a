// SPDX-License-Identifier: Apache-2.0
//! Checks that every kernel in HLS C++ and module in SystemVerilog has a test bench.

use std::collections::HashSet;

use super::{Finding, Source};

/// `scan_top.cpp` has `scan_tb.cpp` beside it, or its folder has one bench of the folder's name for
/// all kernels (`study/study_tb.cpp`); a module `rtl/src/x.sv` has a bench `rtl/tests/x_tb.cpp`, or
/// is a part of another module, which has one.
///
/// Packages (`*_pkg.sv`) hold no behaviour and need none.
pub(super) fn test_benches(sources: &[Source]) -> Vec<Finding> {
    let paths: HashSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
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
            let bench = format!("fpga_kernels/rtl/tests/{module}_tb.cpp");
            let is_part = sources.iter().any(|other| instantiates(other, module));
            if !paths.contains(bench.as_str()) && !is_part {
                let message = format!("has no test bench {bench}, and is no part of a module");
                findings.push(Finding::in_file(source, message));
            }
        }
    }
    findings
}

/// The folder of the modules.
const RTL: &str = "fpga_kernels/rtl/src/";

/// The name of the module that a file under `fpga_kernels/rtl` holds, if it holds one.
fn rtl_module(source: &Source) -> Option<&str> {
    let module = source.path.strip_prefix(RTL)?.strip_suffix(".sv")?;
    (!module.ends_with("_pkg")).then_some(module)
}

/// Whether another module has an instance of `module`: a line that begins with its name.
fn instantiates(source: &Source, module: &str) -> bool {
    let begins = |line: &str| {
        let rest = line.trim_start().strip_prefix(module);
        rest.is_some_and(|rest| rest.starts_with([' ', '#']))
    };
    rtl_module(source).is_some_and(|own| own != module) && source.text.lines().any(begins)
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
        let module = ("fpga_kernels/rtl/src/queue.sv", "module queue ();");
        let package = ("fpga_kernels/rtl/src/types_pkg.sv", "");
        let missing = "fpga_kernels/rtl/src/queue.sv: has no test bench \
                       fpga_kernels/rtl/tests/queue_tb.cpp, and is no part of a module";
        assert_eq!(findings(test_benches, &[module, package]), [missing]);
        let bench = ("fpga_kernels/rtl/tests/queue_tb.cpp", "");
        assert!(findings(test_benches, &[module, package, bench]).is_empty());
        let user = ("fpga_kernels/rtl/src/user.sv", "  queue #(\n  ) i_queue (\n  );\n");
        let bench = ("fpga_kernels/rtl/tests/user_tb.cpp", "");
        assert!(findings(test_benches, &[module, user, bench]).is_empty());
        let other = ("fpga_kernels/rtl/src/user.sv", "  queue_of_rows i_queue ();\n");
        assert_eq!(findings(test_benches, &[module, other, bench]), [missing]);
    }
}
