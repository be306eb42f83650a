// SPDX-License-Identifier: Apache-2.0
//! Tests unreadable data: the query fails, with a drive as without, and leaks nothing.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
};

use nearscan::{
    Error,
    parquet::file::reader::{FileReader, SerializedFileReader},
};
use nearscan_faults::{Bench, Setting};
use rstest::rstest;

use crate::{block_on, cases, data, prepare};

/// Returns the offset and the length in bytes of a column chunk of the second row group.
fn chunk(path: &Path, column: &str) -> (u64, u64) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let chunks = reader.metadata().row_group(1).columns();
    let chunk = chunks.iter().find(|chunk| chunk.column_descr().name() == column);
    chunk.unwrap().byte_range()
}

/// A header of a page that makes no sense.
fn break_header(path: &Path, (start, _): (u64, u64)) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[0xff; 8], start).unwrap();
}

/// Blocks that were never written.
fn forget(path: &Path, (start, length): (u64, u64)) {
    let zeros = vec![0; usize::try_from(length).unwrap()];
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(&zeros, start).unwrap();
}

#[rstest]
#[case::broken_header(break_header)]
#[case::forgotten_blocks(forget)]
fn unreadable_data_is_an_error_with_and_without_a_drive(#[case] damage: fn(&Path, (u64, u64))) {
    block_on(async {
        let data = data().await;
        let (_, baseline) = prepare(&data, cases("6")[0]).await;
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("broken.parquet");
        fs::copy(data.file("lineitem"), &broken).unwrap();
        damage(&broken, chunk(&broken, "l_discount"));
        let sql = format!(
            "SELECT sum(l_extendedprice * l_discount) FROM '{}' WHERE l_quantity < 24",
            broken.display()
        );
        let mut errors = Vec::new();
        for setting in [Setting::off(), Setting::forced("")] {
            let bench = Bench::open(&data, &setting).await.unwrap();
            let query = bench.engine().sql(&sql).await.unwrap();
            let error = query.collect().await.unwrap_err();
            assert!(matches!(error, Error::Data(_)), "{}", error.render());
            errors.push(error.render());
            drop(query);
            assert_eq!(baseline.after(bench).await, []);
        }
        assert_eq!(errors[0], errors[1]);
    });
}
