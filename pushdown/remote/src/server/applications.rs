// SPDX-License-Identifier: Apache-2.0
//! Answers requests about the applications of a store. In a program that is built without them the
//! module of the same name in `without_applications.rs` takes the place of this one.
//!
//! It does not know who calls: what the caller may do comes as [`Reach`].
//!
//! # Invariants
//!
//! - The memory for a component or a body is taken from the server's before the bytes come, and
//!   only within the limits of applications; that for an answer before it is sent.
//! - Functions of the applications that block are called on threads of their own.
//! - A call ends with the future that waits for it.

mod answers;
mod refusal;

use std::sync::Arc;

use arrow_flight::FlightData;
use bytes::Bytes;
use nearscan_applications::{
    Access, COMPONENT_BYTES_MAX, Error, Grant, Notice, Package, Replace, Request, Rights,
    Signature, Subject,
};
use nearscan_drive::{Budget, Charged, FlashEvent, Reservation};
use prost::Message;
use tokio::sync::{broadcast::error::RecvError, mpsc};
use tonic::Status;

use super::{gate::Reach, read, upload::Upload};
use crate::{
    protocol::{
        action,
        applications::{
            Application, Applications as Listed, BODY_BYTES_MAX, Call, DeadLetters, Handlers,
            Install, Letter, ListAfter, ListDeadLetters, Name, Noticed, Run, Schema, Seen, Watch,
        },
        objects::{Done, LIST_MAX},
    },
    results,
};
pub(crate) use answers::handler_of;
pub use nearscan_applications::Applications;
use refusal::{status_of, too_large};

const _: () = assert!(BODY_BYTES_MAX == nearscan_applications::MESSAGE_BYTES_MAX as u64);

/// Bytes of the entries of one answer, at most; one entry alone may have more.
const PAGE_BYTES: usize = 1 << 20;

/// Bytes of the description of a handler, at most.
const HANDLER_BYTES_MAX: usize = 64 << 10;

/// Bytes of the schema of a table, at most.
const SCHEMA_BYTES_MAX: usize = 3 << 20;

/// The messages on their way to a client.
type Outgoing = mpsc::Sender<Result<FlightData, Status>>;

/// The applications of a server, if it has any.
#[derive(Debug, Clone)]
pub(super) struct Installed(Option<Applications>);

/// Calls a function of the applications on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Status::internal(error.to_string()))?.map_err(|error| status_of(&error))
}

impl Installed {
    pub(super) fn new(applications: Option<Applications>) -> Self {
        Self(applications)
    }

    /// Whether there are applications.
    pub(super) fn are_served(&self) -> bool {
        self.0.is_some()
    }

    /// Tells that an object has changed.
    pub(super) fn changed(&self) {
        if let Some(applications) = &self.0 {
            applications.changed();
        }
    }

    /// Publishes an event of the flash to the handlers. It blocks.
    pub(super) fn publish(&self, event: &FlashEvent) -> Result<(), Status> {
        let Some(applications) = &self.0 else { return Ok(()) };
        let detail = event.kind.detail(|file| file.display().to_string());
        let (kind, block) = (event.kind.name().to_owned(), event.block);
        let published = applications.publish(Subject::Flash { kind, block, detail });
        published.map(drop).map_err(|error| status_of(&error))
    }

    /// The last change that all handlers have seen, if applications run. It blocks.
    pub(super) fn seen(&self) -> Result<Option<u64>, Status> {
        let seen = self.0.as_ref().map(Applications::seen).transpose();
        seen.map_err(|error| status_of(&error))
    }

    fn get(&self) -> Result<Applications, Status> {
        let none = || Status::unimplemented("the server has no applications");
        self.0.clone().ok_or_else(none)
    }

