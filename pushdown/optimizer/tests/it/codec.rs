// SPDX-License-Identifier: Apache-2.0
//! Tests the codec: a decoded plan has the same text and fragment, and returns the same rows, with
//! the drive and without.

use std::sync::Arc;

use datafusion::{
    physical_plan::{ExecutionPlan, collect},
    prelude::SessionContext,
};
use datafusion_proto::{
    bytes::{
        physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
    },
    physical_plan::{DefaultPhysicalProtoConverter, PhysicalExtensionCodec},
};
use nearscan_drive::{Capabilities, Drives};
use nearscan_optimizer::{PushdownCodec, PushdownExec};
use rstest::rstest;

use crate::{
    bench::{Bench, Run, pushed, shown, texts},
    drive::Fake,
    files,
};

/// The plan after a journey.
pub(crate) fn travelled(
    plan: &Arc<dyn ExecutionPlan>,
    session: &SessionContext,
) -> Arc<dyn ExecutionPlan> {
    let codec = PushdownCodec;
    let bytes = physical_plan_to_bytes_with_extension_codec(Arc::clone(plan), &codec).unwrap();
    let task = session.task_ctx();
    physical_plan_from_bytes_with_extension_codec(&bytes, &task, &codec).unwrap()
}

/// A bench with `lineitem` as a table whose order is declared.
fn with_order(bench: Bench) -> Bench {
    let location = bench.path("lineitem.parquet").display().to_string();
    bench.sql(format!(
        "CREATE EXTERNAL TABLE ordered STORED AS PARQUET WITH ORDER (l_orderkey) LOCATION \
         '{location}'"
    ))
}

fn ours(plan: &Arc<dyn ExecutionPlan>) -> Vec<PushdownExec> {
    let execs = pushed(plan);
    execs.iter().filter_map(|exec| exec.downcast_ref::<PushdownExec>()).cloned().collect()
}

#[rstest]
#[case::states("SELECT count(*), avg(l_quantity) FROM lineitem WHERE l_quantity < 24")]
#[case::groups(
    "SELECT l_returnflag, sum(l_extendedprice * (1 - l_discount)) FROM lineitem \
     WHERE l_shipmode IN ('MAIL', 'SHIP') GROUP BY l_returnflag ORDER BY 1"
)]
#[case::rows(
    "SELECT l_comment, l_orderkey + 1, l_code IS NULL FROM lineitem WHERE l_tax < 0.02 ORDER BY 1"
)]
#[case::fetch("SELECT count(*) FROM (SELECT l_code FROM lineitem WHERE l_tax < 0.02 LIMIT 11)")]
#[case::conjuncts_that_stay(
    "SELECT l_comment FROM lineitem WHERE l_tax < 0.03 AND l_comment ILIKE '%77' ORDER BY 1"
)]
#[case::dynamic_filter(
    "SELECT l_comment, o_custkey FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
     WHERE o_custkey = 7 AND l_tax > 0.02 ORDER BY 1"
)]
#[case::top_k(
    "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 20 ORDER BY 1, 2 LIMIT 3"
)]
#[case::folders("SELECT part, o_custkey, count(*) FROM parts GROUP BY 1, 2 ORDER BY 1, 2")]
#[case::merge("SELECT l_orderkey FROM ordered UNION SELECT l_orderkey FROM ordered ORDER BY 1")]
#[tokio::test]
async fn decoded_plan_is_the_same(#[case] sql: &str) {
    let bench = files::with_partitions(with_order(Bench::with_drive(Fake::new(Capabilities {
        merge_inputs_max: 3,
        ..Capabilities::of_scan_kernel()
    }))));
    let session = bench.pushing().await;
    let sent = crate::bench::plan_of(&session, sql).await;
    let arrived = travelled(&sent, &session);
    assert_eq!(shown(&arrived), shown(&sent));
    let (sent_execs, arrived_execs) = (ours(&sent), ours(&arrived));
    assert!(!sent_execs.is_empty() && sent_execs.len() == arrived_execs.len());
    for (before, after) in sent_execs.iter().zip(&arrived_execs) {
        assert_eq!(after.fragment(), before.fragment());
        assert_eq!(after.schema(), before.schema());
        assert_eq!(after.unit_count(), before.unit_count());
        assert_eq!(after.fetch(), before.fetch());
        assert_eq!(shown(after.replaced()), shown(before.replaced()));
        let partitions = |exec: &PushdownExec| exec.properties().partitioning.partition_count();
        assert_eq!(partitions(after), partitions(before));
    }
    let expected = bench.expected(sql).await;
    let batches = collect(Arc::clone(&arrived), session.task_ctx()).await.unwrap();
    assert_eq!(texts(&batches), expected);
    let run = Run { rows: expected, plan: arrived };
    assert_eq!(run.pushbacks(), []);
    assert_eq!(run.metric("units_drive"), bench.drive.row_groups().len());
}

