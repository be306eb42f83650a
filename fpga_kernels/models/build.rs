// SPDX-License-Identifier: Apache-2.0
//! Compiles the HLS sources, their portable stand-ins and the shim with the machine's C++ compiler.
//!
//! With `NEARSCAN_STATIC_RUNTIME` set, a program that links them has the runtimes of C++ and of the
//! compiler in it, for machines that have neither.

use std::{path::Path, process::Command};

fn main() {
    let hls = Path::new("../hls");
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
    println!("cargo::rerun-if-env-changed=NEARSCAN_STATIC_RUNTIME");
    if environment("NEARSCAN_STATIC_RUNTIME").is_some() {
        let compiler = cc::Build::new().cpp(true).get_compiler().to_command();
        let folder = environment("OUT_DIR").expect("cargo sets it");
        link_static_runtime(compiler, Path::new(&folder));
    }
}

/// Puts files in front of the shared libraries that send the linker to the static ones.
fn link_static_runtime(mut compiler: Command, folder: &Path) {
    let output = compiler.arg("-print-file-name=libstdc++.a").output().expect("the compiler runs");
    let cpp = String::from_utf8(output.stdout).expect("a path");
    let scripts = [("libstdc++.so", cpp.trim()), ("libgcc_s.so", "-lgcc_eh -lgcc")];
    for (library, inputs) in scripts {
        let script = format!("INPUT({inputs})\n");
        std::fs::write(folder.join(library), script).expect("cargo's folder is writable");
    }
    println!("cargo::rustc-link-search=native={}", folder.display());
}

fn environment(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "cargo speaks to a build script this way")]
    let value = std::env::var(name);
    value.ok()
}
