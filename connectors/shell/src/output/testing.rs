// SPDX-License-Identifier: Apache-2.0
//! Provides a sink that a test can read.

use std::{io::BufWriter, sync::Mutex};

use super::*;
use nearscan::arrow::array::{ArrayRef, Int64Array, StringArray};

/// Bytes that were written to a sink.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub(super) fn sink(&self) -> Sink {
        let inner = BufWriter::new(Box::new(self.clone()) as Box<dyn Write + Send>);
        Sink { inner, is_closed: Arc::default() }
    }

    /// Returns what was written, and forgets it.
    pub(super) fn take(&self) -> String {
        String::from_utf8(mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns what a writer makes of some batches.
pub(super) fn written(
    open: impl FnOnce(Sink, &SchemaRef) -> Box<dyn ResultWriter>,
    batches: &[RecordBatch],
) -> Vec<u8> {
    let shared = Shared::default();
    let mut writer = open(shared.sink(), &batches[0].schema());
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    shared.0.lock().unwrap().clone()
}

/// Two columns, `n` with numbers and `text` with anything.
pub(super) fn batch(numbers: &[Option<i64>], texts: &[Option<&str>]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let columns = [("n", numbers, true), ("text", texts, true)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}