#[rstest]
#[case::states("SELECT count(*), avg(l_quantity) FROM lineitem WHERE l_quantity < 24")]
#[case::rows("SELECT l_comment, l_orderkey + 1 FROM lineitem WHERE l_tax < 0.02 ORDER BY 1")]
#[case::join(
    "SELECT l_comment, o_custkey FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
     WHERE o_custkey = 7 AND l_tax > 0.02 ORDER BY 1"
)]
#[tokio::test]
async fn decoded_plan_without_its_drive_runs_on_the_host(#[case] sql: &str) {
    let bench = Bench::new();
    let sent = bench.plan(sql).await;
    let unused = Arc::new(Fake::new(Capabilities::of_scan_kernel()));
    let without = Bench::with_drives(unused, Drives::default(), None);
    let elsewhere = without.host().await;
    let arrived = travelled(&sent, &elsewhere);
    let batches = collect(Arc::clone(&arrived), elsewhere.task_ctx()).await.unwrap();
    assert_eq!(texts(&batches), bench.expected(sql).await);
    let units = ours(&arrived).iter().map(PushdownExec::unit_count).sum();
    let run = Run { rows: Vec::new(), plan: arrived };
    assert_eq!(run.pushbacks(), [("pushback_fault".to_owned(), units)]);
}

/// The other machine chooses the reader itself.
#[rstest]
#[case::scan("SELECT l_comment, l_tax FROM lineitem WHERE l_quantity < 4 ORDER BY 1, 2")]
#[case::states("SELECT l_returnflag, sum(l_tax) FROM lineitem GROUP BY 1 ORDER BY 1")]
#[case::join_keys(
    "SELECT count(l_comment) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
     WHERE o_custkey < 3"
)]
#[tokio::test]
async fn decoded_fused_scan_is_the_plan_that_it_replaces(#[case] sql: &str) {
    let bench = Bench::new().set("nearscan.pushdown.mode", "off");
    let session = bench.fused().await;
    let sent = crate::bench::plan_of(&session, sql).await;
    assert_eq!(shown(&sent).contains("JoinKeysExec"), sql.contains("JOIN"));
    let arrived = travelled(&sent, &session);
    let text = shown(&arrived);
    assert!(text.contains("DataSourceExec"), "{text}");
    assert!(!text.contains("FusedScanExec") && !text.contains("JoinKeysExec"), "{text}");
    assert_eq!(arrived.schema(), sent.schema());
    let batches = collect(arrived, session.task_ctx()).await.unwrap();
    assert_eq!(texts(&batches), bench.expected(sql).await);
}

/// Keys are of one run on one machine.
#[tokio::test]
async fn decoded_scan_on_a_drive_has_no_keys() {
    let bench = Bench::new();
    let session = bench.fused().await;
    let sql = "SELECT count(l_comment) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
               WHERE o_custkey < 3";
    let sent = crate::bench::plan_of(&session, sql).await;
    let text = shown(&sent);
    assert!(text.contains("JoinKeysExec") && text.contains("join_keys=[l_orderkey]"), "{text}");
    let arrived = travelled(&sent, &session);
    let text = shown(&arrived);
    assert!(!text.contains("JoinKeysExec") && !text.contains("join_keys"), "{text}");
    assert!(text.contains("PushdownExec"), "{text}");
    let batches = collect(arrived, session.task_ctx()).await.unwrap();
    assert_eq!(texts(&batches), bench.expected(sql).await);
}

/// Its replaced operators come back, over what was below it.
#[tokio::test]
async fn decoded_aggregate_is_the_operators_that_it_replaces() {
    let bench =
        Bench::new().set("nearscan.pushdown.mode", "off").set("nearscan.scan", "datafusion");
    let session = bench.fused().await;
    let sql = "SELECT c, count(*) FROM (SELECT l_orderkey, count(*) AS c FROM lineitem GROUP BY 1) \
               GROUP BY 1 ORDER BY 1";
    let sent = crate::bench::plan_of(&session, sql).await;
    assert_eq!(shown(&sent).matches("PartitionedAggregateExec").count(), 2, "{}", shown(&sent));
    let arrived = travelled(&sent, &session);
    let text = shown(&arrived);
    assert!(!text.contains("PartitionedAggregateExec"), "{text}");
    assert_eq!(text.matches("mode=FinalPartitioned").count(), 2, "{text}");
    assert_eq!(arrived.schema(), sent.schema());
    let batches = collect(arrived, session.task_ctx()).await.unwrap();
    assert_eq!(texts(&batches), bench.expected(sql).await);
}

#[tokio::test]
async fn only_our_operators_are_encoded() {
    let bench = Bench::new();
    let plan = bench.input("SELECT l_orderkey FROM lineitem WHERE l_tax < 0.02").await;
    let converter = DefaultPhysicalProtoConverter {};
    let error = PushdownCodec.try_encode(plan, &mut Vec::new(), &converter).unwrap_err();
    assert!(error.to_string().contains("is not an operator of this codec"), "{error}");
}

#[tokio::test]
async fn foreign_bytes_are_refused() {
    let bench = Bench::new();
    let session = bench.pushing().await;
    let plan = bench.plan("SELECT l_comment FROM lineitem WHERE l_tax < 0.02").await;
    let converter = DefaultPhysicalProtoConverter {};
    let mut bytes = Vec::new();
    PushdownCodec.try_encode(Arc::clone(&pushed(&plan)[0]), &mut bytes, &converter).unwrap();
    let task = session.task_ctx();
    let decode = |bytes: &[u8]| PushdownCodec.try_decode(bytes, &[], &task, &converter);
    assert_eq!(shown(&decode(&bytes).unwrap()), shown(&pushed(&plan)[0]));
    assert!(decode(b"neither").is_err());
    assert!(decode(&[]).is_err());
    for length in (0..bytes.len()).step_by(97) {
        assert!(decode(&bytes[..length]).is_err(), "of {length} bytes");
    }
}
