// SPDX-License-Identifier: Apache-2.0
//! Tests the counts of columns in files of several layouts.

use std::{collections::HashSet, fs, path::Path};

use bytes::Bytes;
use datafusion::{
    arrow::array::{
        ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    },
    arrow::datatypes::Int32Type,
    object_store::{ObjectStore, ObjectStoreExt, local::LocalFileSystem, path::Path as StorePath},
    parquet::{
        arrow::ArrowWriter,
        file::{
            metadata::{ParquetMetaData, ParquetMetaDataReader},
            properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder},
        },
    },
};
use rstest::rstest;
use tempfile::TempDir;

use super::*;

const ROWS: usize = 100_000;

/// A file with a column `a` in ten row groups, in a folder of its own.
struct Written {
    _folder: TempDir,
    path: StorePath,
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_max_row_group_row_count(Some(ROWS / 10))
}

fn plain() -> WriterProperties {
    properties().set_dictionary_enabled(false).build()
}

impl Written {
    fn new(column: ArrayRef, properties: WriterProperties) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        Self::write(&path, column, properties);
        let path = StorePath::from_filesystem_path(&path).unwrap();
        Self { _folder: folder, path }
    }

    fn write(path: &Path, column: ArrayRef, properties: WriterProperties) {
        let batch = RecordBatch::try_from_iter_with_nullable([("a", column, true)]).unwrap();
        let file = fs::File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn file(&self) -> String {
        format!("/{}", self.path)
    }

    fn footer(&self) -> Arc<ParquetMetaData> {
        let bytes = Bytes::from(fs::read(self.file()).unwrap());
        Arc::new(ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap())
    }

    /// The count of the column and its source.
    async fn counted(&self) -> Option<(u64, Source)> {
        self.counted_with(&self.footer(), &DistinctCounts::default()).await
    }

    async fn counted_with(
        &self,
        footer: &Arc<ParquetMetaData>,
        counts: &DistinctCounts,
    ) -> Option<(u64, Source)> {
        let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new());
        let object = store.head(&self.path).await.unwrap();
        let file = File { store: &store, object: &object, footer };
        let found = counts.of_file(file, &Wanted::of_names(&["a"], &[])).await;
        let known = counts.remembered(&self.file(), &Identity::of(&object, footer));
        let counted = known.and_then(|known| known.counts.get("a").copied().flatten());
        assert_eq!(found.distinct.get("a").copied(), counted.map(|it| it.distinct));
        counted.map(|it| (it.distinct, it.source))
    }
}

/// Numbers below an end that follow one another without order.
fn mixed(end: i64) -> Vec<i64> {
    let mut seed = 1_u64;
    let number = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(seed >> 33).unwrap() % end
    };
    (0..ROWS).map(number).collect()
}

/// All numbers below the number of rows, in another order.
fn unique() -> Vec<i64> {
    let rows = i64::try_from(ROWS).unwrap();
    (0..rows).map(|row| row * 7_919 % rows).collect()
}

fn sorted(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable();
    values
}

fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[i64]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values.iter().map(|it| format!("Customer#{it:09}"))))
}

fn floats(values: &[i64]) -> ArrayRef {
    let values = values.iter().map(|it| f64::from(i32::try_from(*it).unwrap()) / 4.0);
    Arc::new(Float64Array::from_iter_values(values))
}

fn assert_near(found: u64, values: &[i64]) {
    let truth = values.iter().collect::<HashSet<_>>().len() as u64;
    assert!(found * 4 >= truth * 3 && found * 3 <= truth * 4, "{found}, not {truth}");
}

#[rstest]
#[case::few(mixed(50))]
#[case::some(mixed(3_000))]
#[case::sorted(sorted(mixed(3_000)))]
#[tokio::test]
async fn column_in_dictionaries_is_counted_by_their_entries(
    #[case] values: Vec<i64>,
    #[values(integers, texts, floats)] column: fn(&[i64]) -> ArrayRef,
) {
    let written = Written::new(column(&values), properties().build());
    let (distinct, source) = written.counted().await.unwrap();
    assert_eq!(source, Source::Dictionary);
    assert_near(distinct, &values);
}

#[rstest]
#[case::few(mixed(50))]
#[case::some(mixed(3_000))]
#[case::some_sorted(sorted(mixed(3_000)))]
#[case::unique(unique())]
#[case::unique_sorted(sorted(unique()))]
#[tokio::test]
async fn column_without_dictionaries_is_sampled(
    #[case] values: Vec<i64>,
    #[values(integers, texts, floats)] column: fn(&[i64]) -> ArrayRef,
) {
    let written = Written::new(column(&values), plain());
    let (distinct, source) = written.counted().await.unwrap();
    assert_eq!(source, Source::Sample);
    assert_near(distinct, &values);
}

#[tokio::test]
async fn column_whose_dictionaries_end_early_is_sampled() {
    let some = properties().set_dictionary_page_size_limit(4_000).build();
    let values = unique();
    let written = Written::new(integers(&values), some);
    let chunk = written.footer().row_group(0).column(0).clone();
    assert!(chunk.dictionary_page_offset().is_some());
    let (distinct, source) = written.counted().await.unwrap();
    assert_eq!(source, Source::Sample);
    assert_near(distinct, &values);
}

