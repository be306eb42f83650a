// SPDX-License-Identifier: Apache-2.0
//! Says which collections an application may read and write, and checks it.
//!
//! A right is to a collection as a whole. Nothing is allowed that no right names; the partition of
//! the system is never written by an application, and read only by the name of its collection.

use nearscan_store::CollectionPath;
use serde::{Deserialize, Serialize};

use crate::{refusal::Refusal, system::SYSTEM};

/// What is done with a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Objects and attributes are read and listed.
    Read,
    /// Objects and attributes are written and removed.
    Write,
}

impl Access {
    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A right to collections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// `collection` in the default partition, `partition/collection`, `partition/*` or `*`.
    pub collection: String,
    /// What is allowed.
    pub access: Vec<Access>,
}

impl Grant {
    /// Checks what a manifest says.
    pub(crate) fn check(&self) -> Result<(), String> {
        let name = &self.collection;
        if self.access.is_empty() {
            return Err(format!("the right to {name:?} has no access"));
        }
        let is_of_system = match name.as_str() {
            "*" => false,
            _ => {
                let one = name.strip_suffix("/*").map(|partition| format!("{partition}/a"));
                let path = collection(one.as_deref().unwrap_or(name))?;
                path.partition() == SYSTEM
            }
        };
        if is_of_system && (name.ends_with('*') || self.access.contains(&Access::Write)) {
            return Err(format!("the right to {name:?} is not given to applications"));
        }
        Ok(())
    }

    fn covers(&self, path: &CollectionPath, access: Access) -> bool {
        let is_named = match self.collection.as_str() {
            "*" => path.partition() != SYSTEM,
            name => match name.strip_suffix("/*") {
                Some(partition) => path.partition() == partition,
                None => collection(name).is_ok_and(|named| named == *path),
            },
        };
        is_named && self.access.contains(&access)
    }
}

/// What a call may do: what the application may, and its caller too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// Each of them has to allow what is done.
    layers: Vec<Vec<Grant>>,
}

impl Rights {
    /// The rights that are named.
    #[must_use]
    pub fn new(grants: Vec<Grant>) -> Self {
        Self { layers: vec![grants] }
    }

    /// These rights where the others allow the same.
    #[must_use]
    pub fn restricted(mut self, others: &Self) -> Self {
        self.layers.extend(others.layers.iter().cloned());
        self
    }

    /// Whether something may be done with a collection.
    #[must_use]
    pub fn allows(&self, path: &CollectionPath, access: Access) -> bool {
        let is_allowed =
            |grants: &Vec<Grant>| grants.iter().any(|grant| grant.covers(path, access));
        !self.layers.is_empty() && self.layers.iter().all(is_allowed)
    }

    /// Checks that something may be done with a collection.
    ///
    /// # Errors
    /// [`Refusal::Denied`].
    pub fn check(&self, path: &CollectionPath, access: Access) -> Result<(), Refusal> {
        match self.allows(path, access) {
            true => Ok(()),
            false => {
                Err(Refusal::Denied(format!("no right to {} collection {path}", access.verb())))
            }
        }
    }
}

/// The collection of a name: `partition/collection`, or one of the default partition.
pub(crate) fn collection(name: &str) -> Result<CollectionPath, String> {
    let path = match name.split_once('/') {
        Some((partition, name)) => CollectionPath::new(partition, name),
        None => CollectionPath::in_default(name),
    };
    path.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn rights(name: &str, access: &[Access]) -> Rights {
        Rights::new(vec![Grant { collection: name.to_owned(), access: access.to_vec() }])
    }

    #[rstest]
    #[case("raw", "default/raw", true)]
    #[case("default/raw", "default/raw", true)]
    #[case("raw", "default/raw2", false)]
    #[case("raw", "sales/raw", false)]
    #[case("sales/*", "sales/raw", true)]
    #[case("sales/*", "sales2/raw", false)]
    #[case("*", "sales/raw", true)]
    #[case("*", "_system/applications", false)]
    #[case("_system/commands", "_system/commands", true)]
    fn right_covers_what_it_names(
        #[case] granted: &str,
        #[case] wanted: &str,
        #[case] expected: bool,
    ) {
        let path = collection(wanted).unwrap();
        let rights = rights(granted, &[Access::Read]);
        assert_eq!(rights.allows(&path, Access::Read), expected);
        assert!(!rights.allows(&path, Access::Write));
    }

    #[test]
    fn caller_restricts_and_never_adds() {
        let (both, a, b) = ([Access::Read, Access::Write], "default/a", "default/b");
        let of_application = rights("a", &both);
        let of_caller = Rights::new(vec![
            Grant { collection: a.to_owned(), access: vec![Access::Read] },
            Grant { collection: b.to_owned(), access: both.to_vec() },
        ]);
        let rights = of_application.restricted(&of_caller);
        let allows = |name, access| rights.allows(&collection(name).unwrap(), access);
        assert!(allows(a, Access::Read));
        assert!(!allows(a, Access::Write));
        assert!(!allows(b, Access::Read));
        assert!(!Rights::default().allows(&collection(a).unwrap(), Access::Read));
    }

    #[rstest]
    #[case("_system/*", Access::Read)]
    #[case("_system/applications", Access::Write)]
    #[case("a/b/c", Access::Read)]
    #[case("", Access::Read)]
    #[case("a*", Access::Read)]
    fn rights_that_nobody_gets_are_errors(#[case] name: &str, #[case] access: Access) {
        let grant = Grant { collection: name.to_owned(), access: vec![access] };
        assert!(grant.check().is_err());
    }
}
