// SPDX-License-Identifier: Apache-2.0
//! Tests validation with footers and pages of other writers, and with corrupt ones.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::{
    arrow::array::{ArrayRef, Int64Array, RecordBatch},
    datasource::physical_plan::parquet::metadata::CachedParquetMetaData,
    execution::{cache::cache_manager::CachedFileMetadataEntry, context::SessionContext},
    object_store::{ObjectStoreExt, local::LocalFileSystem, path::Path as ObjectPath},
    parquet::{
        arrow::ArrowWriter,
        errors::Result as ParquetResult,
        file::{
            metadata::{
                ColumnChunkMetaData, ColumnChunkMetaDataBuilder, PageIndexPolicy, ParquetMetaData,
                ParquetMetaDataReader,
            },
            page_index::offset_index::{OffsetIndexMetaData, PageLocation},
            properties::WriterProperties,
        },
    },
};
use rstest::rstest;

use super::{super::metadata::FooterCache, pages::Chunks, validate};

/// The page index of a chunk.
type Pages = Vec<PageLocation>;

const ROWS: i64 = 1000;
const PAGE_ROWS: usize = 100;

/// The location that some writers declare for a page without values.
const NOWHERE: PageLocation =
    PageLocation { offset: -1, compressed_page_size: 0, first_row_index: -1 };

/// Writes ten pages of one column after a dictionary.
fn write() -> (Bytes, ParquetMetaData) {
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .build();
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n % 50)));
    let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let bytes = Bytes::from(writer.into_inner().unwrap());
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = reader.parse_and_finish(&bytes).unwrap();
    (bytes, metadata)
}

fn validated(
    metadata: &Arc<ParquetMetaData>,
    bytes: &Bytes,
) -> ParquetResult<Arc<ParquetMetaData>> {
    validate(Arc::clone(metadata), "f", bytes.len() as u64)
}

/// Returns the footer with a changed chunk.
fn with_chunk(
    metadata: ParquetMetaData,
    change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> ParquetMetaData {
    let mut builder = metadata.into_builder();
    let group = builder.take_row_groups().remove(0);
    let chunk = change(group.column(0).clone().into_builder()).build().unwrap();
    let group = group.into_builder().set_column_metadata(vec![chunk]).build().unwrap();
    builder.set_row_groups(vec![group]).build()
}

/// Returns the footer with other pages in its index.
fn with_pages(metadata: ParquetMetaData, change: fn(&mut Pages)) -> ParquetMetaData {
    let mut pages = pages(&metadata).to_vec();
    change(&mut pages);
    let index =
        OffsetIndexMetaData { page_locations: pages, unencoded_byte_array_data_bytes: None };
    metadata.into_builder().set_offset_index(Some(vec![vec![index]])).build()
}

fn pages(metadata: &ParquetMetaData) -> &[PageLocation] {
    metadata.offset_index().unwrap()[0][0].page_locations()
}

fn chunk(metadata: &ParquetMetaData) -> &ColumnChunkMetaData {
    metadata.row_group(0).column(0)
}

/// Checks the bytes of the whole chunk, or of one page.
fn check(metadata: ParquetMetaData, bytes: &Bytes, page: Option<usize>) -> Result<(), String> {
    let (start, length) = chunk(&metadata).byte_range();
    let (start, end) = match page.map(|page| pages(&metadata)[page].clone()) {
        Some(page) => {
            let start = u64::try_from(page.offset).unwrap();
            (start, start + u64::try_from(page.compressed_page_size).unwrap())
        }
        None => (start, start + length),
    };
    let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
    let chunks = Chunks::of(&Arc::new(metadata), "f".to_owned());
    chunks.check(start, &bytes[range]).map_err(|corruption| corruption.to_string())
}

#[test]
fn consistent_footer_is_returned_unchanged() {
    let (bytes, metadata) = write();
    assert_eq!(pages(&metadata).len(), 10);
    let metadata = Arc::new(metadata);
    assert!(Arc::ptr_eq(&validated(&metadata, &bytes).unwrap(), &metadata));
}

#[rstest]
#[case::none(|pages: &mut Pages| pages.clear())]
#[case::first_missing(|pages: &mut Pages| { pages.remove(0); })]
#[case::first_missing_and_hidden(|pages: &mut Pages| {
    pages.remove(0);
    pages[0].first_row_index = 0;
})]
#[case::one_missing(|pages: &mut Pages| { pages.remove(4); })]
#[case::last_missing(|pages: &mut Pages| { pages.pop(); })]
#[case::empty_page(|pages: &mut Pages| pages[3] = NOWHERE)]
#[case::rows_turned_round(|pages: &mut Pages| pages[3].first_row_index = 150)]
#[case::rows_behind_the_end(|pages: &mut Pages| pages[9].first_row_index = ROWS)]
#[case::moved(|pages: &mut Pages| pages.iter_mut().for_each(|page| page.offset += 1))]
fn inconsistent_page_index_is_removed(#[case] change: fn(&mut Pages)) {
    let (bytes, metadata) = write();
    let valid = validated(&Arc::new(with_pages(metadata, change)), &bytes).unwrap();
    assert!(valid.offset_index().is_none() && valid.column_index().is_none());
    // Its offsets are removed, so that it is not read again.
    let chunk = chunk(&valid);
    assert!(chunk.offset_index_offset().is_none() && chunk.column_index_offset().is_none());
    assert_eq!(chunk.num_values(), ROWS);
}

