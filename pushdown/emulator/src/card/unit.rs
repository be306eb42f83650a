// SPDX-License-Identifier: Apache-2.0
//! Implements one compute unit: its registers as the host sees them, and the thread that runs its
//! kernel.
//!
//! ```text
//! idle (4) --start--> running (1) --kernel ends--> done (6) --read once--> idle (4)
//! ```
//!
//! A kernel has no way to fail but its result's status. One that cannot run at all, because an
//! argument points nowhere, ends without a result; the host finds none where it should be.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use bytemuck::cast_slice_mut;
use nearscan_command::{Envelope, ResultHeader, Status, limits};
use nearscan_link::{Argument, Kernel};
use nearscan_models::{Depths, Memories};

use super::{
    fates::{Fate, Fates},
    memory::DeviceMemory,
};
use crate::faults::{PAGE_BIT, SLOW_PAUSE};

/// Bytes of registers of a unit.
pub(super) const REGISTER_BYTES: usize = 4096;

/// Largest delay of an answer to a status poll, so that the runtime polls less often. It is short,
/// because all calls wait for each other.
const PATIENCE: Duration = Duration::from_micros(100);

/// Offset of a command's identity in its header, in bytes.
const COMMAND_ID_AT: usize = 32;

/// The states of the control register.
mod control {
    pub(super) const RUNNING: u32 = 1;
    pub(super) const IDLE: u32 = 4;
    pub(super) const DONE: u32 = 6;
}

/// The state that a unit shares with its thread.
#[derive(Debug)]
struct Shared {
    control: Mutex<u32>,
    changed: Condvar,
    /// The cancel word that its kernel polls.
    cancel: AtomicU32,
}

/// A unit.
#[derive(Debug)]
pub(super) struct ComputeUnit {
    pub(super) base: u64,
    registers: Vec<u8>,
    shared: Arc<Shared>,
    starts: Sender<[u64; Argument::ALL.len()]>,
}

impl ComputeUnit {
    /// A unit whose registers are at `base`; its thread ends when it is dropped.
    pub(super) fn start(
        kernel: Kernel,
        base: u64,
        memory: Arc<DeviceMemory>,
        fates: Arc<Fates>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            control: Mutex::new(control::IDLE),
            changed: Condvar::new(),
            cancel: AtomicU32::new(0),
        });
        let (starts, started) = channel();
        let runner = Runner { kernel, memory, fates, shared: Arc::clone(&shared) };
        std::thread::Builder::new()
            .name(format!("emulated {}", kernel.name()))
            .spawn(move || runner.run(&started))?;
        Ok(Self { base, registers: vec![0; REGISTER_BYTES], shared, starts })
    }

    /// Writes registers; the first byte's lowest bit starts the kernel. False where there are none.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let Some(registers) = self.registers.get_mut(offset..offset + bytes.len()) else {
            return false;
        };
        registers.copy_from_slice(bytes);
        let is_start = offset == 0 && bytes.first().is_some_and(|byte| byte & 1 == 1);
        if !is_start {
            return true;
        }
        let arguments = Argument::ALL.map(|argument| {
            let at = argument.register_offset() as usize;
            let bytes = self.registers.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        });
        self.shared.cancel.store(0, Ordering::Release);
        // Before the call is answered: else the run would count as ended.
        *self.shared.control() = control::RUNNING;
        self.starts.send(arguments).is_ok()
    }

    /// Reads a register. The control register of a unit that runs is answered a little later.
    pub(super) fn read(&self, offset: usize) -> u32 {
        if offset != 0 {
            let bytes = self.registers.get(offset..offset + 4);
            return bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        }
        let mut control = self.shared.control();
        if *control == control::RUNNING {
            let waited = self.shared.changed.wait_timeout(control, PATIENCE);
            control = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let state = *control;
        if state == control::DONE {
            *control = control::IDLE;
        }
        state
    }

    /// Takes note of bytes that the host wrote into device memory: they may be the cancel word.
    pub(super) fn saw_write(&self, address: u64, bytes: &[u8]) {
        let at = Argument::Cancel.register_offset() as usize;
        let register = self.registers.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        let cancel = register.map_or(0, u64::from_le_bytes);
        let word = cancel.checked_sub(address).and_then(|offset| usize::try_from(offset).ok());
        let word = word.and_then(|offset| bytes.get(offset..offset.checked_add(4)?));
        if let Some(word) = word.and_then(|word| word.try_into().ok()).map(u32::from_le_bytes)
            && *self.shared.control() == control::RUNNING
        {
            self.shared.cancel.store(word, Ordering::Release);
        }
    }
}

impl Shared {
    fn control(&self) -> MutexGuard<'_, u32> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread of a unit.
struct Runner {
    kernel: Kernel,
    memory: Arc<DeviceMemory>,
    fates: Arc<Fates>,
    shared: Arc<Shared>,
}

impl Runner {
    fn run(self, started: &Receiver<[u64; Argument::ALL.len()]>) {
        for arguments in started {
            if let Err(error) = self.kernel(arguments) {
                let kernel = self.kernel.name();
                tracing::warn!(kernel, %error, "a kernel of the emulated card did not run");
            }
            *self.shared.control() = control::DONE;
            self.shared.changed.notify_all();
        }
    }

