// SPDX-License-Identifier: Apache-2.0
//! Holds a compute unit: its kernel, opened exclusively, and the run that is reused for each start.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
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
    slot: Mutex<Option<Slot>>,
}

/// The buffers of one start of the kernel.
#[derive(Debug)]
pub(crate) struct Slot {
    run: Run,
    kernel: Kernel,
    command: Buffer,
    cancel: Buffer,
    /// A buffer for kernels that need no scratch memory.
    spare: Buffer,
}

/// The slot of a unit, held.
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
        match Self::with(device, unit.kernel, &kernel) {
            Ok((groups, parts)) => {
                let (run, command, cancel, spare) = parts;
                let slot = Slot { run, kernel, command, cancel, spare };
                Ok(Self { kernel: unit.kernel, groups, slot: Mutex::new(Some(slot)) })
            }
            Err(failed) => {
                kernel.close();
                Err(failed)
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "the parts of a slot, but for the kernel")]
    fn with(
        device: &Device,
        name: KernelName,
        kernel: &Kernel,
    ) -> Result<([u32; Argument::ALL.len()], (Run, Buffer, Buffer, Buffer)), CallFailed> {
        let mut groups = [0; Argument::ALL.len()];
        for (group, argument) in groups.iter_mut().zip(Argument::ALL) {
            *group = kernel.group(argument)?;
        }
        let group_of = |argument: Argument| groups.get(argument.index() as usize).copied();
        let place = |kind, argument| BufferPlace { kind, group: group_of(argument).unwrap_or(0) };
        let command_bytes = usize::try_from(limits::SCAN_BYTES_MAX).unwrap_or(usize::MAX);
        let wanted = [
            (place(BufferKind::Host, Argument::Command), command_bytes),
            (place(BufferKind::Host, Argument::Cancel), SMALL_BYTES),
            (place(BufferKind::Device, Argument::Scratch), SMALL_BYTES),
        ];
        let mut buffers = Vec::new();
        let made = wanted.into_iter().try_for_each(|(place, bytes)| {
            buffers.push(device.buffer(place, bytes)?);
            Ok(())
        });
        let run = made.and_then(|()| kernel.run());
        match (run, <[Buffer; 3]>::try_from(buffers)) {
            (Ok(run), Ok([command, cancel, spare])) => {
                tracing::debug!(kernel = name.name(), "opened a compute unit");
                let parts = (run, command, cancel, spare);
                Ok((groups, parts))
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

    /// Waits until the unit is free.
    pub(crate) fn hold(&self) -> Held<'_> {
        Held(self.slot.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes run, kernel and buffers, in this order.
    pub(crate) fn close(&self) {
        if let Some(slot) = self.hold().0.take() {
            slot.run.close();
            slot.kernel.close();
            [slot.command, slot.cancel, slot.spare].into_iter().for_each(Buffer::close);
        }
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
        ];
        for (argument, buffer) in arguments {
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
