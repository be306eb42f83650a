// SPDX-License-Identifier: Apache-2.0
//! The layout of a column in its file: encoding, version of data pages, codec, share of NULLs.

use nearscan::{
    arrow::datatypes::{DataType, Field, Schema},
    parquet::{
        arrow::add_encoded_arrow_schema_to_metadata,
        basic::{Compression, Encoding, Type as PhysicalType},
        file::properties::{WriterProperties, WriterPropertiesPtr, WriterVersion},
        schema::types::ColumnDescPtr,
    },
};

use super::{
    cells::Cell,
    types::{StoredType, VALUE_COUNT},
};

pub(crate) const ROW_COUNT: usize = 400;

/// Two row groups, so that their results are put together.
pub(crate) const GROUP_ROWS: usize = 200;

/// Several pages a column chunk.
const PAGE_ROWS: usize = 48;

/// Sizes of pages and dictionaries are looked at once a batch.
const BATCH_ROWS: usize = 16;

/// Bytes of a dictionary that the first values outgrow.
const DICTIONARY_BYTES_SMALL: usize = 16;

/// The encoding of the values in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// A dictionary, under the name that old files have for it.
    OldDictionary,
    Dictionary,
    /// A dictionary that grows too large: plain pages follow.
    DictionaryThenPlain,
    Encoded(Encoding),
}

/// The share of missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    Required,
    Percent(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) values: Values,
    pub(crate) pages: WriterVersion,
    pub(crate) codec: Compression,
    pub(crate) nulls: Nulls,
}

impl Values {
    /// All that Parquet has for a type.
    pub(crate) fn of(physical_type: PhysicalType) -> Vec<Self> {
        use Encoding::{
            BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY,
            PLAIN, RLE,
        };
        let others: &[Encoding] = match physical_type {
            PhysicalType::BOOLEAN => &[RLE],
            PhysicalType::INT32 | PhysicalType::INT64 => &[DELTA_BINARY_PACKED, BYTE_STREAM_SPLIT],
            PhysicalType::INT96 => &[],
            PhysicalType::FLOAT | PhysicalType::DOUBLE => &[BYTE_STREAM_SPLIT],
            PhysicalType::BYTE_ARRAY => &[DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY],
            PhysicalType::FIXED_LEN_BYTE_ARRAY => &[DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT],
        };
        let mut all = vec![Self::Encoded(PLAIN)];
        // A dictionary of booleans would be longer than they are, so no writer makes one.
        if physical_type != PhysicalType::BOOLEAN {
            all.extend([Self::Dictionary, Self::OldDictionary, Self::DictionaryThenPlain]);
        }
        all.extend(others.iter().map(|encoding| Self::Encoded(*encoding)));
        all
    }

    /// Returns the encoding of a file that was written without options.
    pub(crate) fn usual(physical_type: PhysicalType) -> Self {
        match physical_type {
            PhysicalType::BOOLEAN => Self::Encoded(Encoding::PLAIN),
            _ => Self::Dictionary,
        }
    }

    /// Whether the library writes it: dictionaries of fixed bytes it has in pages 2 only.
    pub(crate) fn is_written(self, physical_type: PhysicalType, pages: WriterVersion) -> bool {
        let is_fixed = physical_type == PhysicalType::FIXED_LEN_BYTE_ARRAY;
        let is_dictionary = !matches!(self, Self::Encoded(_));
        !(is_fixed && is_dictionary && pages == WriterVersion::PARQUET_1_0)
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::OldDictionary => "PLAIN_DICTIONARY".to_owned(),
            Self::Dictionary => "RLE_DICTIONARY".to_owned(),
            Self::DictionaryThenPlain => "RLE_DICTIONARY then PLAIN".to_owned(),
            Self::Encoded(encoding) => encoding.to_string(),
        }
    }

    /// The encodings that data pages have, in their order.
    pub(crate) fn encodings(self) -> Vec<Encoding> {
        match self {
            Self::OldDictionary => vec![Encoding::PLAIN_DICTIONARY],
            Self::Dictionary => vec![Encoding::RLE_DICTIONARY],
            Self::DictionaryThenPlain => vec![Encoding::RLE_DICTIONARY, Encoding::PLAIN],
            Self::Encoded(encoding) => vec![encoding],
        }
    }
}

impl Nulls {
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Required, "required"),
        (Self::Percent(0), "none"),
        (Self::Percent(5), "few"),
        (Self::Percent(50), "half"),
        (Self::Percent(100), "all"),
    ];

    pub(crate) fn repetition(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Percent(_) => "optional",
        }
    }

    fn takes(self, row: usize) -> bool {
        match self {
            Self::Required => false,
            Self::Percent(percent) => scatter(row) % 100 < percent,
        }
    }
}

/// A number that has little to do with the row that it is made of.
fn scatter(row: usize) -> u32 {
    u32::try_from(row).unwrap().wrapping_mul(2_654_435_761) >> 12
}

impl Layout {
    /// The value of each row.
    pub(crate) fn cells(&self, stored: &StoredType) -> Vec<Cell> {
        let cell = |row| match self.nulls.takes(row) {
            true => Cell::Null,
            false => stored.value((row * 7 + row / VALUE_COUNT) % VALUE_COUNT),
        };
        (0..ROW_COUNT).map(cell).collect()
    }

    /// The encodings of data pages: a dictionary without values never grows too large.
    pub(crate) fn encodings(&self) -> Vec<Encoding> {
        let mut encodings = self.values.encodings();
        if self.nulls == Nulls::Percent(100) {
            encodings.truncate(1);
        }
        encodings
    }

    /// Returns the options of the writer for `column`; all other columns are plain.
    pub(crate) fn properties(
        &self,
        column: &ColumnDescPtr,
        stored: &StoredType,
    ) -> WriterPropertiesPtr {
        let path = column.path().clone();
        let builder = WriterProperties::builder()
            .set_writer_version(self.pages)
            .set_compression(self.codec)
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::PLAIN)
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_write_batch_size(BATCH_ROWS);
        let builder = match self.values {
            Values::Encoded(encoding) => builder.set_column_encoding(path, encoding),
            Values::OldDictionary | Values::Dictionary => {
                builder.set_column_dictionary_enabled(path, true)
            }
            Values::DictionaryThenPlain => builder
                .set_column_dictionary_enabled(path, true)
                .set_dictionary_page_size_limit(DICTIONARY_BYTES_SMALL),
        };
        let mut properties = builder.build();
        if let Some(data_type) = &stored.arrow {
            let key = Field::new("k", DataType::Int64, false);
            let is_optional = self.nulls != Nulls::Required;
            let schema = Schema::new(vec![key, Field::new("v", data_type.clone(), is_optional)]);
            add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        }
        properties.into()
    }
}
