// SPDX-License-Identifier: Apache-2.0
//! Tests that a stream that is dropped after any number of polls leaks nothing.

use std::{task::Poll, time::Duration};

use futures::StreamExt;
use nearscan::QueryStream;
use nearscan_faults::{
    Baseline, Bench, Case, Data, Setting,
    cases::{MERGES, RowOrder},
};
use rstest::rstest;

use crate::{block_on, data, prepare};

/// Rows of a batch: small, so that there are many polls.
const BATCH_ROWS: usize = 512;

/// Polls of a query at most; one that needs more does not end.
const POLLS_MAX: usize = 5000;

/// Time for a unit: whether what hangs is given up or dropped, it has to go.
const TIMEOUT: Duration = Duration::from_millis(50);

/// Every command hangs.
const HANGS: &str = "hang:1";

/// Some hang, some are slow, and the drive is lost twice.
const SEVERAL: &str = "hang:0.3,slow:0.5,back@2,reset@3";

const SCAN: Case = Case {
    name: "scan",
    sql: "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 4",
    query: None,
    order: RowOrder::Partial,
};

const AGGREGATE: Case = Case {
    name: "aggregate",
    sql: "SELECT l_shipmode, count(*), sum(l_quantity) FROM lineitem \
          WHERE l_shipdate < DATE '1997-01-01' GROUP BY l_shipmode",
    query: None,
    order: RowOrder::Partial,
};

/// One side of the join comes from the drive, the other is made on the host.
const MIXED: Case = Case {
    name: "mixed",
    sql: "SELECT l_orderkey, l_linenumber, value FROM lineitem \
          JOIN generate_series(1, 60000) ON value = l_orderkey WHERE l_quantity < 4",
    query: None,
    order: RowOrder::Partial,
};

/// The state of a stream after a number of polls.
#[derive(Debug, PartialEq, Eq)]
enum Polled {
    /// It has ended.
    Ended,
    /// It was left after that many polls.
    Left,
}

/// Polls a stream so many times, and drops it.
async fn poll_times(mut stream: QueryStream, polls: usize) -> Polled {
    let mut left = polls;
    std::future::poll_fn(move |context| {
        while left > 0 {
            left -= 1;
            match stream.poll_next_unpin(context) {
                Poll::Ready(None) => return Poll::Ready(Polled::Ended),
                Poll::Ready(Some(batch)) => assert!(batch.unwrap().num_rows() > 0),
                Poll::Pending if left > 0 => return Poll::Pending,
                Poll::Pending => {}
            }
        }
        Poll::Ready(Polled::Left)
    })
    .await
}

/// Drops a case after each number of polls, on one engine after the other.
async fn drop_everywhere(data: &Data, case: Case, setting: &Setting, baseline: &Baseline) {
    let mut ended = None;
    for polls in 0..POLLS_MAX {
        let bench = Bench::open(data, setting).await.unwrap();
        let stream = bench.stream(&case).await.unwrap();
        let polled = poll_times(stream, polls).await;
        let leaks = baseline.after(bench).await;
        assert_eq!(leaks, [], "{} after {polls} polls", case.name);
        if polled == Polled::Ended {
            ended = Some(polls);
            break;
        }
    }
    assert!(ended.is_some_and(|polls| polls > 2), "{} ended after {ended:?} polls", case.name);
}

#[rstest]
#[case::scan(SCAN, 1)]
#[case::aggregate(AGGREGATE, 4)]
#[case::merge(MERGES[0], 1)]
#[case::mixed(MIXED, 4)]
fn query_may_be_dropped_after_any_number_of_polls(#[case] case: Case, #[case] threads: usize) {
    block_on(async {
        let data = data().await;
        let (_, baseline) = prepare(&data, case).await;
        let usual = Setting { threads, ..Setting::forced("") };
        drop_everywhere(&data, case, &Setting { batch_rows: Some(BATCH_ROWS), ..usual }, &baseline)
            .await;
    });
}

#[test]
fn commands_of_a_dropped_query_are_counted_too() {
    let (counted, in_flight) = block_on(async {
        let data = data().await;
        let patient = Setting { timeout: Duration::from_secs(60), ..Setting::forced(HANGS) };
        let bench = Bench::open(&data, &patient).await.unwrap();
        let mut stream = bench.stream(&SCAN).await.unwrap();
        while bench.in_flight() == 0 {
            let polled = tokio::time::timeout(Duration::from_millis(1), stream.next()).await;
            assert!(polled.is_err(), "it hangs");
        }
        drop(stream);
        let counted = bench.counted().await;
        (counted, bench.in_flight())
    });
    assert!(counted.submitted > 0);
    assert_eq!((counted.struck, in_flight), (counted.submitted, 0));
}

/// Batches are as large as usual, so that most polls are those of waiting for a drive.
#[rstest]
#[case::scan(SCAN, 4, HANGS)]
#[case::scan_of_several(SCAN, 1, SEVERAL)]
#[case::aggregate(AGGREGATE, 1, HANGS)]
#[case::aggregate_of_several(AGGREGATE, 4, SEVERAL)]
#[case::merge(MERGES[0], 4, HANGS)]
#[case::merge_of_several(MERGES[0], 1, SEVERAL)]
#[case::mixed(MIXED, 1, HANGS)]
#[case::mixed_of_several(MIXED, 4, SEVERAL)]
fn query_may_be_dropped_while_its_drive_hangs(
    #[case] case: Case,
    #[case] threads: usize,
    #[case] faults: &str,
) {
    block_on(async {
        let data = data().await;
        let (_, baseline) = prepare(&data, case).await;
        let setting = Setting { threads, timeout: TIMEOUT, ..Setting::forced(faults) };
        drop_everywhere(&data, case, &setting, &baseline).await;
    });
}
