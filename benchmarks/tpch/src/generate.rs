// SPDX-License-Identifier: Apache-2.0
//! Writes the eight tables as Parquet files.
//!
//! One file a table, in a [`Layout`]. Decimals have precision 15 and are stored as INT64, dates as
//! INT32; no column is nullable.
//!
//! A row group is one part of the table, made and encoded by one thread; parts are appended in
//! order, so the file does not depend on the number of threads. A file gets its name once it is
//! complete: a file with the name is never made again, and an incomplete one is made anew.

use std::{
    fs::{self, File},
    io,
    num::NonZero,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use nearscan::parquet::{
    arrow::{
        ArrowWriter,
        arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves},
    },
    errors::ParquetError,
    file::writer::SerializedFileWriter,
};

use crate::{
    error::{Error, Result},
    layout::Layout,
    scale::ScaleFactor,
    tables::{Share, Table},
};

/// Row groups of a file at most: Parquet numbers them in 16 bits. From scale factor 600 on, those
/// of `lineitem` are larger instead.
const GROUPS_MAX: i32 = 32_767;

/// Receives the progress of the generation.
pub trait Progress {
    /// A table of this many parts is begun.
    fn begin(&mut self, table: Table, part_count: u64);

    /// One more part of it is written; a break ends generation and leaves no part of the table.
    fn advance(&mut self) -> ControlFlow<()>;

    /// The file of the table is complete.
    fn finish(&mut self);
}

/// Ignores the progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&mut self, _table: Table, _part_count: u64) {}
    fn advance(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn finish(&mut self) {}
}

/// Returns the file of a table in a folder of TPC-H data.
#[must_use]
pub fn file(folder: &Path, table: Table) -> PathBuf {
    folder.join(format!("{}.parquet", table.name()))
}

/// Says whether all tables are in `folder`.
#[must_use]
pub fn is_complete(folder: &Path) -> bool {
    Table::ALL.iter().all(|table| file(folder, *table).is_file())
}

