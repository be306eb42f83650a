// SPDX-License-Identifier: Apache-2.0
//! The target `files` under libFuzzer.
#![no_main]

// libFuzzer's own hook ends the process at each panic. One in a library that the engine makes an
// error of is none of ours; one that gets out of the target still ends it.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))),
    |bytes: &[u8]| {
        nearscan_targets::files(bytes);
    }
);
