// SPDX-License-Identifier: Apache-2.0
//! Implements [`Objects`], the objects of a server as its clients see them.
//!
//! A request ends when the connection is lost, which the keep-alive notices; otherwise it takes as
//! long as the server does.

mod error;
mod http1;
mod streams;

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use nearscan_store::{
    Change, CollectionPath, Condition, DEFAULT_PARTITION, ObjectInfo, ObjectPath, Owner, Quota,
    Usage,
};
use prost::Message;

use super::{
    Shared,
    connection::{Connection, act},
};
use crate::{
    convert::objects::{change_of, container, expected_of, quota_of},
    protocol::{
        action,
        objects::{
            Attributes, Changes, Containers, Copy, Done, List, ListChanges, Listed,
            ObjectInfo as InfoMessage, ObjectName, Remove, SetAttribute, Truncate, WRITE_BYTES_MAX,
            Within, Write,
        },
    },
};
pub use error::{ObjectError, ObjectErrorKind};
#[cfg(feature = "fuzz")]
pub(crate) use http1::{Answer as Http1Answer, read_head, request_of};
pub(super) use http1::{Http1Connections, Http1Options};
pub use streams::{ObjectUpload, Reading};

type Result<T> = std::result::Result<T, ObjectError>;

/// The objects of a server. Clones share the connection of the drive.
#[derive(Debug, Clone)]
pub struct Objects {
    shared: Arc<Shared>,
}

impl Objects {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn connection(&self) -> Result<Arc<Connection>> {
        let connection = self.shared.connection();
        connection.map_err(|refusal| ObjectError::unreachable(refusal.to_string()))
    }

    async fn call<A: Default + Message>(&self, name: &str, question: &impl Message) -> Result<A> {
        let connection = self.connection()?;
        let flight = connection.flight();
        Ok(connection.unless_lost(act(&flight, name, question)).await?)
    }

    /// Describes an object.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], or what keeps the server from answering.
    pub async fn info(&self, path: &ObjectPath) -> Result<ObjectInfo> {
        info_of(self.call(action::INFO, &ObjectName::from(path)).await?)
    }

    /// Lists the objects of a collection whose names start with `prefix` and are behind `after`, in
    /// the order of their names; also gives whether there may be more of them.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`] if there is no such collection, or what keeps the server from
    /// answering.
    pub async fn list(
        &self,
        collection: &CollectionPath,
        prefix: &str,
        after: Option<&str>,
    ) -> Result<(Vec<ObjectInfo>, More)> {
        let list = List {
            collection: ObjectName::from(collection),
            prefix: prefix.to_owned(),
            after: after.map(str::to_owned),
            limit: 0,
        };
        let Listed { objects, is_partial } = self.call(action::LIST, &list).await?;
        let objects = objects.into_iter().map(info_of).collect::<Result<_>>()?;
        Ok((objects, if is_partial { More::Maybe } else { More::No }))
    }

    /// Removes an object.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], [`ObjectErrorKind::Conflict`], or what keeps the server from
    /// answering.
    pub async fn remove(&self, path: &ObjectPath, condition: Condition) -> Result<()> {
        let name = ObjectName::from(path);
        let remove = Remove { name, expected: expected_of(condition) };
        self.call::<Done>(action::REMOVE, &remove).await.map(drop)
    }

    /// Appends bytes to an object. More than 3 MiB are several appends, each done as a whole.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], [`ObjectErrorKind::Conflict`], [`ObjectErrorKind::Exhausted`]
    /// beyond a quota, or what keeps the server from answering.
    pub async fn append(
        &self,
        path: &ObjectPath,
        bytes: Bytes,
        condition: Condition,
    ) -> Result<ObjectInfo> {
        self.write(path, None, bytes, condition).await
    }

    /// Writes bytes from an offset on, as [`Objects::append`] does at the end.
    ///
    /// # Errors
    /// Those of [`Objects::append`], and [`ObjectErrorKind::Range`] behind the end.
    pub async fn write_at(
        &self,
        path: &ObjectPath,
        offset: u64,
        bytes: Bytes,
        condition: Condition,
    ) -> Result<ObjectInfo> {
        self.write(path, Some(offset), bytes, condition).await
    }

    async fn write(
        &self,
        path: &ObjectPath,
        mut offset: Option<u64>,
        mut bytes: Bytes,
        mut condition: Condition,
    ) -> Result<ObjectInfo> {
        loop {
            let part = bytes.split_to(bytes.len().min(WRITE_BYTES_MAX));
            let length = part.len() as u64;
            let (name, expected) = (ObjectName::from(path), expected_of(condition));
            let write = Write { name, expected, offset, bytes: part };
            let info: InfoMessage = self.call(action::WRITE, &write).await?;
            if bytes.is_empty() {
                return info_of(info);
            }
            // Nobody else may write between two parts.
            condition = Condition::Version(info.version);
            offset = offset.map(|offset| offset.saturating_add(length));
        }
    }

    /// Cuts an object off at a length.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], [`ObjectErrorKind::Range`] if it is shorter,
    /// [`ObjectErrorKind::Conflict`], or what keeps the server from answering.
    pub async fn truncate(
        &self,
        path: &ObjectPath,
        length: u64,
        condition: Condition,
    ) -> Result<ObjectInfo> {
        let (name, expected) = (ObjectName::from(path), expected_of(condition));
        info_of(self.call(action::TRUNCATE, &Truncate { name, expected, length }).await?)
    }

