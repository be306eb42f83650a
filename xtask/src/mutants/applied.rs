// SPDX-License-Identifier: Apache-2.0
//! Applies a mutant to a file, and restores the file.
//!
//! # Invariants
//!
//! - The file has its old bytes again once the [`Applied`] is dropped, also when something failed.
//! - It has them also when this program is interrupted or killed: a separate process waits for the
//!   end of a pipe that only this program holds, and then puts the file back from a copy. It is in
//!   its own group, so that an interrupt from the terminal does not reach it.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

/// A file with a mutant in it.
#[derive(Debug)]
pub(super) struct Applied {
    path: PathBuf,
    original: Vec<u8>,
    keeper: Child,
}

/// Waits until its input ends, then copies the first file to the second and removes it.
const KEEPER: &str = r#"cat > /dev/null; cp "$0" "$1" && rm -f "$0""#;

impl Applied {
    /// Writes `broken` into the file at `path`, which holds `original`; the copy is kept below
    /// `target`.
    ///
    /// # Errors
    /// When a file cannot be written, or the one who would put it back cannot be started.
    pub(super) fn new(path: &Path, original: Vec<u8>, broken: &str, target: &Path) -> Result<Self> {
        let folder = target.join("mutants");
        std::fs::create_dir_all(&folder).context("cannot create the folder for the copy")?;
        let name = path.file_name().context("a path without a name")?.to_string_lossy();
        let copy = folder.join(format!("{}-{name}", std::process::id()));
        std::fs::write(&copy, &original).context("cannot write the copy")?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER])
            .arg(&copy)
            .arg(path)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start the process that puts the file back")?;
        let applied = Self { path: path.to_owned(), original, keeper };
        // From here on dropping it puts the file back.
        std::fs::write(path, broken).context("cannot apply the mutant")?;
        Ok(applied)
    }

    /// Puts the file back.
    ///
    /// # Errors
    /// When it could not be.
    pub(super) fn restore(mut self) -> Result<()> {
        self.put_back();
        let found =
            std::fs::read(&self.path).context("cannot read the file that had the mutant")?;
        ensure!(found == self.original, "{} still has the mutant", self.path.display());
        Ok(())
    }

    fn put_back(&mut self) {
        drop(self.keeper.stdin.take());
        // Once it has ended nothing writes to the file behind our back.
        let ended = self.keeper.wait();
        let found = std::fs::read(&self.path);
        if ended.is_err() || !found.is_ok_and(|found| found == self.original) {
            // The caller checks; a drop cannot report an error.
            drop(std::fs::write(&self.path, &self.original));
        }
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        self.put_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file `good`, applied with `bad`, in a folder that is its own target.
    fn applied() -> (tempfile::TempDir, PathBuf, Applied) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rs");
        std::fs::write(&path, "good").unwrap();
        let applied = Applied::new(&path, b"good".to_vec(), "bad", folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "bad");
        (folder, path, applied)
    }

    fn is_restored(folder: &tempfile::TempDir, path: &Path) -> bool {
        let copies = std::fs::read_dir(folder.path().join("mutants")).unwrap().count();
        copies == 0 && std::fs::read(path).unwrap() == b"good"
    }

    #[test]
    fn file_is_restored() {
        let (folder, path, applied) = applied();
        applied.restore().unwrap();
        assert!(is_restored(&folder, &path));
    }

    #[test]
    fn file_is_restored_on_error() {
        let (folder, path, applied) = applied();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _applied = applied;
            panic!("something failed");
        }));
        assert!(panicked.is_err() && is_restored(&folder, &path));
    }

    #[test]
    fn file_is_restored_when_the_program_is_killed() {
        let (folder, path, mut applied) = applied();
        // The system does this to the pipe of a program that ends, and nothing else.
        drop(applied.keeper.stdin.take());
        assert!(applied.keeper.wait().unwrap().success());
        assert!(is_restored(&folder, &path));
        // The one whose drop would put it back too is not needed for that.
        std::fs::write(&path, "good").unwrap();
        drop(applied);
        assert!(is_restored(&folder, &path));
    }

    #[test]
    fn file_is_restored_when_its_keeper_was_killed() {
        let (_folder, path, mut applied) = applied();
        applied.keeper.kill().unwrap();
        applied.restore().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"good");
    }

    #[test]
    fn file_that_cannot_be_restored_is_an_error() {
        let (folder, path, applied) = applied();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        // The copy goes into the folder, which is not the file.
        assert!(applied.restore().is_err());
        drop(folder);
    }
}
