// SPDX-License-Identifier: Apache-2.0
//! Gives fuzzers what reads foreign bytes: packages, handlers, and the lines of the command object
//! and the response object. It is no part of the interface of this crate, and there only with its
//! feature `fuzz`.
//!
//! Each function says whether its bytes came as far as to what must hold, or were refused before.
//!
//! # Panics
//! When what must hold does not.

use std::sync::OnceLock;

use nearscan_store::ChangeKind;

use crate::{
    commands::{ids, line_of_id, lines},
    error::Error,
    event::{Event, Subject},
    fault::Fault,
    handler::Handler,
    limits::Limits,
    manifest::{Entry, Manifest},
    registry::{Checked, Package},
    request::{Answer, ID_LENGTH_MAX, Request, answered, id_of_garbage},
    rights::Access,
    sandbox::Sandbox,
    signature::Trust,
    system::{self, APPLICATIONS, COMMANDS, DEAD_LETTERS, EVENTS, HANDLERS},
};

/// The events that each handler is asked about: of clients, of the system, and of no object.
const COLLECTIONS: [&str; 4] = ["default/raw", "sales/raw", "_system/commands", "_system/events"];

/// Checks a package as installing does, and compiles its component. A manifest that is taken names
/// an object, gives no right to write to the system, and comes back from what is kept of it.
pub fn package(package: Package) -> bool {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    let text = package.manifest.clone();
    let Ok(checked) = Checked::new(package, &Limits::ceiling(), &Trust::default()) else {
        return false;
    };
    let manifest = &checked.manifest;
    assert!(system::object(APPLICATIONS, &manifest.name).is_ok(), "its name is one of an object");
    let rights = manifest.rights();
    for name in [APPLICATIONS, HANDLERS, EVENTS, DEAD_LETTERS, COMMANDS] {
        let path = system::collection(name).expect("a collection of the system");
        assert!(!rights.allows(&path, Access::Write), "it may write to {path}");
    }
    assert_eq!(Manifest::parse(&text).as_ref().ok(), Some(manifest), "it is read alike");
    let written = toml::to_string(manifest).expect("a manifest can be written");
    assert_eq!(Manifest::parse(&written).as_ref().ok(), Some(manifest), "it comes back");
    let sandbox = SANDBOX.get_or_init(|| Sandbox::new(1).expect("a compiler"));
    if let Ok(compiled) = sandbox.compile(&checked.sha256, checked.component()) {
        let _entries = Entry::ALL.map(|entry| compiled.has(entry));
        sandbox.forget(&checked.sha256);
    }
    true
}

/// Reads a handler as it is kept, see [`handler`].
pub fn kept_handler(bytes: &[u8]) -> bool {
    Handler::read(bytes).is_ok_and(|found| handler(&found))
}

/// Checks a handler as registering does. One that is taken names an object, comes back from what is
/// kept of it, and sees objects of the system only if its filter names their collection.
pub fn handler(handler: &Handler) -> bool {
    if handler.check().is_err() {
        return false;
    }
    assert!(system::object(HANDLERS, &handler.name).is_ok(), "its name is one of an object");
    let kept = serde_json::to_vec(handler).expect("a handler can be written");
    assert_eq!(Handler::read(&kept).as_ref(), Ok(handler), "it comes back");
    let of_object = COLLECTIONS.map(|collection| {
        let (collection, name) = (collection.to_owned(), "in/a.csv".to_owned());
        Subject::Object { change: ChangeKind::Created, collection, name, version: 1 }
    });
    let text = || "fuel".to_owned();
    let others = [
        Subject::Flash { kind: text(), block: 1, detail: text() },
        Subject::Application { application: text(), name: text(), payload: Vec::new() },
        Subject::Fault { application: text(), kind: text(), detail: text() },
    ];
    for subject in of_object.into_iter().chain(others) {
        let named = handler.filter.collection.clone();
        let is_hidden = match &subject {
            Subject::Object { collection, .. } => {
                collection.starts_with("_system/") && named.as_ref() != Some(collection)
            }
            Subject::Flash { .. } | Subject::Application { .. } | Subject::Fault { .. } => false,
        };
        let event = Event { sequence: 1, at_ns: 0, depth: 0, subject };
        assert!(!(handler.filter.matches(&event) && is_hidden), "it sees {event:?}");
    }
    true
}

/// Reads the command object, and answers each of its lines in every way. Each answer is one line,
/// by whose id it is known that the request was answered. Whether there is a request.
pub fn commands(bytes: &[u8]) -> bool {
    let (mut has_request, mut response, mut written) = (false, Vec::new(), Vec::new());
    for line in lines(bytes) {
        let is_request = line.request.is_ok();
        let of_garbage = line.id.starts_with('?');
        assert!((1..=ID_LENGTH_MAX).contains(&line.id.len()), "an id of {}", line.id.len());
        assert_eq!(is_request, !of_garbage, "an id tells what is a request");
        let listed = ids(&line_of_id(&line.id)).collect::<Vec<_>>();
        assert_eq!(listed, std::slice::from_ref(&line.id), "a list of ids keeps it");
        for answer in answers(&line.id, line.request) {
            let line = answer.line();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "it is one line");
            assert!(line.ends_with(b"\n"), "it has an end");
            assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok(), "it is JSON");
            response.extend(line);
            written.push(answer.id().to_owned());
        }
        has_request |= is_request;
    }
    assert_eq!(answered(&response).collect::<Vec<_>>(), written, "what was answered is known");
    has_request
}

/// The answers that a line may get.
fn answers(id: &str, request: Result<Request, String>) -> Vec<Answer> {
    let name = || "a".to_owned();
    match request.and_then(|request| request.body()) {
        Ok(body) => {
            let message = String::from_utf8_lossy(&body).into_owned();
            let fault = Fault::Trap { detail: message.clone() };
            vec![
                Answer::new(id, Ok(body)),
                Answer::new(id, Err(Error::Failed { name: name(), message })),
                Answer::new(id, Err(Error::Fault { name: name(), fault })),
                Answer::new(id, Err(Error::Closed)),
            ]
        }
        Err(reason) => vec![Answer::refused(id, reason)],
    }
}

/// Reads a response object that anybody may have written, and the list of ids. Whether one is
/// found.
pub fn response(bytes: &[u8]) -> bool {
    let known = answered(bytes).count();
    let listed: Vec<String> = ids(bytes).collect();
    let again: Vec<u8> = listed.iter().flat_map(|id| line_of_id(id)).collect();
    assert_eq!(ids(&again).collect::<Vec<_>>(), listed, "a list of ids comes back");
    assert!(id_of_garbage(bytes).starts_with('?'), "no request has the id of garbage");
    known + listed.len() > 0
}
