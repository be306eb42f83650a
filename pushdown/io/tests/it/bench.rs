// SPDX-License-Identifier: Apache-2.0
//! Checks that the bench measures every way in turn by the clock that it is given.

use std::{cell::Cell, ops::ControlFlow, time::Duration};

use nearscan_io::{
    Error,
    bench::{self, Case, Mode, Order, Peer, Plan, Progress},
};

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
    let mut seen = Vec::new();
    let watch = &mut |progress: Progress| {
        seen.push((progress.done, progress.all));
        ControlFlow::Continue(())
    };
    let table = bench::run(sample.file.path(), &plan, &clock, watch).unwrap();
    let all = 2 * 3 * (2 + 3 * 2);
    assert_eq!(seen, (0..all).map(|done| (done, all)).collect::<Vec<_>>());
    assert!(!table.fio.is_on());
    assert!(table.ring.is_on());
    assert_eq!(table.rows.len(), 2 * (2 + 3 * 2));
    for row in &table.rows {
        assert_eq!((row.bytes_per_second, row.rounds.len()), (1 << 19, 3), "{row:?}");
    }
    assert_eq!((table.rows[0].mode, table.rows[0].depth), (Mode::Sync, 1));
}

#[test]
fn measurement_is_ended_before_its_next_turn() {
    let sample = Sample::new(1 << 20);
    let mut turns = 0;
    let watch = &mut |_: Progress| {
        turns += 1;
        if turns > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let clock = || Duration::ZERO;
    let case = Case { block_bytes: 4096, order: Order::Random, round_bytes: 4096 };
    let plan = Plan { cases: vec![case], fio: Peer::Never, ..Plan::default() };
    let ended = bench::run(sample.file.path(), &plan, &clock, watch);
    assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
    assert_eq!(turns, 2);
}
