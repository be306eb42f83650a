// SPDX-License-Identifier: Apache-2.0
//! Makes tables with small row groups: those of TPC-H, and two sorted ones whose rows interleave.
//!
//! The rows are those of the generator, so the stored answers hold.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nearscan::{
    Engine,
    arrow::array::RecordBatch,
    parquet::{
        arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
        basic::Compression,
        file::{
            metadata::SortingColumn,
            properties::{WriterProperties, WriterPropertiesBuilder},
        },
    },
};
use nearscan_store::{CollectionPath, Condition, Quota, Store};
use nearscan_tpch::{
    Layout, ScaleFactor, Table,
    generate::{self, Silent},
};

/// The shape of written files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Row groups of a table, if it has rows enough.
    groups: usize,
    /// Rows of a row group, at least.
    group_rows_min: usize,
    codec: Compression,
    /// The first columns of the sorted tables, by which they are sorted; no two rows have the same.
    sort_columns: i32,
    /// To be counted up when anything else changes of what is written.
    edition: u32,
}

/// Several units for each of two partitions, none of a handful of rows, which would show nothing.
const SHAPE: Shape = Shape {
    groups: 4,
    group_rows_min: 256,
    codec: Compression::SNAPPY,
    sort_columns: 3,
    edition: 1,
};

impl Shape {
    /// The folder of files of this shape: another one for each, so that files of an earlier shape
    /// are not taken for those of this one.
    fn folder(&self) -> String {
        let Self { groups, group_rows_min, codec, sort_columns, edition } = self;
        format!("{groups}-groups-of-{group_rows_min}-{codec}-by-{sort_columns}-edition-{edition}")
            .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
    }
}

/// The sorted tables: their names, and which orders their rows are of.
const SORTED: [(&str, &str); 2] = [("shipped_even", "= 0"), ("shipped_odd", "> 0")];

/// The collection of the tables in a store.
const COLLECTION: &str = "tables";

/// Tables in a folder.
#[derive(Debug, Clone)]
pub struct Data {
    folder: PathBuf,
    scale: ScaleFactor,
}

impl Data {
    /// Makes the tables below `folder`, unless they are there.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub async fn make(scale: ScaleFactor, folder: &Path) -> Result<Self> {
        let folder = folder.join(scale.to_string()).join(SHAPE.folder());
        let whole = folder.join("whole");
        let data = Self { folder, scale };
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
                let sorting = (0..SHAPE.sort_columns).map(sorting).collect();
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
        for name in names() {
            engine.register(name, &self.file(name).to_string_lossy()).await?;
        }
        Ok(())
    }

    /// Puts the tables into a new store in a folder.
    ///
    /// # Errors
    /// When a file is missing, or there is a store.
    pub fn store(&self, folder: &Path) -> Result<Store> {
        let store = Store::open(folder)?;
        let collection = CollectionPath::in_default(COLLECTION)?;
        store.create_collection(&collection, Quota::default())?;
        for name in names() {
            let object = collection.object(&format!("{name}.parquet"))?;
            store.put(&object, &fs::read(self.file(name))?, Condition::Absent)?;
        }
        Ok(store)
    }

    /// Makes the tables of such a store known to an engine, by the address of its server.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn register_objects(&self, engine: &Engine, address: &str) -> Result<()> {
        for name in names() {
            let url = format!("drive://{address}/{COLLECTION}/{name}.parquet");
            engine.register(name, &url).await?;
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

/// The names of all tables.
fn names() -> impl Iterator<Item = &'static str> {
    Table::ALL.map(Table::name).into_iter().chain(SORTED.map(|(name, _)| name))
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(SHAPE.codec)
}

fn read(path: &Path) -> Result<Vec<RecordBatch>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()?;
    Ok(reader.collect::<Result<_, _>>()?)
}

/// Writes a file under its name once it is complete.
fn write(path: &Path, batches: &[RecordBatch], properties: WriterPropertiesBuilder) -> Result<()> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let schema = batches.first().context("a table without rows")?.schema();
    let group_rows = rows.div_ceil(SHAPE.groups).max(SHAPE.group_rows_min);
    let properties = properties.set_max_row_group_row_count(Some(group_rows)).build();
    // Of two processes that make the same table, each has its own draft.
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let mut writer = ArrowWriter::try_new(File::create(&draft)?, schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    fs::rename(draft, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_another_shape_are_in_another_folder() {
        let others = [
            Shape { groups: 5, ..SHAPE },
            Shape { group_rows_min: 255, ..SHAPE },
            Shape { codec: Compression::UNCOMPRESSED, ..SHAPE },
            Shape { sort_columns: 2, ..SHAPE },
            Shape { edition: 0, ..SHAPE },
        ];
        assert!(others.iter().all(|other| other.folder() != SHAPE.folder()));
        assert_eq!(SHAPE.folder(), "4-groups-of-256-SNAPPY-by-3-edition-1");
    }
}
