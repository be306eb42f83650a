// SPDX-License-Identifier: Apache-2.0
//! Runs one command on a compute unit: applies its fault or runs it, and sends the result.

use std::sync::atomic::Ordering;

use nearscan_command::{Counters, ResultHeader, Status};
use nearscan_drive::{Completion, DriveTime, Failure, Modelled, Outcome, Work};

use crate::{
    faults::{self, Fault, INJECTED},
    kernels::{Device, Progress},
    shared::{Job, Shared},
};

/// Interval at which a hanging kernel checks for cancellation.
const HANG_POLL: std::time::Duration = std::time::Duration::from_millis(1);

impl Job {
    /// Runs the command and answers; the buffers are free afterwards.
    pub(crate) fn run(self, shared: &Shared) {
        let mut progress = Progress::default();
        let executed = self.execute(shared, &mut progress);
        // A command in flight when the drive was reset is void, however far it came.
        let executed = match shared.epoch() == self.epoch {
            true => executed,
            false => Err(lost("it was reset")),
        };
        let outcome = match executed {
            Ok(result) => {
                progress.traffic.link_bytes = result.len() as u64;
                Outcome::charged(result, &self.budget)
            }
            Err(failure) => Outcome::Failed(failure),
        };
        // A command that failed before its kernel ran takes the time of one without input.
        let config = shared.config();
        let nothing =
            || config.timing.scan(&config.builds.first, std::iter::empty(), &Counters::default());
        let link_ns = config.timing.link_ns(progress.traffic.link_bytes);
        let exchange_ns = progress.exchange_ns;
        let time = Modelled { link_ns, exchange_ns, ..progress.time.unwrap_or_else(nothing) };
        let Self { work, lease, reply, .. } = self;
        drop(lease);
        // The receiver is gone if the query was dropped; the buffers are released either way.
        let unheard = reply.send(Completion {
            command_id: work.envelope().command_id,
            attempt: work.envelope().attempt,
            outcome,
            time: DriveTime::Modelled(time),
            traffic: progress.traffic,
        });
        drop(unheard);
    }

    fn strikes(&self, shared: &Shared, fault: Fault) -> bool {
        shared.strikes(fault, &self.work, self.place)
    }

    fn execute(&self, shared: &Shared, progress: &mut Progress) -> Result<Vec<u8>, Failure> {
        if self.session_gone.load(Ordering::Acquire) {
            return Err(lost(INJECTED));
        }
        self.lose_the_drive(shared)?;
        self.fail_before_the_kernel(shared)?;
        let config = shared.config();
        let struck = shared.strikes_kernel(&self.work, self.place);
        if struck == Some(Fault::Slow) {
            nearscan_drive::clock::pause(faults::SLOW_PAUSE);
        }
        let flipped = match struck == Some(Fault::CorruptPage) {
            true => faults::page_byte(config.seed, &self.work),
            false => None,
        };
        let image = shared.image_for(&self.work, &self.cancel)?;
        if image.was_loaded() {
            progress.exchange_ns = config.timing.exchange_ns();
        }
        let device = Device {
            config,
            build: &image,
            files: shared.files(),
            flash: &shared.flash,
            cancel: &self.cancel,
            flipped,
        };
        let ran = match &self.work {
            Work::Scan(command) => device.scan(command, progress),
            Work::Merge(command) => device.merge(command, progress),
        };
        if struck == Some(Fault::Slow) {
            progress.time = progress.time.map(faults::slowed);
        }
        let mut result = ran?;
        if struck == Some(Fault::KernelError) {
            result = ResultHeader::failed(self.work.envelope(), Status::Malformed).encode();
        }
        if struck == Some(Fault::Corrupt) {
            let place = faults::result_byte(config.seed, &self.work) % result.len() as u64;
            if let Some(byte) = usize::try_from(place).ok().and_then(|at| result.get_mut(at)) {
                *byte ^= 0x10;
            }
        }
        Ok(result)
    }

    /// Faults of the drive as a whole.
    fn lose_the_drive(&self, shared: &Shared) -> Result<(), Failure> {
        if self.strikes(shared, Fault::Gone) {
            self.session_gone.store(true, Ordering::Release);
            return Err(lost(INJECTED));
        }
        if self.strikes(shared, Fault::Reset) {
            shared.start_anew();
            return Err(lost("it was reset"));
        }
        if self.strikes(shared, Fault::Back) {
            shared.leave_for_a_while();
            return Err(lost(INJECTED));
        }
        Ok(())
    }

    /// Faults of one command that end it before its kernel has run.
    fn fail_before_the_kernel(&self, shared: &Shared) -> Result<(), Failure> {
        let path = || {
            let inputs = self.work.scans().first().map(|scan| scan.unit.inputs.as_slice());
            shared.files().first_path(inputs.unwrap_or_default())
        };
        if self.strikes(shared, Fault::ReadError) {
            return Err(faults::read_error(path()));
        }
        if self.strikes(shared, Fault::ShortRead) {
            return Err(faults::short_read(&self.work, path()));
        }
        if self.strikes(shared, Fault::Hang) {
            while !self.cancel.is_set() {
                nearscan_drive::clock::pause(HANG_POLL);
            }
            return Err(Failure::Cancelled);
        }
        if self.strikes(shared, Fault::Timeout) {
            return Err(Failure::Timeout);
        }
        Ok(())
    }
}

fn lost(reason: &str) -> Failure {
    Failure::Gone { reason: reason.to_owned() }
}
