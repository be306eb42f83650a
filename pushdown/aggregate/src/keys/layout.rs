// SPDX-License-Identifier: Apache-2.0
//! Defines [`KeyLayout`]: where each key column is in the packed key.

use arrow::{
    array::{Array, ArrayRef},
    datatypes::DataType,
};

/// Where the columns of a key are.
#[derive(Debug, Clone)]
pub struct KeyLayout {
    columns: Vec<KeyColumn>,
    /// Bits of all values that are not texts.
    value_bits: u32,
    /// Columns that may be NULL.
    nullable: u32,
    /// Columns that are texts.
    texts: usize,
}

/// One column of a key.
#[derive(Debug, Clone)]
pub(super) struct KeyColumn {
    pub(super) data_type: DataType,
    pub(super) value: Value,
    /// Its number among the columns that may be NULL.
    pub(super) null: Option<u32>,
}

/// The value of a column in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// So many bits, above so many of the columns before it.
    Bits { width: u32, shift: u32 },
    /// A text, the n-th of the key.
    Text(usize),
}

/// How keys are represented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// In 64 bits.
    Word,
    /// In 128 bits.
    Wide,
    /// As a text, and 128 bits beside it.
    Text,
    /// In bytes.
    Bytes,
}

impl KeyLayout {
    /// The layout of keys with columns of these types, each nullable or not; none if a type has no
    /// packed form.
    #[must_use]
    pub fn new(types: impl IntoIterator<Item = (DataType, bool)>) -> Option<Self> {
        let mut layout = Self { columns: Vec::new(), value_bits: 0, nullable: 0, texts: 0 };
        for (data_type, is_nullable) in types {
            let value = match width_bits(&data_type) {
                Some(width) => Value::Bits { width, shift: layout.value_bits },
                None if is_text(&data_type) => Value::Text(layout.texts),
                None => return None,
            };
            match value {
                Value::Bits { width, .. } => layout.value_bits += width,
                Value::Text(_) => layout.texts += 1,
            }
            let null = is_nullable.then_some(layout.nullable);
            layout.nullable += u32::from(is_nullable);
            layout.columns.push(KeyColumn { data_type, value, null });
        }
        Some(layout)
    }

    /// The type of the only column, if there is one.
    pub(crate) fn only_type(&self) -> Option<&DataType> {
        match self.columns.as_slice() {
            [column] => Some(&column.data_type),
            _ => None,
        }
    }

    /// Whether keys are of one column, of this type.
    pub(crate) fn is_of(&self, data_type: &DataType) -> bool {
        self.only_type() == Some(data_type)
    }

    /// The columns, in the order of the key.
    pub(super) fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// Number of columns that may be NULL.
    pub(super) const fn nullable(&self) -> u32 {
        self.nullable
    }

    /// The place of the bit that says that a column is NULL, in a word.
    pub(super) fn null_bit(&self, column: &KeyColumn) -> Option<u32> {
        column.null.map(|null| self.value_bits + null)
    }

    /// The kind of keys that are made as long as no key is NULL.
    pub(crate) const fn first_kind(&self) -> Kind {
        match (self.texts, self.value_bits) {
            (0, 0..=64) => Kind::Word,
            (0, _) if self.value_bits + self.nullable <= 128 => Kind::Wide,
            (1, _) if self.value_bits + self.nullable <= 128 => Kind::Text,
            _ => Kind::Bytes,
        }
    }

    /// Whether there are columns beside texts.
    pub(super) const fn has_bits(&self) -> bool {
        self.value_bits > 0
    }

    /// Whether words of 64 bits are too narrow for these rows, because keys are NULL.
    pub(crate) fn needs_wide(&self, columns: &[ArrayRef]) -> bool {
        self.value_bits + self.nullable > 64
            && columns.iter().any(|column| column.logical_null_count() > 0)
    }
}

/// Bits of a value, of types whose values are equal only if their bits are.
const fn width_bits(data_type: &DataType) -> Option<u32> {
    match data_type {
        DataType::Boolean => Some(1),
        DataType::Int8 | DataType::UInt8 => Some(8),
        DataType::Int16 | DataType::UInt16 => Some(16),
        DataType::Int32 | DataType::UInt32 | DataType::Date32 | DataType::Time32(_) => Some(32),
        DataType::Int64
        | DataType::UInt64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..) => Some(64),
        DataType::Decimal128(..) => Some(128),
        _ => None,
    }
}

const fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::Utf8View | DataType::Binary | DataType::BinaryView
    )
}
