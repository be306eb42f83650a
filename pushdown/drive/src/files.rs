// SPDX-License-Identifier: Apache-2.0
//! Numbers the files that a drive of this machine holds, for use in commands, and checks their
//! versions.
//!
//! # Invariants
//!
//! - A file keeps its number as long as it is there, by whatever path it was requested. The number
//!   of one that is gone may be forgotten, and is never given to another file.
//! - Bytes are of the version that a command names: it is checked before and after reading, because
//!   a file may be overwritten in the meantime.

use std::{
    collections::HashMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use nearscan_command::{InputRef, Version};

use crate::{
    error::Failure,
    placement::{FileRef, Placement, file_version},
};

/// Files among which those that are gone are looked for first; later among twice as many as were
/// left. So a table of files that come and go stays small, and each is looked at twice on average.
const GONE_AMONG_MIN: usize = 4096;

/// Paths by number, and back.
#[derive(Debug, Default)]
pub struct FileTable {
    root: Option<PathBuf>,
    known: RwLock<Known>,
}

#[derive(Debug)]
struct Known {
    paths: HashMap<u64, PathBuf>,
    numbers: HashMap<PathBuf, u64>,
    next: u64,
    /// As soon as there are so many files, those that are gone are forgotten.
    full: usize,
}

impl Default for Known {
    fn default() -> Self {
        let (paths, numbers) = (HashMap::new(), HashMap::new());
        Self { paths, numbers, next: 0, full: GONE_AMONG_MIN }
    }
}

impl Known {
    /// The number of a file that is there.
    fn number_of(&mut self, path: PathBuf) -> u64 {
        if let Some(known) = self.numbers.get(&path) {
            return *known;
        }
        if self.paths.len() >= self.full {
            self.numbers.retain(|path, _| path.exists());
            let numbers = &self.numbers;
            self.paths.retain(|_, path| numbers.contains_key(path));
            self.full = GONE_AMONG_MIN.max(2 * self.paths.len());
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(path.clone(), number);
        self.paths.insert(number, path);
        number
    }
}

impl FileTable {
    /// The files below `root`, or all of the machine's without one.
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { root, known: RwLock::default() }
    }

    /// The number of a file, if the drive holds it.
    pub fn locate(&self, file: &FileRef) -> Placement {
        let not_here = |reason: String| Placement::NotHere { reason };
        if file.server.is_some() {
            return not_here(format!("{file} is not a file of this machine"));
        }
        let path = match file.path.canonicalize() {
            Ok(path) if path.is_file() => path,
            Ok(path) => return not_here(format!("{} is not a file", path.display())),
            Err(error) => return not_here(format!("{}: {error}", file.path.display())),
        };
        if let Some(root) = &self.root {
            let root = root.canonicalize().unwrap_or_else(|_| root.clone());
            if !path.starts_with(&root) {
                return not_here(format!("{} is not below {}", path.display(), root.display()));
            }
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        Placement::Here { file_id: known.number_of(path) }
    }

    /// The path of a number that was given out and not forgotten.
    pub fn path(&self, file_id: u64) -> Option<PathBuf> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.paths.get(&file_id).cloned()
    }

    /// The file that a command reads first, for messages.
    pub fn first_path(&self, inputs: &[InputRef]) -> String {
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

    /// Opens the file of a number, if it is what `version` says.
    ///
    /// # Errors
    /// [`Failure::Stale`] for another version, [`Failure::Read`] when it cannot be opened.
    pub fn open(&self, file_id: u64, version: Version) -> Result<VersionedFile, Failure> {
        self.open_with(file_id, version, |path| File::open(path))
    }

    /// Opens the file of a number by the given function, if it is what `version` says.
    ///
    /// # Errors
    /// As [`FileTable::open`].
    pub fn open_with(
        &self,
        file_id: u64,
        version: Version,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> Result<VersionedFile, Failure> {
        let path = self.path(file_id).ok_or_else(|| Failure::Read {
            path: format!("file {file_id}"),
            reason: "the drive was never asked for it, or it was removed".to_owned(),
        })?;
        let file = open(&path).map_err(|error| read_failure(&path, &error))?;
        let open = VersionedFile { file, path, version };
        open.check_version()?;
        Ok(open)
    }
}

/// A file whose version has been checked.
#[derive(Debug)]
pub struct VersionedFile {
    file: File,
    path: PathBuf,
    version: Version,
}

impl VersionedFile {
    /// Reads from it as `read` does, and checks its version again.
    ///
    /// # Errors
    /// [`Failure::Read`], or [`Failure::Stale`] when the file has changed meanwhile.
    pub fn read<T>(&self, read: impl FnOnce(&File) -> io::Result<T>) -> Result<T, Failure> {
        let bytes = read(&self.file).map_err(|error| read_failure(&self.path, &error))?;
        self.check_version()?;
        Ok(bytes)
    }

    /// Whether the file is still what it was.
    fn check_version(&self) -> Result<(), Failure> {
        let metadata = self.file.metadata().map_err(|error| read_failure(&self.path, &error))?;
        match file_version(&metadata) == self.version {
            true => Ok(()),
            false => Err(Failure::Stale { path: self.path.display().to_string() }),
        }
    }
}

fn read_failure(path: &Path, error: &io::Error) -> Failure {
    Failure::Read { path: path.display().to_string(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::{NamedTempFile, tempdir};

    use super::*;

    fn file(bytes: &[u8]) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file.flush().unwrap();
        file
    }

    fn id(placement: Placement) -> u64 {
        let Placement::Here { file_id } = placement else { panic!("{placement:?}") };
        file_id
    }

    #[test]
    fn file_has_one_number_for_all_paths() {
        let table = FileTable::default();
        let (one, other) = (file(b"one"), file(b"other"));
        let by = |path: &Path| {
            let version = Version { size_bytes: 0, stamp: 0 };
            id(table.locate(&FileRef::local(path.to_owned(), version)))
        };
        let first = by(one.path());
        assert_ne!(by(other.path()), first);
        let around = one.path().parent().unwrap().join(".").join(one.path().file_name().unwrap());
        assert_eq!(by(&around), first);
        assert_eq!(table.path(first), Some(one.path().canonicalize().unwrap()));
        assert_eq!(table.path(99), None);
    }

    #[test]
    fn files_that_come_and_go_do_not_pile_up_and_those_that_stay_keep_their_numbers() {
        let folder = tempdir().unwrap();
        let (table, stays) = (FileTable::default(), file(b"stays"));
        let version = Version { size_bytes: 0, stamp: 0 };
        let locate = |path: &Path| id(table.locate(&FileRef::local(path.to_owned(), version)));
        let kept = locate(stays.path());
        let mut numbers = vec![kept];
        for number in 0..2 * GONE_AMONG_MIN {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, b"goes").unwrap();
            numbers.push(locate(&path));
            std::fs::remove_file(&path).unwrap();
        }
        let known = table.known.read().unwrap().paths.len();
        assert!(known <= GONE_AMONG_MIN, "{known} files are known");
        assert_eq!((locate(stays.path()), numbers[1]), (kept, kept + 1));
        assert!(numbers.is_sorted_by(|one, next| one < next), "a number was given twice");
        let gone = table.open(numbers[1], version).map(drop);
        assert!(matches!(gone, Err(Failure::Read { .. })), "{gone:?}");
    }

    #[test]
    fn file_that_is_not_held_is_refused_with_the_reason() {
        let folder = tempdir().unwrap();
        let table = FileTable::new(Some(folder.path().to_owned()));
        let refused = |path: &Path| {
            let version = Version { size_bytes: 0, stamp: 0 };
            match table.locate(&FileRef::local(path.to_owned(), version)) {
                Placement::NotHere { reason } => reason,
                Placement::Here { .. } => panic!("{} is held", path.display()),
            }
        };
        assert!(refused(&folder.path().join("missing")).contains("No such file"));
        assert!(refused(folder.path()).ends_with("is not a file"));
        let outside = file(b"outside");
        assert!(refused(outside.path()).contains(" is not below "));
    }

    #[test]
    fn file_that_changes_before_or_during_a_read_is_stale() {
        let table = FileTable::default();
        let mut file = file(b"whole");
        let located = FileRef::of(file.path()).unwrap();
        let id = id(table.locate(&located));
        let open = table.open(id, located.version).unwrap();
        assert_eq!(open.read(|file| Ok(file.metadata()?.len())).unwrap(), 5);
        let changed = open.read(|_| {
            file.write_all(b", and more")?;
            file.flush()
        });
        assert!(matches!(changed, Err(Failure::Stale { .. })), "{changed:?}");
        let stale = table.open(id, located.version).map(drop);
        assert!(matches!(stale, Err(Failure::Stale { .. })), "{stale:?}");
        let unknown = table.open(id + 1, located.version).map(drop);
        assert!(matches!(unknown, Err(Failure::Read { .. })), "{unknown:?}");
    }
}
