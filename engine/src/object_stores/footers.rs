// SPDX-License-Identifier: Apache-2.0
//! Looks at the footers of Parquet files in object stores before their reader does.
//!
//! As with [local files](crate::store), a footer must not make its reader allocate more than the
//! file may need. DataFusion reads the end of a file by one request, which mostly holds all of the
//! footer and the indexes of pages; what it does not hold is asked for here as well.

use bytes::Bytes;
use datafusion::object_store::{Error, ObjectStore, ObjectStoreExt, Result, path::Path};

use crate::{
    corruption::Corruption,
    store::{
        TAIL_BYTES,
        ending::{check_footer, check_heads, footer_start, spans_of_heads},
    },
};

/// Checks the footer of a file of `size` bytes that ends with `last`. Other files pass. `url` is
/// the file's in errors.
///
/// # Errors
/// If the footer would make its reader allocate too much, or what is missing cannot be read.
pub(super) async fn check(
    store: &dyn ObjectStore,
    location: &Path,
    url: &str,
    size: u64,
    last: &Bytes,
) -> Result<()> {
    let Some(start) = footer_start(url, last, size).map_err(corrupt)? else { return Ok(()) };
    let first = size - last.len() as u64;
    let read = async |from: u64, to: u64| {
        let index = |byte: u64| usize::try_from(byte.checked_sub(first)?).ok();
        match index(from).zip(index(to)) {
            Some((from, to)) => Ok(last.slice(from..to)),
            None => store.get_range(location, from..to).await,
        }
    };
    let footer = read(start, size - TAIL_BYTES).await?;
    let indexes = check_footer(url, &footer, start, size).map_err(corrupt)?;
    let mut heads = Vec::new();
    for span in spans_of_heads(&indexes) {
        heads.push((span.start, read(span.start, span.end).await?));
    }
    check_heads(url, &indexes, &heads).map_err(corrupt)
}

fn corrupt(corruption: Corruption) -> Error {
    Error::Generic { store: "object store", source: Box::new(corruption) }
}