    fn kernel(&self, arguments: [u64; Argument::ALL.len()]) -> io::Result<()> {
        let place = |argument: Argument| {
            let address = arguments.get(argument.index() as usize).copied().unwrap_or_default();
            self.memory.place(address)
        };
        let command = place(Argument::Command)?;
        let mut words = vec![0; size(command.room.min(limits::SCAN_BYTES_MAX.into()))?];
        command.read(&mut words)?;
        let input = place(Argument::Input)?;
        let mut lines = nearscan_models::zeroed_lines(size(input.room)?);
        let bytes: &mut [u8] = cast_slice_mut(&mut lines);
        if let Some(inside) = bytes.get_mut(..size(input.room)?) {
            input.read(inside)?;
        }
        let output = place(Argument::Output)?;
        // Fresh pages of the system are zero without being touched: what the kernel does not use
        // costs nothing.
        let mut result = vec![0u64; size(output.room / 8)?];
        let mut word = [0; 4];
        place(Argument::Cancel)?.read(&mut word)?;
        self.shared.cancel.fetch_max(u32::from_le_bytes(word), Ordering::AcqRel);
        let fate = self.fates.of(command_id(&words));
        self.strike_before(fate, cast_slice_mut(&mut lines));
        let cancel = &self.shared.cancel;
        match self.kernel {
            Kernel::Scan => {
                check_pairs(&arguments)?;
                let mut scratch = vec![0u64; size(place(Argument::Scratch)?.room / 8)?];
                let mut memories =
                    Memories { input: &lines, output: &mut result, scratch: &mut scratch };
                nearscan_models::scan(&words, &mut memories, cancel, Depths::Roomy)
            }
            Kernel::Merge => nearscan_models::merge(&words, &lines, &mut result, cancel),
        }
        .map_err(io::Error::other)?;
        let result: &mut [u8] = cast_slice_mut(&mut result);
        let length = written_bytes(result)?;
        let result = result.get_mut(..length).unwrap_or_default();
        match fate {
            Some(Fate::Error) => output.write(&failed(result)?),
            Some(Fate::Corrupt { draw }) => {
                let place = usize::try_from(draw % length.max(1) as u64);
                if let Some(byte) = place.ok().and_then(|place| result.get_mut(place)) {
                    *byte ^= 0x10;
                }
                output.write(result)
            }
            Some(Fate::Hang | Fate::CorruptPage { .. } | Fate::Slow) | None => output.write(result),
        }
    }

    /// Applies a fault that comes before the kernel starts.
    fn strike_before(&self, fate: Option<Fate>, input: &mut [u8]) {
        match fate {
            Some(Fate::Hang) => {
                while self.shared.cancel.load(Ordering::Acquire) == 0 {
                    nearscan_drive::clock::pause(Duration::from_millis(1));
                }
            }
            Some(Fate::Slow) => nearscan_drive::clock::pause(SLOW_PAUSE),
            Some(Fate::CorruptPage { at }) => {
                if let Some(byte) = usize::try_from(at).ok().and_then(|at| input.get_mut(at)) {
                    *byte ^= PAGE_BIT;
                }
            }
            Some(Fate::Corrupt { .. } | Fate::Error) | None => {}
        }
    }
}

/// Checks that the ports which a scan has twice or more were given the same memory.
fn check_pairs(arguments: &[u64; Argument::ALL.len()]) -> io::Result<()> {
    let of = |argument: Argument| arguments.get(argument.index() as usize);
    let pairs = [
        (Argument::Input, Argument::Dictionaries),
        (Argument::Scratch, Argument::Entries),
        (Argument::Scratch, Argument::ScratchOut),
    ];
    match pairs.into_iter().find(|(one, other)| of(*one) != of(*other)) {
        None => Ok(()),
        Some((one, other)) => {
            let (one, other) = (one.name(), other.name());
            Err(io::Error::other(format!("{one} and {other} are not the same memory")))
        }
    }
}

/// The header of a kernel that gave up, in place of this result.
fn failed(result: &[u8]) -> io::Result<Vec<u8>> {
    let header = ResultHeader::decode(result).map_err(io::Error::other)?;
    let ResultHeader { command_id, attempt, epoch, .. } = header;
    let envelope = Envelope { command_id, attempt, epoch, ..Envelope::default() };
    Ok(ResultHeader::failed(&envelope, Status::Malformed).encode())
}

/// Bytes that the kernel has written: the header, and the payload that it tells of.
fn written_bytes(result: &[u8]) -> io::Result<usize> {
    let header = ResultHeader::decode(result).map_err(io::Error::other)?;
    Ok(size(ResultHeader::BYTES.saturating_add(header.payload_bytes))?.min(result.len()))
}

fn command_id(words: &[u8]) -> u128 {
    let bytes: Option<[u8; 16]> =
        words.get(COMMAND_ID_AT..COMMAND_ID_AT + 16).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u128::from_le_bytes)
}

fn size(bytes: u64) -> io::Result<usize> {
    usize::try_from(bytes).map_err(io::Error::other)
}