#[test]
fn dictionary_offset_is_optional() {
    let (bytes, metadata) = write();
    let unsaid = |metadata: ParquetMetaData| {
        let start = chunk(&metadata).dictionary_page_offset().unwrap();
        with_chunk(metadata, |it| it.set_dictionary_page_offset(None).set_data_page_offset(start))
    };
    let metadata = unsaid(metadata);
    assert!(validated(&Arc::new(metadata.clone()), &bytes).unwrap().offset_index().is_some());
    assert_eq!(check(metadata.clone(), &bytes, Some(5)), Ok(()));
    assert_eq!(check(metadata, &bytes, None), Ok(()));
}

#[test]
fn uncompressed_size_of_a_chunk_is_optional() {
    let (bytes, metadata) = write();
    let metadata = with_chunk(metadata, |it| it.set_total_uncompressed_size(0));
    assert_eq!(check(metadata, &bytes, None), Ok(()));
}

#[test]
fn value_count_of_a_chunk_may_exclude_nulls() {
    let (bytes, metadata) = write();
    let fewer = Arc::new(with_chunk(metadata.clone(), |it| it.set_num_values(ROWS - 1)));
    assert!(validated(&fewer, &bytes).is_ok());
    assert_eq!(check(ParquetMetaData::clone(&fewer), &bytes, None), Ok(()));
    let more = Arc::new(with_chunk(metadata, |it| it.set_num_values(ROWS + 1)));
    let error = validated(&more, &bytes).unwrap_err().to_string();
    assert!(error.contains("it declares 1001 values in 1000 rows"), "{error}");
}

#[test]
fn page_index_without_a_page_of_rows_is_removed() {
    let (bytes, metadata) = write();
    let metadata = with_chunk(metadata, |it| it.set_num_values(0));
    let read = with_pages(metadata, |pages| pages.clear());
    let read = Arc::new(read.into_builder().set_column_index(None).build());
    assert!(validated(&read, &bytes).unwrap().offset_index().is_none());
}

#[test]
fn page_with_another_row_count_than_its_index_is_refused() {
    let (bytes, metadata) = write();
    let moved = with_pages(metadata, |pages| pages[5].first_row_index += 20);
    // The row count is that of a consistent page.
    assert!(validated(&Arc::new(moved.clone()), &bytes).unwrap().offset_index().is_some());
    assert_eq!(check(moved.clone(), &bytes, Some(3)), Ok(()));
    let error = check(moved, &bytes, Some(5)).unwrap_err();
    assert!(error.contains("declares 100 rows, and the page index 80"), "{error}");
}

#[test]
fn chunk_whose_pages_lack_rows_is_refused() {
    let (bytes, metadata) = write();
    let mut builder = metadata.into_builder().set_offset_index(None);
    let group = builder.take_row_groups().remove(0);
    let group = group.into_builder().set_num_rows(ROWS + 7).build().unwrap();
    let error = check(builder.set_row_groups(vec![group]).build(), &bytes, None).unwrap_err();
    assert!(error.contains("the pages have 1000 values, but the chunk declares 1007"), "{error}");
}

#[test]
fn revalidation_returns_the_same_footer() {
    let (bytes, metadata) = write();
    let read = Arc::new(with_pages(metadata, |pages| pages.clear()));
    let valid = validated(&read, &bytes).unwrap();
    assert!(!Arc::ptr_eq(&valid, &read));
    assert!(Arc::ptr_eq(&validated(&valid, &bytes).unwrap(), &valid));
}

#[tokio::test]
async fn footer_without_its_inconsistent_index_replaces_the_cached_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let (bytes, metadata) = write();
    std::fs::write(&path, &bytes).unwrap();
    let state = SessionContext::new().state();
    let store = LocalFileSystem::new();
    let object = store.head(&ObjectPath::from_absolute_path(&path).unwrap()).await.unwrap();
    let cache = state.runtime_env().cache_manager.get_file_metadata_cache();
    let inconsistent = Arc::new(with_pages(metadata, |pages| pages.clear()));
    let entry = Arc::new(CachedParquetMetaData::new(Arc::clone(&inconsistent)));
    cache.put(&object.location, CachedFileMetadataEntry::new(object.clone(), entry));
    let footers = FooterCache::of(&state);
    let read = async || footers.read(&store, &object, None, PageIndexPolicy::Skip).await.unwrap();
    let valid = read().await;
    assert!(!Arc::ptr_eq(&valid, &inconsistent) && valid.offset_index().is_none());
    assert!(Arc::ptr_eq(&read().await, &valid));
}
