// SPDX-License-Identifier: Apache-2.0
//! Tables with small row groups: those of TPC-H, and two sorted ones whose rows interleave.
//!
//! The rows are those of the generator, so the stored answers hold.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nearscan::Engine;
use nearscan::arrow::array::RecordBatch;
use nearscan::parquet::arrow::ArrowWriter;
use nearscan::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use nearscan::parquet::basic::Compression;
use nearscan::parquet::file::metadata::SortingColumn;
use nearscan::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use nearscan_tpch::generate::{self, Silent};
use nearscan_tpch::{Layout, ScaleFactor, Table};

/// Row groups of a table, if it has rows enough: several for each of two partitions.
const GROUPS: usize = 4;

/// Rows of a row group, at least: a unit of a handful of rows shows nothing.
const GROUP_ROWS_MIN: usize = 256;

/// The sorted tables: their names, and which orders their rows are of.
const SORTED: [(&str, &str); 2] = [("shipped_even", "= 0"), ("shipped_odd", "> 0")];

/// The columns by which the sorted tables are sorted; no two rows have the same.
const SORT_COLUMNS: i32 = 3;

/// Tables in a folder.
#[derive(Debug, Clone)]
pub struct Data {
    folder: PathBuf,
    scale: ScaleFactor,
}

impl Data {
    /// Makes the tables in `folder`, unless they are there.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub async fn make(scale: ScaleFactor, folder: &Path) -> Result<Self> {
        let data = Self { folder: folder.to_owned(), scale };
        let whole = folder.join("whole");
        generate::generate(&data.scale, Layout::Usual, &whole, &mut Silent)?;
        for table in Table::ALL {
            let to = data.file(table.name());
            if !to.exists() {
                let batches = read(&generate::file(&whole, table))?;
                write(&to, &batches, properties())?;
            }
        }
        let sorting =
            |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
        for (name, orders) in SORTED {
            let to = data.file(name);
            if !to.exists() {
                let sorting = (0..SORT_COLUMNS).map(sorting).collect();
                let batches = data.sorted(orders).await?;
                write(&to, &batches, properties().set_sorting_columns(Some(sorting)))?;
            }
        }
        Ok(data)
    }

    /// The scale factor.
    pub fn scale(&self) -> &ScaleFactor {
        &self.scale
    }

    /// The file of a table.
    pub fn file(&self, table: &str) -> PathBuf {
        self.folder.join(format!("{table}.parquet"))
    }

    /// Makes the tables known to an engine.
    ///
    /// # Errors
    /// When a file is missing.
    pub async fn register(&self, engine: &Engine) -> Result<()> {
        let names = Table::ALL.map(Table::name).into_iter().chain(SORTED.map(|(name, _)| name));
        for name in names {
            engine.register(name, &self.file(name).to_string_lossy()).await?;
        }
        Ok(())
    }

    /// Rows of line items, sorted.
    async fn sorted(&self, orders: &str) -> Result<Vec<RecordBatch>> {
        let engine = Engine::builder().threads(1).build().await?;
        let lineitem = self.file(Table::LineItem.name());
        let sql = format!(
            "SELECT l_shipdate, l_orderkey, l_linenumber, l_quantity, l_extendedprice, l_shipmode \
             FROM '{}' WHERE l_orderkey % 2 {orders} ORDER BY 1, 2, 3",
            lineitem.display()
        );
        Ok(engine.sql(&sql).await?.collect().await?.batches)
    }
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::SNAPPY)
}

fn read(path: &Path) -> Result<Vec<RecordBatch>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()?;
    Ok(reader.collect::<Result<_, _>>()?)
}

/// Writes a file under its name once it is complete.
fn write(path: &Path, batches: &[RecordBatch], properties: WriterPropertiesBuilder) -> Result<()> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let schema = batches.first().context("a table without rows")?.schema();
    let group_rows = rows.div_ceil(GROUPS).max(GROUP_ROWS_MIN);
    let properties = properties.set_max_row_group_row_count(Some(group_rows)).build();
    // Of two processes that make the same table, each has a draft of its own.
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let mut writer = ArrowWriter::try_new(File::create(&draft)?, schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    fs::rename(draft, path)?;
    Ok(())
}
