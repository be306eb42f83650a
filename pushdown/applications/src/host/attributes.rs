// SPDX-License-Identifier: Apache-2.0
//! Implements the interface `attributes`.

use nearscan_store::{CollectionPath, ObjectPath, Owner};

use super::guest::Guest;
use crate::{
    bindings::{Stop, nearscan::drive::attributes::Host},
    causes::Cause,
    refusal::Refusal,
    rights::Access,
};

/// What has attributes, of those that an application can name.
struct Named {
    collection: CollectionPath,
    object: Option<ObjectPath>,
}

impl Named {
    fn owner(&self) -> Owner<'_> {
        match &self.object {
            Some(object) => object.into(),
            None => (&self.collection).into(),
        }
    }
}

impl Guest {
    fn named(&self, name: &str, object: Option<&str>, access: Access) -> Result<Named, Stop> {
        let collection = self.collection(name, access)?;
        let object = object.map(|object| collection.object(object)).transpose()?;
        Ok(Named { collection, object })
    }

    fn cause_of(&self, named: &Named) -> Result<Option<Cause>, Stop> {
        named.object.as_ref().map(|object| self.cause(object)).transpose()
    }
}

impl Host for Guest {
    fn get(
        &mut self,
        collection: String,
        object: Option<String>,
        name: String,
    ) -> Result<Vec<u8>, Stop> {
        let named = self.named(&collection, object.as_deref(), Access::Read)?;
        let found = self.drive.store.attributes(named.owner())?;
        let missing = || Refusal::NotFound(format!("attribute {name:?} of {}", named.owner()));
        Ok(found.get(&name).ok_or_else(missing)?.to_vec())
    }

    fn names(&mut self, collection: String, object: Option<String>) -> Result<Vec<String>, Stop> {
        let named = self.named(&collection, object.as_deref(), Access::Read)?;
        Ok(self.drive.store.attributes(named.owner())?.into_keys().collect())
    }

    fn set(
        &mut self,
        collection: String,
        object: Option<String>,
        name: String,
        value: Vec<u8>,
    ) -> Result<(), Stop> {
        let named = self.named(&collection, object.as_deref(), Access::Write)?;
        let _cause = self.cause_of(&named)?;
        Ok(self.drive.store.set_attribute(named.owner(), &name, &value)?)
    }

    fn remove(
        &mut self,
        collection: String,
        object: Option<String>,
        name: String,
    ) -> Result<(), Stop> {
        let named = self.named(&collection, object.as_deref(), Access::Write)?;
        let _cause = self.cause_of(&named)?;
        Ok(self.drive.store.remove_attribute(named.owner(), &name)?)
    }
}
