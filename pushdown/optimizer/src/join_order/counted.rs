// SPDX-License-Identifier: Apache-2.0
//! Reads how many different values the columns of a scan have, and how they are spread, from the
//! facts about its files.
//!
//! Each file of a table is a part of the table's column (module `distinct`). Files without a count
//! are taken to be like the others.

use std::{collections::BTreeSet, sync::Arc};

use arrow::datatypes::DataType;
use datafusion::{
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_plan::ExecutionPlan,
};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::distribution::{self, Distribution};
use crate::{
    distinct::{Part, Scale, Whole, values_of},
    facts::FileFacts,
    quantiles::Quantiles,
    scan::Scan,
};

/// Files of a scan that are looked at; a provider counts the values of fewer.
const FILES_MAX: usize = 64;

/// What the facts tell of an output of a scan.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// How many different values there are.
    pub(super) distinct: Option<f64>,
    /// How they are spread.
    pub(super) distribution: Option<Distribution>,
}

/// Returns what is known of each output of a scan of `rows` rows; none of a plan that is no scan.
pub(super) fn of_scan(plan: &Arc<dyn ExecutionPlan>, rows: f64) -> Option<Vec<Counted>> {
    let scan = Scan::of(plan)?;
    let files = scan.config.file_groups.iter().flat_map(|group| group.files());
    let mut seen = BTreeSet::new();
    let facts = files.filter_map(|file| file.extensions.get::<FileFacts>());
    // A part of a file has the facts of all of it.
    let all: Vec<&FileFacts> =
        facts.filter(|it| seen.insert((&it.file.server, &it.file.path))).collect();
    let counted = all.iter().copied().filter(|it| !it.estimates.distinct.is_empty());
    let counted: Vec<&FileFacts> = counted.take(FILES_MAX).collect();
    let is_spread = |it: &&FileFacts| !it.estimates.quantiles.is_empty();
    let has_quantiles = all.len() <= FILES_MAX && all.iter().any(is_spread);
    if counted.is_empty() && !has_quantiles {
        return None;
    }
    let schema = scan.table_schema();
    let outputs = scan.outputs();
    let of_output = |output: &Arc<dyn PhysicalExpr>| -> Option<Counted> {
        let column = output.downcast_ref::<Column>()?;
        let field = schema.fields().get(column.index())?;
        let distinct = of_column(&counted, field.name(), rows);
        let all = all.as_slice();
        let spread = has_quantiles.then(|| distribution_of(all, field.name(), field.data_type()));
        Some(Counted { distinct, distribution: spread.flatten() })
    };
    Some(outputs.iter().map(|output| of_output(output).unwrap_or_default()).collect())
}

/// A column of a file.
struct File<'a> {
    metadata: &'a ParquetMetaData,
    leaf: usize,
}

impl<'a> File<'a> {
    fn of(facts: &'a FileFacts, name: &str) -> Option<Self> {
        let columns = facts.stated.file_metadata().schema_descr().columns();
        let is_meant = |parts: &[String]| matches!(parts, [only] if only == name);
        let leaf = columns.iter().position(|column| is_meant(column.path().parts()))?;
        Some(Self { metadata: &facts.stated, leaf })
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
    let files = facts.iter().filter_map(|facts| {
        let distinct = *facts.estimates.distinct.get(name)?;
        Some((File::of(facts, name)?, distinct))
    });
    let files: Vec<(File<'_>, u64)> = files.collect();
    let scale = Scale::of(files.iter().flat_map(|(file, _)| file.chunks()));
    let parts = files.iter().map(|(file, distinct)| Part {
        values: file.chunks().map(values_of).sum::<u64>() as f64,
        distinct: *distinct as f64,
        range: scale.and_then(|scale| file.range(scale)),
    });
    let parts: Vec<Part> = parts.filter(|part| part.values >= 1.0).collect();
    let of_rows: i64 = files.iter().map(|(file, _)| file.metadata.file_metadata().num_rows()).sum();
    let values: f64 = parts.iter().map(|part| part.values).sum();
    let whole = Whole {
        values: values * (rows / of_rows.max(1) as f64).max(1.0),
        ranges: parts.iter().map(|part| part.range).collect::<Option<_>>().unwrap_or_default(),
        // Files without a count may have values elsewhere.
        step: scale.filter(|_| files.len() == 1).map_or(0.0, Scale::step),
    };
    whole.distinct(&parts)
}

/// How a column is spread over all files, if a plan asked for it; none if a row group of a file
/// without quantiles has no bounds, or values have no order that is known.
#[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
fn distribution_of(facts: &[&FileFacts], name: &str, data_type: &DataType) -> Option<Distribution> {
    if !facts.iter().any(|facts| facts.estimates.quantiles.contains_key(name)) {
        return None;
    }
    let unit = unit_of(data_type)?;
    let mut parts = Vec::new();
    for facts in facts {
        let file = File::of(facts, name)?;
        let scale = Scale::of(file.chunks());
        let sampled = facts.estimates.quantiles.get(name).and_then(Option::as_ref);
        let mut add = |values: f64, places: &[f64]| -> Option<()> {
            let quantiles = Quantiles::new(places.iter().map(|it| it / unit).collect())?;
            parts.push(distribution::Part { values, quantiles });
            Some(())
        };
        if let Some(quantiles) = sampled {
            add(file.chunks().map(values_of).sum::<u64>() as f64, quantiles.places())?;
            continue;
        }
        for chunk in file.chunks() {
            let (least, greatest) = scale?.range(chunk)?;
            add(values_of(chunk) as f64, &[least, greatest])?;
        }
    }
    Distribution::of(parts)
}

/// What places are divided by to be numbers of a type, which are those of its literals.
fn unit_of(data_type: &DataType) -> Option<f64> {
    match data_type {
        DataType::Decimal128(_, scale) => Some(10_f64.powi(i32::from(*scale))),
        it if it.is_numeric() || it.is_temporal() => Some(1.0),
        _ => None,
    }
}
