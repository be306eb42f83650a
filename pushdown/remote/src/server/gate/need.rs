// SPDX-License-Identifier: Apache-2.0
//! Says what a request needs: the scope of its client, and what is recorded of it.

use arrow_flight::Action;
use nearscan_store::SYSTEM_PARTITION;
use prost::Message;
use serde::Deserialize;

use crate::{
    access::Scope,
    audit::Kind,
    protocol::{
        Locate, PUT, action,
        applications::{COMMAND, COMMANDS, Call, INSTALL, Name, RESPONSE, Stream, TABLE, WATCH},
        objects::{Copy, ObjectName, Read},
    },
};

/// What an audit log calls reading an object.
const GET: &str = "nearscan.get";

/// What a request is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Need {
    pub(in crate::server) scope: Scope,
    pub(in crate::server) kind: Kind,
    pub(in crate::server) action: &'static str,
    pub(in crate::server) object: String,
    /// Bytes that the request holds while it runs.
    pub(in crate::server) bytes: u64,
}

impl Need {
    /// A request that only reads.
    pub(in crate::server) fn to_read(action: &'static str, bytes: u64) -> Self {
        Self { scope: Scope::Read, kind: Kind::Read, action, object: String::new(), bytes }
    }

    /// What an action needs.
    pub(in crate::server) fn of_action(called: &Action) -> Self {
        let (name, body) = (called.r#type.as_str(), &called.body);
        let of_store = action::OF_STORES.iter().chain(&action::OF_APPLICATIONS);
        let known = action::OF_DRIVES.iter().chain(of_store);
        let action = known.map(|(known, _)| *known).find(|known| *known == name);
        let action = action.unwrap_or("unknown");
        if let Some(need) = Self::of_application(action, body) {
            return need;
        }
        let object = named_by(action, body).unwrap_or_default();
        if object.partition() == SYSTEM_PARTITION {
            return Self::of_system(action, &object, body.len() as u64);
        }
        let of_partition = object.collection.is_empty();
        let (scope, kind) = match action {
            action::RESET | action::SET_QUOTA => (Scope::Admin, Kind::Change),
            action::CREATE_CONTAINER | action::REMOVE_CONTAINER | action::SET_ATTRIBUTE => {
                let scope = if of_partition { Scope::Admin } else { Scope::Write };
                (scope, Kind::Change)
            }
            action::REMOVE | action::WRITE | action::TRUNCATE | action::COPY => {
                (Scope::Write, Kind::Change)
            }
            _ => (Scope::Read, Kind::Read),
        };
        Self { scope, kind, action, object: shown(&object), bytes: body.len() as u64 }
    }

    /// What an action of applications needs; none if it is another one.
    fn of_application(action: &'static str, body: &[u8]) -> Option<Self> {
        let (scope, kind) = match action {
            action::APP_REMOVE
            | action::APP_START
            | action::APP_STOP
            | action::HANDLER_REGISTER
            | action::HANDLER_UNREGISTER
            | action::DEAD_LETTER_RETRY
            | action::DEAD_LETTER_CLEAR => (Scope::Install, Kind::Change),
            action::APP_SCHEMA => (Scope::Read, Kind::Change),
            action::APP_LIST | action::HANDLER_LIST | action::DEAD_LETTER_LIST => {
                (Scope::Read, Kind::Read)
            }
            _ => return None,
        };
        // The first field of each of them is a name; what cannot be read is refused later.
        let object = Name::decode(body).map(|it| it.name).unwrap_or_default();
        Some(Self { scope, kind, action, object, bytes: body.len() as u64 })
    }

    /// What it needs to install the application of a manifest.
    pub(in crate::server) fn to_install(manifest: &str, bytes: u64) -> Self {
        #[derive(Deserialize)]
        struct Manifest {
            name: String,
        }
        // What cannot be read is refused later.
        let object = toml::from_str(manifest).map(|it: Manifest| it.name).unwrap_or_default();
        Self { scope: Scope::Install, kind: Kind::Change, action: INSTALL, object, bytes }
    }

    /// What it needs to call an application, which may change something.
    pub(in crate::server) fn to_call(action: &'static str, application: &str, bytes: u64) -> Self {
        let object = application.to_owned();
        Self { scope: Scope::Read, kind: Kind::Change, action, object, bytes }
    }

    /// What belongs to the server itself is for those who may do everything, whatever is done; but
    /// for the command object, which those may use who write, and the response object.
    fn of_system(action: &'static str, object: &ObjectName, bytes: u64) -> Self {
        let is_command = object.collection == COMMANDS && object.name == COMMAND;
        let is_response = object.collection == COMMANDS && object.name == RESPONSE;
        let (scope, kind) = match action {
            action::INFO | GET if is_command => (Scope::Write, Kind::Read),
            PUT | action::WRITE | action::TRUNCATE if is_command => (Scope::Write, Kind::Change),
            action::INFO | GET if is_response => (Scope::Read, Kind::Read),
            action::TRUNCATE if is_response => (Scope::Write, Kind::Change),
            _ => (Scope::Admin, Kind::Change),
        };
        Self { scope, kind, action, object: shown(object), bytes }
    }

    /// What a ticket needs.
    pub(in crate::server) fn of_ticket(ticket: &Read, bytes: u64) -> Self {
        match &ticket.stream {
            Some(Stream::Table(Call { name, .. })) => Self::to_call(TABLE, name, bytes),
            Some(Stream::Watch(_)) => Self::to_read(WATCH, bytes),
            None if ticket.name.partition() == SYSTEM_PARTITION => {
                Self::of_system(GET, &ticket.name, bytes)
            }
            None => Self::to_read(GET, bytes),
        }
    }

    /// What it needs to put an object.
    pub(in crate::server) fn to_put(object: &ObjectName, bytes: u64) -> Self {
        if object.partition() == SYSTEM_PARTITION {
            return Self::of_system(PUT, object, bytes);
        }
        let (scope, kind) = (Scope::Write, Kind::Change);
        Self { scope, kind, action: PUT, object: shown(object), bytes }
    }
}

/// Any message whose first field is the name of an object.
#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(message, optional, tag = "1")]
    name: Option<ObjectName>,
}

