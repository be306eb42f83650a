// SPDX-License-Identifier: Apache-2.0
//! Tests the first units of a few queries with every kind of fault.

use std::{sync::Arc, time::Duration};

use nearscan::arrow::{
    array::{AsArray, Int32Array, RecordBatch},
    compute::concat_batches,
    datatypes::Int32Type,
};
use nearscan_emulator::faults::Fault;
use nearscan_faults::{
    Bench, Setting,
    oracle::Oracle,
    tally::{MIXTURES, QUARANTINE, Tally},
    walk,
};
use rstest::rstest;

use crate::{block_on, cases, data, prepare};

/// Commands among which the one is that a kind strikes: another one for each kind, in turn.
const PLACES: u64 = 4;

/// Mixtures of each query.
const MIXED: u64 = 2;

#[rstest]
#[case::aggregate("1")]
#[case::join("3")]
#[case::sum("6")]
#[case::merges("merges")]
fn every_fault_at_the_first_units_changes_no_row_and_leaves_nothing(#[case] list: &str) {
    let tally = block_on(async {
        let data = data().await;
        let mut tally = Tally::default();
        for (query, case) in cases(list).into_iter().enumerate() {
            let (oracle, baseline) = prepare(&data, case).await;
            let usual = walk::run(&data, &baseline, &oracle, &Setting::forced("")).await.unwrap();
            let places = usual.submitted.min(PLACES);
            for (number, (_, kind)) in Fault::ALL.iter().enumerate() {
                let place = (query + number) as u64 % places;
                let run = walk::at(&data, &baseline, &oracle, (kind, place)).await.unwrap();
                assert!(place < run.submitted, "{} has {} commands", case.name, run.submitted);
                tally.add(kind, run);
            }
            tally.add(QUARANTINE, walk::quarantine(&data, &baseline, &oracle).await.unwrap());
            for number in 0..MIXED {
                let run = walk::mixture(&data, &baseline, &oracle, (7, number)).await.unwrap();
                tally.add(MIXTURES, run);
            }
        }
        tally
    });
    assert!(tally.is_good(), "{tally}");
    for (kind, row) in tally.kinds.iter().filter(|(kind, _)| kind != MIXTURES) {
        // A drive that is slow delivers; what any other fault strikes, the host makes good, unless
        // a limit was reached before.
        assert_eq!(row.pushed_back > 0, kind != "slow", "{kind}: {tally}");
    }
}

#[test]
fn fragment_that_always_fails_is_in_quarantine_until_the_drive_is_reset() {
    let run = block_on(async {
        let data = data().await;
        let (oracle, baseline) = prepare(&data, cases("6")[0]).await;
        walk::quarantine(&data, &baseline, &oracle).await.unwrap()
    });
    assert!(run.is_good(), "{run:?}");
    assert_eq!(run.quarantined, 1, "{run:?}");
}

#[test]
fn walk_covers_every_command_and_ends_after_the_last() {
    block_on(async {
        let data = data().await;
        let (oracle, baseline) = prepare(&data, cases("6")[0]).await;
        let warm = walk::run(&data, &baseline, &oracle, &Setting::forced("")).await.unwrap();
        let runs = walk::singly(&data, &baseline, &oracle, "read_error").await.unwrap();
        assert_eq!((warm.submitted, runs.len()), (4, 4));
        for (place, run) in runs.iter().enumerate() {
            assert_eq!((run.faults.as_str(), run.struck), (&*format!("read_error@{place}"), 1));
        }
    });
}

/// There is no stored answer of TPC-H for these rows: every value is compared, in order.
#[test]
fn misplaced_or_wrong_row_of_a_merge_is_detected() {
    let (oracle, rows) = block_on(async {
        let data = data().await;
        let merge = cases("merges")[0];
        let bench = Bench::open(&data, &Setting::off()).await.unwrap();
        (Oracle::ask(&data, merge).await.unwrap(), bench.run(&merge).await.unwrap().batches)
    });
    let all = concat_batches(&rows[0].schema(), &rows).unwrap();
    assert_eq!(oracle.difference(std::slice::from_ref(&all)), None);
    let (count, at) = (all.num_rows(), all.num_rows() / 2);
    let parts = [(0, at), (at + 1, 1), (at, 1), (at + 2, count - at - 2)];
    let swapped = parts.map(|(start, length)| all.slice(start, length));
    assert!(oracle.difference(&swapped).unwrap().contains(" instead of "));
    // The number of the line in its order, the last key.
    let mut columns = all.columns().to_vec();
    let lines = all.column(2).as_primitive::<Int32Type>();
    let changed = lines.iter().enumerate().map(|(row, line)| match row == at {
        true => line.map(|line| line + 1),
        false => line,
    });
    columns[2] = Arc::new(changed.collect::<Int32Array>());
    let changed = RecordBatch::try_new(all.schema(), columns).unwrap();
    assert!(oracle.difference(&[changed]).unwrap().contains(" instead of "));
}

#[test]
fn different_rows_are_detected() {
    let difference = block_on(async {
        let data = data().await;
        let [q6, q1] = cases("6,1").try_into().unwrap();
        let (oracle, baseline) = prepare(&data, q6).await;
        let bench = Bench::open(&data, &Setting::off()).await.unwrap();
        let answer = bench.run(&q1).await.unwrap();
        assert_eq!(baseline.after_query(&bench).await, []);
        oracle.difference(&answer.batches)
    });
    assert!(difference.unwrap().contains("columns instead of"));
}

#[test]
fn leaks_are_detected() {
    use nearscan::drive::{Drive, SessionSpec, Unlimited};
    use nearscan_faults::Leak;

    let leaks = block_on(async {
        let data = data().await;
        let (_, baseline) = prepare(&data, cases("6")[0]).await;
        let bench = Bench::open(&data, &Setting::forced("")).await.unwrap();
        let spec = SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
        let session = bench.drive().open_session(spec).unwrap();
        let _lease = session.lease(4096).unwrap();
        let consumer = nearscan::datafusion::execution::memory_pool::MemoryConsumer::new("test");
        let reserved =
            consumer.register(&bench.engine().uncorrected_context().runtime_env().memory_pool);
        reserved.try_grow(100).unwrap();
        let _task = tokio::spawn(std::future::pending::<()>());
        let _file = std::fs::File::open("/proc/self/stat").unwrap();
        // None of it goes away by itself.
        baseline.with_patience(Duration::from_millis(100)).after(bench).await
    });
    let expected = [Leak::DeviceMemory, Leak::Pool(100), Leak::Tasks(1), Leak::Files(1)];
    assert_eq!(leaks, expected);
}
