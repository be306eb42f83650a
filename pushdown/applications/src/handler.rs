// SPDX-License-Identifier: Apache-2.0
//! Describes a handler: which events it gets, and which application handles them.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    event::{Event, Kind, Subject},
    manifest::check_name,
    rights::{self, Access, Grant, Rights},
    system::{APPLICATIONS, COMMANDS, SYSTEM},
};

/// Which events a handler gets: those for which everything that is named holds.
///
/// Objects of the system's partition are seen only by a filter that names the collection, and of
/// that partition only the collections of applications and commands: the others change because
/// events are handled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Of these kinds.
    pub kinds: Vec<Kind>,
    /// Of objects in this collection, `partition/*` or `*`; all, if there is none.
    pub collection: Option<String>,
    /// Of objects whose names start so.
    pub prefix: String,
    /// Of objects whose names end so, such as `.csv`; any of them, all if there are none.
    pub suffixes: Vec<String>,
    /// Of this application, if it is an event or a fault of one.
    pub application: Option<String>,
    /// Of this name, if an application made it; of this kind, if it is of the flash or a fault.
    pub name: Option<String>,
}

impl Filter {
    fn check(&self) -> std::result::Result<(), String> {
        if self.kinds.is_empty() {
            return Err("it names no kind of events".to_owned());
        }
        let Some(name) = &self.collection else { return Ok(()) };
        let grant = Grant { collection: name.clone(), access: vec![Access::Read] };
        grant.check()?;
        match rights::collection(name) {
            Ok(path) if path.partition() == SYSTEM => {
                match [APPLICATIONS, COMMANDS].contains(&path.name()) {
                    true => Ok(()),
                    false => Err(format!("objects of {path} are not seen by handlers")),
                }
            }
            // A pattern.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Whether an event is meant.
    #[must_use]
    pub fn matches(&self, event: &Event) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        if !self.kinds.contains(&event.subject.kind()) {
            return false;
        }
        match &event.subject {
            Subject::Object { collection, name, .. } => {
                let is_ended = |suffix: &String| name.ends_with(suffix);
                self.is_in_collection(collection)
                    && name.starts_with(&self.prefix)
                    && (self.suffixes.is_empty() || self.suffixes.iter().any(is_ended))
            }
            Subject::Flash { kind, .. } => is(&self.name, kind),
            Subject::Application { application, name, .. } => {
                is(&self.application, application) && is(&self.name, name)
            }
            Subject::Fault { application, kind, .. } => {
                is(&self.application, application) && is(&self.name, kind)
            }
        }
    }

    fn is_in_collection(&self, collection: &str) -> bool {
        let pattern = self.collection.as_deref().unwrap_or("*").to_owned();
        let grant = Grant { collection: pattern, access: vec![Access::Read] };
        let path = rights::collection(collection);
        path.is_ok_and(|path| Rights::new(vec![grant]).allows(&path, Access::Read))
    }
}

/// A handler of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handler {
    /// Its name: 1 to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// The application that handles the events.
    pub application: String,
    /// Which events it gets. Of objects only those of collections that the application may read.
    pub filter: Filter,
}

impl Handler {
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |reason| Error::Invalid { what: "handler", reason };
        check_name(&self.name).map_err(wrong)?;
        self.filter.check().map_err(wrong)
    }

    pub(crate) fn read(text: &[u8]) -> std::result::Result<Self, String> {
        let handler: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        handler.check().map_err(|error| error.to_string())?;
        Ok(handler)
    }
}

/// The events with which a handler begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Beginning {
    /// Those after its registration.
    #[default]
    Now,
    /// All that the log of changes still has.
    Oldest,
    /// Those after a number in the log.
    After(u64),
}

#[cfg(test)]
mod tests {
    use nearscan_store::ChangeKind;
    use rstest::rstest;

    use super::*;

    fn filter(collection: Option<&str>) -> Filter {
        Filter {
            kinds: vec![Kind::Created, Kind::Fault],
            collection: collection.map(str::to_owned),
            prefix: "in/".to_owned(),
            suffixes: vec![".csv".to_owned(), ".json".to_owned()],
            application: Some("a".to_owned()),
            name: Some("fuel".to_owned()),
        }
    }

    fn object(change: ChangeKind, collection: &str, name: &str) -> Subject {
        Subject::Object { change, collection: collection.into(), name: name.into(), version: 1 }
    }

    fn fault(application: &str, kind: &str) -> Subject {
        let (application, kind, detail) = (application.into(), kind.into(), String::new());
        Subject::Fault { application, kind, detail }
    }

    #[rstest]
    #[case(object(ChangeKind::Created, "default/raw", "in/a.csv"), true)]
    #[case(object(ChangeKind::Created, "default/raw", "in/a.json"), true)]
    #[case(object(ChangeKind::Written, "default/raw", "in/a.csv"), false)]
    #[case(object(ChangeKind::Created, "default/raw", "in/a.parquet"), false)]
    #[case(object(ChangeKind::Created, "default/raw", "out/a.csv"), false)]
    #[case(object(ChangeKind::Created, "sales/raw", "in/a.csv"), false)]
    #[case(object(ChangeKind::Created, "_system/commands", "in/a.csv"), false)]
    #[case(fault("a", "fuel"), true)]
    #[case(fault("a", "memory"), false)]
    #[case(fault("b", "fuel"), false)]
    fn filter_matches_what_it_names(#[case] subject: Subject, #[case] expected: bool) {
        let event = Event { sequence: 1, at_ns: 0, depth: 0, subject };
        assert_eq!(filter(Some("raw")).matches(&event), expected);
    }

    #[test]
    fn system_is_seen_by_name_only() {
        let subject = object(ChangeKind::Created, "_system/commands", "in/a.csv");
        let event = Event { sequence: 1, at_ns: 0, depth: 0, subject };
        assert!(!filter(None).matches(&event));
        assert!(!filter(Some("*")).matches(&event));
        assert!(filter(Some("_system/commands")).matches(&event));
        for name in ["_system/handlers", "_system/events", "_system/dead-letters", "_system/*"] {
            assert!(filter(Some(name)).check().is_err(), "{name}");
        }
    }
}
