// SPDX-License-Identifier: Apache-2.0
//! Holds a compute unit: its kernel, opened exclusively, and the runs that its starts reuse.
//!
//! A unit that scans has two slots: while the rows of one command flow, the kernel loads the next
//! one and its dictionaries. XRT starts runs of a unit in the order in which they are given to it.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nearscan_command::limits;
use nearscan_drive::Failure;
use nearscan_link::{Argument, Kernel as KernelName, Unit};

use crate::{
    handles::{Buffer, BufferKind, BufferPlace, CallFailed, Device, Kernel, Run, state},
    library::Handle,
    running::{Pending, Running},
};

/// Interval at which the cancel word is checked while a kernel runs.
const TICK: Duration = Duration::from_millis(1);

/// Bytes of what small arguments point to.
const SMALL_BYTES: usize = 4096;

/// A compute unit.
#[derive(Debug)]
pub(crate) struct ComputeUnit {
    pub(crate) kernel: KernelName,
    groups: [u32; Argument::ALL.len()],
    handle: Mutex<Option<Kernel>>,
    slots: Vec<Mutex<Option<Slot>>>,
    /// How often a slot was held.
    turn: AtomicUsize,
}

/// The buffers of one start of the kernel.
#[derive(Debug)]
pub(crate) struct Slot {
    arguments: &'static [Argument],
    run: Run,
    command: Buffer,
    cancel: Buffer,
    /// A buffer for kernels that need no scratch memory.
    spare: Buffer,
}

/// A slot of a unit, held.
pub(crate) struct Held<'a>(MutexGuard<'a, Option<Slot>>);

/// The memories of one start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memories {
    pub(crate) input: Handle,
    pub(crate) output: Handle,
    /// None: the kernel does not touch it.
    pub(crate) scratch: Option<Handle>,
}

impl ComputeUnit {
    /// Opens a unit of the loaded image.
    pub(crate) fn open(device: &Device, image: &[u8; 16], unit: &Unit) -> Result<Self, CallFailed> {
        let name = format!("{}:{{{}}}", unit.kernel.name(), unit.name);
        let kernel = device.kernel(image, &name)?;
        let mut this = Self {
            kernel: unit.kernel,
            groups: [0; Argument::ALL.len()],
            handle: Mutex::default(),
            slots: Vec::new(),
            turn: AtomicUsize::new(0),
        };
        let made = this.fill(device, &kernel);
        *this.handle.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(kernel);
        match made {
            Ok(()) => {
                tracing::debug!(kernel = unit.kernel.name(), "opened a compute unit");
                Ok(this)
            }
            Err(failed) => {
                this.close();
                Err(failed)
            }
        }
    }

    /// Finds the memory of each argument, and makes the slots.
    fn fill(&mut self, device: &Device, kernel: &Kernel) -> Result<(), CallFailed> {
        for (group, argument) in self.groups.iter_mut().zip(self.kernel.arguments()) {
            *group = kernel.group(*argument)?;
        }
        for _ in 0..starts_in_flight(self.kernel) {
            self.slots.push(Mutex::new(Some(self.slot(device, kernel)?)));
        }
        Ok(())
    }

    fn slot(&self, device: &Device, kernel: &Kernel) -> Result<Slot, CallFailed> {
        let command_bytes = usize::try_from(limits::SCAN_BYTES_MAX).unwrap_or(usize::MAX);
        let wanted = [
            (self.place(BufferKind::Host, Argument::Command), command_bytes),
            (self.place(BufferKind::Host, Argument::Cancel), SMALL_BYTES),
            (self.place(BufferKind::Device, Argument::Scratch), SMALL_BYTES),
        ];
        let mut buffers = Vec::new();
        let made = wanted.into_iter().try_for_each(|(place, bytes)| {
            buffers.push(device.buffer(place, bytes)?);
            Ok(())
        });
        let run = made.and_then(|()| kernel.run());
        match (run, <[Buffer; 3]>::try_from(buffers)) {
            (Ok(run), Ok([command, cancel, spare])) => {
                Ok(Slot { arguments: self.kernel.arguments(), run, command, cancel, spare })
            }
            (run, buffers) => {
                let failed = run.map(Run::close).err();
                let buffers = buffers.map_or_else(|rest| rest, Vec::from);
                buffers.into_iter().for_each(Buffer::close);
                Err(failed.unwrap_or(CallFailed { what: "make a run", code: 0 }))
            }
        }
    }

