// SPDX-License-Identifier: Apache-2.0
//! Assembles the completions of commands from the messages of the server.
//!
//! The size of a result arrives before its bytes, and is charged to the query; the bytes of a
//! result that is too large are discarded.

use bytes::Bytes;
use nearscan_drive::{Charged, Completion, Failure, Outcome, Reservation};

use super::{
    super::{
        answer::Message,
        waiting::{Commands, Expected},
    },
    Account, read,
};
use crate::{
    convert::{id_of, time_of, traffic_of},
    protocol::{End, Ended, Event},
};

/// A result of which bytes are to come.
#[derive(Debug)]
struct Coming {
    expected: Option<Expected>,
    ended: Ended,
    left_bytes: u64,
    /// The bytes so far, or the reason why they are not kept.
    kept: Result<Charged, Failure>,
}

/// The receiver of the server's messages in one session.
#[derive(Debug)]
pub(super) struct Receiver {
    commands: Commands,
    budget: Account,
    coming: Option<Coming>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // However the session ends, every waiting command is completed.
        self.commands.end_with("the session was dropped".to_owned());
    }
}

impl Receiver {
    pub(super) fn new(commands: Commands, budget: Account) -> Self {
        Self { commands, budget, coming: None }
    }

    /// Ends the session with a reason for waiting commands.
    pub(super) fn end_with(&self, reason: String) {
        self.commands.end_with(reason);
    }

    /// Takes a message.
    ///
    /// # Errors
    /// The error in it; then nothing after it can be trusted.
    pub(super) fn take(&mut self, message: Message) -> Result<(), String> {
        match read(&message.metadata).map_err(|status| status.message().to_owned())? {
            Some(Event::Ended(ended)) => self.begin(*ended)?,
            Some(Event::Opened(_)) => return Err("a session was opened twice".to_owned()),
            None => {}
        }
        if !message.has_values() {
            return Ok(());
        }
        let Some(coming) = &mut self.coming else {
            return Err("there are bytes of no result".to_owned());
        };
        let mut bytes = message.values().map_err(|error| error.to_string())?;
        let left = coming.left_bytes.checked_sub(bytes.len() as u64);
        coming.left_bytes = left.ok_or_else(|| "a result is longer than announced".to_owned())?;
        if let Ok(charged) = &mut coming.kept {
            while let Some(piece) = bytes.pop() {
                charged.extend(&piece);
            }
        }
        if coming.left_bytes == 0 {
            self.pass_on();
        }
        Ok(())
    }

    /// The end of a command, without the bytes of its result.
    fn begin(&mut self, ended: Ended) -> Result<(), String> {
        if self.coming.is_some() {
            return Err("a result ends too early".to_owned());
        }
        let expected = self.commands.take(id_of(&ended.command_id));
        let (left_bytes, kept) = match &ended.end {
            Some(End::ResultBytes(bytes)) => (*bytes, self.room_for(*bytes, expected.as_ref())),
            Some(End::Failed(failed)) => (0, Err(failed.clone().into())),
            None => {
                let reason = "it ended in a way that is not known here".to_owned();
                (0, Err(Failure::Kernel { reason }))
            }
        };
        let has_bytes = matches!(ended.end, Some(End::ResultBytes(_)));
        self.coming = Some(Coming { expected, ended, left_bytes, kept });
        if !has_bytes {
            self.pass_on();
        }
        Ok(())
    }

    /// Memory for a result, charged to the query.
    fn room_for(&self, bytes: u64, expected: Option<&Expected>) -> Result<Charged, Failure> {
        // The receiver was dropped.
        let Some(expected) = expected else { return Err(Failure::Cancelled) };
        let refused = |reason: String| Failure::Kernel { reason };
        if bytes > expected.bytes_max {
            let room = expected.bytes_max;
            return Err(refused(format!("the result has {bytes} bytes, the limit is {room}")));
        }
        let low_memory = || Failure::HostMemory { needed_bytes: bytes };
        let memory = Reservation::take(&self.budget, bytes).ok_or_else(low_memory)?;
        let mut buffer = Vec::new();
        let size = usize::try_from(bytes).map_err(|_| low_memory())?;
        buffer.try_reserve_exact(size).map_err(|_| low_memory())?;
        Ok(Charged::new(buffer, memory))
    }

    /// Hands the completion over.
    fn pass_on(&mut self) {
        let Some(Coming { expected: Some(expected), ended, kept, .. }) = self.coming.take() else {
            return;
        };
        let completion = Completion {
            command_id: id_of(&ended.command_id),
            attempt: ended.attempt,
            outcome: match kept {
                Ok(charged) => Outcome::Finished(Bytes::from_owner(charged)),
                Err(failure) => Outcome::Failed(failure),
            },
            time: time_of(ended.time.as_ref()),
            traffic: traffic_of(&ended),
        };
        // The receiver is gone if the command was abandoned at this moment.
        drop(expected.arrived.send(completion));
    }
}
