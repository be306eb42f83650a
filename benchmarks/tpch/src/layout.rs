// SPDX-License-Identifier: Apache-2.0
//! Defines the layouts of the tables as Parquet files.
//!
//! Both layouts hold the same rows in the same order and are read by any Parquet reader. Columns
//! are in another order in the second one, so `SELECT *` shows them in another order.

use std::{fmt, str::FromStr, sync::Arc};

use nearscan::{
    arrow::datatypes::{Schema, SchemaRef},
    parquet::{
        basic::{Compression, Encoding},
        file::properties::{WriterProperties, WriterPropertiesBuilder},
        schema::types::ColumnPath,
    },
};

use crate::{error::Error, tables::Table};

/// A layout of the eight files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// That of the usual generator: Snappy, dictionaries on, row groups of about 115,000 rows, of
    /// which `lineitem` at scale factor 1 has 53.
    #[default]
    Usual,
    /// One that a drive reads fast: row groups of about a million rows, the columns of common scans
    /// side by side, and numbers of many values as differences instead of dictionaries. A large
    /// dictionary is decompressed token by token before the first row can flow; differences flow at
    /// once, and take half as many bytes.
    Pushdown,
}

/// Columns that go first, the ones that common scans share in the middle.
const FIRST: [&str; 22] = [
    "l_shipdate",
    "l_quantity",
    "l_discount",
    "l_extendedprice",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_receiptdate",
    "l_commitdate",
    "l_shipmode",
    "o_orderdate",
    "o_orderkey",
    "o_custkey",
    "o_orderpriority",
    "c_custkey",
    "c_nationkey",
    "c_mktsegment",
    "p_partkey",
    "p_type",
];

/// Numbers of so many values that a dictionary is no help.
const MANY_VALUES: [&str; 16] = [
    "c_acctbal",
    "c_custkey",
    "l_extendedprice",
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "o_custkey",
    "o_orderkey",
    "o_totalprice",
    "p_partkey",
    "p_retailprice",
    "ps_partkey",
    "ps_suppkey",
    "ps_supplycost",
    "s_acctbal",
    "s_suppkey",
];

impl Layout {
    /// All layouts with their names.
    pub const ALL: [(Self, &'static str); 2] =
        [(Self::Usual, "usual"), (Self::Pushdown, "pushdown")];

    /// Returns the suffix of the names of folders with this layout.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Usual => "",
            Self::Pushdown => "-pushdown",
        }
    }

    /// Rows of a row group, at most and almost.
    pub(crate) fn rows_per_group(self) -> i64 {
        match self {
            // About 7 MB of `lineitem` before compression.
            Self::Usual => 115_000,
            Self::Pushdown => 1_048_576,
        }
    }

    /// The columns of a table in the order of its file, by their place in its schema.
    pub(crate) fn columns(self, table: Table) -> Vec<usize> {
        let schema = table.schema();
        let mut columns: Vec<usize> = (0..schema.fields().len()).collect();
        if self == Self::Pushdown {
            // Columns that are not in the list come after those that are, in their order.
            columns.sort_by_key(|index| {
                FIRST
                    .iter()
                    .position(|name| name == schema.field(*index).name())
                    .unwrap_or(FIRST.len())
            });
        }
        columns
    }

    /// The schema of a table's file.
    pub(crate) fn schema(self, table: Table) -> SchemaRef {
        let schema = table.schema();
        let fields =
            self.columns(table).into_iter().map(|index| Arc::clone(&schema.fields()[index]));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The encoding of the columns of a table.
    pub(crate) fn properties(self, table: Table) -> WriterProperties {
        let builder = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("nearscan ", env!("CARGO_PKG_VERSION")).to_owned());
        let differences = |builder: WriterPropertiesBuilder, name: &str| {
            let path = ColumnPath::from(name);
            builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
        };
        let schema = table.schema();
        let many = MANY_VALUES.iter().filter(|name| schema.column_with_name(name).is_some());
        match self {
            Self::Usual => builder.build(),
            Self::Pushdown => {
                many.fold(builder, |builder, name| differences(builder, name)).build()
            }
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::ALL.iter().find(|(layout, _)| layout == self);
        f.write_str(found.map_or("", |(_, name)| name))
    }
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found.map(|(layout, _)| *layout).ok_or_else(|| Error::Layout { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_scans_read_neighbours() {
        let schema = Layout::Pushdown.schema(Table::LineItem);
        let place = |name: &str| schema.index_of(name).unwrap();
        let spread = |names: &[&str]| {
            let places: Vec<usize> = names.iter().map(|name| place(name)).collect();
            places.iter().max().unwrap() - places.iter().min().unwrap() + 1
        };
        let q6 = ["l_shipdate", "l_quantity", "l_discount", "l_extendedprice"];
        assert_eq!(spread(&q6), 4);
        let q1 = [&q6[..], &["l_tax", "l_returnflag", "l_linestatus"]].concat();
        assert_eq!(spread(&q1), 7);
        assert_eq!(place("l_comment"), 15);
    }

    #[test]
    fn both_layouts_have_every_column_once() {
        for table in Table::ALL {
            let mut columns = Layout::Pushdown.columns(table);
            assert_eq!(Layout::Usual.schema(table), table.schema());
            columns.sort_unstable();
            assert_eq!(columns, Layout::Usual.columns(table), "{}", table.name());
        }
    }

    #[test]
    fn every_name_in_the_lists_is_a_column() {
        let is_column = |name: &&str| {
            Table::ALL.iter().any(|table| table.schema().column_with_name(name).is_some())
        };
        assert!(FIRST.iter().chain(&MANY_VALUES).all(is_column));
    }

    #[test]
    fn names_survive_a_round_trip() {
        for (layout, name) in Layout::ALL {
            assert_eq!(name.parse::<Layout>().unwrap(), layout);
            assert_eq!(layout.to_string(), name);
        }
        assert!("pushdowns".parse::<Layout>().is_err());
    }
}
