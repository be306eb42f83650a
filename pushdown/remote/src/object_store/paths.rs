// SPDX-License-Identifier: Apache-2.0
//! Converts names of objects to paths of an object store and back. They are the same text.

use ::object_store::{Error, ObjectMeta, Result, path::Path};
use chrono::DateTime;
use nearscan_store::{CollectionPath, ObjectInfo, ObjectPath};

/// What a path stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Collection(CollectionPath),
    Object(ObjectPath),
}

fn invalid(location: &Path, error: impl std::fmt::Display) -> Error {
    let text = format!("{location} names no object: {error}");
    Error::Generic { store: "drive", source: text.into() }
}

/// What a path stands for.
pub(super) fn place_of(location: &Path) -> Result<Place> {
    let text = location.as_ref();
    if text.is_empty() {
        return Ok(Place::Root);
    }
    let (collection, name) = match text.split_once('/') {
        Some((collection, name)) => (collection, Some(name)),
        None => (text, None),
    };
    let collection = CollectionPath::in_default(collection);
    let collection = collection.map_err(|error| invalid(location, error))?;
    match name {
        None => Ok(Place::Collection(collection)),
        Some(name) => {
            let object = collection.object(name);
            object.map(Place::Object).map_err(|error| invalid(location, error))
        }
    }
}

/// The object that a path stands for.
pub(super) fn object_path(location: &Path) -> Result<ObjectPath> {
    match place_of(location)? {
        Place::Object(path) => Ok(path),
        Place::Root | Place::Collection(_) => {
            Err(invalid(location, "it is COLLECTION/NAME for an object"))
        }
    }
}

/// What an object store says of an object.
pub(super) fn meta_of(info: &ObjectInfo) -> ObjectMeta {
    let time = i64::try_from(info.written_ns).unwrap_or(i64::MAX);
    let name = format!("{}/{}", info.path.collection().name(), info.path.name());
    ObjectMeta {
        // Every name is a path: neither has empty parts, `.`, `..` or control characters.
        location: Path::parse(&name).unwrap_or_else(|_| Path::from(name)),
        last_modified: DateTime::from_timestamp_nanos(time),
        size: info.length,
        e_tag: Some(info.version.to_string()),
        // Former versions cannot be read.
        version: None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a.parquet")]
    #[case("year=2026/part 1.parquet")]
    #[case("50%/a#b?.csv")]
    #[case("grün/a%2Fb")]
    fn object_is_found_by_its_path(#[case] name: &str) {
        let path = CollectionPath::in_default("c").unwrap().object(name).unwrap();
        let path_of_it = path.clone();
        let info = ObjectInfo {
            path: path_of_it,
            length: 1,
            version: 7,
            hash: None,
            created_ns: 1,
            written_ns: 2,
        };
        let meta = meta_of(&info);
        assert_eq!(object_path(&meta.location).unwrap(), path);
        assert_eq!(meta.e_tag.as_deref(), Some("7"));
    }

    #[rstest]
    #[case("")]
    #[case("collection")]
    #[case("a b/object")]
    fn path_without_an_object_is_an_error(#[case] path: &str) {
        assert!(object_path(&Path::from(path)).is_err());
    }
}
