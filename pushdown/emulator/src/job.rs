// SPDX-License-Identifier: Apache-2.0
//! One command on a compute unit: load, run, hand the result over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::channel::oneshot;
use nearscan_command::{Command, Counters, OutputRef, ResultHeader, Status};
use nearscan_drive::{
    Budget, CancelWord, Completion, DriveTime, Failure, Lease, Outcome, Reservation, Traffic, Work,
};
use nearscan_models::{Depths, Memories};

use crate::config::Config;
use crate::faults::{Fault, draw};
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

/// What a run has moved and done so far.
#[derive(Debug, Default)]
struct Progress {
    traffic: Traffic,
    counters: Counters,
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
        let time = config.timing.time(
            config.compute_units,
            progress.traffic.media_bytes,
            progress.traffic.link_bytes,
            &progress.counters,
        );
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
        let mut result = match &self.work {
            Work::Scan(command) => self.run_kernel(command, media, progress)?,
            Work::Merge(command) => {
                ResultHeader::failed(&command.envelope, Status::Unsupported).encode()
            }
        };
        if strikes(Fault::Corrupt) {
            let place = draw(config.seed, u64::MAX, &self.work) % result.len() as u64;
            result[memory_size(place)?] ^= 0x10;
        }
        Ok(result)
    }

    /// Loads the input, runs the kernel, and fetches header and payload.
    fn run_kernel(
        &self,
        command: &Command,
        media: &Media,
        progress: &mut Progress,
    ) -> Result<Vec<u8>, Failure> {
        let kernel_failed = |reason: String| Failure::Kernel { reason };
        let (input, inputs) = media.load(&command.unit.inputs)?;
        progress.traffic.media_bytes =
            inputs.iter().filter_map(nearscan_command::InputRef::length).sum();
        let mut bound = command.clone();
        bound.unit.inputs = inputs;
        let bytes_max = command.output.bytes_max();
        bound.output = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
        let words = bound.encode().map_err(|error| kernel_failed(error.to_string()))?;
        // Fresh pages of the system are zero without being touched: what the kernel does not use
        // costs nothing.
        let mut output = vec![0u64; memory_size(bytes_max.div_ceil(8))?];
        let mut scratch = vec![0u64; memory_size(bound.scratch_bytes().div_ceil(8))?];
        let mut memories = Memories { input: &input, output: &mut output, scratch: &mut scratch };
        nearscan_models::scan(&words, &mut memories, self.cancel.word(), Depths::Roomy)
            .map_err(|error| kernel_failed(error.to_string()))?;
        let device: &[u8] = bytemuck::cast_slice(&output);
        let header =
            ResultHeader::decode(device).map_err(|error| kernel_failed(error.to_string()))?;
        progress.counters = header.counters;
        let length = memory_size(ResultHeader::BYTES + header.payload_bytes)?;
        device
            .get(..length)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| kernel_failed("the result is longer than its buffer".to_owned()))
    }
}

/// A size as an index into memory.
fn memory_size(size: u64) -> Result<usize, Failure> {
    let too_large = |_| Failure::Kernel { reason: format!("{size} does not fit in memory") };
    usize::try_from(size).map_err(too_large)
}

fn lost() -> Failure {
    Failure::Gone { reason: "an injected fault".to_owned() }
}
