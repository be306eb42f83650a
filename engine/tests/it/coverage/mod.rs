// SPDX-License-Identifier: Apache-2.0
//! Measures the support of a drive for types, encodings, codecs and operations: `docs/coverage.md`.
//!
//! For every cell a file is written, and its query runs twice: without pushdown, and with all of it
//! forced to the emulated drive. Both must return the rows that the test computes from the values
//! it wrote. The cell is where the forced query ran. The table is committed, and a change of it
//! fails the test until it is written anew:
//!
//! ```text
//! NEARSCAN_BLESS=1 cargo test -p nearscan --test it coverage
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`types`] | the stored types, and values of each |
//! | [`layout`] | how values lie in a file |
//! | [`write`] | writes a file of a layout |
//! | [`operations`] | the queries, and the rows they must return |
//! | [`bench`] | runs them |
//! | [`outcome`] | where one ran |
//! | [`table`] | the document |
//!
//! The whole product would be a million queries. Each of the three axes of a file varies alone,
//! around what a usual file has; that two of them at once change no answer is tested by
//! `slt/encoding/matrix_*` and by files of other writers (`sqllogictest/README.md`).

mod bench;
mod cells;
mod layout;
mod operations;
mod outcome;
mod table;
mod types;
mod write;

use std::{fs, sync::Arc};

use nearscan::parquet::{
    basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel},
    file::properties::WriterVersion,
};
use tokio::task::JoinSet;

use self::{
    bench::Bench,
    layout::{Layout, Nulls, Values},
    outcome::Outcome,
    table::{Measured, Part},
    types::{StoredType, TYPES},
};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/coverage.md");

/// The suffix of the name of an encoding whose data pages have one version.
const PAGES: [(WriterVersion, &str); 2] =
    [(WriterVersion::PARQUET_1_0, ", pages 1"), (WriterVersion::PARQUET_2_0, ", pages 2")];

fn codecs() -> [(Compression, &'static str); 6] {
    [
        (Compression::UNCOMPRESSED, "UNCOMPRESSED"),
        (Compression::SNAPPY, "SNAPPY"),
        (Compression::LZ4_RAW, "LZ4_RAW"),
        (Compression::ZSTD(ZstdLevel::default()), "ZSTD"),
        (Compression::GZIP(GzipLevel::default()), "GZIP"),
        (Compression::BROTLI(BrotliLevel::default()), "BROTLI"),
    ]
}

/// The layouts of a type, each with its part of the table and its name in it.
fn layouts(stored: &StoredType) -> Vec<(Part, String, Layout)> {
    let physical_type = stored.physical_type();
    let values = Values::usual(physical_type);
    let is_written = |(pages, _): &&(WriterVersion, _)| values.is_written(physical_type, *pages);
    let usual = Layout {
        values,
        pages: PAGES.iter().find(is_written).unwrap().0,
        codec: Compression::SNAPPY,
        nulls: Nulls::Percent(50),
    };
    let mut layouts = Vec::new();
    for values in Values::of(physical_type) {
        for (pages, suffix) in PAGES {
            if !values.is_written(physical_type, pages) {
                continue;
            }
            let name = format!("{}{suffix}", values.name());
            layouts.push((Part::Encoding, name, Layout { values, pages, ..usual }));
        }
    }
    for (codec, name) in codecs() {
        layouts.push((Part::Codec, name.to_owned(), Layout { codec, ..usual }));
    }
    for (nulls, name) in Nulls::ALL {
        layouts.push((Part::Nulls, name.to_owned(), Layout { nulls, ..usual }));
    }
    layouts
}

/// Measures a type in all its layouts; the usual one, which is in every part, once.
async fn measure(bench: &Bench, stored: &StoredType) -> Vec<Measured> {
    let mut known: Vec<(Layout, Vec<Outcome>)> = Vec::new();
    let mut measured = Vec::new();
    for (part, layout_name, layout) in layouts(stored) {
        let outcomes = match known.iter().find(|(other, _)| *other == layout) {
            Some((_, outcomes)) => outcomes.clone(),
            None => bench.measure(stored, &layout).await,
        };
        known.push((layout, outcomes.clone()));
        measured.push(Measured { part, type_name: stored.name, layout_name, outcomes });
    }
    measured
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cell_of_the_table_is_measured_and_returns_its_rows() {
    let bench = Arc::new(Bench::make().await);
    let mut running = JoinSet::new();
    for (index, stored) in TYPES.iter().enumerate() {
        let bench = Arc::clone(&bench);
        running.spawn(async move { (index, Box::pin(measure(&bench, stored)).await) });
    }
    let mut measured = running.join_all().await;
    measured.sort_by_key(|(index, _)| *index);
    let measured: Vec<Measured> = measured.into_iter().flat_map(|(_, of_type)| of_type).collect();
    Arc::into_inner(bench).unwrap().finish();

    let document = table::document(&measured);
    if std::env::var_os("NEARSCAN_BLESS").is_some() {
        fs::write(DOCUMENT, &document).unwrap();
    }
    let committed = fs::read_to_string(DOCUMENT).unwrap_or_default();
    assert!(
        committed == document,
        "docs/coverage.md is stale: look at what changed, and write it with NEARSCAN_BLESS=1\n{}",
        table::difference(&committed, &document)
    );
}
