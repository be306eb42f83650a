// SPDX-License-Identifier: Apache-2.0
//! Implements the work of one query: leases, submissions, completions.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures::channel::oneshot;
use nearscan_command::ResultHeader;
use nearscan_drive::{
    CancelOutcome, CancelWord, Completion, DriveTime, Failure, Lease, Outcome, Refusal,
    Reservation, Session, SessionSpec, Submission, Ticket, Traffic, Work, clock::Stopwatch,
};

use crate::{
    error::Stop,
    job::{self, Limits},
    merge,
    shared::{Place, Shared},
};

/// The work of one query, in one epoch.
#[derive(Debug)]
pub(crate) struct CpuSession {
    shared: Arc<Shared>,
    spec: SessionSpec,
    epoch: u64,
}

impl CpuSession {
    pub(crate) fn new(shared: Arc<Shared>, spec: SessionSpec) -> Self {
        let epoch = shared.epoch.load(Ordering::SeqCst);
        Self { shared, spec, epoch }
    }
}

impl Session for CpuSession {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        let reservation = Reservation::take(&self.spec.budget, bytes)
            .ok_or(Refusal::LowMemory { needed_bytes: bytes })?;
        Ok(Lease::new(bytes, move |_| drop(reservation)))
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        let cancel = CancelWord::default();
        let envelope = submission.work.envelope();
        let place = self.shared.enter(envelope.command_id, &cancel).ok_or(Refusal::Busy)?;
        let (ticket, sender) = Ticket::new(envelope, cancel.clone());
        let deadline = Duration::from_nanos(envelope.deadline_ns);
        let task = Task {
            limits: Limits {
                cancel,
                since: Stopwatch::start(),
                timeout: submission.timeout.min(deadline),
            },
            work: submission.work,
            lease: submission.lease,
            place,
            shared: Arc::clone(&self.shared),
            epoch: self.epoch,
            sender,
        };
        if self.shared.pool.push(Box::new(move || task.run())) {
            Ok(ticket)
        } else {
            Err(Refusal::Gone { reason: "it was shut down".to_owned() })
        }
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        match self.shared.cancel_word(command_id) {
            Some(word) => {
                word.set();
                CancelOutcome::Acknowledged
            }
            None => CancelOutcome::Unknown,
        }
    }
}

/// A command on its way through the pool, with everything that it holds.
struct Task {
    work: Work,
    limits: Limits,
    lease: Lease,
    place: Place,
    shared: Arc<Shared>,
    /// Of its session; what the envelope says is for whoever reads the result.
    epoch: u64,
    sender: oneshot::Sender<Completion>,
}

impl Task {
    fn run(self) {
        let watch = Stopwatch::start();
        let mut media_bytes = 0;
        let is_current = || self.shared.epoch.load(Ordering::SeqCst) == self.epoch;
        let reset = || Failure::Gone { reason: "it was reset".to_owned() };
        let mut outcome =
            if is_current() { self.outcome(&mut media_bytes) } else { Outcome::Failed(reset()) };
        if !is_current() {
            outcome = Outcome::Failed(reset());
        }
        let time = watch.measured();
        let completion = Completion {
            command_id: self.work.envelope().command_id,
            attempt: self.work.envelope().attempt,
            outcome,
            time: DriveTime::Measured(time),
            traffic: Traffic { media_bytes, link_bytes: 0, host_bytes: media_bytes },
        };
        // Memory and place are released before the completion is sent.
        drop(self.lease);
        drop(self.place);
        // The receiver may have been dropped.
        drop(self.sender.send(completion));
    }

    fn outcome(&self, media_bytes: &mut u64) -> Outcome {
        let Shared { files, memory, .. } = &*self.shared;
        let run = || match &self.work {
            Work::Scan(command) => job::run(command, files, memory, &self.limits, media_bytes),
            Work::Merge(command) => merge::run(command, files, memory, &self.limits, media_bytes),
        };
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            Err(Failure::Kernel { reason: "a decoder panicked".to_owned() }.into())
        });
        match result {
            Ok(bytes) => Outcome::Finished(Bytes::from(bytes)),
            Err(Stop::Failed(failure)) => Outcome::Failed(failure),
            Err(Stop::Status { status, detail }) => {
                let header = ResultHeader::failed(self.work.envelope(), status);
                Outcome::Finished(Bytes::from(ResultHeader { detail, ..header }.encode()))
            }
        }
    }
}