/// Writes the tables that are not yet in `folder`, which is made if need be.
///
/// Works on all processors and blocks the calling thread.
///
/// # Errors
/// [`Error::Write`] if the folder cannot be written, [`Error::Encode`] if a table cannot be
/// encoded.
pub fn generate(
    scale: &ScaleFactor,
    layout: Layout,
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<()> {
    fs::create_dir_all(folder).map_err(|source| write_error(folder, source))?;
    let thread_count = thread::available_parallelism().map_or(1, NonZero::get);
    for table in Table::ALL {
        let path = file(folder, table);
        if !path.exists() {
            let work = Work { table, layout, scale: scale.value(), thread_count };
            work.write(&path, progress)?;
        }
    }
    Ok(())
}

/// One table to be written.
#[derive(Clone, Copy)]
struct Work {
    table: Table,
    layout: Layout,
    scale: f64,
    thread_count: usize,
}

/// A file that disappears unless it is given its name.
struct Draft {
    path: PathBuf,
}

impl Work {
    fn write(self, path: &Path, progress: &mut dyn Progress) -> Result<()> {
        let draft = Draft::beside(path);
        let file = File::create(&draft.path).map_err(|source| write_error(path, source))?;
        match self.fill(file, progress).map_err(|source| self.encode_error(source))? {
            ControlFlow::Break(()) => return Err(Error::Stopped),
            ControlFlow::Continue(()) => {}
        }
        draft.publish(path).map_err(|source| write_error(path, source))?;
        progress.finish();
        Ok(())
    }

    /// Writes all parts in order, as many at a time as there are threads.
    fn fill(
        self,
        file: File,
        progress: &mut dyn Progress,
    ) -> Result<ControlFlow<()>, ParquetError> {
        let schema = self.layout.schema(self.table);
        let properties = self.layout.properties(self.table);
        let writer = ArrowWriter::try_new(file, schema, Some(properties))?;
        let (mut writer, groups) = writer.into_serialized_writer()?;
        let part_count = self.part_count();
        progress.begin(self.table, u64::try_from(part_count).unwrap_or(0));
        let parts: Vec<Share> =
            (1..=part_count).map(|number| Share { number, count: part_count }).collect();
        for wave in parts.chunks(self.thread_count) {
            let encoded: Vec<_> = thread::scope(|scope| {
                let encoders: Vec<_> =
                    wave.iter().map(|share| scope.spawn(|| self.encode(&groups, *share))).collect();
                encoders
                    .into_iter()
                    .map(|encoder| encoder.join().unwrap_or_else(|_| died()))
                    .collect()
            });
            for chunks in encoded {
                append(&mut writer, chunks?)?;
                if progress.advance().is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        writer.close()?;
        Ok(ControlFlow::Continue(()))
    }

    fn part_count(self) -> i32 {
        let rows = self.table.rows_expected(self.scale).max(1);
        let rows_per_group = self.layout.rows_per_group();
        let groups = (rows + rows_per_group - 1) / rows_per_group;
        i32::try_from(groups).unwrap_or(GROUPS_MAX).min(GROUPS_MAX)
    }

    /// Makes the rows of one part and encodes them as one row group.
    fn encode(
        self,
        groups: &ArrowRowGroupWriterFactory,
        share: Share,
    ) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let index = usize::try_from(share.number - 1).unwrap_or(0);
        let mut columns = groups.create_column_writers(index)?;
        let order = self.layout.columns(self.table);
        let schema = self.layout.schema(self.table);
        for batch in self.table.rows(self.scale, share) {
            let batch = batch?.project(&order)?;
            let mut writers = columns.iter_mut();
            for (field, array) in schema.fields().iter().zip(batch.columns()) {
                for leaf in compute_leaves(field, array)? {
                    if let Some(writer) = writers.next() {
                        writer.write(&leaf)?;
                    }
                }
            }
        }
        columns.into_iter().map(|column| column.close()).collect()
    }

    fn encode_error(self, source: ParquetError) -> Error {
        Error::Encode { table: self.table.name(), source: Box::new(source) }
    }
}

impl Draft {
    /// Gives each draft a unique name, so that two processes can make the same table; the last one
    /// replaces the file with the same bytes.
    fn beside(path: &Path) -> Self {
        static DRAFT_COUNT: AtomicU32 = AtomicU32::new(0);
        let number = DRAFT_COUNT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self { path: path.with_file_name(format!(".{name}.{process}-{number}.draft")) }
    }

    fn publish(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After publishing there is nothing left under this name.
        let _nothing_left = fs::remove_file(&self.path);
    }
}

fn append(
    writer: &mut SerializedFileWriter<File>,
    chunks: Vec<ArrowColumnChunk>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for chunk in chunks {
        chunk.append_to_row_group(&mut group)?;
    }
    group.close()?;
    Ok(())
}

fn died<T>() -> Result<T, ParquetError> {
    Err(ParquetError::General("a thread that makes rows has panicked".to_owned()))
}

fn write_error(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearscan::parquet::{
        basic::{Encoding, Repetition, Type},
        file::reader::{FileReader, SerializedFileReader},
    };

    fn scale() -> ScaleFactor {
        "0.001".parse().unwrap()
    }

    #[test]
    fn row_groups_at_scale_factor_one_are_those_of_the_usual_generator() {
        let parts =
            |table| Work { table, layout: Layout::Usual, scale: 1.0, thread_count: 1 }.part_count();
        assert_eq!(Table::ALL.map(parts), [1, 1, 1, 2, 2, 7, 14, 53]);
    }

    #[test]
    fn stores_decimals_as_int64_and_no_nulls() {
        let folder = tempfile::tempdir().unwrap();
        generate(&scale(), Layout::Usual, folder.path(), &mut Silent).unwrap();
        let lineitem = File::open(file(folder.path(), Table::LineItem)).unwrap();
        let reader = SerializedFileReader::new(lineitem).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let column = |name: &str| {
            schema.columns().iter().find(|column| column.name() == name).unwrap().as_ref()
        };
        assert_eq!(column("l_quantity").physical_type(), Type::INT64);
        assert_eq!(column("l_quantity").type_precision(), 15);
        assert_eq!(column("l_shipdate").physical_type(), Type::INT32);
        let required = Repetition::REQUIRED;
        assert!(
            schema
                .columns()
                .iter()
                .all(|it| it.self_type().get_basic_info().repetition() == required)
        );
        assert_eq!(reader.metadata().file_metadata().num_rows(), 6005);
    }

    #[test]
    fn pushdown_layout_has_large_groups_and_no_large_dictionaries() {
        let folder = tempfile::tempdir().unwrap();
        generate(&scale(), Layout::Pushdown, folder.path(), &mut Silent).unwrap();
        let lineitem = File::open(file(folder.path(), Table::LineItem)).unwrap();
        let reader = SerializedFileReader::new(lineitem).unwrap();
        let chunk = |name: &str| {
            let chunks = reader.metadata().row_group(0).columns();
            chunks.iter().find(|chunk| chunk.column_descr().name() == name).unwrap()
        };
        let price = chunk("l_extendedprice");
        assert_eq!(price.dictionary_page_offset(), None);
        assert!(price.encodings().any(|it| it == Encoding::DELTA_BINARY_PACKED));
        assert!(chunk("l_quantity").dictionary_page_offset().is_some());
        let parts = |table| {
            Work { table, layout: Layout::Pushdown, scale: 1.0, thread_count: 1 }.part_count()
        };
        assert_eq!(parts(Table::LineItem), 6);
    }

    #[test]
    fn file_does_not_depend_on_the_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        // Large enough for three row groups.
        let bytes = |thread_count| {
            let path = folder.path().join(format!("{thread_count}.parquet"));
            let work =
                Work { table: Table::PartSupp, layout: Layout::Usual, scale: 0.3, thread_count };
            work.write(&path, &mut Silent).unwrap();
            fs::read(path).unwrap()
        };
        let one = bytes(1);
        let reader = File::open(folder.path().join("1.parquet")).unwrap();
        let reader = SerializedFileReader::new(reader).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 3);
        assert!(one == bytes(3));
    }

    #[test]
    fn makes_only_what_is_missing_and_leaves_no_draft() {
        #[derive(Default)]
        struct Count(Vec<Table>);
        impl Progress for Count {
            fn begin(&mut self, table: Table, _part_count: u64) {
                self.0.push(table);
            }
            fn advance(&mut self) -> ControlFlow<()> {
                ControlFlow::Continue(())
            }
            fn finish(&mut self) {}
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(file(folder.path(), Table::LineItem), "made before").unwrap();
        let mut count = Count::default();
        generate(&scale(), Layout::Usual, folder.path(), &mut count).unwrap();
        assert_eq!(count.0, Table::ALL[..7]);
        assert!(is_complete(folder.path()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), Table::ALL.len());
    }

    #[test]
    fn two_generators_may_make_the_same_data_at_once() {
        let folder = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            let make = || generate(&scale(), Layout::Usual, folder.path(), &mut Silent);
            let both = [scope.spawn(make), scope.spawn(make)];
            for one in both {
                one.join().unwrap().unwrap();
            }
        });
        assert!(is_complete(folder.path()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), Table::ALL.len());
    }

    #[test]
    fn generation_that_is_ended_leaves_whole_tables_only() {
        struct EndAt(Table, Option<Table>);
        impl Progress for EndAt {
            fn begin(&mut self, table: Table, _part_count: u64) {
                self.1 = Some(table);
            }
            fn advance(&mut self) -> ControlFlow<()> {
                match self.1 == Some(self.0) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }
            fn finish(&mut self) {}
        }
        let folder = tempfile::tempdir().unwrap();
        let result =
            generate(&scale(), Layout::Usual, folder.path(), &mut EndAt(Table::Supplier, None));
        assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["nation.parquet", "region.parquet"]);
    }

    #[test]
    fn abandoned_draft_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let draft = Draft::beside(&folder.path().join("a.parquet"));
        fs::write(&draft.path, "half").unwrap();
        drop(draft);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