/// The object that an action is about, of a copy the one that is made; what cannot be read is
/// refused later.
fn named_by(action: &str, body: &[u8]) -> Option<ObjectName> {
    match action {
        action::COPY => {
            let Copy { from, to, .. } = Copy::decode(body).ok()?;
            Some(if from.partition() == SYSTEM_PARTITION { from } else { to })
        }
        action::INFO | action::ATTRIBUTES | action::CONTAINERS | action::REMOVE_CONTAINER => {
            ObjectName::decode(body).ok()
        }
        action::LOCATE => Locate::decode(body).ok()?.object,
        action::LIST
        | action::REMOVE
        | action::WRITE
        | action::TRUNCATE
        | action::SET_ATTRIBUTE
        | action::CREATE_CONTAINER
        | action::SET_QUOTA => Named::decode(body).ok()?.name,
        _ => None,
    }
}

fn shown(name: &ObjectName) -> String {
    let parts = [name.partition(), &name.collection, &name.name];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::protocol::objects::{Container, List, Remove, SetAttribute, Truncate, Write};

    fn name(collection: &str, name: &str) -> ObjectName {
        let (collection, name) = (collection.to_owned(), name.to_owned());
        ObjectName { collection, name, ..ObjectName::default() }
    }

    fn remove() -> Vec<u8> {
        Remove { name: name("c", "o"), expected: Some(3) }.encode_to_vec()
    }

    fn write() -> Vec<u8> {
        let bytes = vec![0; 100].into();
        Write { name: name("c", "o"), expected: None, offset: Some(1), bytes }.encode_to_vec()
    }

    fn copy() -> Vec<u8> {
        Copy { from: name("a", "b"), to: name("c", "o"), expected: None }.encode_to_vec()
    }

    fn container(collection: &str) -> Vec<u8> {
        Container { name: name(collection, ""), ..Container::default() }.encode_to_vec()
    }

    fn attribute(collection: &str) -> Vec<u8> {
        SetAttribute { of: name(collection, ""), ..SetAttribute::default() }.encode_to_vec()
    }

    #[rstest]
    #[case(action::INFO, name("c", "o").encode_to_vec(), Scope::Read, "default/c/o")]
    #[case(action::HEALTH, Vec::new(), Scope::Read, "default")]
    #[case(action::REMOVE, remove(), Scope::Write, "default/c/o")]
    #[case(action::WRITE, write(), Scope::Write, "default/c/o")]
    #[case(action::COPY, copy(), Scope::Write, "default/c/o")]
    #[case(action::CREATE_CONTAINER, container("c"), Scope::Write, "default/c")]
    #[case(action::CREATE_CONTAINER, container(""), Scope::Admin, "default")]
    #[case(action::REMOVE_CONTAINER, name("c", "").encode_to_vec(), Scope::Write, "default/c")]
    #[case(action::REMOVE_CONTAINER, name("", "").encode_to_vec(), Scope::Admin, "default")]
    #[case(action::SET_QUOTA, container("c"), Scope::Admin, "default/c")]
    #[case(action::SET_ATTRIBUTE, attribute("c"), Scope::Write, "default/c")]
    #[case(action::SET_ATTRIBUTE, attribute(""), Scope::Admin, "default")]
    #[case(action::RESET, Vec::new(), Scope::Admin, "default")]
    #[case("nearscan.nothing", Vec::new(), Scope::Read, "default")]
    fn action_needs_scope(
        #[case] action: &str,
        #[case] body: Vec<u8>,
        #[case] scope: Scope,
        #[case] object: &str,
    ) {
        let need = Need::of_action(&Action::new(action, body));
        assert_eq!((need.scope, need.object.as_str()), (scope, object));
        assert_eq!(need.kind == Kind::Change, scope != Scope::Read);
    }

    #[test]
    fn what_belongs_to_the_server_is_for_administrators() {
        let of_system = || ObjectName { partition: "_system".to_owned(), ..name("c", "o") };
        let (list, copy) = (
            List { collection: of_system(), ..List::default() },
            Copy { from: of_system(), to: name("c", "o"), expected: None },
        );
        let bodies = [
            (action::INFO, of_system().encode_to_vec()),
            (action::ATTRIBUTES, of_system().encode_to_vec()),
            (action::CONTAINERS, of_system().encode_to_vec()),
            (action::LIST, list.encode_to_vec()),
            (action::COPY, copy.encode_to_vec()),
            (action::REMOVE, Remove { name: of_system(), expected: None }.encode_to_vec()),
        ];
        for (action, body) in bodies {
            let need = Need::of_action(&Action::new(action, body));
            assert_eq!(need.scope, Scope::Admin, "{action}");
        }
        let ticket = |name| Need::of_ticket(&Read { name, ..Read::default() }, 1).scope;
        assert_eq!(ticket(of_system()), Scope::Admin);
        assert_eq!(Need::to_put(&of_system(), 1).scope, Scope::Admin);
        assert_eq!(ticket(name("c", "o")), Scope::Read);
    }

    #[rstest]
    #[case("command", Scope::Write, Scope::Write, Scope::Write)]
    #[case("response", Scope::Read, Scope::Admin, Scope::Write)]
    #[case("answered", Scope::Admin, Scope::Admin, Scope::Admin)]
    fn command_object_is_for_those_who_write_and_the_answers_for_those_who_read(
        #[case] object: &str,
        #[case] reading: Scope,
        #[case] writing: Scope,
        #[case] truncating: Scope,
    ) {
        let name = ObjectName { partition: "_system".to_owned(), ..name("commands", object) };
        let scope = |action, body| Need::of_action(&Action::new(action, body)).scope;
        assert_eq!(scope(action::INFO, name.encode_to_vec()), reading);
        let ticket = Read { name: name.clone(), ..Read::default() };
        assert_eq!(Need::of_ticket(&ticket, 1).scope, reading);
        let write = Write { name: name.clone(), ..Write::default() };
        assert_eq!(scope(action::WRITE, write.encode_to_vec()), writing);
        assert_eq!(Need::to_put(&name, 1).scope, writing);
        let truncate = Truncate { name: name.clone(), ..Truncate::default() };
        assert_eq!(scope(action::TRUNCATE, truncate.encode_to_vec()), truncating);
        let remove = Remove { name: name.clone(), expected: None };
        assert_eq!(scope(action::REMOVE, remove.encode_to_vec()), Scope::Admin);
        assert_eq!(scope(action::ATTRIBUTES, name.encode_to_vec()), Scope::Admin);
    }

    #[test]
    fn requests_to_applications_need_the_stated_scopes_and_name_what_they_are_about() {
        let of_name = Name { name: "scan".to_owned() }.encode_to_vec();
        for (action, _) in action::OF_APPLICATIONS {
            let need = Need::of_action(&Action::new(action, of_name.clone()));
            let reads = [
                action::APP_LIST,
                action::APP_SCHEMA,
                action::HANDLER_LIST,
                action::DEAD_LETTER_LIST,
            ];
            let scope = if reads.contains(&action) { Scope::Read } else { Scope::Install };
            assert_eq!((need.scope, need.object.as_str()), (scope, "scan"), "{action}");
            let is_call = action == action::APP_SCHEMA;
            assert_eq!(need.kind == Kind::Change, scope == Scope::Install || is_call, "{action}");
        }
        let install = Need::to_install("version = '1'\nname = 'scan'", 1);
        assert_eq!((install.scope, install.object.as_str()), (Scope::Install, "scan"));
        let call = Call { name: "scan".to_owned(), arguments: Vec::new() };
        let ticket = Read { stream: Some(Stream::Table(call)), ..Read::default() };
        let table = Need::of_ticket(&ticket, 1);
        assert_eq!((table.scope, table.kind, &*table.object), (Scope::Read, Kind::Change, "scan"));
    }
}
