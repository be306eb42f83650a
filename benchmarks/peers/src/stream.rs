// SPDX-License-Identifier: Apache-2.0
//! Measures how long threads take to read memory from its first byte to its last.

use std::{hint::black_box, thread, time::Duration};

use nearscan_drive::clock::Stopwatch;

/// The time in which `threads` threads read `bytes` bytes, each a part of its own.
pub(crate) fn read(bytes: usize, threads: usize) -> Duration {
    // Pages of zeros that were never written may all be the same one, which is in the cache.
    let words = vec![1_u64; bytes / size_of::<u64>()];
    let part = words.len().div_ceil(threads.max(1)).max(1);
    let start = Stopwatch::start();
    thread::scope(|scope| {
        for words in words.chunks(part) {
            let sum = || words.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
            scope.spawn(move || black_box(sum()));
        }
    });
    start.elapsed()
}
