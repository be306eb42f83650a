// SPDX-License-Identifier: Apache-2.0
//! Collects what is known of the columns of local files, for the table `nearscan.statistics`.
//!
//! Files are those whose footers are in the session's cache, validated, and whose size and time of
//! change are still those of the footer. Bounds are those that plans trust.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::SystemTime,
};

use datafusion::{
    arrow::datatypes::{DataType, SchemaRef},
    catalog::Session,
    common::{ScalarValue, stats::Precision},
    datasource::physical_plan::parquet::metadata::CachedParquetMetaData,
    object_store::ObjectMeta,
    parquet::{arrow::parquet_to_arrow_schema, file::metadata::ParquetMetaData},
};
use nearscan_drive::clock::unix_ns;

use super::{
    DistinctCounts, cache,
    known::{Columns, Counted, Identity},
};
use crate::parquet::{checked::CheckedFooters, statistics};

/// The source of what only the footer states.
const FOOTER: &str = "footer";

/// What is known of a column of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRow {
    pub(crate) file: String,
    pub(crate) column: String,
    pub(crate) rows: u64,
    pub(crate) nulls: Option<u64>,
    pub(crate) min: Option<String>,
    pub(crate) max: Option<String>,
    pub(crate) distinct: Option<u64>,
    /// The word for the source of the different values, or else of the others.
    pub(crate) source: &'static str,
    /// Seconds since different values were counted.
    pub(crate) age_s: Option<u64>,
}

/// Returns a row for each column of the files that a session knows, if `is_visible` of the file;
/// columns with fields are left out.
pub(crate) fn rows_of(session: &dyn Session, is_visible: impl Fn(&str) -> bool) -> Vec<FileRow> {
    let cache = session.runtime_env().cache_manager.get_file_metadata_cache();
    let checked = session.config().get_extension::<CheckedFooters>().unwrap_or_default();
    let counts = session.config().get_extension::<DistinctCounts>().unwrap_or_default();
    let entries = cache.list_entries().into_values().map(|entry| entry.value);
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|one, other| one.meta.location.cmp(&other.meta.location));
    let mut rows = Vec::new();
    for entry in entries {
        let path = format!("/{}", entry.meta.location);
        let footer = entry.file_metadata.as_any().downcast_ref::<CachedParquetMetaData>();
        let Some(footer) = footer.map(CachedParquetMetaData::parquet_metadata) else { continue };
        let is_known = checked.contains(footer, entry.meta.size) && is_current(&path, &entry.meta);
        if is_known && is_visible(&path) {
            let identity = Identity::of(&entry.meta, footer);
            rows.extend(of_file(&path, footer, &counts.known(&path, &identity)));
        }
    }
    rows
}

impl DistinctCounts {
    /// Returns the counts of a file that are known in this run or from others.
    fn known(&self, path: &str, identity: &Identity) -> Columns {
        let stored = || self.folder.as_deref().map(|it| cache::read(it, path, identity));
        self.remembered(path, identity).or_else(stored).unwrap_or_default()
    }
}

/// Whether a local file is the one that a footer is of.
fn is_current(path: &str, meta: &ObjectMeta) -> bool {
    let now = fs::metadata(path).and_then(|now| Ok((now.len(), now.modified()?)));
    let stated = (meta.size, SystemTime::from(meta.last_modified));
    now.is_ok_and(|now| now == stated)
}

fn of_file(path: &str, footer: &Arc<ParquetMetaData>, counted: &Columns) -> Vec<FileRow> {
    let about = footer.file_metadata();
    let schema = || parquet_to_arrow_schema(about.schema_descr(), about.key_value_metadata());
    // Libraries panic on some statistics.
    let known = catch_unwind(AssertUnwindSafe(|| {
        let schema: SchemaRef = Arc::new(schema().ok()?);
        let stated = statistics::of_file(footer, &schema).ok()?;
        Some((schema, stated))
    }));
    let Some((schema, stated)) = known.ok().flatten() else { return Vec::new() };
    let columns = schema.fields().iter().zip(stated.column_statistics);
    let columns = columns.filter(|(field, _)| !field.data_type().is_nested());
    let rows = columns.map(|(field, stated)| {
        let counted = counted.counts.get(field.name()).copied().flatten();
        FileRow {
            file: path.to_owned(),
            column: field.name().clone(),
            rows: u64::try_from(about.num_rows()).unwrap_or(0),
            nulls: stated.null_count.get_value().map(|nulls| *nulls as u64),
            min: text(&stated.min_value),
            max: text(&stated.max_value),
            distinct: counted.map(|it| it.distinct),
            source: counted.map_or(FOOTER, |it| it.source.word()),
            age_s: counted.map(age_s),
        }
    });
    rows.collect()
}

fn age_s(counted: Counted) -> u64 {
    (unix_ns() / 1_000_000_000).saturating_sub(counted.made_at_s)
}

/// A bound as SQL shows it.
fn text(bound: &Precision<ScalarValue>) -> Option<String> {
    let value = bound.get_value().filter(|value| !value.is_null())?;
    match value.cast_to(&DataType::Utf8).ok()? {
        ScalarValue::Utf8(text) => text,
        _ => None,
    }
}
