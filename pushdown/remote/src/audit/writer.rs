// SPDX-License-Identifier: Apache-2.0
//! Writes the audit log: one thread takes the lines that wait, writes as many as there are at once,
//! and tells their senders.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
};

use tokio::sync::oneshot;

use super::AuditError;

/// Lines that are written at once, at most.
const BATCH_MAX: usize = 256;

/// Permission bits with which others than the owner may write.
const WRITABLE: u32 = 0o022;

/// Where the sender of an order waits; it may have gone.
pub(super) type Done = oneshot::Sender<Result<(), AuditError>>;

/// What the thread has to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Write a line.
    Write { line: Vec<u8>, done: Done },
    /// Open the file anew.
    Reopen { done: Done },
}

/// The file of the log.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// A device is not synced: it has no disk.
    kind: FileKind,
    end: LineEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Regular,
    Device,
}

/// How the file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Whole,
    /// A crash or a full disk came between, so the last line may lack its end.
    Torn,
}

impl LogFile {
    pub(super) fn open(path: &Path) -> Result<Self, AuditError> {
        let failed = |error: io::Error| AuditError::Open {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        let data = file.metadata().map_err(failed)?;
        let mode = data.mode() & 0o7777;
        if data.is_file() && mode & WRITABLE != 0 {
            return Err(AuditError::Writable { path: path.to_owned(), mode });
        }
        let kind = if data.is_file() { FileKind::Regular } else { FileKind::Device };
        let mut last = *b"\n";
        if let (FileKind::Regular, Some(at)) = (kind, data.len().checked_sub(1)) {
            file.read_exact_at(&mut last, at).map_err(failed)?;
        }
        let end = if last == *b"\n" { LineEnd::Whole } else { LineEnd::Torn };
        Ok(Self { path: path.to_owned(), file, kind, end })
    }

    /// Writes lines in one piece. After an error some of them may be there.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let end: &[u8] = match self.end {
            LineEnd::Whole => &[],
            LineEnd::Torn => b"\n",
        };
        self.end = LineEnd::Torn;
        self.file.write_all(&[end, lines].concat())?;
        match self.kind {
            FileKind::Regular => self.file.sync_data()?,
            FileKind::Device => {}
        }
        self.end = LineEnd::Whole;
        Ok(())
    }
}

/// Does what it is ordered to until nobody can order more.
pub(super) fn run(mut file: LogFile, orders: &Receiver<Order>) {
    let (mut lines, mut waiting) = (Vec::new(), Vec::new());
    while let Ok(first) = orders.recv() {
        let more = orders.try_iter().take(BATCH_MAX - 1);
        for order in std::iter::once(first).chain(more) {
            match order {
                Order::Write { line, done } => {
                    lines.extend_from_slice(&line);
                    waiting.push(done);
                }
                Order::Reopen { done } => {
                    flush(&mut file, &mut lines, &mut waiting);
                    let opened = LogFile::open(&file.path).map(|opened| file = opened);
                    drop(done.send(opened));
                }
            }
        }
        flush(&mut file, &mut lines, &mut waiting);
    }
}

/// Writes the lines, and tells those who wait for them.
fn flush(file: &mut LogFile, lines: &mut Vec<u8>, waiting: &mut Vec<Done>) {
    if waiting.is_empty() {
        return;
    }
    let failed = |error: io::Error| AuditError::Write { reason: error.to_string() };
    let written = file.append(lines).map_err(failed);
    lines.clear();
    for done in waiting.drain(..) {
        drop(done.send(written.clone()));
    }
}
