// SPDX-License-Identifier: Apache-2.0
//! Tests a few queries under memory limits.

use nearscan_faults::{
    limits::{LIMITS_MIB, limited},
    tally::Tally,
};

use crate::{block_on, cases, data, prepare};

#[test]
fn with_little_memory_there_are_the_rows_or_an_error_about_memory() {
    let tally = block_on(async {
        let data = data().await;
        let mut tally = Tally::default();
        for (number, case) in cases("3,18,merges").into_iter().enumerate() {
            let (oracle, baseline) = prepare(&data, case).await;
            // Each limit is that of two queries.
            for limit in [number, number + 2].map(|at| LIMITS_MIB[at % LIMITS_MIB.len()]) {
                tally.limits.push(limited(&data, &baseline, &oracle, limit).await.unwrap());
            }
        }
        tally
    });
    assert!(tally.is_good(), "{tally}");
}
