// SPDX-License-Identifier: Apache-2.0
//! A few queries under limits of memory.

use nearscan_faults::limits::{LIMITS_MIB, limited};
use nearscan_faults::tally::Tally;

use crate::{block_on, cases, data, prepare};

#[test]
fn with_little_memory_there_are_the_rows_or_an_error_about_memory() {
    let tally = block_on(async {
        let data = data().await;
        let mut tally = Tally::default();
        for case in cases("3,18,merges") {
            let (oracle, baseline) = prepare(&data, case).await;
            for limit in LIMITS_MIB {
                tally.limits.push(limited(&data, &baseline, &oracle, limit).await.unwrap());
            }
        }
        tally
    });
    assert!(tally.is_good(), "{tally}");
}
