// SPDX-License-Identifier: Apache-2.0
//! Names the replica of a collection, and makes it: [`replicate`] copies the objects that it lacks.
//!
//! # Invariants
//!
//! - An object is copied in the version that was listed, and takes the place of the one that was
//!   listed, or the copy is an error.
//! - Nothing is removed.

use std::{collections::BTreeMap, fmt, str::FromStr};

use bytes::Bytes;
use nearscan_store::{CollectionPath, Condition, ObjectInfo, Quota};

use crate::{
    address::Address,
    client::{More, ObjectError, ObjectErrorKind, Objects},
};

/// The attribute of a collection that says where its replica is.
pub(super) const REPLICA: &str = "nearscan.replica";

/// Objects of a collection that is copied, at most.
const OBJECTS_MAX: usize = 1 << 22;

/// A collection of a server: `drive://HOST:PORT/COLLECTION`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// `HOST:PORT`.
    pub address: String,
    /// The collection.
    pub collection: CollectionPath,
}

impl Replica {
    /// What the value of an attribute names; nothing if it names none.
    pub(super) fn of(value: &[u8]) -> Option<Self> {
        std::str::from_utf8(value).ok()?.parse().ok()
    }
}

impl fmt::Display for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "drive://{}/{}/", self.address, self.collection.name())
    }
}

impl FromStr for Replica {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let wrong = || format!("'{url}' is not drive://HOST:PORT/COLLECTION");
        let rest = url.strip_prefix("drive://").ok_or_else(wrong)?;
        let (address, collection) = rest.trim_end_matches('/').split_once('/').ok_or_else(wrong)?;
        let collection = CollectionPath::in_default(collection).map_err(|_| wrong())?;
        match address.parse() {
            Ok(Address::Tcp(_)) => Ok(Self { address: address.to_owned(), collection }),
            Ok(Address::Unix(_)) | Err(_) => Err(wrong()),
        }
    }
}

/// What [`replicate`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replicated {
    /// Objects that were copied.
    pub copied: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that were the same before.
    pub same: u64,
    /// Objects that were copied, but for which the replica cannot stand in, since one of both sides
    /// has no hash of their bytes.
    pub without_hash: u64,
}

/// A collection and the connection to its server.
#[derive(Debug, Clone)]
pub struct Side {
    /// The collection.
    pub replica: Replica,
    /// Its server.
    pub objects: Objects,
}

/// Makes a collection a replica of another: copies the objects that are missing or have other
/// bytes, and sets the attribute of both that names the other one.
///
/// # Errors
/// What keeps a server from answering; [`ObjectErrorKind::Conflict`] if an object was changed
/// meanwhile. What was copied before stays.
pub async fn replicate(from: &Side, to: &Side) -> Result<Replicated, ObjectError> {
    let listed = list_of(&from.objects, &from.replica.collection, "", OBJECTS_MAX).await?;
    match to.objects.create_collection(&to.replica.collection, Quota::default()).await {
        Err(error) if error.kind != ObjectErrorKind::Exists => return Err(error),
        _ => {}
    }
    let found = list_of(&to.objects, &to.replica.collection, "", OBJECTS_MAX).await?;
    let mut done = Replicated::default();
    for (name, original) in &listed {
        let copy = found.get(name);
        let is_same =
            |copy: &ObjectInfo| copy.hash == original.hash && copy.length == original.length;
        if original.hash.is_some() && copy.is_some_and(is_same) {
            done.same += 1;
            continue;
        }
        let put = copy_object(from, to, original, copy).await?;
        done.without_hash += u64::from(original.hash.is_none() || put.hash.is_none());
        done.copied += 1;
        done.bytes += original.length;
    }
    for (side, other) in [(from, to), (to, from)] {
        let value = Bytes::from(other.replica.to_string());
        side.objects.set_attribute(&side.replica.collection, REPLICA, Some(value)).await?;
    }
    Ok(done)
}

async fn copy_object(
    from: &Side,
    to: &Side,
    original: &ObjectInfo,
    copy: Option<&ObjectInfo>,
) -> Result<ObjectInfo, ObjectError> {
    let invalid = |error: nearscan_store::Error| ObjectError {
        kind: ObjectErrorKind::Invalid,
        reason: error.to_string(),
    };
    let path = to.replica.collection.object(original.path.name()).map_err(invalid)?;
    let condition = copy.map_or(Condition::Absent, |copy| Condition::Version(copy.version));
    let version = Some(original.version);
    let mut reading = from.objects.read(&original.path, version, &[]).await?;
    let mut upload = to.objects.upload(&path, condition, BTreeMap::new())?;
    while let Some(bytes) = reading.next().await? {
        upload.send(bytes).await?;
    }
    let put = upload.finish().await?;
    match original.hash.is_some() && put.hash.is_some() && put.hash != original.hash {
        true => Err(ObjectError {
            kind: ObjectErrorKind::Failed,
            reason: format!("the copy of {} has other bytes than the original", original.path),
        }),
        false => Ok(put),
    }
}

/// The objects of a collection whose names start so, by their names.
///
/// # Errors
/// [`ObjectErrorKind::Exhausted`] if there are more than `max`, or what keeps the server from
/// answering.
pub(super) async fn list_of(
    objects: &Objects,
    collection: &CollectionPath,
    names: &str,
    max: usize,
) -> Result<BTreeMap<String, ObjectInfo>, ObjectError> {
    let mut all = BTreeMap::new();
    loop {
        let after = all.last_key_value().map(|(name, _): (&String, _)| name.clone());
        let before = all.len();
        let (page, more) = objects.list(collection, names, after.as_deref()).await?;
        all.extend(page.into_iter().map(|info| (info.path.name().to_owned(), info)));
        if all.len() > max {
            let reason = format!("{collection} has more than {max} objects");
            return Err(ObjectError { kind: ObjectErrorKind::Exhausted, reason });
        }
        // A server that gives nothing new has no more, whatever it says.
        if more == More::No || all.len() == before {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn replica_is_named_by_a_url_with_or_without_a_slash() {
        let replica: Replica = "drive://[::1]:7070/shop/".parse().unwrap();
        assert_eq!((&*replica.address, replica.collection.name()), ("[::1]:7070", "shop"));
        assert_eq!(replica.to_string(), "drive://[::1]:7070/shop/");
        assert_eq!(Replica::of(b"drive://[::1]:7070/shop"), Some(replica));
    }

    #[rstest]
    #[case("remote://h:1/c")]
    #[case("drive://h:1")]
    #[case("drive://h/c")]
    #[case("drive://h:1/c/object")]
    fn url_of_no_collection_is_refused(#[case] url: &str) {
        assert!(url.parse::<Replica>().is_err());
    }
}
