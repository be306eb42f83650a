// SPDX-License-Identifier: Apache-2.0
//! Answers requests about the objects of a store.
//!
//! The store blocks, so its functions are called on threads of their own.

mod get;
mod put;

use arrow_flight::Action;
use bytes::Bytes;
use nearscan_store::{
    Change, Condition, Error, ObjectInfo, Owner, Reader, SYSTEM_PARTITION, Store,
};
use prost::Message;
use tonic::Status;

use super::read;
use crate::{
    buffers::Buffers,
    convert::objects::{condition_of, container, quota_of, status_of},
    protocol::{
        action,
        objects::{
            Attributes, Changes, Container, Containers, Copy, Done, LIST_MAX, List, ListChanges,
            Listed, ObjectInfo as InfoMessage, ObjectName, PAGE_BYTES, Remove, SetAttribute,
            Truncate, Within, Write,
        },
    },
};
pub(super) use get::{Opened, Parts};

/// Bytes that a copy moves at once.
const COPY_BYTES: u64 = 4 << 20;

/// The objects of a store, for all clients.
#[derive(Debug, Clone)]
pub(super) struct Objects {
    store: Store,
    /// Memory of the parts that are sent.
    buffers: Buffers,
}

/// Calls a function of the store on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Status::internal(error.to_string()))?.map_err(|error| status_of(&error))
}

impl Objects {
    pub(super) fn new(store: Store) -> Self {
        Self { store, buffers: Buffers::default() }
    }

