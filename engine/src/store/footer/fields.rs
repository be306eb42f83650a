// SPDX-License-Identifier: Apache-2.0
//! The fields that the structures of a Parquet footer may have, and their kinds.
//!
//! Source: `parquet.thrift` of the format, version 2.12.

use Kind::{
    Bool, Byte, Bytes, Children, Double, IndexBytes, IndexStart, Int, List, RowGroups, Schema,
    Struct,
};

/// What a field is. Integers of all widths are one kind, as they are written alike.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Bool,
    Byte,
    Int,
    Double,
    Bytes,
    /// Items that are no structures have no fields.
    List(Fields),
    Struct(Fields),
    /// An integer: where an index of a chunk starts, and how long it is.
    IndexStart(Index),
    IndexBytes(Index),
    /// An integer: how many elements of the schema stand below this one.
    Children,
    /// The list of the elements of a schema.
    Schema,
    /// The list of row groups.
    RowGroups,
}

/// The indexes of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Index {
    /// Where its pages are.
    Offsets,
    /// Bounds of their values.
    Bounds,
}

/// The fields that a structure may have, from number 1 on; `None` is one that was never given.
pub(super) type Fields = &'static [Option<Kind>];

impl Kind {
    /// What a message calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Bool => "truth value",
            Byte => "byte",
            Int | IndexStart(_) | IndexBytes(_) | Children => "integer",
            Double => "double",
            Bytes => "text",
            List(_) | Schema | RowGroups => "list",
            Struct(_) => "structure",
        }
    }
}

const EMPTY: Fields = &[];
const KEY_VALUE: Fields = &[Some(Bytes), Some(Bytes)];
const TIME_UNIT: Fields = &[Some(Struct(EMPTY)); 3];
const DECIMAL: Fields = &[Some(Int), Some(Int)];
const TIME: Fields = &[Some(Bool), Some(Struct(TIME_UNIT))];
const INTEGER: Fields = &[Some(Byte), Some(Bool)];
const LOGICAL_TYPE: Fields = &[
    Some(Struct(EMPTY)),
    Some(Struct(EMPTY)),
    Some(Struct(EMPTY)),
    Some(Struct(EMPTY)),
    Some(Struct(DECIMAL)),
    Some(Struct(EMPTY)),
    Some(Struct(TIME)),
    Some(Struct(TIME)),
    None,
    Some(Struct(INTEGER)),
    Some(Struct(EMPTY)),
    Some(Struct(EMPTY)),
    Some(Struct(EMPTY)),
    Some(Struct(EMPTY)),
    Some(Struct(EMPTY)),
    // Variant, geometry and geography.
    Some(Struct(&[Some(Byte)])),
    Some(Struct(&[Some(Bytes)])),
    Some(Struct(&[Some(Bytes), Some(Int)])),
];
/// Those of an element of the schema.
pub(super) const SCHEMA_ELEMENT: Fields = &[
    Some(Int),
    Some(Int),
    Some(Int),
    Some(Bytes),
    Some(Children),
    Some(Int),
    Some(Int),
    Some(Int),
    Some(Int),
    Some(Struct(LOGICAL_TYPE)),
];
const STATISTICS: Fields = &[
    Some(Bytes),
    Some(Bytes),
    Some(Int),
    Some(Int),
    Some(Bytes),
    Some(Bytes),
    Some(Bool),
    Some(Bool),
];
const SIZE_STATISTICS: Fields = &[Some(Int), Some(List(EMPTY)), Some(List(EMPTY))];
const GEOSPATIAL_STATISTICS: Fields = &[Some(Struct(&[Some(Double); 8])), Some(List(EMPTY))];
const PAGE_ENCODING: Fields = &[Some(Int); 3];
const COLUMN_META_DATA: Fields = &[
    Some(Int),
    Some(List(EMPTY)),
    Some(List(EMPTY)),
    Some(Int),
    Some(Int),
    Some(Int),
    Some(Int),
    Some(List(KEY_VALUE)),
    Some(Int),
    Some(Int),
    Some(Int),
    Some(Struct(STATISTICS)),
    Some(List(PAGE_ENCODING)),
    Some(Int),
    Some(Int),
    Some(Struct(SIZE_STATISTICS)),
    Some(Struct(GEOSPATIAL_STATISTICS)),
];
const COLUMN_KEY: Fields = &[Some(Struct(EMPTY)), Some(Struct(&[Some(List(EMPTY)), Some(Bytes)]))];
const COLUMN_CHUNK: Fields = &[
    Some(Bytes),
    Some(Int),
    Some(Struct(COLUMN_META_DATA)),
    Some(IndexStart(Index::Offsets)),
    Some(IndexBytes(Index::Offsets)),
    Some(IndexStart(Index::Bounds)),
    Some(IndexBytes(Index::Bounds)),
    Some(Struct(COLUMN_KEY)),
    Some(Bytes),
];
const SORTED_BY: Fields = &[Some(Int), Some(Bool), Some(Bool)];
/// Those of a row group.
pub(super) const ROW_GROUP: Fields = &[
    Some(List(COLUMN_CHUNK)),
    Some(Int),
    Some(Int),
    Some(List(SORTED_BY)),
    Some(Int),
    Some(Int),
    Some(Int),
];
const CIPHER: Fields = &[Some(Struct(&[Some(Bytes), Some(Bytes), Some(Bool)])); 2];
/// Those of a footer.
pub(super) const FILE: Fields = &[
    Some(Int),
    Some(Schema),
    Some(Int),
    Some(RowGroups),
    Some(List(KEY_VALUE)),
    Some(Bytes),
    Some(List(&[Some(Struct(EMPTY))])),
    Some(Struct(CIPHER)),
    Some(Bytes),
];
