// SPDX-License-Identifier: Apache-2.0
//! Reads how many different values the columns of a scan have from the facts about its files.
//!
//! Each file of a table is a part of the table's column (module `distinct`). Files without a count
//! are taken to be like the others.

use std::{collections::BTreeSet, sync::Arc};

use datafusion::{
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_plan::ExecutionPlan,
};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::{
    distinct::{Part, Scale, Whole, values_of},
    facts::FileFacts,
    scan::Scan,
};

/// Files of a scan that are looked at; a provider counts the values of fewer.
const FILES_MAX: usize = 64;

/// Returns the different values of each output of a scan of `rows` rows; none of a plan that is
/// no scan. What is not known of a column is none.
pub(super) fn of_scan(plan: &Arc<dyn ExecutionPlan>, rows: f64) -> Option<Vec<Option<f64>>> {
    let scan = Scan::of(plan)?;
    let files = scan.config.file_groups.iter().flat_map(|group| group.files());
    let mut seen = BTreeSet::new();
    let facts = files.filter_map(|file| file.extensions.get::<FileFacts>());
    // A part of a file has the facts of all of it.
    let facts = facts.filter(|it| !it.distinct_counts.is_empty());
    let facts = facts.filter(|it| seen.insert(&it.file.path));
    let facts: Vec<&FileFacts> = facts.take(FILES_MAX).collect();
    if facts.is_empty() {
        return None;
    }
    let schema = scan.table_schema();
    let outputs = scan.outputs();
    let name = |output: &Arc<dyn PhysicalExpr>| -> Option<&String> {
        let column = output.downcast_ref::<Column>()?;
        Some(schema.fields().get(column.index())?.name())
    };
    let counts = outputs.iter().map(|output| of_column(&facts, name(output)?, rows));
    Some(counts.collect())
}

/// A file in which the values of a column were counted.
struct File<'a> {
    metadata: &'a ParquetMetaData,
    leaf: usize,
    distinct: u64,
}

impl<'a> File<'a> {
    fn of(facts: &'a FileFacts, name: &str) -> Option<Self> {
        let distinct = facts.distinct(name)?;
        let columns = facts.stated.file_metadata().schema_descr().columns();
        let is_meant = |parts: &[String]| matches!(parts, [only] if only == name);
        let leaf = columns.iter().position(|column| is_meant(column.path().parts()))?;
        Some(Self { metadata: &facts.stated, leaf, distinct })
    }

    /// The chunks of the column that have values.
    fn chunks(&self) -> impl Iterator<Item = &'a ColumnChunkMetaData> + use<'a> {
        let leaf = self.leaf;
        let chunks = self.metadata.row_groups().iter().map(move |group| group.column(leaf));
        chunks.filter(|chunk| values_of(chunk) > 0)
    }

    /// The bounds of the column; none if a row group has none.
    fn range(&self, scale: Scale) -> Option<(f64, f64)> {
        let mut ranges = self.chunks().map(|chunk| scale.range(chunk));
        let first = ranges.next()??;
        ranges.try_fold(first, |all, range| {
            let range = range?;
            Some((all.0.min(range.0), all.1.max(range.1)))
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
fn of_column(facts: &[&FileFacts], name: &str, rows: f64) -> Option<f64> {
    let files: Vec<File<'_>> = facts.iter().filter_map(|facts| File::of(facts, name)).collect();
    let scale = Scale::of(files.iter().flat_map(File::chunks));
    let parts = files.iter().map(|file| Part {
        values: file.chunks().map(values_of).sum::<u64>() as f64,
        distinct: file.distinct as f64,
        range: scale.and_then(|scale| file.range(scale)),
    });
    let parts: Vec<Part> = parts.filter(|part| part.values >= 1.0).collect();
    let of_rows: i64 = files.iter().map(|file| file.metadata.file_metadata().num_rows()).sum();
    let values: f64 = parts.iter().map(|part| part.values).sum();
    let whole = Whole {
        values: values * (rows / of_rows.max(1) as f64).max(1.0),
        ranges: parts.iter().map(|part| part.range).collect::<Option<_>>().unwrap_or_default(),
        // Files without a count may have values elsewhere.
        step: scale.filter(|_| files.len() == 1).map_or(0.0, Scale::step),
    };
    whole.distinct(&parts)
}
