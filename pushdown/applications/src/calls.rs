// SPDX-License-Identifier: Apache-2.0
//! Calls applications that are started, and reports how it went.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::{
    call::Call,
    error::{Error, Result},
    event::Subject,
    fault::Fault,
    host::{Drive, Guest},
    journal::{Journal, What},
    registry::{Application, Registry},
    rights::Rights,
    sandbox::{Compiled, Done, Sandbox, Work},
};

/// What is done about a fault, beside the notice of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AtFault {
    /// It becomes an event.
    #[default]
    Publish,
    /// Nothing: the call is tried again.
    Note,
}

/// What a caller adds to a call.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    /// What is done about a fault.
    pub(crate) at_fault: AtFault,
    /// What the caller itself may do; without it, the application's rights are all.
    pub(crate) rights: Option<Rights>,
    /// How many handlers in a chain lead to it.
    pub(crate) depth: u32,
    /// Where a table function puts its rows.
    pub(crate) output: Option<mpsc::Sender<Vec<u8>>>,
}

/// Calls applications.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) drive: Arc<Drive>,
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) journal: Arc<Journal>,
}

impl Calls {
    /// Calls an application.
    pub(crate) async fn call(&self, name: &str, work: Work, caller: Caller) -> Result<Vec<u8>> {
        let application = self.registry.started(name)?;
        let entry = work.entry();
        if !application.manifest.entries.contains(&entry) {
            return Err(Error::NoEntry { name: name.to_owned(), entry: entry.name() });
        }
        let compiled = self.compiled(&application).await?;
        let rights = match &caller.rights {
            Some(others) => application.manifest.rights().restricted(others),
            None => application.manifest.rights(),
        };
        let call = Call {
            application: name.to_owned(),
            rights,
            limits: application.manifest.limits,
            depth: caller.depth,
            stop: application.stop,
        };
        let patience = call.limits.deadline();
        let guest = || Guest::new(&self.drive, call, caller.output);
        let done = self.sandbox.call(compiled, patience, guest, work).await?;
        if let (Err(fault), AtFault::Publish) = (&done.outcome, caller.at_fault) {
            self.publish(name, fault, caller.depth).await;
        }
        self.report(name, done)
    }

    async fn compiled(&self, application: &Application) -> Result<Arc<Compiled>> {
        if let Some(compiled) = self.sandbox.compiled(&application.sha256) {
            return Ok(compiled);
        }
        let (sandbox, registry) = (Arc::clone(&self.sandbox), Arc::clone(&self.registry));
        let application = application.clone();
        let compiling = tokio::task::spawn_blocking(move || {
            let component = registry.component(&application)?;
            sandbox.compile(&application.sha256, &component)
        });
        compiling.await.map_err(Error::sandbox)?
    }

    fn report(&self, name: &str, done: Done) -> Result<Vec<u8>> {
        for (level, text) in done.log {
            self.journal.note(name, What::Logged(level, text));
        }
        match done.outcome {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(message)) => Err(Error::Failed { name: name.to_owned(), message }),
            Err(fault) => {
                self.journal.note(name, What::Faulted(fault.clone()));
                Err(Error::Fault { name: name.to_owned(), fault })
            }
        }
    }

    /// Makes an event of a fault.
    pub(crate) async fn publish(&self, name: &str, fault: &Fault, depth: u32) {
        let subject = Subject::Fault {
            application: name.to_owned(),
            kind: fault.kind().to_owned(),
            detail: fault.to_string(),
        };
        let publisher = Arc::clone(&self.drive.publisher);
        let publishing = tokio::task::spawn_blocking(move || publisher.publish(subject, depth));
        if let Err(error) = publishing.await.map_err(Error::sandbox).flatten() {
            self.journal.note(name, What::Failed { reason: error.to_string() });
        }
    }
}
