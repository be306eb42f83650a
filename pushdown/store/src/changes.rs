// SPDX-License-Identifier: Apache-2.0
//! Reads the log of changes: for each change of an object one entry, in the transaction of the
//! change, until it is removed by [`Store::forget_changes`].

use crate::{
    catalog::CHANGES,
    change::{Change, ChangeKind},
    error::{Error, Result},
    path::CollectionPath,
    store::Store,
};

impl Store {
    /// Lists the changes after a number, in order, and at most so many.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub fn changes(&self, after: u64, limit: usize) -> Result<Vec<Change>> {
        let changes = self.catalog().read()?.open_table(CHANGES)?;
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

    /// Removes the changes up to a number from the log.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub fn forget_changes(&self, up_to: u64) -> Result<()> {
        self.catalog().change(|transaction| {
            let mut changes = transaction.open_table(CHANGES)?;
            changes.retain_in(..=up_to, |_, _| false)?;
            Ok(())
        })
    }
}
