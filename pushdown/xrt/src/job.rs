// SPDX-License-Identifier: Apache-2.0
//! Runs one command on a compute unit: its input to the device, the kernel, its result to the host.

use std::sync::atomic::Ordering;

use nearscan_command::{Command, Counters, InputRef, MediaPlan, OutputRef, ResultHeader};
use nearscan_drive::{Failure, Modelled, Outcome, Traffic, Work, clock::Stopwatch};
use nearscan_link::Argument;

use crate::{
    card::Card,
    handles::{Buffer, BufferKind, Part},
    library::Handle,
    media::{Way, load, way},
    pool::Pooled,
    running::Pending,
    shared::{Job, Shared},
    unit::{ComputeUnit, Memories, kernel},
};

/// The bytes that a job has moved and the time that it has taken so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) traffic: Traffic,
    /// Of an emulated card; nothing until a scan has ended.
    pub(crate) modelled: Option<Modelled>,
}

/// Bytes of a result's header, as a size of memory.
pub(crate) const HEADER_BYTES: usize = 256;

const _: () = assert!(HEADER_BYTES as u64 == ResultHeader::BYTES);

impl Job {
    /// Runs the command and answers; the buffers are free afterwards.
    pub(crate) fn run(self, shared: &Shared, unit: usize) {
        // The time of an exchange is not that of the command.
        let card = shared.card_for(&self.work, &self.pending);
        self.pending.set_on_card(card.is_ok());
        let watch = Stopwatch::start();
        let mut progress = Progress::default();
        let executed = card.as_deref().map_err(Failure::clone).and_then(|card| {
            let unit = card.scans.get(unit).ok_or_else(|| kernel("the image has no such unit"))?;
            let running = Execution { shared, card, unit, pending: &self.pending };
            running.execute(&self, &mut progress)
        });
        let was_loaded = card.is_ok_and(|card| card.was_loaded());
        if let Some(model) = &shared.model {
            progress.modelled = progress.modelled.map(|time| model.took(&self.work, time));
            model.end(&self.work);
        }
        let outcome = match executed {
            Ok(result) => {
                progress.traffic.link_bytes = result.len() as u64;
                Outcome::charged(result, &self.budget)
            }
            Err(failure) => Outcome::Failed(failure),
        };
        let link_bytes = progress.traffic.link_bytes;
        let time = shared.time_of(progress.modelled, was_loaded, link_bytes, watch.measured());
        let Self { lease, pending, .. } = self;
        // Memory and place are released before the completion is sent.
        drop(lease);
        shared.running.remove(&pending);
        pending.answer(outcome, time, progress.traffic);
    }
}

/// A job while it runs.
pub(crate) struct Execution<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) card: &'a Card,
    pub(crate) unit: &'a ComputeUnit,
    pub(crate) pending: &'a Pending,
}

/// The destination of a scan's result: a buffer, or a part of one.
pub(crate) struct Target<'a> {
    pub(crate) buffer: &'a mut Buffer,
    /// The part that the kernel sees; without one it sees the whole.
    pub(crate) part: Option<&'a Part>,
    /// Its first byte.
    pub(crate) offset: usize,
}

impl Target<'_> {
    fn handle(&self) -> Handle {
        self.part.map_or_else(|| self.buffer.handle(), Part::handle)
    }
}

