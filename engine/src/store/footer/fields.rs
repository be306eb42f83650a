// SPDX-License-Identifier: Apache-2.0
//! Lists the fields of the structures of a Parquet footer, and their types.
//!
//! Source: `parquet.thrift` of the format, version 2.12.

use Kind::{
    Bool, Byte, Bytes, Children, Double, IndexBytes, IndexStart, Int, List, RowGroups, Schema,
    Struct,
};

/// The type of a field. Integers of all widths have one type, since they have the same encoding.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Bool,
    Byte,
    Int,
    Double,
    Bytes,
    /// A list; if the items are not structures, they have no fields.
    List(Fields),
    Struct(Fields),
    /// An integer: the start or the length of a page index.
    IndexStart(Index),
    IndexBytes(Index),
    /// An integer: the number of children of a schema element.
    Children,
    /// The list of the elements of a schema.
    Schema,
    /// The list of row groups.
    RowGroups,
}

/// The page indexes of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Index {
    /// The offset index.
    Offsets,
    /// The column index.
    Bounds,
}

/// The fields of a structure, from number 1 on; `None` is a number that the format does not use.
pub(super) type Fields = &'static [Option<Kind>];

impl Kind {
    /// Returns the name of the type in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Bool => "boolean",
            Byte => "byte",
            Int | IndexStart(_) | IndexBytes(_) | Children => "integer",
            Double => "double",
            Bytes => "string",
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
/// Fields of a schema element.
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
/// Fields of a row group.
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
/// Fields of a footer.
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
