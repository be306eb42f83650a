// SPDX-License-Identifier: Apache-2.0
//! Provides seeds: the commands that the conformance suite sends to a drive, as calls; and the
//! messages of the protocol of remote drives; applications, what is said to them, and heads of
//! HTTP/1.1.
//!
//! A drive that wraps the CPU drive records them, with the bytes of the files that they name.

use std::{
    fmt::{self, Debug},
    os::unix::fs::FileExt,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU32},
};

use bytemuck::cast_slice;
use nearscan_command::{
    Command, InputRef, MergeCommand, MergePart, OutputRef, ResultHeader, Status,
};
use nearscan_conformance::{Options as Cases, check_with};
use nearscan_cpu::{CpuDrive, Options};
use nearscan_drive::{
    CancelOutcome, Capabilities, CostSnapshot, Drive, FileRef, FileTable, Identity, Lease,
    Placement, Refusal, Session, SessionSpec, Submission, Ticket, Work,
};
use nearscan_models::{Depths, Memories};

use crate::{call::Call, commands, handlers, heads, kernel::lines, messages, packages};

/// Bytes of a seed, at most: what is larger is slow and says no more.
const SEED_BYTES_MAX: usize = 4096;
/// Room for the result of a seed.
const ROOM_BYTES: u64 = 1 << 14;

/// An input for the target of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// A target's name; what is for `scan` is for `drives` too.
    pub target: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// One of each message of the protocol, by itself and as what is said to a server.
pub fn of_protocol() -> Vec<Seed> {
    let seed = |bytes| Seed { target: "messages", bytes };
    messages::seeds().into_iter().map(seed).collect()
}

/// Applications, handlers, requests to applications, and heads of HTTP/1.1.
pub fn of_server() -> Vec<Seed> {
    let all = [
        ("packages", packages::seeds()),
        ("handlers", handlers::seeds()),
        ("commands", commands::seeds()),
        ("heads", heads::seeds()),
    ];
    let of =
        |(target, inputs): (_, Vec<_>)| inputs.into_iter().map(move |bytes| Seed { target, bytes });
    all.into_iter().flat_map(of).collect()
}

/// The small ones of the suite's cases whose names begin with `prefix`.
pub fn of_suite(prefix: &str, random_cases: u32) -> Vec<Seed> {
    let options = Options { threads: 1, in_flight_max: 8 };
    let Ok(drive) = CpuDrive::start(options) else { return Vec::new() };
    let recorder = Recorder { drive, log: Arc::default() };
    let cases = Cases { prefix: prefix.to_owned(), random_cases, ..Cases::default() };
    // The outcome of the cases is the business of the drive's own tests.
    drop(check_with(&recorder, &cases));
    let mut log = recorder.log.seeds.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut log)
}

/// The seeds that were recorded.
#[derive(Default)]
struct Log {
    files: FileTable,
    seeds: Mutex<Vec<Seed>>,
}