impl Execution<'_> {
    fn execute(&self, job: &Job, progress: &mut Progress) -> Result<Vec<u8>, Failure> {
        self.shared.check_lost()?;
        if job.session_gone.load(Ordering::Acquire) {
            return Err(Failure::Gone { reason: "it was lost for this query".to_owned() });
        }
        self.pending.check()?;
        if let Some(model) = &self.shared.model {
            let inputs = job.work.scans().first().map(|scan| scan.unit.inputs.as_slice());
            let path = self.shared.files.first_path(inputs.unwrap_or_default());
            model.begin(&job.work, &path).inspect_err(|failure| {
                if matches!(failure, Failure::Gone { .. }) {
                    job.session_gone.store(true, Ordering::Release);
                }
            })?;
        }
        let result = match &job.work {
            Work::Scan(command) => self.scan(command, progress),
            Work::Merge(command) => self.merge(command, progress),
        };
        // A kernel that was cancelled because its time was up ends like one that its query
        // cancelled.
        if self.pending.timed_out() { Err(Failure::Timeout) } else { result }
    }

    /// A buffer of the unit's card.
    pub(crate) fn take(
        &self,
        kind: BufferKind,
        argument: Argument,
        bytes: u64,
    ) -> Result<Pooled<'_>, Failure> {
        let size = memory_size(bytes)?;
        let taken = self.card.pool.take(self.unit.place(kind, argument), size);
        taken.map_err(|_| kernel(format!("the card has no {bytes} bytes of memory left")))
    }

    /// Runs a scan; gives header and payload of its result.
    fn scan(&self, command: &Command, progress: &mut Progress) -> Result<Vec<u8>, Failure> {
        let bytes_max = command.output.bytes_max();
        let mut output = self.take(BufferKind::Host, Argument::Output, bytes_max)?;
        let target = Target { buffer: &mut output, part: None, offset: 0 };
        let header = match self.scan_into(command, target, progress) {
            Ok(header) => header,
            Err(failure) => return Err(self.give_up([output], failure)),
        };
        fetch(&output, 0, &header, bytes_max)
    }

    /// Loads the input of a scan and runs the kernel, its result to go to `target`.
    pub(crate) fn scan_into(
        &self,
        command: &Command,
        target: Target<'_>,
        progress: &mut Progress,
    ) -> Result<ResultHeader, Failure> {
        self.pending.check()?;
        let plan = MediaPlan::of(&command.unit.inputs);
        let words = bound(command, &plan)?;
        let input = self.load(&plan, progress)?;
        let scratch_bytes = command.scratch_bytes();
        let scratch = match scratch_bytes {
            0 => None,
            bytes => Some(self.take(BufferKind::Device, Argument::Scratch, bytes)?),
        };
        let memories = Memories {
            input: input.handle(),
            output: target.handle(),
            scratch: scratch.as_ref().map(|scratch| scratch.handle()),
        };
        clear_header(target.buffer, target.offset)?;
        let ended = {
            let mut held = self.unit.hold()?;
            held.start(&words, memories).map_err(kernel)?;
            held.wait(self.pending, &self.shared.running)
        };
        if let Err(failure) = ended {
            let buffers = [Some(input), scratch].into_iter().flatten();
            return Err(self.give_up(buffers, failure));
        }
        let header = header_of(target.buffer, target.offset)?;
        if let Some(model) = &self.shared.model {
            let time = model.clock().scan(&plan, &header.counters);
            progress.modelled = match progress.modelled {
                None => Some(time),
                Some(before) => before.combine(time),
            };
        }
        Ok(header)
    }

    /// Brings the input of a scan into device memory.
    fn load(&self, plan: &MediaPlan, progress: &mut Progress) -> Result<Pooled<'_>, Failure> {
        let files = &self.shared.files;
        let way = match &self.card.peer_to_peer {
            Ok(()) => way(files, plan),
            Err(_) => Way::Copy,
        };
        let kind = match way {
            Way::PeerToPeer => BufferKind::PeerToPeer,
            Way::Copy => BufferKind::Host,
        };
        let mut input = self.take(kind, Argument::Input, plan.bytes)?;
        load(files, plan, way, input.bytes_mut())?;
        progress.traffic.media_bytes += plan.media_bytes();
        if way == Way::Copy {
            progress.traffic.host_bytes += plan.media_bytes();
            input.send(0..memory_size(plan.bytes)?).map_err(kernel)?;
        }
        Ok(input)
    }

    /// Writes buffers off that a lost card may still touch.
    pub(crate) fn give_up<'b>(
        &self,
        buffers: impl IntoIterator<Item = Pooled<'b>>,
        failure: Failure,
    ) -> Failure {
        if matches!(failure, Failure::Gone { .. }) {
            self.shared.lose(&failure.to_string());
        }
        if self.shared.running.lost().is_some() {
            buffers.into_iter().for_each(Pooled::write_off);
        }
        failure
    }

    /// The counters of merges that ran, for the clock.
    pub(crate) fn count_merge(&self, parts: &[Counters], progress: &mut Progress) {
        if let (Some(model), Some(time)) = (&self.shared.model, &mut progress.modelled) {
            time.merge_ns += model.clock().merge_ns(parts);
        }
    }
}

/// The bytes of a command whose inputs are where the plan puts them.
fn bound(command: &Command, plan: &MediaPlan) -> Result<Vec<u8>, Failure> {
    let mut inputs = Vec::with_capacity(command.unit.inputs.len());
    for (input, offset) in command.unit.inputs.iter().zip(&plan.places) {
        let InputRef::FileRange { length, .. } = *input else {
            return Err(kernel(format!("a card reads file ranges, not {input:?}")));
        };
        inputs.push(InputRef::DeviceRange { lease: 0, offset: *offset, length });
    }
    let mut bound = command.clone();
    bound.unit.inputs = inputs;
    let bytes_max = command.output.bytes_max();
    bound.output = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
    bound.encode().map_err(kernel)
}

/// Makes sure that no header of an earlier result is taken for the next one.
pub(crate) fn clear_header(buffer: &mut Buffer, offset: usize) -> Result<(), Failure> {
    let range = offset..offset.saturating_add(HEADER_BYTES);
    match buffer.bytes_mut().get_mut(range.clone()) {
        Some(header) => header.fill(0),
        None => return Err(kernel("the buffer of the result is missing")),
    }
    buffer.send(range).map_err(kernel)
}

/// The header that a kernel has left: its status word, checked.
pub(crate) fn header_of(buffer: &Buffer, offset: usize) -> Result<ResultHeader, Failure> {
    let range = offset..offset.saturating_add(HEADER_BYTES);
    buffer.bring(range.clone()).map_err(kernel)?;
    let bytes = buffer.bytes().get(range).unwrap_or_default();
    if bytes.iter().all(|byte| *byte == 0) {
        return Err(kernel("it ended without a result"));
    }
    ResultHeader::decode(bytes).map_err(kernel)
}

/// Brings a result to the host: its header, which is there, and its payload.
pub(crate) fn fetch(
    buffer: &Buffer,
    offset: usize,
    header: &ResultHeader,
    bytes_max: u64,
) -> Result<Vec<u8>, Failure> {
    let bytes = ResultHeader::BYTES.saturating_add(header.payload_bytes);
    if bytes > bytes_max {
        return Err(kernel("the result is longer than its buffer"));
    }
    let end = offset + memory_size(bytes)?;
    buffer.bring(offset + HEADER_BYTES..end).map_err(kernel)?;
    let result = buffer.bytes().get(offset..end).map(<[u8]>::to_vec);
    result.ok_or_else(|| kernel("the result is longer than its buffer"))
}

/// A size as an index into memory.
pub(crate) fn memory_size(size: u64) -> Result<usize, Failure> {
    usize::try_from(size).map_err(|_| kernel(format!("{size} does not fit in memory")))
}