    /// Does what an action asks for.
    pub(super) async fn act(
        &self,
        name: &str,
        body: &Bytes,
        reach: Reach,
    ) -> Result<Vec<u8>, Status> {
        let applications = self.get()?;
        match name {
            action::APP_LIST => {
                let ListAfter { after } = read(body)?;
                let all = applications.list();
                let behind = all.iter().filter(|it| it.manifest.name > after);
                let (applications, is_partial) = page(behind.map(Application::from));
                return Ok(Listed { applications, is_partial }.encode_to_vec());
            }
            action::APP_SCHEMA => {
                let Call { name, arguments } = read(body)?;
                let schema = applications.table_schema(&name, arguments, rights_of(reach)).await;
                let stream = schema.map_err(|error| status_of(&error))?;
                if stream.len() > SCHEMA_BYTES_MAX {
                    let (length, limit) = (stream.len() as u64, SCHEMA_BYTES_MAX as u64);
                    return Err(too_large("the schema", length, limit));
                }
                return Ok(Schema { stream }.encode_to_vec());
            }
            action::HANDLER_LIST => {
                let ListAfter { after } = read(body)?;
                let all = applications.handlers();
                let behind = all.iter().filter(|(handler, _)| handler.name > after);
                let (handlers, is_partial) = page(behind.map(From::from));
                return Ok(Handlers { handlers, is_partial }.encode_to_vec());
            }
            action::DEAD_LETTER_LIST => {
                let ListDeadLetters { handler, after } = read(body)?;
                return dead_letters(applications, handler, after).await;
            }
            action::DEAD_LETTER_RETRY => {
                let Letter { handler, sequence } = read(body)?;
                let tried = applications.retry(&handler, sequence).await;
                tried.map_err(|error| status_of(&error))?;
            }
            _ => change(applications, name, body).await?,
        }
        Ok(Done {}.encode_to_vec())
    }

    /// Installs an application.
    pub(super) async fn install(
        &self,
        install: Install,
        parts: Upload,
        memory: &Arc<dyn Budget>,
    ) -> Result<Application, Status> {
        let applications = self.get()?;
        let Install { manifest, signature, replaces, length } = install;
        let wrong = |_| Status::invalid_argument("a signature has 64 bytes");
        let signature = signature.map(<[u8; 64]>::try_from).transpose().map_err(wrong)?;
        let limit = COMPONENT_BYTES_MAX;
        let (bytes, held) = collect("the component", length, limit, parts, memory).await?;
        let component = Bytes::from_owner(Charged::new(bytes, held));
        let package = Package { manifest, component, signature: signature.map(Signature) };
        let replace = if replaces { Replace::Same } else { Replace::Never };
        let installed = blocking(move || applications.install(package, replace)).await?;
        Ok(Application::from(&installed))
    }

    /// Calls an application with a request.
    pub(super) async fn run(
        &self,
        run: Run,
        reach: Reach,
        parts: Upload,
        memory: &Arc<dyn Budget>,
    ) -> Result<Bytes, Status> {
        let applications = self.get()?;
        let Run { name, arguments, length } = run;
        // Before the body comes.
        applications.application(&name).map_err(|error| status_of(&error))?;
        let (body, held) = collect("the request", length, BODY_BYTES_MAX, parts, memory).await?;
        let request = Request { arguments, body, rights: rights_of(reach) };
        let answer = applications.run(&name, request).await.map_err(|error| status_of(&error))?;
        drop(held);
        let held = reserve(answer.len() as u64, memory)?;
        Ok(Bytes::from_owner(Charged::new(answer, held)))
    }

    /// Sends the table of an application, until its end.
    pub(super) async fn table(
        &self,
        call: Call,
        reach: Reach,
        outgoing: &Outgoing,
    ) -> Result<(), Status> {
        let Call { name, arguments } = call;
        let mut table = self.get()?.table(&name, arguments, rights_of(reach));
        while let Some(piece) = table.next().await.map_err(|error| status_of(&error))? {
            for part in results::parts(&Bytes::from(piece)) {
                let part = part.map_err(|error| Status::internal(error.to_string()))?;
                send(outgoing, part).await?;
            }
        }
        Ok(())
    }

