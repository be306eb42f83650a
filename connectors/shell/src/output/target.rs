// SPDX-License-Identifier: Apache-2.0
//! Opens the places that results go to: standard output or a file.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::failure::{Failure, Result};

/// The destination of results.
#[derive(Debug)]
pub(crate) enum Target {
    Stdout,
    File { path: PathBuf, file: File },
}

/// The end of the pipe that writers write to.
pub(crate) struct Sink {
    pub(super) inner: BufWriter<Box<dyn Write + Send>>,
    pub(super) is_closed: Arc<AtomicBool>,
}

impl Target {
    pub(crate) fn stdout() -> Self {
        Self::Stdout
    }

    /// Makes the file, or empties it.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| Failure::output(path, &error))?;
        Ok(Self::File { path: path.to_owned(), file })
    }

    pub(super) fn is_terminal(&self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::File { .. } => false,
        }
    }

    pub(super) fn open(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match self {
            Self::Stdout => Box::new(io::stdout()),
            Self::File { file, .. } => Box::new(file.try_clone()?),
        })
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Stdout => Path::new("-"),
            Self::File { path, .. } => path,
        }
    }
}

/// Notes a closed pipe here, because the writers above turn errors of the system into text.
impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.note(flushed)
    }
}

impl Sink {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        result
    }
}
