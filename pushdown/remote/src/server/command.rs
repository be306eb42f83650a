// SPDX-License-Identifier: Apache-2.0
//! Runs one command on the server, from its bytes to its end.

use std::time::Duration;

use nearscan_command::{Command, MergeCommand};
use nearscan_drive::{
    Completion, DriveTime, Failure, Measured, Outcome, Refusal, Session, Submission, Ticket,
    Traffic, Work,
};
use tokio::sync::Notify;
use tonic::Status;

use super::{Served, Stage};
use crate::{
    convert::id_bytes,
    protocol::{self, Ended, Submit},
};

/// Time between two attempts to submit while other commands keep the drive busy, when none of this
/// server's ends in between: the drive may have other users.
const ATTEMPTS_APART: Duration = Duration::from_millis(20);

/// Time in which a command that is out of time has to end once it was cancelled.
const ENDING: Duration = Duration::from_secs(1);

/// A command that came in.
#[derive(Debug)]
pub(super) struct Taken {
    work: Work,
    lease_bytes: u64,
    timeout: Duration,
}

/// The end of a command, without and with its result.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) ended: Ended,
    pub(super) outcome: Outcome,
}

impl From<Completion> for Answer {
    fn from(completion: Completion) -> Self {
        let Completion { command_id, attempt, outcome, time, mut traffic } = completion;
        // The result of a drive without a link of its own crosses that of the server.
        if let (0, Outcome::Finished(result)) = (traffic.link_bytes, &outcome) {
            traffic.link_bytes = result.len() as u64;
        }
        let ended = Ended {
            command_id: id_bytes(command_id),
            attempt,
            media_bytes: traffic.media_bytes,
            link_bytes: traffic.link_bytes,
            host_bytes: traffic.host_bytes,
            time: Some(protocol::Time::from(&time)),
            end: None,
        };
        Self { ended, outcome }
    }
}

impl Taken {
    /// Reads a command.
    pub(super) fn read(submit: Submit) -> Result<Self, Status> {
        let Submit { lease_bytes, timeout_ns, work } = submit;
        let work = match work {
            Some(protocol::Work::Scan(bytes)) => Command::decode(&bytes).map(Work::from),
            Some(protocol::Work::Merge(bytes)) => MergeCommand::decode(&bytes).map(Work::from),
            None => return Err(Status::invalid_argument("a submission without a command")),
        };
        let work = work.map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Self { work, lease_bytes, timeout: Duration::from_nanos(timeout_ns) })
    }

    pub(super) fn command_id(&self) -> u128 {
        self.work.envelope().command_id
    }

    /// The end of the command when it does not run.
    pub(super) fn refused(&self, failure: Failure) -> Answer {
        Answer::from(Completion {
            command_id: self.command_id(),
            attempt: self.work.envelope().attempt,
            outcome: Outcome::Failed(failure),
            time: DriveTime::Measured(Measured::default()),
            traffic: Traffic::default(),
        })
    }

    /// Runs the command to its end.
    ///
    /// While other commands keep the drive busy it waits for its turn, so that two clients share a
    /// drive as two queries of one do; a drive that refuses although it has nothing to do has its
    /// reasons.
    pub(super) async fn run(
        self,
        served: &Served,
        session: &dyn Session,
        cancel: &Notify,
    ) -> Answer {
        let mut late = Box::pin(tokio::time::sleep(self.timeout));
        let ticket = loop {
            let mut ended = Box::pin(served.ended.notified());
            ended.as_mut().enable();
            let refusal = match self.submit(session) {
                Ok(ticket) => break ticket,
                Err(refusal) => refusal,
            };
            let waits = match &refusal {
                Refusal::Busy | Refusal::LowMemory { .. } => {
                    served.drive.in_flight() > 0 && served.stage() == Stage::Serving
                }
                Refusal::Gone { .. } | Refusal::Command(_) => false,
            };
            if !waits {
                return self.refused(failure_of(refusal));
            }
            tokio::select! {
                () = &mut ended => {}
                () = tokio::time::sleep(ATTEMPTS_APART) => {}
                () = &mut late => return self.refused(failure_of(refusal)),
                () = cancel.notified() => return self.refused(Failure::Cancelled),
            }
        };
        let command_id = self.command_id();
        let mut ticket = Box::pin(ticket);
        loop {
            tokio::select! {
                completion = &mut ticket => return completion.into(),
                () = cancel.notified() => {
                    // Its completion comes either way.
                    session.cancel(command_id);
                }
                () = &mut late => {
                    session.cancel(command_id);
                    // What it did until then is counted, if it ends at all.
                    return match tokio::time::timeout(ENDING, &mut ticket).await {
                        Ok(completion) if matches!(completion.outcome, Outcome::Failed(_)) => {
                            let outcome = Outcome::Failed(Failure::Timeout);
                            Completion { outcome, ..completion }.into()
                        }
                        Ok(completion) => completion.into(),
                        Err(_elapsed) => self.refused(Failure::Timeout),
                    };
                }
            }
        }
    }

    fn submit(&self, session: &dyn Session) -> Result<Ticket, Refusal> {
        let lease = session.lease(self.lease_bytes)?;
        session.submit(Submission { work: self.work.clone(), lease, timeout: self.timeout })
    }
}

fn failure_of(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Busy => Failure::Busy,
        Refusal::LowMemory { needed_bytes } => Failure::LowMemory { needed_bytes },
        Refusal::Gone { reason } => Failure::Gone { reason },
        Refusal::Command(error) => Failure::Kernel { reason: error.to_string() },
    }
}

/// A place among the unanswered commands, released on drop.
pub(super) struct Running<'a>(&'a Served);

impl<'a> Running<'a> {
    pub(super) fn enter(served: &'a Served) -> Self {
        served.running.send_modify(|count| *count += 1);
        Self(served)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.send_modify(|count| *count -= 1);
        self.0.ended.notify_waiters();
    }
}
