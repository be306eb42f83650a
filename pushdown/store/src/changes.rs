// SPDX-License-Identifier: Apache-2.0
//! Reads the log of changes: for each change of an object one entry, in the transaction of the
//! change, until it is removed by [`Store::forget_changes`].

use redb::ReadableTable;

use crate::{
    catalog::{CHANGES, FORGOTTEN_NUMBER, NUMBERS, Reading, SEQUENCE_NUMBER},
    change::{Change, ChangeKind},
    error::{Error, Result},
    path::CollectionPath,
    store::Store,
};

impl Store {
    /// Lists the changes after a number, in order, and at most so many.
    ///
    /// # Errors
    /// [`Error::Forgotten`] if some of them are not in the log any more, or an error of the
    /// catalog.
    pub fn changes(&self, after: u64, limit: usize) -> Result<Vec<Change>> {
        let reading = self.catalog().read()?;
        let forgotten = number(&reading, FORGOTTEN_NUMBER)?;
        if after < forgotten {
            return Err(Error::Forgotten { after, forgotten });
        }
        let changes = reading.open_table(CHANGES)?;
        let mut found = Vec::new();
        for row in changes.range(after.saturating_add(1)..)?.take(limit) {
            let (sequence, row) = row?;
            let (code, partition, collection, name, at_ns) = row.value();
            let kind = ChangeKind::of_code(code).ok_or_else(|| Error::Damaged {
                reason: format!("change {} has the unknown kind {code}", sequence.value()),
            })?;
            let path = CollectionPath::new(partition, collection)?.object(name)?;
            found.push(Change { sequence: sequence.value(), kind, path, at_ns });
        }
        Ok(found)
    }

    /// Returns the number of the last change; 0 if there was none. Who lists the objects after that
    /// and follows the changes after the number misses none.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub fn last_change(&self) -> Result<u64> {
        number(&self.catalog().read()?, SEQUENCE_NUMBER)
    }

    /// Removes the changes up to a number from the log.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub fn forget_changes(&self, up_to: u64) -> Result<()> {
        self.catalog().change(|transaction| {
            transaction.open_table(CHANGES)?.retain_in(..=up_to, |_, _| false)?;
            let mut numbers = transaction.open_table(NUMBERS)?;
            let read = |name| -> Result<u64> { Ok(numbers.get(name)?.map_or(0, |it| it.value())) };
            // Later changes are not forgotten before they are made.
            let forgotten = up_to.min(read(SEQUENCE_NUMBER)?).max(read(FORGOTTEN_NUMBER)?);
            numbers.insert(FORGOTTEN_NUMBER, forgotten)?;
            Ok(())
        })
    }
}

fn number(reading: &Reading, name: &str) -> Result<u64> {
    Ok(reading.open_table(NUMBERS)?.get(name)?.map_or(0, |number| number.value()))
}
