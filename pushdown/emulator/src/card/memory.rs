// SPDX-License-Identifier: Apache-2.0
//! Keeps device memory: buffers by their addresses, each a file that the runtime maps.
//!
//! The runtime chooses the addresses. Bytes are moved by reads and writes of the file, which the
//! runtime's mapping of it sees at once; so no memory of the drive is shared with it unseen.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nearscan_drive::MakeMemory;

#[derive(Debug, Clone)]
struct Buffer {
    file: Arc<File>,
    bytes: u64,
}

/// All buffers.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    buffers: Mutex<BTreeMap<u64, Buffer>>,
    make: MakeMemory,
}

/// A place in device memory, up to the end of its buffer.
#[derive(Debug, Clone)]
pub(super) struct Place {
    file: Arc<File>,
    offset: u64,
    /// Bytes from here to the end of the buffer.
    pub(super) room: u64,
}

impl DeviceMemory {
    pub(super) fn new(make: MakeMemory) -> Self {
        Self { buffers: Mutex::default(), make }
    }

    fn buffers(&self) -> MutexGuard<'_, BTreeMap<u64, Buffer>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a buffer; gives the name of the file that the runtime maps.
    pub(super) fn allocate(&self, address: u64, bytes: u64) -> io::Result<String> {
        let file = (self.make)(bytes)?;
        let name = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        self.buffers().insert(address, Buffer { file: Arc::new(file), bytes });
        Ok(name)
    }

    /// Frees the buffer that begins there; a kernel that still runs keeps its memory until it ends.
    pub(super) fn free(&self, address: u64) {
        self.buffers().remove(&address);
    }

    /// Frees all buffers.
    pub(super) fn clear(&self) {
        self.buffers().clear();
    }

    /// Returns the place of an address: in the buffer with the greatest start that is not above it.
    pub(super) fn place(&self, address: u64) -> io::Result<Place> {
        let buffers = self.buffers();
        let inside = buffers.range(..=address).next_back().and_then(|(start, buffer)| {
            let offset = address - start;
            let room = buffer.bytes.checked_sub(offset).filter(|room| *room > 0)?;
            Some(Place { file: Arc::clone(&buffer.file), offset, room })
        });
        inside.ok_or_else(|| io::Error::other(format!("no buffer has the address {address:#x}")))
    }
}

impl Place {
    /// Fills `into` from here on.
    ///
    /// # Errors
    /// When the buffer ends before.
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<()> {
        self.has(into.len())?;
        self.file.read_exact_at(into, self.offset)
    }

    /// Writes `bytes` from here on.
    ///
    /// # Errors
    /// When the buffer ends before.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.has(bytes.len())?;
        self.file.write_all_at(bytes, self.offset)
    }

    fn has(&self, bytes: usize) -> io::Result<()> {
        match bytes as u64 <= self.room {
            true => Ok(()),
            false => Err(io::Error::other(format!("{bytes} bytes do not fit in {}", self.room))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(bytes: u64) -> io::Result<File> {
        let file = tempfile::tempfile()?;
        file.set_len(bytes)?;
        Ok(file)
    }

    #[test]
    fn addresses_are_found_in_their_buffers_and_nowhere_else() {
        let memory = DeviceMemory::new(make);
        // Address 0 is one like any other.
        assert!(memory.allocate(0, 100).unwrap().starts_with("/proc/"));
        memory.allocate(4096, 8).unwrap();
        memory.place(10).unwrap().write(b"abc").unwrap();
        let mut read = [0; 4];
        memory.place(9).unwrap().read(&mut read).unwrap();
        assert_eq!(&read, b"\0abc");
        assert_eq!(memory.place(99).unwrap().room, 1);
        assert!(memory.place(100).is_err());
        assert!(memory.place(4100).unwrap().write(b"12345").is_err());
        memory.free(4096);
        assert!(memory.place(4100).is_err());
    }
}
