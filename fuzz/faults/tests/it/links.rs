// SPDX-License-Identifier: Apache-2.0
//! Tests a query whose drive is behind a link that breaks: messages are the last ones, or late.

use std::time::Duration;

use nearscan_faults::{tally::Tally, walk};
use nearscan_links::{Direction, Fault};
use rstest::rstest;

use crate::{block_on, cases, data, prepare};

/// Messages that are struck one after the other.
const DENSE: u64 = 2;

/// The same over objects, where the first messages describe the table, and not its units.
const DENSE_OF_OBJECTS: u64 = 24;

/// What the tables are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tables {
    Files,
    Objects,
}

/// A message that is late by this much is waited for.
const LATE: Fault = Fault::IsLate(Duration::from_millis(200));

/// A link that falls silent does so in both directions; over objects it is tried in one, for the
/// engine waits for its usual time then.
#[rstest]
#[case(Fault::Closes, Direction::ToServer, Tables::Files)]
#[case(Fault::Closes, Direction::ToClient, Tables::Files)]
#[case(Fault::Closes, Direction::ToServer, Tables::Objects)]
#[case(Fault::Closes, Direction::ToClient, Tables::Objects)]
#[case(Fault::FallsSilent, Direction::ToServer, Tables::Files)]
#[case(Fault::FallsSilent, Direction::ToClient, Tables::Files)]
#[case(Fault::FallsSilent, Direction::ToClient, Tables::Objects)]
#[case(LATE, Direction::ToServer, Tables::Files)]
#[case(LATE, Direction::ToClient, Tables::Objects)]
fn query_behind_a_link_that_breaks_is_right_or_names_the_server(
    #[case] fault: Fault,
    #[case] direction: Direction,
    #[case] tables: Tables,
) {
    let tally = block_on(async {
        let data = data().await;
        let (oracle, _) = prepare(&data, cases("6")[0]).await;
        let folder = tempfile::tempdir().unwrap();
        let (store, dense) = match tables {
            Tables::Files => (None, DENSE),
            Tables::Objects => {
                (Some(data.store(&folder.path().join("store")).unwrap()), DENSE_OF_OBJECTS)
            }
        };
        let baseline = nearscan_faults::Baseline::take();
        let how = (fault, direction, store.as_ref());
        let runs = walk::messages(&data, &baseline, &oracle, how, dense).await.unwrap();
        assert!(runs.len() > 3, "only {} messages were struck", runs.len());
        let mut tally = Tally::default();
        for run in runs {
            tally.add("link", run);
        }
        tally
    });
    assert!(tally.is_good(), "{tally}");
    let (total, is_late) = (tally.total(), fault == LATE);
    assert_eq!(total.pushed_back > 0, !is_late, "{tally}");
    // Files are here too: the host reads them, and objects only as long as there is a server.
    assert_eq!(total.errors > 0, tables == Tables::Objects && !is_late, "{tally}");
}
