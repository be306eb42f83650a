// SPDX-License-Identifier: Apache-2.0
//! Offers handlers, dead letters and events to a server.

use std::sync::Arc;

use super::Applications;
use crate::{
    dead_letters::{DEAD_LETTERS_MAX, DeadLetter, DeadLetters},
    error::{Error, Result},
    event::{Event, Subject},
    handler::{Beginning, Handler},
    journal::What,
    manifest::Entry,
    publisher::Published,
};

impl Applications {
    /// Registers a handler.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::NotFound`] if there is no such application, [`Error::NoEntry`]
    /// if it handles no events, [`Error::Exists`], or an error of the store.
    pub fn register(&self, handler: Handler, beginning: Beginning) -> Result<()> {
        let _changing = self.changing();
        let application = self.registry().get(&handler.application)?;
        if !application.manifest.entries.contains(&Entry::Handler) {
            let (name, entry) = (handler.application, Entry::Handler.name());
            return Err(Error::NoEntry { name, entry });
        }
        let registered = self.0.dispatcher.handlers.add(handler, beginning)?;
        self.journal().note(&registered.handler.name, What::Registered);
        self.follow(registered);
        Ok(())
    }

    /// Unregisters a handler. Its dead letters stay until they are cleared.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the store.
    pub fn unregister(&self, name: &str) -> Result<()> {
        let _changing = self.changing();
        self.0.dispatcher.handlers.remove(name)?;
        if let Some(task) = self.tasks().handlers.remove(name) {
            task.abort();
        }
        self.journal().note(name, What::Unregistered);
        Ok(())
    }

    /// Lists the handlers by name, each with the number of the last change that it has seen.
    #[must_use]
    pub fn handlers(&self) -> Vec<(Handler, u64)> {
        let all = self.0.dispatcher.handlers.all();
        all.iter().map(|it| (it.handler.clone(), it.position())).collect()
    }

    /// The last change that all handlers have seen: the log up to it is needed no more.
    ///
    /// # Errors
    /// An error of the store.
    pub fn seen(&self) -> Result<u64> {
        self.0.dispatcher.handlers.seen()
    }

    /// Lists the dead letters of a handler, in the order of the log.
    ///
    /// # Errors
    /// [`Error::Damaged`], or an error of the store.
    pub fn dead_letters(&self, handler: &str) -> Result<Vec<DeadLetter>> {
        self.dead_letters_after(handler, 0, DEAD_LETTERS_MAX)
    }

    /// Lists the dead letters of a handler whose events are behind a number in the log, in its
    /// order, and at most so many.
    ///
    /// # Errors
    /// Those of [`Applications::dead_letters`].
    pub fn dead_letters_after(
        &self,
        handler: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<DeadLetter>> {
        self.0.dispatcher.dead_letters.list(handler, after, limit)
    }

    /// Has the handler try a dead letter again, once. It is removed if that succeeds.
    ///
    /// # Errors
    /// [`Error::NotFound`], what the application says, or an error of the store.
    pub async fn retry(&self, handler: &str, sequence: u64) -> Result<()> {
        let dispatcher = &self.0.dispatcher;
        let application = dispatcher.handlers.get(handler)?.handler.application.clone();
        let letter =
            self.with_letters(handler, move |letters, of| letters.get(of, sequence)).await?;
        let attempts = letter.attempts.saturating_add(1);
        // Somebody wants it: the chain of handlers that led to it ends here.
        let event = Event { depth: 0, ..letter.event.clone() };
        let tried = dispatcher.attempt(&application, &event, attempts).await;
        let failed = tried.as_ref().err().map(ToString::to_string);
        self.with_letters(handler, move |letters, of| match failed {
            None => letters.remove(of, sequence),
            Some(reason) => letters.keep(of, &letter.event, attempts, &reason).map(drop),
        })
        .await?;
        tried
    }

    /// Does something with the dead letters of a handler on a thread that may block.
    async fn with_letters<T: Send + 'static>(
        &self,
        handler: &str,
        done: impl FnOnce(&DeadLetters, &str) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (dispatcher, handler) = (Arc::clone(&self.0.dispatcher), handler.to_owned());
        let doing = move || done(&dispatcher.dead_letters, &handler);
        tokio::task::spawn_blocking(doing).await.map_err(Error::sandbox)?
    }

    /// Removes a dead letter.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the store.
    pub fn clear(&self, handler: &str, sequence: u64) -> Result<()> {
        self.0.dispatcher.dead_letters.remove(handler, sequence)
    }

    /// Publishes an event that no object has caused, such as one of the flash.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an event of an object, [`Error::TooManyEvents`], or an error of the
    /// store.
    pub fn publish(&self, subject: Subject) -> Result<Published> {
        self.0.calls.drive.publisher.publish(subject, 0)
    }
}
