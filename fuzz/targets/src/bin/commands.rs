// SPDX-License-Identifier: Apache-2.0
//! The target `commands` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nearscan_targets::commands(bytes);
});
