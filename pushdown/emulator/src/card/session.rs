// SPDX-License-Identifier: Apache-2.0
//! Runs one session with the runtime: it answers calls until the runtime closes the device.
//!
//! # Invariants
//!
//! - Every call is answered, also an unknown one: the runtime does not detect a missing answer, and
//!   would wait for ever.
//! - Calls come one after the other; kernels run on threads of their units meanwhile.

use std::{
    io::{self, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::Arc,
};

use nearscan_drive::MakeMemory;
use nearscan_link::{KERNELS_HASH, Kernel, metadata};

use super::{
    fates::Fates,
    memory::DeviceMemory,
    unit::{ComputeUnit, REGISTER_BYTES},
    wire::{Answer, Call},
};

/// Numbers of the calls that mean something here.
mod call {
    pub(super) const CLOSE: u32 = 1;
    pub(super) const LOAD: u32 = 3;
    pub(super) const ALLOCATE: u32 = 4;
    pub(super) const FREE: u32 = 5;
    pub(super) const TO_DEVICE: u32 = 6;
    pub(super) const FROM_DEVICE: u32 = 7;
    pub(super) const WRITE_REGISTERS: u32 = 9;
    pub(super) const READ_REGISTER: u32 = 11;
    pub(super) const WRITE_REGISTER: u32 = 51;
    pub(super) const READ_REGISTER_OF: u32 = 52;
}

/// The device while a session lasts.
struct Session {
    memory: Arc<DeviceMemory>,
    fates: Arc<Fates>,
    units: Vec<ComputeUnit>,
}

/// Waits for the runtime and answers it, on its own thread.
pub(super) fn start(
    listener: UnixListener,
    memory: MakeMemory,
    fates: Arc<Fates>,
) -> io::Result<()> {
    let work = move || {
        let memory = Arc::new(DeviceMemory::new(memory));
        let session = Session { memory, fates, units: Vec::new() };
        let served = listener.accept().and_then(|(stream, _)| session.serve(stream));
        if let Err(error) = served {
            tracing::error!(%error, "the emulated card lost its runtime");
        }
    };
    std::thread::Builder::new().name("emulated card".to_owned()).spawn(work).map(drop)
}

impl Session {
    fn serve(mut self, mut stream: UnixStream) -> io::Result<()> {
        loop {
            let call = match Call::read(&mut stream) {
                Ok(call) => call,
                // The process of the runtime leaves without a word.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            };
            let is_last = call.number == call::CLOSE && call.number_in(3) == 1;
            stream.write_all(&self.answer(&call).message())?;
            if is_last {
                self.memory.clear();
                return Ok(());
            }
        }
    }

    fn answer(&mut self, call: &Call) -> Answer {
        match call.number {
            call::LOAD => Answer::yes_or_no(self.load(call)),
            call::ALLOCATE => self.allocate(call),
            call::FREE => {
                self.memory.free(call.number_in(1));
                Answer::yes_or_no(true)
            }
            call::TO_DEVICE => self.copy_in(call),
            call::FROM_DEVICE => self.copy_out(call),
            call::WRITE_REGISTERS => {
                Answer::yes_or_no(self.write(call.number_in(2), call.bytes_in(4)))
            }
            call::WRITE_REGISTER => {
                let address = call.number_in(1).wrapping_add(call.number_in(2));
                Answer::yes_or_no(self.write(address, call.bytes_in(3)))
            }
            call::READ_REGISTER => self.read(call.number_in(2)),
            call::READ_REGISTER_OF => self.read(call.number_in(1).wrapping_add(call.number_in(2))),
            // Closing, setting an instance up, copies between devices, and what is not known.
            _ => Answer::yes_or_no(true),
        }
    }

    /// Loads an image: its units, by the metadata that the runtime has put into a file. The
    /// bitstream is a marker, which says for which kernels it was made.
    fn load(&mut self, call: &Call) -> bool {
        let (xml, bitstream) = (call.text_in(1), call.text_in(2));
        if bitstream.is_empty() {
            // A buffer came before any image.
            return true;
        }
        match self.units_of(Path::new(&xml), Path::new(&bitstream)) {
            Ok(units) => {
                self.units = units;
                true
            }
            Err(error) => {
                tracing::error!(%error, "the emulated card cannot load an image");
                false
            }
        }
    }

    fn units_of(&self, xml: &Path, bitstream: &Path) -> io::Result<Vec<ComputeUnit>> {
        let marker = std::fs::read_to_string(bitstream)?;
        if !marker.contains(KERNELS_HASH) {
            return Err(io::Error::other("its bitstream is not for the kernels of this program"));
        }
        let entries = metadata::units(&std::fs::read_to_string(xml)?);
        let units = entries.into_iter().map(|entry| {
            let kernel = Kernel::of_name(&entry.kernel)
                .ok_or_else(|| io::Error::other(format!("there is no kernel {}", entry.kernel)))?;
            let (memory, fates) = (Arc::clone(&self.memory), Arc::clone(&self.fates));
            ComputeUnit::start(kernel, entry.base, memory, fates)
        });
        units.collect()
    }

    fn allocate(&self, call: &Call) -> Answer {
        match self.memory.allocate(call.number_in(1), call.number_in(2)) {
            // The names of buffers that the host does not map are not sent: the host keeps its own
            // copy, so that a missing transfer becomes visible.
            Ok(_) if call.number_in(3) == 0 => Answer::yes_or_no(true),
            Ok(name) => Answer::yes_or_no(true).bytes(2, name.as_bytes()),
            Err(error) => {
                tracing::error!(%error, "the emulated card has no memory");
                Answer::yes_or_no(false)
            }
        }
    }

    fn copy_in(&self, call: &Call) -> Answer {
        let (address, bytes) = (call.number_in(3), call.bytes_in(4));
        let written = self.memory.place(address).and_then(|place| place.write(bytes));
        if let Err(error) = written {
            tracing::error!(%error, "bytes for the emulated card were lost");
        }
        self.units.iter().for_each(|unit| unit.saw_write(address, bytes));
        Answer::default().number(1, call.number_in(5))
    }

    fn copy_out(&self, call: &Call) -> Answer {
        let length = call.number_in(5);
        // The field of the destination has as many bytes, so this is bounded as calls are.
        let room = call.bytes_in(3).len().max(usize::try_from(length).unwrap_or(0).min(8 << 20));
        let mut bytes = vec![0; room.min(usize::try_from(length).unwrap_or(0))];
        let read = self.memory.place(call.number_in(4)).and_then(|place| place.read(&mut bytes));
        if let Err(error) = read {
            tracing::error!(%error, "bytes of the emulated card were lost");
        }
        Answer::default().number(1, length).bytes(2, &bytes)
    }

    /// The unit whose registers hold an address, and the place in them.
    fn unit_at(&mut self, address: u64) -> Option<(&mut ComputeUnit, usize)> {
        self.units.iter_mut().find_map(|unit| {
            let offset = usize::try_from(address.checked_sub(unit.base)?).ok()?;
            (offset < REGISTER_BYTES).then_some((unit, offset))
        })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.unit_at(address).is_some_and(|(unit, offset)| unit.write(offset, bytes))
    }

    fn read(&mut self, address: u64) -> Answer {
        let value = self.unit_at(address).map_or(0, |(unit, offset)| unit.read(offset));
        Answer::yes_or_no(true).bytes(2, &value.to_le_bytes())
    }
}
