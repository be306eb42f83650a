// SPDX-License-Identifier: Apache-2.0
//! Checks that the bench measures every way in turn by the clock that it is given.

use std::{cell::Cell, time::Duration};

use nearscan_io::bench::{self, Case, Mode, Order, Peer, Plan};

use crate::helpers::{Sample, has_ring};

#[test]
fn each_way_has_the_rate_that_the_clock_gives() {
    if !has_ring() {
        let test = "bench::each_way_has_the_rate_that_the_clock_gives";
        nearscan_skip::skip(test, "there is no io_uring, or RLIMIT_MEMLOCK is small");
        return;
    }
    let sample = Sample::new(1 << 20);
    let ticks = Cell::new(0);
    // A second passes between two looks.
    let clock = || {
        ticks.set(ticks.get() + 1);
        Duration::from_secs(ticks.get())
    };
    let case = |order| Case { block_bytes: 65_536, order, round_bytes: 1 << 19 };
    let plan = Plan {
        cases: vec![case(Order::Random), case(Order::Sequential)],
        depths: vec![1, 8],
        rounds: 3,
        fio: Peer::Never,
    };
    let table = bench::run(sample.file.path(), &plan, &clock).unwrap();
    assert!(!table.fio.is_on());
    assert!(table.ring.is_on());
    assert_eq!(table.rows.len(), 2 * (2 + 3 * 2));
    for row in &table.rows {
        assert_eq!((row.bytes_per_second, row.rounds.len()), (1 << 19, 3), "{row:?}");
    }
    assert_eq!((table.rows[0].mode, table.rows[0].depth), (Mode::Sync, 1));
}
