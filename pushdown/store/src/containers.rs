// SPDX-License-Identifier: Apache-2.0
//! Makes, lists and removes partitions and collections, and sets their quotas.

use redb::ReadableTable;

use crate::{
    catalog::{COLLECTIONS, ContainerRow, PARTITIONS},
    error::{Error, Result},
    owner::Owner,
    path::{CollectionPath, DEFAULT_PARTITION, check_container},
    quota::{Quota, Usage},
    store::Store,
};

impl Store {
    /// Makes a partition.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Exists`], or an error of the catalog.
    pub fn create_partition(&self, name: &str, quota: Quota) -> Result<()> {
        check_container(name)?;
        self.catalog().change(|transaction| {
            let mut partitions = transaction.open_table(PARTITIONS)?;
            if partitions.get(name)?.is_some() {
                return Err(Error::Exists { what: format!("partition {name}") });
            }
            let row = ContainerRow { quota, usage: Usage::default() };
            partitions.insert(name, row.value())?;
            Ok(())
        })
    }

    /// Removes a partition without collections.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotEmpty`], [`Error::Needed`] for the default one, or an error
    /// of the catalog.
    pub fn remove_partition(&self, name: &str) -> Result<()> {
        let what = || format!("partition {name}");
        if name == DEFAULT_PARTITION {
            return Err(Error::Needed { name: name.to_owned() });
        }
        self.catalog().change(|transaction| {
            let collections = transaction.open_table(COLLECTIONS)?;
            let first = collections.range((name, "")..)?.next().transpose()?;
            if first.is_some_and(|(key, _)| key.value().0 == name) {
                return Err(Error::NotEmpty { what: what() });
            }
            transaction.clear_attributes(Owner::Partition(name))?;
            match transaction.open_table(PARTITIONS)?.remove(name)? {
                Some(_) => Ok(()),
                None => Err(Error::NotFound { what: what() }),
            }
        })
    }

    /// Lists the partitions by name, with their quotas and what they hold.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub fn partitions(&self) -> Result<Vec<(String, Quota, Usage)>> {
        let partitions = self.catalog().read()?.open_table(PARTITIONS)?;
        let mut found = Vec::new();
        for row in partitions.iter()? {
            let (name, row) = row?;
            let ContainerRow { quota, usage } = ContainerRow::of(row.value());
            found.push((name.value().to_owned(), quota, usage));
        }
        Ok(found)
    }

    /// Sets the quota of a partition.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the catalog.
    pub fn set_partition_quota(&self, name: &str, quota: Quota) -> Result<()> {
        self.catalog().change(|transaction| {
            let mut partitions = transaction.open_table(PARTITIONS)?;
            let found = partitions.get(name)?.map(|row| ContainerRow::of(row.value()));
            let what = || format!("partition {name}");
            let row = found.ok_or_else(|| Error::NotFound { what: what() })?;
            partitions.insert(name, ContainerRow { quota, ..row }.value())?;
            Ok(())
        })
    }

    /// Makes a collection in a partition, without a quota, unless it is there.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such partition, or an error of the catalog.
    pub fn ensure_collection(&self, path: &CollectionPath) -> Result<()> {
        match self.create_collection(path, Quota::default()) {
            Err(Error::Exists { .. }) => Ok(()),
            made => made,
        }
    }

    /// Makes a collection in a partition.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such partition, [`Error::Exists`], or an error of the
    /// catalog.
    pub fn create_collection(&self, path: &CollectionPath, quota: Quota) -> Result<()> {
        self.catalog().change(|transaction| {
            if transaction.open_table(PARTITIONS)?.get(path.partition())?.is_none() {
                return Err(Error::NotFound { what: format!("partition {}", path.partition()) });
            }
            let mut collections = transaction.open_table(COLLECTIONS)?;
            if collections.get(path.key())?.is_some() {
                return Err(Error::Exists { what: format!("collection {path}") });
            }
            let row = ContainerRow { quota, usage: Usage::default() };
            collections.insert(path.key(), row.value())?;
            Ok(())
        })
    }

    /// Removes a collection without objects.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotEmpty`], or an error of the catalog.
    pub fn remove_collection(&self, path: &CollectionPath) -> Result<()> {
        let what = || format!("collection {path}");
        self.catalog().change(|transaction| {
            let mut collections = transaction.open_table(COLLECTIONS)?;
            let found = collections.get(path.key())?.map(|row| ContainerRow::of(row.value()));
            match found {
                None => Err(Error::NotFound { what: what() }),
                Some(row) if row.usage.objects > 0 => Err(Error::NotEmpty { what: what() }),
                Some(_) => {
                    collections.remove(path.key())?;
                    transaction.clear_attributes(path.into())
                }
            }
        })
    }

    /// Lists the collections of a partition by name, with their quotas and what they hold.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such partition, or an error of the catalog.
    pub fn collections(&self, partition: &str) -> Result<Vec<(CollectionPath, Quota, Usage)>> {
        let reading = self.catalog().read()?;
        if reading.open_table(PARTITIONS)?.get(partition)?.is_none() {
            return Err(Error::NotFound { what: format!("partition {partition}") });
        }
        let collections = reading.open_table(COLLECTIONS)?;
        let mut found = Vec::new();
        for row in collections.range((partition, "")..)? {
            let (key, row) = row?;
            let (of, name) = key.value();
            if of != partition {
                break;
            }
            let ContainerRow { quota, usage } = ContainerRow::of(row.value());
            found.push((CollectionPath::new(partition, name)?, quota, usage));
        }
        Ok(found)
    }

    /// Sets the quota of a collection.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the catalog.
    pub fn set_collection_quota(&self, path: &CollectionPath, quota: Quota) -> Result<()> {
        self.catalog().change(|transaction| {
            let mut collections = transaction.open_table(COLLECTIONS)?;
            let found = collections.get(path.key())?.map(|row| ContainerRow::of(row.value()));
            let what = || format!("collection {path}");
            let row = found.ok_or_else(|| Error::NotFound { what: what() })?;
            collections.insert(path.key(), ContainerRow { quota, ..row }.value())?;
            Ok(())
        })
    }
}
