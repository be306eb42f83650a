// SPDX-License-Identifier: Apache-2.0
//! Makes the table as a Parquet object of a store, and computes the answers from the same rows.

use std::{
    io::{self, Write},
    num::NonZeroU64,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nearscan::datafusion::parquet::{
    arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties,
};
use nearscan_drive::clock::Stopwatch;
use nearscan_io::bench::{self, Case, Order, Peer};
use nearscan_store::{CollectionPath, Condition, Quota, Store, Writer};

use crate::{
    accounts::{Accounts, Sum},
    error::Error,
};

/// Where the table is.
pub(super) const COLLECTION: &str = "bank";
pub(super) const NAME: &str = "accounts.parquet";

/// Rows of a row group, of which each is a unit of work.
const ROW_GROUP_ROWS: usize = 1 << 18;

/// How the media are read to learn their rate.
const MEDIA_BLOCK_BYTES: u32 = 1 << 20;
const MEDIA_ROUND_BYTES: u64 = 256 << 20;
const MEDIA_ROUNDS: u32 = 3;
const MEDIA_DEPTH: u32 = 16;

/// The compression of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// None.
    None,
    /// Snappy.
    Snappy,
}

/// A table on its server.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) store: PathBuf,
    /// For each selectivity: the balance below which the rows are, in cents, and what they add up
    /// to.
    pub(super) answers: Vec<(u64, Sum)>,
    file: PathBuf,
}

impl Table {
    pub(super) fn make(
        folder: &Path,
        rows: u64,
        codec: Codec,
        selectivities: &[f64],
    ) -> Result<Self, Error> {
        let folder = folder.join("store");
        let store = Store::open(&folder).map_err(Error::prepare)?;
        let collection = CollectionPath::in_default(COLLECTION).map_err(Error::prepare)?;
        store.create_collection(&collection, Quota::default()).map_err(Error::prepare)?;
        let path = collection.object(NAME).map_err(Error::prepare)?;
        let writer = store.writer(&path, Condition::Absent).map_err(Error::prepare)?;
        let compression = match codec {
            Codec::None => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
        };
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let file = ToObject(writer);
        let writer = ArrowWriter::try_new(file, Accounts::schema(), Some(properties));
        let mut writer = writer.map_err(Error::prepare)?;
        let mut answers: Vec<(u64, Sum)> =
            selectivities.iter().map(|share| (cents_of(rows, *share), Sum::default())).collect();
        for batch in (Accounts { rows }).batches() {
            let batch = batch?;
            for (cents, sum) in &mut answers {
                sum.add(&batch, *cents)?;
            }
            writer.write(&batch).map_err(Error::prepare)?;
        }
        let ToObject(writer) = writer.into_inner().map_err(Error::prepare)?;
        writer.commit().map_err(Error::prepare)?;
        let file = store.local_file(&path).map_err(Error::prepare)?.path;
        Ok(Self { store: folder, answers, file })
    }

    /// A half of the rate of the media.
    pub(super) fn half_of_media(&self) -> Result<NonZeroU64, Error> {
        let case = Case {
            block_bytes: MEDIA_BLOCK_BYTES,
            order: Order::Sequential,
            round_bytes: MEDIA_ROUND_BYTES,
        };
        let plan = bench::Plan {
            cases: vec![case],
            depths: vec![MEDIA_DEPTH],
            rounds: MEDIA_ROUNDS,
            fio: Peer::Never,
        };
        let stopwatch = Stopwatch::start();
        let clock = || stopwatch.elapsed();
        let table = bench::run(&self.file, &plan, &clock, &mut |_| ControlFlow::Continue(()));
        let rates = table.map_err(Error::prepare)?.rows.into_iter().map(|row| row.bytes_per_second);
        let half = NonZeroU64::new(rates.max().unwrap_or(0) / 2);
        half.ok_or_else(|| Error::prepare("the media have no rate"))
    }
}

/// The rows of a share.
fn cents_of(rows: u64, share: f64) -> u64 {
    #[expect(clippy::cast_precision_loss, reason = "a table has fewer than 2^53 rows")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of rows")]
    let cents = (rows as f64 * share).round() as u64;
    cents
}

/// Writes to an object.
struct ToObject(Writer);

impl Write for ToObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
