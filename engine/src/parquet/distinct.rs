// SPDX-License-Identifier: Apache-2.0
//! Estimates how many different values the columns of files have, and how they are spread, for
//! plans with several joins.
//!
//! Footers state rows, NULLs and bounds of columns, but almost never their different values, by
//! which the rows of joins and groups are estimated. They are counted when a plan first needs them
//! ([`wanted`]): from the dictionaries of row groups if every page refers to one ([`dictionary`]),
//! otherwise by a sample of rows ([`sample`]). Counts of some row groups are extrapolated to the
//! file by `nearscan_optimizer::distinct`. The rows that comparisons leave are estimated by the
//! quantiles of a sample, since bounds say little of skewed columns. Estimates are kept in memory,
//! and in the cache folder for later runs ([`cache`]), under the file's identity ([`known`]): a
//! file that was changed has another one, and is counted again.
//!
//! # What this module does not do
//!
//! Counts choose among plans and answer nothing: they are no statistics of DataFusion, which may
//! take those for exact. Files in object stores are not counted. Nothing here is an error: a column
//! that cannot be counted has no count.
//!
//! # Invariants
//!
//! - Of a scan at most [`FILES_MAX`] files are read, of a column in each at most 64 headers of
//!   pages or 4 pieces of chunks for a count, and 4 pieces for quantiles.
//! - An estimate of a column is made once for a file and its identity, also if it cannot be.
//! - Nothing that was read while a file changed is kept.

mod cache;
mod column;
mod dictionary;
mod known;
mod rows;
mod sample;
mod wanted;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use datafusion::common::runtime::SpawnedTask;
use nearscan_drive::clock::unix_ns;
use nearscan_optimizer::ColumnEstimates;

use column::Column;
use known::{Columns, Counted, Identity, Source};

pub(in crate::parquet) use column::{File, spread};
pub(crate) use rows::{FileRow, rows_of};
pub(crate) use wanted::Wanted;

/// Files of a scan whose columns are counted, spread over all of them. The others are taken to be
/// like these.
pub(in crate::parquet) const FILES_MAX: usize = 16;

/// Files whose counts are in memory.
const REMEMBERED_MAX: usize = 4096;

/// The counts of an engine.
#[derive(Debug, Default)]
pub(crate) struct DistinctCounts {
    /// Where they are kept between runs, if anywhere.
    folder: Option<PathBuf>,
    files: Mutex<BTreeMap<String, Known>>,
}

/// What is known of a file.
#[derive(Debug, Clone)]
struct Known {
    identity: Identity,
    columns: Columns,
}

impl DistinctCounts {
    /// Makes a memory of counts that are also kept in a folder.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, files: Mutex::default() }
    }

    /// Returns the estimates of a file's columns, after making those that are wanted and not known.
    pub(in crate::parquet) async fn of_file(
        &self,
        file: File<'_>,
        wanted: &Wanted,
    ) -> Arc<ColumnEstimates> {
        let columns = wanted.columns_of(file.footer);
        if columns.counted.is_empty() && columns.bounded.is_empty() {
            return Arc::default();
        }
        let path = format!("/{}", file.object.location);
        let identity = Identity::of(file.object, file.footer);
        let mut known = match self.remembered(&path, &identity) {
            Some(known) => known,
            None => {
                let stored = self.folder.as_deref().map(|it| cache::read(it, &path, &identity));
                self.remember(&path, identity, stored.unwrap_or_default())
            }
        };
        let mut made = Columns::default();
        for (name, leaf) in columns.counted {
            if !known.counts.contains_key(&name) {
                made.counts.insert(name, count(&Column::of(file, leaf)).await);
            }
        }
        for (name, leaf) in columns.bounded {
            if !known.quantiles.contains_key(&name) {
                made.quantiles.insert(name, sample::quantiles(&Column::of(file, leaf)).await);
            }
        }
        if made != Columns::default() && file.is_unchanged().await {
            known = self.remember(&path, identity, made);
            self.store(path, identity, known.clone()).await;
        }
        Arc::new(known.estimates())
    }

    /// Returns the counts of a file, if they are of the file as it is now.
    fn remembered(&self, path: &str, identity: &Identity) -> Option<Columns> {
        let files = self.lock();
        let known = files.get(path).filter(|known| known.identity == *identity)?;
        Some(known.columns.clone())
    }

    /// Adds counts of a file to those that are known of it, and returns them all.
    fn remember(&self, path: &str, identity: Identity, columns: Columns) -> Columns {
        let mut files = self.lock();
        if !files.contains_key(path) && files.len() >= REMEMBERED_MAX {
            files.pop_first();
        }
        let known = files.entry(path.to_owned());
        let known = known.or_insert_with(|| Known { identity, columns: Columns::default() });
        if known.identity != identity {
            *known = Known { identity, columns: Columns::default() };
        }
        known.columns.extend(columns);
        known.columns.clone()
    }

    /// Writes the counts of a file to the folder.
    async fn store(&self, path: String, identity: Identity, columns: Columns) {
        let Some(folder) = self.folder.clone() else { return };
        if !columns.is_empty() {
            let written = SpawnedTask::spawn_blocking(move || {
                cache::write(&folder, &path, &identity, &columns);
            });
            // Without the file, the next run counts again.
            drop(written.await);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the different values of a column; none if they cannot be counted.
async fn count(column: &Column<'_>) -> Option<Counted> {
    let (parts, source) = match dictionary::parts(column).await {
        Some(parts) => (parts, Source::Dictionary),
        None => (sample::parts(column).await?, Source::Sample),
    };
    let distinct = column.whole.distinct(&parts)?.round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let distinct = distinct as u64;
    Some(Counted { distinct, source, made_at_s: unix_ns() / 1_000_000_000 })
}
