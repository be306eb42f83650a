// SPDX-License-Identifier: Apache-2.0
//! Describes events, and says how they are written down and handed to an application.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use nearscan_store::{Change, ChangeKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::bindings::nearscan::drive::types;

/// What kind of an event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An object was made.
    Created,
    /// The bytes of an object changed.
    Written,
    /// An object was removed.
    Removed,
    /// The attributes of an object changed.
    AttributesChanged,
    /// Something happened to the flash.
    Flash,
    /// An application made it.
    Application,
    /// A call of an application broke a rule.
    Fault,
}

impl From<ChangeKind> for Kind {
    fn from(change: ChangeKind) -> Self {
        match change {
            ChangeKind::Created => Self::Created,
            ChangeKind::Written => Self::Written,
            ChangeKind::Removed => Self::Removed,
            ChangeKind::AttributesChanged => Self::AttributesChanged,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "subject")]
pub enum Subject {
    /// An object changed.
    Object {
        /// How.
        #[serde(serialize_with = "write_change", deserialize_with = "read_change")]
        change: ChangeKind,
        /// Its collection, with the partition.
        collection: String,
        /// Its name.
        name: String,
        /// The number of the change; the version of the object, if its bytes changed.
        version: u64,
    },
    /// Something happened to the flash.
    Flash {
        /// What, such as `garbage-collection` or `hot-block`.
        kind: String,
        /// To which block.
        block: u64,
        /// More about it.
        detail: String,
    },
    /// An application made an event.
    Application {
        /// Which application.
        application: String,
        /// The name that it gave to the event.
        name: String,
        /// What it gave with it.
        #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
        payload: Vec<u8>,
    },
    /// A call of an application broke a rule.
    Fault {
        /// Which application.
        application: String,
        /// Which rule.
        kind: String,
        /// What is known of it.
        detail: String,
    },
}

impl Subject {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Object { change, .. } => (*change).into(),
            Self::Flash { .. } => Kind::Flash,
            Self::Application { .. } => Kind::Application,
            Self::Fault { .. } => Kind::Fault,
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the log of changes; 0 while it is not in it.
    pub sequence: u64,
    /// When it happened, in ns since 1970.
    pub at_ns: u64,
    /// How many handlers in a chain have caused it.
    pub depth: u32,
    /// What happened.
    #[serde(flatten)]
    pub subject: Subject,
}

impl Event {
    /// The event of a change of an object.
    pub(crate) fn of_change(change: &Change, depth: u32) -> Self {
        let subject = Subject::Object {
            change: change.kind,
            collection: change.path.collection().to_string(),
            name: change.path.name().to_owned(),
            version: change.sequence,
        };
        Self { sequence: change.sequence, at_ns: change.at_ns, depth, subject }
    }

    /// Events with the same key are handled one after the other.
    pub(crate) fn key(&self) -> String {
        match &self.subject {
            Subject::Object { collection, name, .. } => format!("{collection}/{name}"),
            Subject::Flash { .. } => "flash".to_owned(),
            Subject::Application { application, .. } => format!("application {application}"),
            Subject::Fault { application, .. } => format!("fault {application}"),
        }
    }

    /// The event as an application gets it.
    pub(crate) fn for_attempt(&self, attempt: u32) -> types::Event {
        let subject = match self.subject.clone() {
            Subject::Object { change, collection, name, version } => {
                types::Subject::Object(types::ObjectEvent {
                    change: change.into(),
                    object: types::ObjectName { collection, name },
                    version,
                })
            }
            Subject::Flash { kind, block, detail } => {
                types::Subject::Flash(types::FlashEvent { kind, block, detail })
            }
            Subject::Application { application, name, payload } => {
                types::Subject::Application(types::ApplicationEvent { application, name, payload })
            }
            Subject::Fault { application, kind, detail } => {
                types::Subject::Fault(types::FaultEvent { application, kind, detail })
            }
        };
        let Self { sequence, at_ns, depth, .. } = *self;
        types::Event { sequence, at_ns, attempt, depth, subject }
    }
}

impl From<ChangeKind> for types::Change {
    fn from(change: ChangeKind) -> Self {
        match change {
            ChangeKind::Created => Self::Created,
            ChangeKind::Written => Self::Written,
            ChangeKind::Removed => Self::Removed,
            ChangeKind::AttributesChanged => Self::AttributesChanged,
        }
    }
}

fn write_change<S: Serializer>(change: &ChangeKind, to: S) -> Result<S::Ok, S::Error> {
    Kind::from(*change).serialize(to)
}

fn read_change<'de, D: Deserializer<'de>>(from: D) -> Result<ChangeKind, D::Error> {
    match Kind::deserialize(from)? {
        Kind::Created => Ok(ChangeKind::Created),
        Kind::Written => Ok(ChangeKind::Written),
        Kind::Removed => Ok(ChangeKind::Removed),
        Kind::AttributesChanged => Ok(ChangeKind::AttributesChanged),
        Kind::Flash | Kind::Application | Kind::Fault => Err(D::Error::custom("not of an object")),
    }
}

fn write_bytes<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&BASE64_STANDARD.encode(bytes))
}

fn read_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    BASE64_STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_were_written() {
        let subjects = [
            Subject::Object {
                change: ChangeKind::AttributesChanged,
                collection: "default/c".to_owned(),
                name: "a".to_owned(),
                version: 7,
            },
            Subject::Flash { kind: "hot-block".to_owned(), block: 3, detail: String::new() },
            Subject::Application {
                application: "a".to_owned(),
                name: "n".to_owned(),
                payload: vec![0, 255, 10],
            },
            Subject::Fault {
                application: "a".to_owned(),
                kind: "fuel".to_owned(),
                detail: "\"".to_owned(),
            },
        ];
        for subject in subjects {
            let event = Event { sequence: 1, at_ns: 2, depth: 3, subject };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
        }
    }
}