    /// Copies the bytes of an object, in the server. The collection of the copy is made if there is
    /// none.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], [`ObjectErrorKind::Conflict`] or [`ObjectErrorKind::Exists`]
    /// if the copy is not as demanded, or what keeps the server from answering.
    pub async fn copy(
        &self,
        from: &ObjectPath,
        to: &ObjectPath,
        condition: Condition,
    ) -> Result<ObjectInfo> {
        let (from, to) = (ObjectName::from(from), ObjectName::from(to));
        let copy = Copy { from, to, expected: expected_of(condition) };
        info_of(self.call(action::COPY, &copy).await?)
    }

    /// Returns the attributes of an object or a container. More than fit one answer are asked for
    /// in turn, so they may be of different times.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], or what keeps the server from answering.
    pub async fn attributes<'a>(
        &self,
        of: impl Into<Owner<'a>> + Send,
    ) -> Result<BTreeMap<String, Vec<u8>>> {
        let name = ObjectName::from(of.into());
        let mut all = BTreeMap::new();
        loop {
            let after = all.last_key_value().map(|(name, _): (&String, _)| name.clone());
            let of = Within::behind(name.clone(), after);
            let Attributes { attributes, is_partial } = self.call(action::ATTRIBUTES, &of).await?;
            let before = all.len();
            all.extend(attributes);
            // A server that gives nothing new has no more, whatever it says.
            if !is_partial || all.len() == before {
                return Ok(all);
            }
        }
    }

    /// Returns an attribute of an object or a container; none if it has none of the name.
    ///
    /// # Errors
    /// As [`Objects::attributes`].
    pub async fn attribute<'a>(
        &self,
        of: impl Into<Owner<'a>> + Send,
        attribute: &str,
    ) -> Result<Option<Vec<u8>>> {
        let of = ObjectName::from(of.into());
        // They are asked for behind a name: behind its own but for the last letter.
        let mut behind: String = attribute.to_owned();
        behind.pop();
        loop {
            let asked = Within::behind(of.clone(), Some(behind.clone()));
            let page: Attributes = self.call(action::ATTRIBUTES, &asked).await?;
            let mut attributes: BTreeMap<String, Vec<u8>> = page.attributes.into_iter().collect();
            if let Some(value) = attributes.remove(attribute) {
                return Ok(Some(value));
            }
            match attributes.into_keys().next_back() {
                Some(last) if page.is_partial && last > behind && last.as_str() < attribute => {
                    behind = last;
                }
                _ => return Ok(None),
            }
        }
    }

    /// Sets an attribute of an object or a container, or removes it if there is no value.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], [`ObjectErrorKind::Invalid`], or what keeps the server from
    /// answering.
    pub async fn set_attribute<'a>(
        &self,
        of: impl Into<Owner<'a>> + Send,
        attribute: &str,
        value: Option<Bytes>,
    ) -> Result<()> {
        let (of, attribute) = (ObjectName::from(of.into()), attribute.to_owned());
        let set = SetAttribute { of, attribute, value };
        self.call::<Done>(action::SET_ATTRIBUTE, &set).await.map(drop)
    }

    /// Lists the collections of the default partition, with their quotas and what they hold, in the
    /// order of their names. More than fit one answer are asked for in turn.
    ///
    /// # Errors
    /// What keeps the server from answering.
    pub async fn collections(&self) -> Result<Vec<(CollectionPath, Quota, Usage)>> {
        let mut all: Vec<(CollectionPath, Quota, Usage)> = Vec::new();
        loop {
            let partition = DEFAULT_PARTITION.to_owned();
            let within = ObjectName { partition, ..ObjectName::default() };
            let after = all.last().map(|(path, ..)| path.name().to_owned());
            let within = Within::behind(within, after.clone());
            let Containers { containers, is_partial } =
                self.call(action::CONTAINERS, &within).await?;
            for it in &containers {
                let path = it.name.collection_path();
                let path = path.map_err(|error| ObjectError::nonsense(&error))?;
                all.push((path, quota_of(it), Usage { bytes: it.bytes, objects: it.objects }));
            }
            // A server that does not get on has no more, whatever it says.
            let last = all.last().map(|(path, ..)| path.name());
            if !is_partial || last <= after.as_deref() {
                return Ok(all);
            }
        }
    }

    /// Makes a collection.
    ///
    /// # Errors
    /// [`ObjectErrorKind::Exists`], or what keeps the server from answering.
    pub async fn create_collection(&self, path: &CollectionPath, quota: Quota) -> Result<()> {
        let made = container(ObjectName::from(path), quota, Usage::default());
        self.call::<Done>(action::CREATE_CONTAINER, &made).await.map(drop)
    }

    /// Removes an empty collection.
    ///
    /// # Errors
    /// [`ObjectErrorKind::NotFound`], [`ObjectErrorKind::Refused`] if it is not empty, or what
    /// keeps the server from answering.
    pub async fn remove_collection(&self, path: &CollectionPath) -> Result<()> {
        self.call::<Done>(action::REMOVE_CONTAINER, &ObjectName::from(path)).await.map(drop)
    }

    /// Lists changes of objects behind one, at most a thousand, and the number of the last change
    /// of all.
    ///
    /// # Errors
    /// [`ObjectErrorKind::Range`] if the server has forgotten some of them, or what keeps it from
    /// answering.
    pub async fn changes(&self, after: u64) -> Result<(Vec<Change>, u64)> {
        let list = ListChanges { after, limit: 0 };
        let Changes { changes, last } = self.call(action::CHANGES, &list).await?;
        let changes = changes.iter().filter_map(|change| change_of(change).transpose());
        let changes = changes.collect::<std::result::Result<_, _>>();
        Ok((changes.map_err(|error| ObjectError::nonsense(&error))?, last))
    }
}

/// Whether a list goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// It may.
    Maybe,
    /// It does not.
    No,
}

fn info_of(info: InfoMessage) -> Result<ObjectInfo> {
    ObjectInfo::try_from(info).map_err(|error| ObjectError::nonsense(&error))
}
