// SPDX-License-Identifier: Apache-2.0
//! Provides a sink that a test can read.

use std::sync::Mutex;

use super::*;
use nearscan::arrow::array::{ArrayRef, Int64Array, StringArray};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

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
    let inner = BufWriter::new(Box::new(shared.clone()) as Box<dyn Write + Send>);
    let sink = Sink { inner, is_closed: Arc::default() };
    let mut writer = open(sink, &batches[0].schema());
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
