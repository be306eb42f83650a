// SPDX-License-Identifier: Apache-2.0
//! Files by number, and reads from them into device memory.
//!
//! Two ways lead there. Peer to peer, the disk writes into the device: the read goes past the
//! host's cache (`O_DIRECT`), so that offset, length and address lie on blocks, which the plan of a
//! command sees to. Where that cannot be, the host reads and copies.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nearscan_command::requests::BLOCK_BYTES;
use nearscan_command::{InputRef, MediaPlan, Span};
use nearscan_drive::{Failure, FileRef, Placement, file_version};

/// The files that a drive has been asked for.
#[derive(Debug)]
pub(crate) struct Media {
    root: Option<PathBuf>,
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    ids: HashMap<PathBuf, u64>,
    paths: Vec<PathBuf>,
}

/// How bytes come into device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the disk, past the host.
    PeerToPeer,
    /// Through the host.
    Copy,
}

impl Media {
    /// Media that hold the files below `root`, or all.
    pub(crate) fn new(root: Option<PathBuf>) -> Self {
        Self { root, files: Mutex::default() }
    }

    /// Whether a file lies on these media.
    pub(crate) fn locate(&self, file: &FileRef) -> Placement {
        let not_here = |reason: String| Placement::NotHere { reason };
        let path = match file.path.canonicalize() {
            Ok(path) => path,
            Err(error) => return not_here(format!("{}: {error}", file.path.display())),
        };
        if let Some(root) = &self.root {
            let root = root.canonicalize().unwrap_or_else(|_| root.clone());
            if !path.starts_with(&root) {
                let reason = format!("{} is not below {}", path.display(), root.display());
                return not_here(reason);
            }
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file_id) = files.ids.get(&path) {
            return Placement::Here { file_id: *file_id };
        }
        let file_id = files.paths.len() as u64;
        files.paths.push(path.clone());
        files.ids.insert(path, file_id);
        Placement::Here { file_id }
    }

    fn path(&self, file_id: u64) -> Option<PathBuf> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.paths.get(usize::try_from(file_id).ok()?).cloned()
    }

    /// The file that a command reads first, for messages.
    pub(crate) fn first_path(&self, inputs: &[InputRef]) -> String {
        let id = inputs.iter().find_map(|input| match input {
            InputRef::FileRange { file_id, .. } => Some(*file_id),
            InputRef::DeviceRange { .. }
            | InputRef::ObjectRange { .. }
            | InputRef::NvmeExtents { .. }
            | InputRef::Output { .. } => None,
        });
        let path = id.and_then(|id| self.path(id));
        path.map_or_else(|| "the input".to_owned(), |path| path.display().to_string())
    }

    /// Whether all files of a plan can be read past the host's cache.
    pub(crate) fn way(&self, plan: &MediaPlan) -> Way {
        let is_direct = |span: &Span| {
            self.path(span.file_id).is_some_and(|path| match open_direct(&path) {
                Ok(_) => true,
                // A file that cannot be opened at all says so when it is read.
                Err(error) => error.raw_os_error() != Some(libc::EINVAL),
            })
        };
        if plan.spans.iter().all(is_direct) { Way::PeerToPeer } else { Way::Copy }
    }

    /// Reads everything of a plan to its place in `memory`.
    pub(crate) fn load(
        &self,
        plan: &MediaPlan,
        way: Way,
        memory: &mut [u8],
    ) -> Result<(), Failure> {
        for span in &plan.spans {
            let path = self.path(span.file_id).ok_or_else(|| Failure::Read {
                path: format!("file {}", span.file_id),
                reason: "the drive was never asked for it".to_owned(),
            })?;
            let failed = |error: io::Error| Failure::Read {
                path: path.display().to_string(),
                reason: error.to_string(),
            };
            let file = match way {
                Way::PeerToPeer => open_direct(&path),
                Way::Copy => File::open(&path),
            }
            .map_err(failed)?;
            let is_same = |file: &File| -> io::Result<bool> {
                Ok(file_version(&file.metadata()?) == span.version)
            };
            let stale = || Failure::Stale { path: path.display().to_string() };
            if !is_same(&file).map_err(failed)? {
                return Err(stale());
            }
            let place = usize::try_from(span.place).unwrap_or(usize::MAX);
            let length = usize::try_from(span.length).unwrap_or(usize::MAX);
            // The end of a file need not lie on a block, but what is asked for has to.
            let asked = match way {
                Way::PeerToPeer => span.length.next_multiple_of(BLOCK_BYTES),
                Way::Copy => span.length,
            };
            let end = place.saturating_add(usize::try_from(asked).unwrap_or(usize::MAX));
            let room = memory
                .get_mut(place..end)
                .ok_or_else(|| failed(io::Error::other("there is no room for it")))?;
            read(&file, span.offset, room, length).map_err(failed)?;
            // Bytes that were overwritten meanwhile are of no version.
            if !is_same(&file).map_err(failed)? {
                return Err(stale());
            }
        }
        Ok(())
    }
}

/// Fills the first `length` bytes of `room`, all of which is asked for.
fn read(file: &File, offset: u64, room: &mut [u8], length: usize) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        // A read that was cut short goes on from the last whole block.
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

    use super::*;

    #[test]
    fn bytes_come_to_their_places_either_way() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..10_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        file.flush().unwrap();
        let media = Media::new(None);
        let located = FileRef::of(file.path()).unwrap();
        let Placement::Here { file_id } = media.locate(&located) else { panic!("it is there") };
        let input =
            InputRef::FileRange { file_id, version: located.version, offset: 5000, length: 35_000 };
        let plan = MediaPlan::of(&[input]);
        for way in [Way::PeerToPeer, Way::Copy] {
            // Direct reads want memory that lies on blocks.
            let mut memory = vec![0u8; usize::try_from(plan.bytes).unwrap() + 4096];
            let shift = memory.as_ptr().align_offset(4096);
            let memory = &mut memory[shift..];
            media.load(&plan, way, memory).unwrap();
            let place = usize::try_from(plan.places[0]).unwrap();
            assert_eq!(memory[place..place + 35_000], bytes[5000..], "{way:?}");
        }
        file.write_all(b"more").unwrap();
        file.flush().unwrap();
        let mut memory = vec![0u8; usize::try_from(plan.bytes).unwrap()];
        let stale = media.load(&plan, Way::Copy, &mut memory);
        assert!(matches!(stale, Err(Failure::Stale { .. })), "{stale:?}");
    }

    #[test]
    fn a_file_outside_of_the_root_is_not_here() {
        let root = tempfile::tempdir().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let media = Media::new(Some(root.path().to_owned()));
        let placement = media.locate(&FileRef::of(file.path()).unwrap());
        assert!(matches!(placement, Placement::NotHere { .. }), "{placement:?}");
    }
}
