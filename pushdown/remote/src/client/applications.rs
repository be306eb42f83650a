// SPDX-License-Identifier: Apache-2.0
//! Implements [`RemoteApplications`], the applications of a server as its clients see them.
//!
//! A request ends when the connection is lost, which the keep-alive notices; otherwise it takes as
//! long as the server does. The call of an application ends with its future, or with its stream.

mod error;
mod streams;

use std::sync::Arc;

use prost::Message;

use super::{
    Shared,
    connection::{Connection, act},
};
use crate::{
    applications::{Application, Beginning, DeadLetter, Handler},
    convert::applications::register,
    protocol::{
        action,
        applications::{
            Applications, Call, DeadLetters, Handlers, Letter, ListAfter, ListDeadLetters, Name,
            SINCE_MINOR, Schema,
        },
        objects::Done,
    },
};
pub use error::{ApplicationError, ApplicationErrorKind};
pub use streams::{TableReading, Watching};

type Result<T> = std::result::Result<T, ApplicationError>;

/// The applications of a server. Clones share the connection of the drive.
#[derive(Debug, Clone)]
pub struct RemoteApplications {
    shared: Arc<Shared>,
}

impl RemoteApplications {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn connection(&self) -> Result<Arc<Connection>> {
        let connection = self.shared.connection();
        let connection =
            connection.map_err(|refusal| ApplicationError::unreachable(refusal.to_string()))?;
        match connection.protocol_minor < SINCE_MINOR {
            true => Err(ApplicationError::unsupported()),
            false => Ok(connection),
        }
    }

    async fn call<A: Default + Message>(&self, name: &str, question: &impl Message) -> Result<A> {
        let connection = self.connection()?;
        let flight = connection.flight();
        Ok(connection.unless_lost(act(&flight, name, question)).await?)
    }

    async fn change(&self, name: &str, question: &impl Message) -> Result<()> {
        self.call::<Done>(name, question).await.map(drop)
    }

    /// Removes an application; its calls that run are stopped.
    ///
    /// # Errors
    /// `NotFound`, `InUse` if handlers are registered for it, or what keeps the server from
    /// answering.
    pub async fn remove(&self, name: &str) -> Result<()> {
        self.change(action::APP_REMOVE, &named(name)).await
    }

    /// Lets an application be called.
    ///
    /// # Errors
    /// `NotFound`, or what keeps the server from answering.
    pub async fn start(&self, name: &str) -> Result<()> {
        self.change(action::APP_START, &named(name)).await
    }

    /// Ends that an application can be called; its calls that run are stopped. Its events wait.
    ///
    /// # Errors
    /// `NotFound`, or what keeps the server from answering.
    pub async fn stop(&self, name: &str) -> Result<()> {
        self.change(action::APP_STOP, &named(name)).await
    }

    /// Lists the applications by name.
    ///
    /// # Errors
    /// What keeps the server from answering.
    pub async fn list(&self) -> Result<Vec<Application>> {
        let mut found: Vec<Application> = Vec::new();
        loop {
            let after = found.last().map_or_else(String::new, |last| last.name.clone());
            let page: Applications = self.call(action::APP_LIST, &ListAfter { after }).await?;
            check_page(page.applications.is_empty(), page.is_partial)?;
            found.extend(page.applications.into_iter().map(Application::from));
            if !page.is_partial {
                return Ok(found);
            }
        }
    }

    /// The schema of an application's table, as an Arrow IPC stream without batches. The bytes are
    /// an application's: anything can be in them.
    ///
    /// # Errors
    /// Those of [`RemoteApplications::run`].
    pub async fn schema(&self, name: &str, arguments: &[String]) -> Result<Vec<u8>> {
        let call = Call { name: name.to_owned(), arguments: arguments.to_vec() };
        let schema: Schema = self.call(action::APP_SCHEMA, &call).await?;
        Ok(schema.stream)
    }

    /// Registers a handler.
    ///
    /// # Errors
    /// `Invalid`, also if the application handles no events, `NotFound` if there is no such
    /// application, `Exists`, or what keeps the server from answering.
    pub async fn register(&self, handler: &Handler, beginning: Beginning) -> Result<()> {
        self.change(action::HANDLER_REGISTER, &register(handler, beginning)).await
    }

    /// Unregisters a handler. Its dead letters stay until they are cleared.
    ///
    /// # Errors
    /// `NotFound`, or what keeps the server from answering.
    pub async fn unregister(&self, name: &str) -> Result<()> {
        self.change(action::HANDLER_UNREGISTER, &named(name)).await
    }

    /// Lists the handlers by name, each with the number of the last change that it has seen.
    ///
    /// # Errors
    /// What keeps the server from answering.
    pub async fn handlers(&self) -> Result<Vec<(Handler, u64)>> {
        let mut found: Vec<(Handler, u64)> = Vec::new();
        loop {
            let after = found.last().map_or_else(String::new, |(last, _)| last.name.clone());
            let page: Handlers = self.call(action::HANDLER_LIST, &ListAfter { after }).await?;
            check_page(page.handlers.is_empty(), page.is_partial)?;
            found.extend(page.handlers.into_iter().map(<(Handler, u64)>::from));
            if !page.is_partial {
                return Ok(found);
            }
        }
    }

    /// Lists the dead letters of a handler, in the order of the log of changes.
    ///
    /// # Errors
    /// What keeps the server from answering.
    pub async fn dead_letters(&self, handler: &str) -> Result<Vec<DeadLetter>> {
        let mut found: Vec<DeadLetter> = Vec::new();
        loop {
            let after = found.last().map_or(0, |last| last.event.sequence);
            let list = ListDeadLetters { handler: handler.to_owned(), after };
            let page: DeadLetters = self.call(action::DEAD_LETTER_LIST, &list).await?;
            check_page(page.letters.is_empty(), page.is_partial)?;
            found.extend(page.letters.into_iter().map(DeadLetter::from));
            if !page.is_partial {
                return Ok(found);
            }
        }
    }

    /// Has a handler try a dead letter again, once. It is removed if that succeeds.
    ///
    /// # Errors
    /// `NotFound`, `Failed` or `Fault` if it does not succeed, or what keeps the server from
    /// answering.
    pub async fn retry(&self, handler: &str, sequence: u64) -> Result<()> {
        let handler = handler.to_owned();
        self.change(action::DEAD_LETTER_RETRY, &Letter { handler, sequence }).await
    }

    /// Removes a dead letter.
    ///
    /// # Errors
    /// `NotFound`, or what keeps the server from answering.
    pub async fn clear(&self, handler: &str, sequence: u64) -> Result<()> {
        let handler = handler.to_owned();
        self.change(action::DEAD_LETTER_CLEAR, &Letter { handler, sequence }).await
    }
}

fn named(name: &str) -> Name {
    Name { name: name.to_owned() }
}

/// Checks that a list that goes on has gone on so far.
fn check_page(is_empty: bool, is_partial: bool) -> Result<()> {
    match is_empty && is_partial {
        true => Err(ApplicationError::nonsense(&"a part of a list is empty")),
        false => Ok(()),
    }
}