    /// Sends the notices behind a number, and those to come, for as long as there are any.
    pub(super) async fn watch(&self, watch: Watch, outgoing: &Outgoing) -> Result<(), Status> {
        let (found, mut coming) = self.get()?.watch(watch.after);
        let say = |seen| {
            let noticed = Noticed { seen: Some(seen) };
            send(outgoing, FlightData::new().with_app_metadata(noticed.encode_to_vec()))
        };
        let first = found.first().map_or(0, |notice| notice.number);
        let missed = first.saturating_sub(watch.after.saturating_add(1));
        if watch.after > 0 && missed > 0 {
            say(Seen::Missed(missed)).await?;
        }
        let notice = |notice: &Notice| Seen::Notice(notice.into());
        for found in &found {
            say(notice(found)).await?;
        }
        drop(found);
        loop {
            match coming.recv().await {
                Ok(next) => say(notice(&next)).await?,
                Err(RecvError::Lagged(missed)) => say(Seen::Missed(missed)).await?,
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    }
}

/// Sends a message.
async fn send(outgoing: &Outgoing, message: FlightData) -> Result<(), Status> {
    let left = |_| Status::cancelled("the client has left");
    outgoing.send(Ok(message)).await.map_err(left)
}

/// Changes what an action says.
async fn change(applications: Applications, name: &str, body: &Bytes) -> Result<(), Status> {
    match name {
        action::APP_REMOVE => {
            let Name { name } = read(body)?;
            blocking(move || applications.remove(&name)).await
        }
        action::APP_START => {
            let Name { name } = read(body)?;
            blocking(move || applications.start(&name)).await
        }
        action::APP_STOP => {
            let Name { name } = read(body)?;
            blocking(move || applications.stop(&name)).await
        }
        action::HANDLER_REGISTER => {
            if body.len() > HANDLER_BYTES_MAX {
                let (length, limit) = (body.len() as u64, HANDLER_BYTES_MAX as u64);
                return Err(too_large("the handler", length, limit));
            }
            let (handler, beginning) = handler_of(read(body)?)?;
            blocking(move || applications.register(handler, beginning)).await
        }
        action::HANDLER_UNREGISTER => {
            let Name { name } = read(body)?;
            blocking(move || applications.unregister(&name)).await
        }
        action::DEAD_LETTER_CLEAR => {
            let Letter { handler, sequence } = read(body)?;
            blocking(move || applications.clear(&handler, sequence)).await
        }
        other => Err(Status::unimplemented(format!("there is no action {other:?}"))),
    }
}

/// The dead letters of a handler behind an event.
async fn dead_letters(
    applications: Applications,
    handler: String,
    after: u64,
) -> Result<Vec<u8>, Status> {
    // Letters of a hundred KiB, of which a page has a few.
    let limit = usize::try_from(LIST_MAX / 10).unwrap_or(1);
    let found = blocking(move || applications.dead_letters_after(&handler, after, limit)).await?;
    let is_end = found.len() < limit;
    let (letters, is_partial) = page(found.iter().map(From::from));
    Ok(DeadLetters { letters, is_partial: is_partial || !is_end }.encode_to_vec())
}

/// As many of the entries as one answer has, and whether there are more.
fn page<T: Message>(entries: impl Iterator<Item = T>) -> (Vec<T>, bool) {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for entry in entries {
        bytes += entry.encoded_len();
        if bytes > PAGE_BYTES && !found.is_empty() {
            return (found, true);
        }
        found.push(entry);
    }
    (found, false)
}

/// The rights of a caller: where they end, those of the application do.
fn rights_of(reach: Reach) -> Option<Rights> {
    let access = match reach {
        Reach::Reading => vec![Access::Read],
        Reach::Writing => vec![Access::Read, Access::Write],
        Reach::All => return None,
    };
    Some(Rights::new(vec![Grant { collection: "*".to_owned(), access }]))
}

/// Takes memory of the server's.
fn reserve(bytes: u64, memory: &Arc<dyn Budget>) -> Result<Reservation, Status> {
    let text = format!("the server has no {bytes} bytes of memory left");
    Reservation::take(memory, bytes).ok_or_else(|| Status::resource_exhausted(text))
}

/// Collects as many bytes as a client has announced.
async fn collect(
    what: &'static str,
    length: u64,
    limit: u64,
    mut parts: Upload,
    memory: &Arc<dyn Budget>,
) -> Result<(Vec<u8>, Reservation), Status> {
    if length > limit {
        return Err(too_large(what, length, limit));
    }
    let held = reserve(length, memory)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(length);
    while let Some(part) = parts.next().await? {
        if bytes.len() + part.len() > length {
            let text = format!("{what} has more than the {length} bytes that were announced");
            return Err(Status::invalid_argument(text));
        }
        bytes.extend_from_slice(&part);
    }
    Ok((bytes, held))
}
