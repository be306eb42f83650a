// SPDX-License-Identifier: Apache-2.0
//! Packs many small files into one text file, which is committed in their place.
//!
//! Inputs of fuzzers, and Parquet files that other programs wrote, are many and small. An archive
//! has a line for each of them behind a line of headings, sorted by path as bytes:
//!
//! ```text
//! path<TAB>base64
//! broken/empty.parquet
//! broken/text.parquet<TAB>aWQsdgoxLDIK
//! ```
//!
//! A file without content is its path alone. So a comparison of two versions shows line by line
//! which files differ, and `cut -f 2 | base64 -d` gives one back without this crate. Parts of a
//! path have `/` between them.
//!
//! # What this crate does not do
//!
//! It stores no dates, permissions or empty folders, only contents. For tests and tasks only, and
//! all in memory: archives have a few megabytes.
//!
//! # Invariants
//!
//! - Unpacking restores the packed files, and equal files have equal archives.
//! - No path leads out of the folder that an archive is unpacked to.
#![forbid(unsafe_code)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tempfile::NamedTempFile;

/// The line of headings.
const HEADINGS: &str = "path\tbase64";

/// The end of the name of a file that is being written.
const DRAFT: &str = ".draft";

/// Files by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    files: BTreeMap<String, Vec<u8>>,
}

/// The reason why files could not be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("cannot use '{}'", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A file has a name that an archive cannot have.
    #[error("'{}' has a name that an archive cannot hold", .0.display())]
    Name(PathBuf),
    /// A text is no archive.
    #[error("'{}' is no archive", path.display())]
    Text {
        /// The file with the text.
        path: PathBuf,
        /// The reason.
        #[source]
        source: TextError,
    },
}

/// The reason why a text is not an archive; lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The first line is another one.
    #[error("the first line is not '{HEADINGS}'")]
    Headings,
    /// A path that leads elsewhere, or none.
    #[error("line {0} has a path that leads out of the folder, or none")]
    Path(usize),
    /// A path that is not behind the one above it.
    #[error("line {0} is not behind the line above it in the order of paths")]
    Order(usize),
    /// A content that is not base64, as it is written here.
    #[error("line {0} has a content that is not base64")]
    Content(usize),
}

impl Archive {
    /// Reads an archive.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(file_error(path))?;
        Self::parse(&text).map_err(|source| Error::Text { path: path.to_owned(), source })
    }

    /// Writes the archive.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        fs::write(path, self.to_text()).map_err(file_error(path))
    }

    /// Reads all files below `folder`.
    ///
    /// # Errors
    /// When one cannot be read, or has a name that an archive cannot hold.
    pub fn pack(folder: &Path) -> Result<Self, Error> {
        let mut files = BTreeMap::new();
        for path in paths_below(folder)? {
            let file = folder.join(&path);
            if !is_path(&path) {
                return Err(Error::Name(file));
            }
            files.insert(path, fs::read(&file).map_err(file_error(&file))?);
        }
        Ok(Self { files })
    }

    /// Makes `folder` hold these files and no others; such as are there already stay untouched.
    ///
    /// Processes may do this at once: a file gets its name once it is complete.
    ///
    /// # Errors
    /// When a file cannot be written or removed.
    pub fn unpack(&self, folder: &Path) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(file_error(folder))?;
        for path in paths_below(folder)?.difference(&self.files.keys().cloned().collect()) {
            if !path.ends_with(DRAFT) {
                remove(folder, path)?;
            }
        }
        self.files.iter().try_for_each(|(path, content)| put(&folder.join(path), content))
    }

    /// All files, sorted by path.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// Reads the text of an archive.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut lines = (1..).zip(text.lines());
        if lines.next().is_none_or(|(_, line)| line != HEADINGS) {
            return Err(TextError::Headings);
        }
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (number, line) in lines {
            let (path, content) = line.split_once('\t').unwrap_or((line, ""));
            if !is_path(path) {
                return Err(TextError::Path(number));
            }
            if files.last_key_value().is_some_and(|(above, _)| above.as_str() >= path) {
                return Err(TextError::Order(number));
            }
            let content = STANDARD.decode(content).map_err(|_| TextError::Content(number))?;
            files.insert(path.to_owned(), content);
        }
        Ok(Self { files })
    }

    /// The text of the archive.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADINGS}\n");
        for (path, content) in &self.files {
            text.push_str(path);
            if !content.is_empty() {
                text.push('\t');
                STANDARD.encode_string(content, &mut text);
            }
            text.push('\n');
        }
        text
    }
}

/// Whether a path stays below a folder, and is one part of one line.
fn is_path(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    path.split('/').all(is_part) && !path.contains(['\t', '\n', '\r', '\\'])
}

/// The paths of all files below `folder`.
fn paths_below(folder: &Path) -> Result<BTreeSet<String>, Error> {
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(file_error(folder))? {
        let path = entry.map_err(file_error(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Error::Name(path.clone()))?;
        if path.is_dir() {
            paths.extend(paths_below(&path)?.into_iter().map(|below| format!("{name}/{below}")));
        } else {
            paths.insert(name.to_owned());
        }
    }
    Ok(paths)
}

/// Removes a file, which another process may have done before, and folders that it leaves empty.
fn remove(folder: &Path, path: &str) -> Result<(), Error> {
    let file = folder.join(path);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(file_error(&file)(error));
        }
        _ => {}
    }
    // The first that is not empty stays, and so do those above it.
    let folders = file.ancestors().skip(1).take_while(|above| *above != folder);
    let _kept = folders.map(fs::remove_dir).find(Result::is_err);
    Ok(())
}

/// Writes a file under another name and gives it its own, unless it is there as it should be.
fn put(path: &Path, content: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    let write = || {
        fs::create_dir_all(folder)?;
        let mut draft: NamedTempFile =
            tempfile::Builder::new().suffix(DRAFT).tempfile_in(folder)?;
        draft.write_all(content)?;
        draft.persist(path)?;
        Ok(())
    };
    write().map_err(file_error(path))
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