#[tokio::test]
async fn nulls_are_no_values() {
    let values = unique();
    let one_in_four = values.iter().map(|value| (value % 4 == 0).then_some(*value));
    let column: ArrayRef = Arc::new(one_in_four.collect::<Int64Array>());
    for properties in [plain(), properties().build()] {
        let (distinct, _) = Written::new(Arc::clone(&column), properties).counted().await.unwrap();
        assert_near(distinct, &values[..ROWS / 4]);
    }
}

fn no_values() -> ArrayRef {
    Arc::new(Int64Array::from(vec![None; ROWS]))
}

fn no_rows() -> ArrayRef {
    Arc::new(Int64Array::from(Vec::<i64>::new()))
}

fn nested() -> ArrayRef {
    let lists = (0..ROWS).map(|_| Some([Some(1)]));
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))
}

#[rstest]
#[case::no_values(no_values())]
#[case::no_rows(no_rows())]
#[case::nested(nested())]
#[tokio::test]
async fn column_without_values_of_its_own_has_no_count(#[case] column: ArrayRef) {
    assert_eq!(Written::new(column, plain()).counted().await, None);
}

#[tokio::test]
async fn truth_values_are_two() {
    let values = (0..ROWS).map(|row| Some(row % 3 == 0));
    let written = Written::new(Arc::new(values.collect::<BooleanArray>()), plain());
    assert_eq!(written.counted().await, Some((2, Source::Sample)));
}

#[tokio::test]
async fn page_that_is_too_large_is_not_sampled() {
    let large = "x".repeat(1_000);
    let column = (0..ROWS / 10).map(|row| format!("{large}{row}"));
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(column));
    let one_page = plain().into_builder().set_data_page_size_limit(1 << 30);
    let one_page = one_page.set_write_batch_size(ROWS).build();
    assert_eq!(Written::new(Arc::clone(&column), one_page).counted().await, None);
    let (distinct, _) = Written::new(column, plain()).counted().await.unwrap();
    assert!((9_000..=10_000).contains(&distinct), "{distinct}");
}

/// Overwrites some bytes of the file behind the start of the column's first chunk.
fn damage(written: &Written, behind: u64, with: &[u8]) {
    let footer = written.footer();
    let at = usize::try_from(footer.row_group(0).column(0).byte_range().0 + behind).unwrap();
    let mut bytes = fs::read(written.file()).unwrap();
    bytes[at..at + with.len()].copy_from_slice(with);
    fs::write(written.file(), bytes).unwrap();
}

#[rstest]
#[case::header(0)]
#[case::values(40)]
#[tokio::test]
async fn corrupt_page_makes_no_count(#[case] behind: u64) {
    use datafusion::parquet::basic::Compression;
    let packed = plain().into_builder().set_compression(Compression::SNAPPY).build();
    let written = Written::new(integers(&mixed(50)), packed);
    damage(&written, behind, &[0xff; 30]);
    assert_eq!(written.counted().await, None);
}

#[tokio::test]
async fn dictionary_with_more_entries_than_values_is_refused() {
    let written = Written::new(integers(&mixed(50)[..10].repeat(2)), properties().build());
    let chunk = written.footer().row_group(0).column(0).clone();
    let (start, _) = chunk.byte_range();
    let bytes = fs::read(written.file()).unwrap();
    let header = &bytes[usize::try_from(start).unwrap()..][..30];
    let (page, length) = nearscan_cpu::PageHeader::read(header).unwrap();
    // The number of entries as Thrift has it: the next field, an integer, twice as large.
    let entries = [0x15, u8::try_from(2 * page.entries()).unwrap()];
    let at = header[..length].windows(2).rposition(|bytes| bytes == entries).unwrap() + 1;
    assert_eq!(written.counted().await.unwrap().1, Source::Dictionary);
    damage(&written, at as u64, &[2 * 21]);
    assert_eq!(written.counted().await, None);
}

#[tokio::test]
async fn file_that_was_changed_is_counted_again() {
    let written = Written::new(integers(&mixed(50)), plain());
    let counts = DistinctCounts::default();
    let before = written.counted_with(&written.footer(), &counts).await;
    assert_eq!(before, Some((50, Source::Sample)));
    Written::write(Path::new(&written.file()), integers(&mixed(60)), plain());
    let after = written.counted_with(&written.footer(), &counts).await;
    assert_eq!(after, Some((60, Source::Sample)));
}

#[tokio::test]
async fn nothing_is_kept_of_a_file_that_changes_meanwhile() {
    let written = Written::new(integers(&mixed(50)), plain());
    let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new());
    let object = store.head(&written.path).await.unwrap();
    let footer = written.footer();
    Written::write(Path::new(&written.file()), integers(&mixed(60)), plain());
    let counts = DistinctCounts::default();
    let file = File { store: &store, object: &object, footer: &footer };
    let found = counts.of_file(file, &Wanted::of_names(&["a"], &[])).await;
    assert_eq!(*found, ColumnEstimates::default());
    let known = counts.remembered(&written.file(), &Identity::of(&object, &footer));
    assert_eq!(known, Some(Columns::default()));
}

