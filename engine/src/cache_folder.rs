// SPDX-License-Identifier: Apache-2.0
//! Finds the user's cache folder, and replaces files in it.
//!
//! What is in the folder can be removed at any time, and computed again.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

/// Returns the program's folder in the cache folder of the XDG specification; nothing if there is
/// no home folder.
pub(crate) fn of_user() -> Option<PathBuf> {
    let base = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
    Some(base.join("nearscan"))
}

/// Writes a text under a temporary name and renames the file, so that no reader sees a part of it,
/// whoever else writes it at the same time. Makes the folder if there is none.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let folder = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let part = file.with_extension(format!("{}-{number}", process::id()));
    fs::create_dir_all(folder)?;
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, file));
    if written.is_err() {
        // It may not be there, or not be removable: a part is read by nobody.
        drop(fs::remove_file(&part));
    }
    written
}
