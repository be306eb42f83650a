// SPDX-License-Identifier: Apache-2.0
//! The target `handlers` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nearscan_targets::handlers(bytes);
});
