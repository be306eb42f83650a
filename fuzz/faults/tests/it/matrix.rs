// SPDX-License-Identifier: Apache-2.0
//! The first units of a few queries, every kind of fault.

use nearscan_emulator::faults::Fault;
use nearscan_faults::tally::{MIXTURES, QUARANTINE, Tally};
use nearscan_faults::{Setting, walk};
use rstest::rstest;

use crate::{block_on, cases, data, prepare};

/// Units that are struck, of each query.
const PLACES: u64 = 2;

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
        for case in cases(list) {
            let (oracle, baseline) = prepare(&data, case).await;
            for (_, kind) in Fault::ALL {
                let runs = walk::singly(&data, &baseline, &oracle, kind, Some(PLACES)).await;
                let runs = runs.unwrap();
                assert!(!runs.is_empty(), "{kind} does not strike {}", case.name);
                runs.into_iter().for_each(|run| tally.add(kind, run));
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
fn a_fragment_that_always_fails_is_in_quarantine_until_the_drive_is_reset() {
    let run = block_on(async {
        let data = data().await;
        let (oracle, baseline) = prepare(&data, cases("6")[0]).await;
        walk::quarantine(&data, &baseline, &oracle).await.unwrap()
    });
    assert!(run.is_good(), "{run:?}");
    assert_eq!(run.quarantined, 1, "{run:?}");
}

#[test]
fn rows_that_differ_are_noticed() {
    let difference = block_on(async {
        let data = data().await;
        let [q6, q1] = cases("6,1").try_into().unwrap();
        let (oracle, baseline) = prepare(&data, q6).await;
        let bench = nearscan_faults::Bench::open(&data, &Setting::off()).await.unwrap();
        let answer = bench.run(&q1).await.unwrap();
        assert_eq!(baseline.after_query(&bench).await, []);
        oracle.difference(&answer.batches)
    });
    assert!(difference.unwrap().contains("columns instead of"));
}

#[test]
fn what_is_left_behind_is_noticed() {
    use nearscan::drive::{Drive, SessionSpec, Unlimited};
    use nearscan_faults::{Bench, Leak};

    let leaks = block_on(async {
        let data = data().await;
        let (_, baseline) = prepare(&data, cases("6")[0]).await;
        let bench = Bench::open(&data, &Setting::forced("")).await.unwrap();
        let spec = SessionSpec { query_id: 1, tenant: 0, budget: std::sync::Arc::new(Unlimited) };
        let session = bench.drive().open_session(spec).unwrap();
        let _lease = session.lease(4096).unwrap();
        let consumer = nearscan::datafusion::execution::memory_pool::MemoryConsumer::new("test");
        let reserved = consumer.register(&bench.engine().session().runtime_env().memory_pool);
        reserved.try_grow(100).unwrap();
        let _task = tokio::spawn(std::future::pending::<()>());
        let _file = std::fs::File::open("/proc/self/stat").unwrap();
        baseline.after(bench).await
    });
    let expected = [Leak::DeviceMemory, Leak::Pool(100), Leak::Tasks(1), Leak::Files(1)];
    assert_eq!(leaks, expected);
}