#[tokio::test]
async fn counts_are_read_from_the_folder_by_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = || DistinctCounts::new(Some(folder.path().to_owned()));
    let written = Written::new(integers(&mixed(50)), plain());
    let footer = written.footer();
    assert_eq!(written.counted_with(&footer, &run()).await, Some((50, Source::Sample)));
    let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\n50 sample ", "\n77 sample ")).unwrap();
    assert_eq!(written.counted_with(&footer, &run()).await, Some((77, Source::Sample)));
    fs::write(&file, text.replace("\n50 sample ", "\nmany sample ")).unwrap();
    assert_eq!(written.counted_with(&footer, &run()).await, Some((50, Source::Sample)));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), text.lines().count());
}

/// The share of the values of a column that are below a number, if it has quantiles.
async fn share_below(written: &Written, number: f64, counts: &DistinctCounts) -> Option<f64> {
    let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new());
    let object = store.head(&written.path).await.unwrap();
    let file = File { store: &store, object: &object, footer: &written.footer() };
    let found = counts.of_file(file, &Wanted::of_names(&[], &["a"])).await;
    assert!(found.distinct.is_empty());
    found.quantiles.get("a").unwrap().as_ref().map(|it| it.share_below(number))
}

/// Cubes of numbers in random order: a tenth of all are above 0.729 of the greatest.
fn cubes() -> Vec<i64> {
    mixed(1_000).into_iter().map(|number| number.pow(3)).collect()
}

#[rstest]
#[tokio::test]
async fn quantiles_are_those_of_a_skewed_column(
    #[values(plain(), properties().build())] properties: WriterProperties,
    #[values(true, false)] has_bounds: bool,
) {
    let properties = properties.into_builder();
    let enabled = if has_bounds { EnabledStatistics::Chunk } else { EnabledStatistics::None };
    let written =
        Written::new(integers(&cubes()), properties.set_statistics_enabled(enabled).build());
    let counts = DistinctCounts::default();
    for (number, expected) in [(1e6, 0.1), (125e6, 0.5), (729e6, 0.9), (1e9, 1.0)] {
        let share = share_below(&written, number, &counts).await.unwrap();
        assert!((share - expected).abs() < 0.04, "{share} below {number}");
    }
}

#[tokio::test]
async fn quantiles_end_at_the_bounds_of_the_column() {
    let mut values = mixed(1_000);
    // Far from the first rows of a row group.
    values[ROWS / 10 - 1] = 1_000_000;
    let written = Written::new(integers(&values), plain());
    let share = share_below(&written, 999_999.0, &DistinctCounts::default()).await.unwrap();
    assert!(share < 1.0, "{share}");
}

#[rstest]
#[case::sorted(sorted(mixed(3_000)))]
#[case::descending(sorted(mixed(3_000)).into_iter().rev().collect())]
#[case::sorted_in_row_groups(
    mixed(3_000).chunks(ROWS / 10).flat_map(|it| sorted(it.to_vec())).collect()
)]
#[case::each_row_group_elsewhere(mixed(100).iter().enumerate().map(|(row, it)| {
    i64::try_from(row * 10 / ROWS).unwrap() * 1_000 + it
}).collect())]
#[tokio::test]
async fn column_whose_first_rows_are_not_like_the_others_has_no_quantiles(
    #[case] values: Vec<i64>,
) {
    let written = Written::new(integers(&values), plain());
    assert_eq!(share_below(&written, 5.0, &DistinctCounts::default()).await, None);
}

#[tokio::test]
async fn column_that_is_read_as_a_whole_has_quantiles_in_any_order() {
    let values: Vec<i64> = (0..5_000).map(|number| number * number).collect();
    let written = Written::new(integers(&values), plain());
    let share = share_below(&written, 1_000_000.0, &DistinctCounts::default()).await.unwrap();
    assert!((share - 0.2).abs() < 0.02, "{share}");
}

#[tokio::test]
async fn quantiles_are_read_from_the_folder_by_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = || DistinctCounts::new(Some(folder.path().to_owned()));
    let written = Written::new(integers(&mixed(1_000)), plain());
    let share = share_below(&written, 500.0, &run()).await.unwrap();
    assert!((share - 0.5).abs() < 0.04, "{share}");
    let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| match line.starts_with("quantiles ") {
        true => "quantiles 0,1000,2000 a\n".to_owned(),
        false => format!("{line}\n"),
    });
    fs::write(&file, lines.collect::<String>()).unwrap();
    assert_eq!(share_below(&written, 500.0, &run()).await, Some(0.25));
}

#[test]
fn numbers_are_spread_evenly() {
    let spread = |all, most| spread(all, most).collect::<Vec<_>>();
    assert_eq!(spread(3, 5), [0, 1, 2]);
    assert_eq!(spread(10, 4), [0, 2, 5, 7]);
    assert!(spread(0, 4).is_empty());
}
