// SPDX-License-Identifier: Apache-2.0
//! Holds the values of a batch that are not null, while pages are read.

use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Chunk, PhysicalType, Status};

use crate::{
    decode::reading,
    dictionary::Dictionary,
    string_batch::StringBatch,
    values::{Numbers, Strings, View},
    vector::{Coded, Vector},
};

/// The values of a batch that are not null: codes as long as all of them are.
pub(crate) enum Dense {
    Codes(Vec<u32>),
    /// As [`reading::apply`] leaves them.
    Numbers(Vec<i64>),
    Strings(StringBatch),
    /// Only their number counts.
    NotRead,
}

impl Dense {
    /// The numbers, those decoded that were codes so far.
    pub(crate) fn numbers(&mut self, dictionary: Option<&Dictionary>) -> &mut Vec<i64> {
        if let Self::Codes(codes) = self {
            let values = dictionary.map(|dictionary| dictionary.stored(codes));
            *self = Self::Numbers(values.unwrap_or_default());
        }
        match self {
            Self::Numbers(values) => values,
            Self::Codes(_) | Self::Strings(_) | Self::NotRead => {
                unreachable!("a chunk has values of one kind")
            }
        }
    }

    /// The strings, those decoded that were codes so far.
    pub(crate) fn strings(
        &mut self,
        dictionary: Option<&Dictionary>,
    ) -> Result<&mut StringBatch, Status> {
        if let Self::Codes(codes) = self {
            let codes = std::mem::take(codes);
            *self = Self::Strings(StringBatch::default());
            if let Some(dictionary) = dictionary.filter(|_| !codes.is_empty()) {
                self.decode(dictionary, &codes)?;
            }
        }
        match self {
            Self::Strings(batch) => Ok(batch),
            Self::Codes(_) | Self::Numbers(_) | Self::NotRead => {
                unreachable!("a chunk has values of one kind")
            }
        }
    }

    /// Appends entries of a dictionary to values that are not codes.
    pub(crate) fn decode(&mut self, dictionary: &Dictionary, codes: &[u32]) -> Result<(), Status> {
        match self {
            Self::Codes(all) => all.extend_from_slice(codes),
            Self::Numbers(values) => values.extend(dictionary.stored(codes)),
            Self::NotRead => {}
            Self::Strings(batch) => {
                if let Some(entries) = dictionary.strings() {
                    batch.entries(entries, codes)?;
                }
            }
        }
        Ok(())
    }

    /// The vector of `rows` rows of a chunk, in which the values are at the rows that are not null.
    pub(crate) fn into_vector(
        self,
        chunk: &Chunk,
        dictionary: Option<&Arc<Dictionary>>,
        validity: Option<BooleanBuffer>,
        rows: usize,
    ) -> Vector {
        match (self, dictionary) {
            (Self::Codes(codes), Some(dictionary)) if dictionary.len() > 0 => {
                let codes = spread(codes, validity.as_ref());
                Vector::Coded(Coded::new(Arc::clone(dictionary), codes, validity))
            }
            (Self::NotRead, _) => Vector::Validity(validity),
            // Every row is null.
            (Self::Codes(_), _) if chunk.physical_type == PhysicalType::ByteArray => {
                let views = vec![View::default(); rows];
                Vector::Strings(Strings { buffers: Vec::new(), views, validity })
            }
            (Self::Codes(_), _) => Vector::Numbers(Numbers::narrow(vec![0; rows], validity)),
            (Self::Numbers(values), _) => {
                let values = reading::widen(spread(values, validity.as_ref()), chunk);
                Vector::Numbers(Numbers { values, validity })
            }
            (Self::Strings(batch), _) => {
                let (buffers, views) = batch.finish();
                let views = spread(views, validity.as_ref());
                Vector::Strings(Strings { buffers, views, validity })
            }
        }
    }
}

/// Moves values to the rows that are not null; the others get a default.
fn spread<T: Copy + Default>(values: Vec<T>, validity: Option<&BooleanBuffer>) -> Vec<T> {
    let Some(validity) = validity else { return values };
    let mut out = vec![T::default(); validity.len()];
    for (row, value) in validity.set_indices().zip(values) {
        out[row] = value;
    }
    out
}
