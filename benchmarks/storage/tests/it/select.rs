// SPDX-License-Identifier: Apache-2.0
//! Tests the measurement of a SELECT.

use std::ops::ControlFlow;

use nearscan_storage::{
    Error,
    select::{Codec, LinkRate, Plan, run},
};
use rstest::rstest;

use crate::server;

#[rstest]
#[case::uncompressed(Codec::None)]
#[case::snappy(Codec::Snappy)]
fn pushed_select_moves_the_answer_alone(#[case] codec: Codec) {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan {
        rows: vec![150_000],
        selectivities: vec![0.001, 0.01, 1.0],
        links: vec![LinkRate::Fixed(50_000_000.try_into().unwrap()), LinkRate::HalfOfMedia],
        codec,
        rounds: 2,
        server: server(),
        folder: folder.path().to_owned(),
    };
    let mut seen = Vec::new();
    let report = run(&plan, &mut |progress| {
        seen.push((progress.done, progress.all));
        ControlFlow::Continue(())
    });
    let report = match report {
        Err(error @ Error::Binding { .. }) => {
            let reason = error.detail().unwrap_or_default();
            return nearscan_skip::skip("pushed_select_moves_the_answer_alone", &reason);
        }
        report => report.unwrap(),
    };
    assert_eq!(seen, (1..=12).map(|done| (done, 12)).collect::<Vec<_>>());
    for row in &report.rows {
        let [host, pushed] = row.received_bytes();
        // A row of the table has more than ten bytes, and more than the shares of the answer.
        assert!(host > 10.0 * 150_000.0, "{row:?}");
        assert!(row.selectivity > 0.5 || pushed < host / 10.0, "{row:?}");
        assert!(pushed > row.selectivity * 10.0 * 150_000.0, "{row:?}");
        assert!(row.scan_s() > 0.0 && row.bound_s() >= row.scan_s(), "{row:?}");
        assert!(row.pushed_s() > row.bound_s(), "{row:?}");
    }
    // The link holds the host up: it cannot have read the columns faster.
    let slow = &report.rows[0];
    assert!(slow.host_s() > slow.received_bytes()[0] / 50e6 * 0.8, "{slow:?}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn select_is_cancelled_with_its_next_pair() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan {
        rows: vec![1000],
        selectivities: vec![0.5],
        links: vec![LinkRate::STUDY],
        codec: Codec::None,
        rounds: 3,
        server: server(),
        folder: folder.path().to_owned(),
    };
    match run(&plan, &mut |_| ControlFlow::Break(())) {
        Err(Error::Binding { .. }) => {
            nearscan_skip::skip("select_is_cancelled_with_its_next_pair", "one processor");
        }
        cancelled => assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}"),
    }
}
