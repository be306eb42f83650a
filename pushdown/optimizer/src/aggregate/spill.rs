// SPDX-License-Identifier: Apache-2.0
//! Writes rows to the temporary files of a query.

use std::{fmt, fs::File, io, os::unix::fs::FileExt, sync::Arc};

use datafusion::{
    common::resources_datafusion_err,
    error::{DataFusionError, Result},
    execution::{SpillFile, TaskContext},
};
use nearscan_aggregate::{Block, Error, Shape, SpillReader, Spilled, write_blocks};

/// Why the file is needed, for errors of whoever makes it.
const PURPOSE: &str = "PartitionedAggregateExec";

/// A file that was written; it is deleted when this is dropped.
struct WrittenFile {
    file: File,
    _temporary: Arc<dyn SpillFile>,
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

/// Writes blocks to a temporary file.
pub(super) fn write(shape: &Shape, blocks: Vec<Block>, task: &TaskContext) -> Result<Spilled> {
    let temporary = task.runtime_env().disk_manager.create_tmp_file(PURPOSE)?;
    let Some(path) = temporary.path() else {
        return Err(resources_datafusion_err!("{PURPOSE} spills to local files only"));
    };
    let file = File::open(path)?;
    let writer = temporary.open_writer()?;
    let reader = |mut writer: Box<dyn datafusion::execution::SpillWriter>| {
        writer.finish().map_err(io::Error::other)?;
        Ok(Box::new(WrittenFile { file, _temporary: temporary }) as Box<dyn SpillReader>)
    };
    write_blocks(shape, blocks, writer, reader).map_err(external)
}

/// An error of the grouping as one of the query.
pub(super) fn external(error: Error) -> DataFusionError {
    match error {
        Error::Arrow(error) => DataFusionError::ArrowError(Box::new(error), None),
        Error::File(error) => DataFusionError::IoError(error),
        error => DataFusionError::External(Box::new(error)),
    }
}
