// SPDX-License-Identifier: Apache-2.0
//! Remembers which footers were validated, so that each plan over a file does not do it again.
//!
//! A footer is known by its address while it is alive, that is, while the metadata cache or a plan
//! holds it; this memory keeps no footer of a file alive. It keeps those that were made of them
//! without unsound statistics until theirs are gone and a footer is remembered: the next one, or,
//! with many footers, the one that doubles their number.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use datafusion::parquet::{errors::Result as ParquetResult, file::metadata::ParquetMetaData};

use super::{equality::EqualityColumns, statistics};

/// With fewer footers than these, those that are gone are removed whenever one is added.
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
    sound: Sound,
}

/// What is known of the statistics of a footer.
#[derive(Debug)]
enum Sound {
    /// Nothing yet.
    Unknown,
    /// None is unsound.
    All,
    /// Some are not in this copy of the footer.
    Without(Arc<ParquetMetaData>),
}

impl CheckedFooters {
    /// Whether a footer was found valid for a file of this length.
    pub(super) fn contains(&self, footer: &Arc<ParquetMetaData>, file_bytes: u64) -> bool {
        self.find(footer, |checked| checked.file_bytes == file_bytes).unwrap_or(false)
    }

    /// Remembers a valid footer.
    pub(super) fn insert(&self, footer: &Arc<ParquetMetaData>, file_bytes: u64) {
        let mut memory = self.lock();
        if memory.footers.len() < SMALL || memory.footers.len() >= memory.limit {
            memory.footers.retain(|_, checked| checked.footer.strong_count() > 0);
            memory.limit = SMALL.max(2 * memory.footers.len());
        }
        let checked = Checked { footer: Arc::downgrade(footer), file_bytes, sound: Sound::Unknown };
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
        let known = self.find(footer, |checked| match &checked.sound {
            Sound::Unknown => None,
            Sound::All => Some(Arc::clone(footer)),
            Sound::Without(sound) => Some(Arc::clone(sound)),
        });
        if let Some(known) = known.flatten() {
            return Ok(known);
        }
        let sound = statistics::of_row_groups(Arc::clone(footer), &EqualityColumns::default())?;
        self.find(footer, |checked| {
            checked.sound = match Arc::ptr_eq(&sound, footer) {
                true => Sound::All,
                false => Sound::Without(Arc::clone(&sound)),
            };
        });
        Ok(sound)
    }

    /// What `of` says of a footer, if it was found valid.
    fn find<T>(
        &self,
        footer: &Arc<ParquetMetaData>,
        of: impl FnOnce(&mut Checked) -> T,
    ) -> Option<T> {
        let mut memory = self.lock();
        let checked = memory.footers.get_mut(&address(footer))?;
        std::ptr::eq(checked.footer.as_ptr(), Arc::as_ptr(footer)).then(|| of(checked))
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
    fn footer_without_unsound_statistics_is_made_once_and_dropped_with_its_own() {
        let checked = CheckedFooters::default();
        let unsound = footer(Arc::new(Float64Array::from(vec![1.0, 2.0])));
        checked.insert(&unsound, 100);
        let sound = checked.sound(&unsound).unwrap();
        assert!(Arc::ptr_eq(&checked.sound(&unsound).unwrap(), &sound));
        let kept = Arc::downgrade(&sound);
        drop((unsound, sound));
        checked.insert(&integers(), 100);
        assert_eq!(kept.strong_count(), 0);
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
        let is_kept = |footer| checked.find(footer, |it| matches!(it.sound, Sound::Without(_)));
        assert_eq!((is_kept(&sound), is_kept(&unsound)), (Some(false), Some(true)));
    }
}
