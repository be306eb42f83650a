// SPDX-License-Identifier: Apache-2.0
//! Writes rows to the temporary files of a query.

use std::{
    fmt,
    fs::File,
    io::{self, BufWriter, IntoInnerError},
    os::unix::fs::FileExt,
    sync::Arc,
};

use datafusion::{
    common::resources_datafusion_err,
    error::{DataFusionError, Result},
    execution::{SpillFile, TaskContext},
};
use nearscan_aggregate::{Block, Error, Shape, SpillReader, Spilled, write_blocks};

/// Why the file is needed, for errors of whoever makes it.
const PURPOSE: &str = "PartitionedAggregateExec";

/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// A temporary file of a query, to which blocks are appended; it is deleted with the last of them.
pub(super) struct TemporaryFile {
    written: Arc<WrittenFile>,
    end: u64,
}

struct WrittenFile {
    file: File,
    temporary: Arc<dyn SpillFile>,
}

impl fmt::Debug for WrittenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WrittenFile").field(&self.file).finish()
    }
}

impl SpillReader for WrittenFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

impl TemporaryFile {
    /// An empty file.
    pub(super) fn create(task: &TaskContext) -> Result<Self> {
        let temporary = task.runtime_env().disk_manager.create_tmp_file(PURPOSE)?;
        let Some(path) = temporary.path() else {
            return Err(resources_datafusion_err!("{PURPOSE} spills to local files only"));
        };
        let file = File::open(path)?;
        Ok(Self { written: Arc::new(WrittenFile { file, temporary }), end: 0 })
    }

    /// Appends blocks.
    pub(super) fn append(&mut self, shape: &Shape, blocks: &[Block]) -> Result<Spilled> {
        let reader = Arc::clone(&self.written) as Arc<dyn SpillReader>;
        let mut writer =
            BufWriter::with_capacity(BUFFER_BYTES, self.written.temporary.open_writer()?);
        let spilled =
            write_blocks(shape, blocks, &mut writer, self.end, reader).map_err(external)?;
        writer.into_inner().map_err(IntoInnerError::into_error)?.finish()?;
        self.end += spilled.file_bytes();
        Ok(spilled)
    }
}

/// An error of the grouping as one of the query.
pub(super) fn external(error: Error) -> DataFusionError {
    match error {
        Error::Arrow(error) => DataFusionError::ArrowError(Box::new(error), None),
        Error::File(error) => DataFusionError::IoError(error),
        error => DataFusionError::External(Box::new(error)),
    }
}
