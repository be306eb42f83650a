// SPDX-License-Identifier: Apache-2.0
//! One command on a compute unit: strike or run it, hand the result over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::channel::oneshot;
use nearscan_command::Counters;
use nearscan_drive::{
    Budget, CancelWord, Completion, DriveTime, Failure, Lease, Modelled, Outcome, Reservation, Work,
};

use crate::config::Config;
use crate::faults::{Fault, draw};
use crate::kernels::{Device, Progress};
use crate::media::Media;

/// Work with all that it needs to run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    /// Given back when the job ends, not before.
    pub(crate) lease: Lease,
    pub(crate) cancel: CancelWord,
    /// Where the result's host memory is charged.
    pub(crate) budget: Arc<dyn Budget>,
    /// Set when the drive is lost for the session that sent this.
    pub(crate) session_gone: Arc<AtomicBool>,
    pub(crate) reply: oneshot::Sender<Completion>,
}

/// A result with the host memory that it is charged for.
struct Charged {
    result: Vec<u8>,
    _memory: Reservation,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.result
    }
}

impl Job {
    /// Runs the command and answers; the buffers are free afterwards.
    pub(crate) fn run(self, config: &Config, media: &Media) {
        let mut progress = Progress::default();
        let outcome = match self.execute(config, media, &mut progress) {
            Ok(result) => {
                progress.traffic.link_bytes = result.len() as u64;
                match Reservation::take(&self.budget, result.len() as u64) {
                    Some(memory) => {
                        Outcome::Finished(Bytes::from_owner(Charged { result, _memory: memory }))
                    }
                    None => Outcome::Failed(Failure::HostMemory {
                        needed_bytes: progress.traffic.link_bytes,
                    }),
                }
            }
            Err(failure) => Outcome::Failed(failure),
        };
        // What failed before a kernel ran took as long as one without input.
        let nothing =
            || config.timing.scan(&config.build, std::iter::empty(), &Counters::default());
        let link_ns = config.timing.link_ns(progress.traffic.link_bytes);
        let time = Modelled { link_ns, ..progress.time.unwrap_or_else(nothing) };
        let Self { work, lease, reply, .. } = self;
        drop(lease);
        // Nobody listens when the query was dropped; the buffers are free either way.
        let unheard = reply.send(Completion {
            command_id: work.envelope().command_id,
            attempt: work.envelope().attempt,
            outcome,
            time: DriveTime::Modelled(time),
            traffic: progress.traffic,
        });
        drop(unheard);
    }

    fn execute(
        &self,
        config: &Config,
        media: &Media,
        progress: &mut Progress,
    ) -> Result<Vec<u8>, Failure> {
        let strikes = |fault| config.faults.strikes(config.seed, fault, &self.work);
        if self.session_gone.load(Ordering::Acquire) {
            return Err(lost());
        }
        if strikes(Fault::Gone) {
            self.session_gone.store(true, Ordering::Release);
            return Err(lost());
        }
        if strikes(Fault::ReadError) {
            return Err(Failure::Read {
                path: self
                    .work
                    .scans()
                    .first()
                    .map_or_else(String::new, |scan| media.first_path(&scan.unit.inputs)),
                reason: "uncorrectable error".to_owned(),
            });
        }
        if strikes(Fault::Hang) {
            while !self.cancel.is_set() {
                nearscan_drive::clock::pause(Duration::from_millis(1));
            }
            return Err(Failure::Cancelled);
        }
        if strikes(Fault::Timeout) {
            return Err(Failure::Timeout);
        }
        let device = Device { config, media, cancel: &self.cancel };
        let mut result = match &self.work {
            Work::Scan(command) => device.scan(command, progress)?,
            Work::Merge(command) => device.merge(command, progress)?,
        };
        if strikes(Fault::Corrupt) {
            let place = draw(config.seed, u64::MAX, &self.work) % result.len() as u64;
            if let Some(byte) = usize::try_from(place).ok().and_then(|at| result.get_mut(at)) {
                *byte ^= 0x10;
            }
        }
        Ok(result)
    }
}

fn lost() -> Failure {
    Failure::Gone { reason: "an injected fault".to_owned() }
}