    /// Does what an action asks for; none if it is no action of a store.
    pub(super) async fn act(&self, action: &Action) -> Option<Result<Vec<u8>, Status>> {
        let (name, body) = (action.r#type.as_str(), &action.body);
        if !action::OF_STORES.iter().any(|(known, _)| *known == name) {
            return None;
        }
        Some(match name {
            action::INFO | action::REMOVE | action::WRITE | action::TRUNCATE | action::COPY => {
                self.act_on_object(name, body).await
            }
            action::ATTRIBUTES => self.attributes(read(body)).await,
            action::SET_ATTRIBUTE => self.set_attribute(read(body)).await,
            action::LIST => self.list(read(body)).await,
            action::CHANGES => self.changes(read(body)).await,
            _ => self.act_on_container(name, body).await,
        })
    }

    async fn act_on_object(&self, name: &str, body: &Bytes) -> Result<Vec<u8>, Status> {
        let store = self.store.clone();
        let info = match name {
            action::INFO => {
                let name: ObjectName = read(body)?;
                blocking(move || store.info(&name.object_path()?)).await?
            }
            action::WRITE => {
                let Write { name, expected, offset, bytes } = read(body)?;
                let condition = condition_of(expected);
                blocking(move || match offset {
                    Some(offset) => store.write_at(&name.object_path()?, offset, &bytes, condition),
                    None => store.append(&name.object_path()?, &bytes, condition),
                })
                .await?
            }
            action::TRUNCATE => {
                let Truncate { name, expected, length } = read(body)?;
                let condition = condition_of(expected);
                blocking(move || store.truncate(&name.object_path()?, length, condition)).await?
            }
            action::COPY => {
                let Copy { from, to, expected } = read(body)?;
                blocking(move || {
                    let reader = store.reader(&from.object_path()?)?;
                    copy(&store, &reader, &to, condition_of(expected))
                })
                .await?
            }
            _ => {
                let Remove { name, expected } = read(body)?;
                let condition = condition_of(expected);
                blocking(move || store.remove(&name.object_path()?, condition)).await?;
                return Ok(Done {}.encode_to_vec());
            }
        };
        Ok(InfoMessage::from(&info).encode_to_vec())
    }

    async fn attributes(&self, of: Result<Within, Status>) -> Result<Vec<u8>, Status> {
        let (of, after) = of?.into_parts();
        let store = self.store.clone();
        let found = blocking(move || with_owner(&of, |owner| store.attributes(owner))).await?;
        let bytes_of = |(name, value): &(String, Bytes)| name.len() + value.len();
        let page = page_of(found, |(name, _)| name, bytes_of, after.as_deref());
        let attributes = page.entries.into_iter().map(|(name, value)| (name, value.to_vec()));
        let attributes = attributes.collect();
        Ok(Attributes { attributes, is_partial: page.is_partial }.encode_to_vec())
    }

    async fn set_attribute(&self, set: Result<SetAttribute, Status>) -> Result<Vec<u8>, Status> {
        let SetAttribute { of, attribute, value } = set?;
        let store = self.store.clone();
        blocking(move || {
            with_owner(&of, |owner| match &value {
                Some(value) => store.set_attribute(owner, &attribute, value),
                None => store.remove_attribute(owner, &attribute),
            })
        })
        .await?;
        Ok(Done {}.encode_to_vec())
    }

    async fn list(&self, list: Result<List, Status>) -> Result<Vec<u8>, Status> {
        let List { collection, prefix, after, limit } = list?;
        let (store, limit) = (self.store.clone(), limit_of(limit));
        let objects = blocking(move || {
            store.list(&collection.collection_path()?, &prefix, after.as_deref(), limit)
        })
        .await?;
        let is_partial = objects.len() == limit;
        let objects = objects.iter().map(InfoMessage::from).collect();
        Ok(Listed { objects, is_partial }.encode_to_vec())
    }

    async fn changes(&self, list: Result<ListChanges, Status>) -> Result<Vec<u8>, Status> {
        let ListChanges { after, limit } = list?;
        let store = self.store.clone();
        let (changes, last) = blocking(move || {
            let last = store.last_change()?;
            Ok((changes_of_clients(&store, after, limit_of(limit))?, last))
        })
        .await?;
        let last = changes.last().map_or(last, |change| change.sequence.max(last));
        let changes = changes.iter().map(Into::into).collect();
        Ok(Changes { changes, last }.encode_to_vec())
    }

    async fn act_on_container(&self, action: &str, body: &Bytes) -> Result<Vec<u8>, Status> {
        let store = self.store.clone();
        match action {
            action::CONTAINERS => {
                let (within, after) = read::<Within>(body)?.into_parts();
                let found = blocking(move || containers(&store, &within)).await?;
                let page = page_of(found, last_name, Container::encoded_len, after.as_deref());
                let Page { entries: containers, is_partial } = page;
                return Ok(Containers { containers, is_partial }.encode_to_vec());
            }
            action::CREATE_CONTAINER => {
                let made: Container = read(body)?;
                let quota = quota_of(&made);
                blocking(move || match made.name.collection.is_empty() {
                    true => store.create_partition(&made.name.partition, quota),
                    false => store.create_collection(&made.name.collection_path()?, quota),
                })
                .await?;
            }
            action::REMOVE_CONTAINER => {
                let name: ObjectName = read(body)?;
                blocking(move || match name.collection.is_empty() {
                    true => store.remove_partition(name.partition()),
                    false => store.remove_collection(&name.collection_path()?),
                })
                .await?;
            }
            action::SET_QUOTA => {
                let set: Container = read(body)?;
                let quota = quota_of(&set);
                blocking(move || match set.name.collection.is_empty() {
                    true => store.set_partition_quota(set.name.partition(), quota),
                    false => store.set_collection_quota(&set.name.collection_path()?, quota),
                })
                .await?;
            }
            other => return Err(Status::unimplemented(format!("there is no action {other:?}"))),
        }
        Ok(Done {}.encode_to_vec())
    }
}

/// A part of a list.
struct Page<T> {
    entries: Vec<T>,
    /// There are more behind the last one.
    is_partial: bool,
}

/// Bytes that surround an entry in a message, at most.
const AROUND_BYTES: usize = 16;

/// The entries behind one in the order of their names, as many as one answer has room for, and one
/// at least.
fn page_of<T>(
    all: impl IntoIterator<Item = T>,
    name_of: impl Fn(&T) -> &str,
    bytes_of: impl Fn(&T) -> usize,
    after: Option<&str>,
) -> Page<T> {
    let is_behind = |entry: &T| after.is_none_or(|after| name_of(entry) > after);
    let mut rest: Vec<T> = all.into_iter().filter(is_behind).collect();
    rest.sort_by(|one, other| name_of(one).cmp(name_of(other)));
    let mut bytes = 0;
    let mut fits = |entry: &T| {
        bytes += bytes_of(entry) + AROUND_BYTES;
        bytes <= PAGE_BYTES
    };
    let count = rest.iter().take_while(|entry| fits(entry)).count().max(1);
    let is_partial = count < rest.len();
    rest.truncate(count);
    Page { entries: rest, is_partial }
}

/// The name of a container in the one that it is in.
fn last_name(container: &Container) -> &str {
    let ObjectName { partition, collection, .. } = &container.name;
    if collection.is_empty() { partition } else { collection }
}

/// The number of entries of one answer.
fn limit_of(limit: u32) -> usize {
    let limit = if limit == 0 { LIST_MAX } else { limit.min(LIST_MAX) };
    usize::try_from(limit).unwrap_or(1)
}

/// Calls a function with the owner of attributes that a name stands for.
fn with_owner<T>(
    name: &ObjectName,
    call: impl FnOnce(Owner<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    if name.collection.is_empty() {
        return call(Owner::Partition(name.partition()));
    }
    let collection = name.collection_path()?;
    match name.name.is_empty() {
        true => call(Owner::from(&collection)),
        false => call(Owner::from(&collection.object(&name.name)?)),
    }
}

/// The partitions, or the collections of one.
fn containers(store: &Store, within: &ObjectName) -> Result<Vec<Container>, Error> {
    if within.partition.is_empty() {
        let found = store.partitions()?.into_iter();
        return Ok(found
            .map(|(partition, quota, usage)| {
                container(ObjectName { partition, ..ObjectName::default() }, quota, usage)
            })
            .collect());
    }
    let found = store.collections(&within.partition)?.into_iter();
    Ok(found.map(|(path, quota, usage)| container(ObjectName::from(&path), quota, usage)).collect())
}

/// The changes behind one, but for those of what belongs to the server itself.
fn changes_of_clients(store: &Store, mut after: u64, limit: usize) -> Result<Vec<Change>, Error> {
    let is_of_clients = |change: &Change| change.path.collection().partition() != SYSTEM_PARTITION;
    let mut found = Vec::new();
    loop {
        let page = store.changes(after, limit)?;
        let is_end = page.len() < limit;
        after = page.last().map_or(after, |change| change.sequence);
        found.extend(page.into_iter().filter(is_of_clients));
        if is_end || found.len() >= limit {
            found.truncate(limit);
            return Ok(found);
        }
    }
}

/// Copies what a reader reads to another object, whose collection is made if there is none.
fn copy(
    store: &Store,
    reader: &Reader,
    to: &ObjectName,
    condition: Condition,
) -> Result<ObjectInfo, Error> {
    let to = to.object_path()?;
    store.ensure_collection(to.collection())?;
    let mut writer = store.writer(&to, condition)?;
    let length = reader.info().length;
    let mut start = 0;
    while start < length {
        let end = length.min(start + COPY_BYTES);
        writer.write(&reader.read(start..end)?)?;
        start = end;
    }
    writer.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::MESSAGE_BYTES_MAX;

    /// Names of as many bytes as one may have.
    #[test]
    fn pages_of_many_containers_fit_messages_and_are_the_whole_list() {
        let named = |number: u32| Container {
            name: ObjectName { collection: format!("{number:0>128}"), ..ObjectName::default() },
            bytes_max: Some(u64::MAX),
            objects_max: Some(u64::MAX),
            bytes: u64::MAX,
            objects: u64::MAX,
        };
        let all: Vec<Container> = (0..60_000).map(named).collect();
        let (mut found, mut pages) = (Vec::new(), 0);
        loop {
            let after: Option<String> = found.last().map(|last| last_name(last).to_owned());
            let shuffled = all.iter().rev().cloned();
            let page = page_of(shuffled, last_name, Container::encoded_len, after.as_deref());
            let Page { entries: containers, is_partial } = page;
            found.extend(containers.iter().cloned());
            let answer = Containers { containers, is_partial };
            assert!(answer.encoded_len() < MESSAGE_BYTES_MAX);
            pages += 1;
            if !is_partial {
                break;
            }
        }
        assert!(found == all && pages > 2, "{} in {pages} pages", found.len());
    }

    #[test]
    fn entry_that_is_larger_than_a_page_is_a_page() {
        let page = page_of(["a", "b"], |name| name, |_| PAGE_BYTES, None);
        assert_eq!((page.entries, page.is_partial), (vec!["a"], true));
        let page = page_of(["a", "b"], |name| name, |_| PAGE_BYTES, Some("a"));
        assert_eq!((page.entries, page.is_partial), (vec!["b"], false));
    }
}
