// SPDX-License-Identifier: Apache-2.0
//! Tests the layout for drives: the same answers, from fewer bytes.

use std::{num::NonZero, path::Path};

use nearscan::Engine;
use nearscan_tpch::{
    Checked, Layout, answers,
    generate::{self, Silent},
    queries, run,
};

use crate::answers::{folder, scale};

async fn engine(folder: &Path) -> Engine {
    let builder = Engine::builder().threads(2).drive("emulated:").unwrap();
    let engine = builder.set("nearscan.pushdown.mode", "force").build().await.unwrap();
    run::register(&engine, folder).await.unwrap();
    engine
}

#[tokio::test]
async fn layout_for_drives_gives_the_answers_and_moves_less() {
    let other = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sf0.01-pushdown");
    generate::generate(&scale(), Layout::Pushdown, &other, &mut Silent).unwrap();
    let (usual, other) = (engine(&folder()).await, engine(&other).await);
    for query in &queries::QUERIES {
        let answer = answers::find(&scale(), query.number);
        let once = NonZero::<u32>::MIN;
        let report = run::run_query(&other, query, answer, once).await;
        assert_eq!(report.answer, Checked::Ok, "q{:02}", query.number);
        assert_eq!(report.units_cpu, 0, "q{:02}", query.number);
        if [1, 6].contains(&query.number) {
            let before = run::run_query(&usual, query, answer, once).await;
            assert!(report.media_bytes < before.media_bytes * 8 / 10, "{report:?} {before:?}");
        }
    }
}
