// SPDX-License-Identifier: Apache-2.0
//! Reads from files into device memory.
//!
//! There are two paths. Peer to peer, the disk writes into the device: the read goes past the
//! host's cache (`O_DIRECT`), so that offset, length and address are on blocks, which the plan of a
//! command sees to. Where that cannot be, the host reads and copies.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use nearscan_command::{MediaPlan, Span, requests::BLOCK_BYTES};
use nearscan_drive::{Failure, FileTable};

/// The way in which bytes reach device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the disk, past the host.
    PeerToPeer,
    /// Through the host.
    Copy,
}

/// Whether all files of a plan can be read past the host's cache.
pub(crate) fn way(files: &FileTable, plan: &MediaPlan) -> Way {
    let is_direct = |span: &Span| {
        files.path(span.file_id).is_some_and(|path| match open_direct(&path) {
            Ok(_) => true,
            // A file that cannot be opened at all says so when it is read.
            Err(error) => error.raw_os_error() != Some(libc::EINVAL),
        })
    };
    if plan.spans.iter().all(is_direct) { Way::PeerToPeer } else { Way::Copy }
}

/// Reads everything of a plan to its place in `memory`.
pub(crate) fn load(
    files: &FileTable,
    plan: &MediaPlan,
    way: Way,
    memory: &mut [u8],
) -> Result<(), Failure> {
    for span in &plan.spans {
        let file = files.open_with(span.file_id, span.version, |path| match way {
            Way::PeerToPeer => open_direct(path),
            Way::Copy => File::open(path),
        })?;
        let place = usize::try_from(span.place).unwrap_or(usize::MAX);
        let length = usize::try_from(span.length).unwrap_or(usize::MAX);
        // The end of a file need not be on a block, but that of a request has to.
        let asked = match way {
            Way::PeerToPeer => span.length.next_multiple_of(BLOCK_BYTES),
            Way::Copy => span.length,
        };
        let end = place.saturating_add(usize::try_from(asked).unwrap_or(usize::MAX));
        file.read(|file| {
            let room = memory.get_mut(place..end);
            let room = room.ok_or_else(|| io::Error::other("it does not fit in the buffer"))?;
            read(file, span.offset, room, length)
        })?;
    }
    Ok(())
}

/// Fills the first `length` bytes of `room`, all of which is requested.
fn read(file: &File, offset: u64, room: &mut [u8], length: usize) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        // A short read continues from the last whole block.
        let from = done - done % usize::try_from(BLOCK_BYTES).unwrap_or(1);
        let rest = room.get_mut(from..).unwrap_or_default();
        match file.read_at(rest, offset.saturating_add(from as u64)) {
            Ok(bytes) if from + bytes > done => done = from + bytes,
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn open_direct(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use nearscan_command::InputRef;
    use nearscan_drive::{FileRef, Placement};

    use super::*;

    #[test]
    fn bytes_come_to_their_places_either_way() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        file.flush().unwrap();
        let files = FileTable::default();
        let located = FileRef::of(file.path()).unwrap();
        let Placement::Here { file_id } = files.locate(&located) else { panic!("it is there") };
        let input =
            InputRef::FileRange { file_id, version: located.version, offset: 5000, length: 35_000 };
        let plan = MediaPlan::of(&[input]);
        for way in [Way::PeerToPeer, Way::Copy] {
            // Direct reads require memory that is aligned to blocks.
            let mut memory = vec![0u8; usize::try_from(plan.bytes).unwrap() + 4096];
            let shift = memory.as_ptr().align_offset(4096);
            let memory = &mut memory[shift..];
            load(&files, &plan, way, memory).unwrap();
            let place = usize::try_from(plan.places[0]).unwrap();
            assert_eq!(memory[place..place + 35_000], bytes[5000..], "{way:?}");
        }
        file.write_all(b"more").unwrap();
        file.flush().unwrap();
        let mut memory = vec![0u8; usize::try_from(plan.bytes).unwrap()];
        let stale = load(&files, &plan, Way::Copy, &mut memory);
        assert!(matches!(stale, Err(Failure::Stale { .. })), "{stale:?}");
    }
}
