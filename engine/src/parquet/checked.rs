// SPDX-License-Identifier: Apache-2.0
//! Remembers which footers were validated, so that each plan over a file does not do it again.
//!
//! A footer is known by its address while it is alive, that is, while the metadata cache or a plan
//! holds it; this memory keeps no footer alive.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use datafusion::parquet::{errors::Result as ParquetResult, file::metadata::ParquetMetaData};

use super::{equality::EqualityColumns, statistics};

/// With fewer footers than these, those that are gone are kept.
const SMALL: usize = 64;

/// The footers of an engine that were validated.
#[derive(Debug, Default)]
pub(crate) struct CheckedFooters(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    footers: HashMap<usize, Checked>,
    /// The number of footers at which those that are gone are removed.
    limit: usize,
}

/// A footer that is valid for a file of this length.
#[derive(Debug)]
struct Checked {
    footer: Weak<ParquetMetaData>,
    file_bytes: u64,
    /// Whether none of its statistics is unsound.
    is_sound: bool,
}

impl CheckedFooters {
    /// Whether a footer was found valid for a file of this length.
    pub(super) fn contains(&self, footer: &Arc<ParquetMetaData>, file_bytes: u64) -> bool {
        self.find(footer, |checked| checked.file_bytes == file_bytes)
    }

    /// Remembers a valid footer.
    pub(super) fn insert(&self, footer: &Arc<ParquetMetaData>, file_bytes: u64) {
        let mut memory = self.lock();
        if memory.footers.len() >= memory.limit {
            memory.footers.retain(|_, checked| checked.footer.strong_count() > 0);
            memory.limit = SMALL.max(2 * memory.footers.len());
        }
        let checked = Checked { footer: Arc::downgrade(footer), file_bytes, is_sound: false };
        memory.footers.insert(address(footer), checked);
    }

    /// Returns a valid footer without unsound statistics; the same one if there are none.
    ///
    /// # Errors
    /// If the footer cannot be rebuilt.
    pub(super) fn sound(
        &self,
        footer: &Arc<ParquetMetaData>,
    ) -> ParquetResult<Arc<ParquetMetaData>> {
        if self.find(footer, |checked| checked.is_sound) {
            return Ok(Arc::clone(footer));
        }
        let sound = statistics::of_row_groups(Arc::clone(footer), &EqualityColumns::default())?;
        if Arc::ptr_eq(&sound, footer)
            && let Some(checked) = self.lock().footers.get_mut(&address(footer))
        {
            checked.is_sound = true;
        }
        Ok(sound)
    }

    fn find(&self, footer: &Arc<ParquetMetaData>, is_it: impl Fn(&Checked) -> bool) -> bool {
        let memory = self.lock();
        memory.footers.get(&address(footer)).is_some_and(|checked| {
            std::ptr::eq(checked.footer.as_ptr(), Arc::as_ptr(footer)) && is_it(checked)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn address(footer: &Arc<ParquetMetaData>) -> usize {
    Arc::as_ptr(footer).addr()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use datafusion::{
        arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch},
        parquet::{arrow::ArrowWriter, file::metadata::ParquetMetaDataReader},
    };

    use super::*;

    fn footer(column: ArrayRef) -> Arc<ParquetMetaData> {
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let bytes = Bytes::from(writer.into_inner().unwrap());
        Arc::new(ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap())
    }

    fn integers() -> Arc<ParquetMetaData> {
        footer(Arc::new(Int64Array::from_iter_values(0..9)))
    }

    #[test]
    fn footer_is_checked_for_the_length_of_its_file() {
        let (checked, footer) = (CheckedFooters::default(), integers());
        assert!(!checked.contains(&footer, 100));
        checked.insert(&footer, 100);
        assert!(checked.contains(&footer, 100));
        assert!(!checked.contains(&footer, 99));
        assert!(!checked.contains(&integers(), 100));
    }

    #[test]
    fn footers_that_are_gone_are_forgotten() {
        let checked = CheckedFooters::default();
        let footer = integers();
        checked.insert(&footer, 100);
        for _ in 0..10 * SMALL {
            checked.insert(&Arc::new(ParquetMetaData::clone(&footer)), 100);
        }
        assert!(checked.lock().footers.len() <= 2 * SMALL);
        assert!(checked.contains(&footer, 100));
    }

    #[test]
    fn sound_footer_is_returned_as_it_is() {
        let checked = CheckedFooters::default();
        let (sound, unsound) = (integers(), footer(Arc::new(Float64Array::from(vec![1.0, 2.0]))));
        for footer in [&sound, &unsound] {
            checked.insert(footer, 100);
        }
        for _ in 0..2 {
            assert!(Arc::ptr_eq(&checked.sound(&sound).unwrap(), &sound));
            let found = checked.sound(&unsound).unwrap();
            let stated = found.row_group(0).column(0).statistics().unwrap();
            assert!(stated.min_bytes_opt().is_none(), "{stated:?}");
        }
        assert!(
            checked.find(&sound, |it| it.is_sound) && !checked.find(&unsound, |it| it.is_sound)
        );
    }
}