    /// The memory in which a buffer for an argument has to be.
    pub(crate) fn place(&self, kind: BufferKind, argument: Argument) -> BufferPlace {
        let group = self.groups.get(argument.index() as usize).copied().unwrap_or(0);
        BufferPlace { kind, group }
    }

    /// Waits until a slot is free: they are held in turn.
    ///
    /// # Errors
    /// [`Failure::Kernel`] if the unit has none.
    pub(crate) fn hold(&self) -> Result<Held<'_>, Failure> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let slot = self.slots.get(turn % self.slots.len().max(1));
        let slot = slot.ok_or_else(|| kernel("its unit is closed"))?;
        Ok(Held(slot.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Closes runs, buffers and kernel; a kernel behind its runs.
    pub(crate) fn close(&self) {
        for slot in &self.slots {
            let taken = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(slot) = taken {
                slot.run.close();
                [slot.command, slot.cancel, slot.spare].into_iter().for_each(Buffer::close);
            }
        }
        if let Some(kernel) = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take() {
            kernel.close();
        }
    }
}

/// Commands that a unit is given at once. A merge kernel takes the next one when it has ended.
pub(crate) const fn starts_in_flight(kernel: KernelName) -> usize {
    match kernel {
        KernelName::Scan => 2,
        KernelName::Merge => 1,
    }
}

impl Held<'_> {
    /// Starts the kernel on a command.
    pub(crate) fn start(&mut self, words: &[u8], memories: Memories) -> Result<(), CallFailed> {
        let what = "start a kernel";
        let slot = self.0.as_mut().ok_or(CallFailed { what, code: 0 })?;
        let room = slot.command.bytes_mut().get_mut(..words.len());
        room.ok_or(CallFailed { what, code: 0 })?.copy_from_slice(words);
        slot.command.send(0..words.len())?;
        slot.set_cancel(0)?;
        let scratch = memories.scratch.unwrap_or_else(|| slot.spare.handle());
        let arguments = [
            (Argument::Command, slot.command.handle()),
            (Argument::Input, memories.input),
            (Argument::Output, memories.output),
            (Argument::Scratch, scratch),
            (Argument::Cancel, slot.cancel.handle()),
            (Argument::Dictionaries, memories.input),
            (Argument::Entries, scratch),
            (Argument::ScratchOut, scratch),
        ];
        let taken = |argument: &Argument| slot.arguments.contains(argument);
        for (argument, buffer) in arguments.into_iter().filter(|(argument, _)| taken(argument)) {
            slot.run.set(argument, buffer)?;
        }
        slot.run.start()
    }

    /// Waits for the kernel's end; hands a cancellation on to it meanwhile.
    ///
    /// # Errors
    /// The failure, if there is one. No object of a lost card may be used afterwards.
    pub(crate) fn wait(&mut self, pending: &Pending, running: &Running) -> Result<(), Failure> {
        let slot = self.0.as_mut().ok_or_else(|| kernel("its unit is closed"))?;
        let mut was_told = false;
        let ended = loop {
            if let Some(state) = slot.run.wait(TICK) {
                break state;
            }
            if let Some(reason) = running.lost() {
                return Err(Failure::Gone { reason: reason.to_owned() });
            }
            if pending.cancel.is_set() && !was_told {
                slot.set_cancel(1).map_err(kernel)?;
                was_told = true;
            }
        };
        slot.run.settle();
        match ended {
            state::COMPLETED => Ok(()),
            state::ERROR => Err(kernel("XRT says that it went wrong")),
            other => Err(Failure::Gone {
                reason: format!("a kernel ended in state {other}, so the card does not answer"),
            }),
        }
    }
}

impl Slot {
    fn set_cancel(&mut self, word: u32) -> Result<(), CallFailed> {
        if let Some(bytes) = self.cancel.bytes_mut().first_chunk_mut() {
            *bytes = word.to_le_bytes();
        }
        self.cancel.send(0..size_of::<u32>())
    }
}

/// A failure of the kernel or of its runtime.
pub(crate) fn kernel(reason: impl std::fmt::Display) -> Failure {
    Failure::Kernel { reason: reason.to_string() }
}