impl Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Log {
    fn note(&self, target: &'static str, bytes: Option<Vec<u8>>) {
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() <= SEED_BYTES_MAX) {
            let mut seeds = self.seeds.lock().unwrap_or_else(PoisonError::into_inner);
            seeds.push(Seed { target, bytes });
        }
    }

    fn take(&self, work: &Work) {
        let plain = |kind: u8, encoded: Option<Vec<u8>>| Some([vec![kind], encoded?].concat());
        match work {
            Work::Scan(command) => {
                self.note("command", plain(0, command.encode().ok()));
                self.note("command", plain(2, command.fragment.encode().ok()));
                if let Some((call, _)) = self.scan(command) {
                    self.note("scan", call.to_bytes());
                }
            }
            Work::Merge(command) => {
                self.note("command", plain(1, command.encode().ok()));
                for parts in 1..=2 {
                    let call = self.merge(command, MergePart { part: parts - 1, parts });
                    self.note("merge", call.and_then(|call| call.to_bytes()));
                }
            }
        }
    }

    /// A scan of device memory instead of files, and the result of it.
    fn scan(&self, command: &Command) -> Option<(Call, Vec<u8>)> {
        let mut memory = Vec::new();
        let mut command = command.clone();
        for input in &mut command.unit.inputs {
            let InputRef::FileRange { file_id, version, offset, length } = *input else {
                return None;
            };
            let mut bytes = vec![0; usize::try_from(length).ok()?];
            let file = self.files.open(file_id, version).ok()?;
            file.read(|file| file.read_exact_at(&mut bytes, offset)).ok()?;
            *input = InputRef::DeviceRange { lease: 0, offset: memory.len() as u64, length };
            memory.append(&mut bytes);
            memory.resize(memory.len().next_multiple_of(64), 0);
        }
        let bytes_max = command.output.bytes_max().min(ROOM_BYTES);
        command.output = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
        let words = command.encode().ok()?;
        let mut output = vec![0; usize::try_from(bytes_max / 8).ok()?];
        let mut scratch = vec![0; usize::try_from(command.scratch_bytes() / 8).ok()?];
        let input = lines(&memory);
        let mut memories = Memories { input: &input, output: &mut output, scratch: &mut scratch };
        let cancel = AtomicU32::new(0);
        nearscan_models::scan(&words, &mut memories, &cancel, Depths::Roomy).ok()?;
        let header = ResultHeader::decode(cast_slice(&output)).ok()?;
        let payload_bytes = if header.status == Status::Ok { header.payload_bytes } else { 0 };
        let length = usize::try_from(ResultHeader::BYTES + payload_bytes).ok()?;
        let result = cast_slice::<u64, u8>(&output).get(..length)?.to_vec();
        let widths = command.fragment.output_widths();
        if widths.len() <= 8 {
            let count = u8::try_from(widths.len()).ok()?;
            let widths: Vec<u8> = widths.iter().map(|width| width.code()).collect();
            self.note("command", Some([&[3, count], &widths[..], &result].concat()));
        }
        let has_declared_depths = header.rows_in % 2 == 1;
        Some((Call { has_declared_depths, command: words, memory }, result))
    }

    /// A merge of results that are in device memory.
    fn merge(&self, command: &MergeCommand, part: MergePart) -> Option<Call> {
        let mut memory = Vec::new();
        let mut inputs = Vec::new();
        for scan in &command.scans {
            let (_, result) = self.scan(scan)?;
            let (offset, length) = (memory.len() as u64, result.len() as u64);
            inputs.push(InputRef::DeviceRange { lease: 0, offset, length });
            memory.extend_from_slice(&result);
            memory.resize(memory.len().next_multiple_of(64), 0);
        }
        let bytes_max = part.room_bytes(command.output.bytes_max()).min(ROOM_BYTES);
        let output = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
        let words = command.encode_for_kernel(&inputs, &output, part).ok()?;
        Some(Call { has_declared_depths: false, command: words, memory })
    }
}

/// A drive that records its work.
#[derive(Debug)]
struct Recorder {
    drive: CpuDrive,
    log: Arc<Log>,
}

impl Drive for Recorder {
    fn identity(&self) -> &Identity {
        self.drive.identity()
    }

    fn capabilities(&self) -> &Capabilities {
        self.drive.capabilities()
    }

    fn locate(&self, file: &FileRef) -> Placement {
        // Both number files in the order of requests.
        drop(self.log.files.locate(file));
        self.drive.locate(file)
    }

    fn snapshot(&self) -> CostSnapshot {
        self.drive.snapshot()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        let session = self.drive.open_session(spec)?;
        Ok(Arc::new(RecordedSession { session, log: Arc::clone(&self.log) }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        self.drive.reset()
    }

    fn in_flight(&self) -> u32 {
        self.drive.in_flight()
    }

    fn shutdown(&self) {
        self.drive.shutdown();
    }
}

#[derive(Debug)]
struct RecordedSession {
    session: Arc<dyn Session>,
    log: Arc<Log>,
}

impl Session for RecordedSession {
    fn epoch(&self) -> u64 {
        self.session.epoch()
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        self.session.lease(bytes)
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        self.log.take(&submission.work);
        self.session.submit(submission)
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        self.session.cancel(command_id)
    }
}
