// SPDX-License-Identifier: Apache-2.0
//! Compiles the HLS sources, their portable stand-ins and the shim with the machine's C++ compiler.

fn main() {
    let hls = std::path::Path::new("../hls");
    println!("cargo::rerun-if-changed=../hls");
    println!("cargo::rerun-if-changed=shim");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // The kernels are the emulated drive's hardware: slow ones make every debug run slow. These
        // flags are some percent faster than -O3, which makes loops too large.
        .opt_level(2)
        .flag_if_supported("-ftree-slp-vectorize")
        .flag_if_supported("-fpeel-loops")
        .flag_if_supported("-fno-math-errno")
        // Pragmas and loop labels are for the synthesis tool.
        .flag_if_supported("-Wno-unknown-pragmas")
        .flag_if_supported("-Wno-unused-label")
        // The high half of a word is read only where the word is wide, which g++ does not follow.
        .flag_if_supported("-Wno-maybe-uninitialized")
        .include(hls)
        .file("shim/shim.cpp")
        .file("shim/study.cpp")
        .file("shim/fast.cpp")
        .file(hls.join("portable/dataflow.cpp"))
        .compile("nearscan_kernels");
}
