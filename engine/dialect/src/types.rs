// SPDX-License-Identifier: Apache-2.0
//! Names types of Arrow as DuckDB names what a column of them holds: encodings such as dictionaries
//! have no names of their own. A name need not be one that CAST understands.

use datafusion::arrow::datatypes::{DataType, TimeUnit};

/// Returns the name of a type, of nested types with the types in them.
#[must_use]
pub fn type_name(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INTEGER".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt8 => "UTINYINT".to_owned(),
        DataType::UInt16 => "USMALLINT".to_owned(),
        DataType::UInt32 => "UINTEGER".to_owned(),
        DataType::UInt64 => "UBIGINT".to_owned(),
        DataType::Float16 | DataType::Float32 => "FLOAT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("DECIMAL({precision},{scale})"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".to_owned(),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "BLOB".to_owned(),
        DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
        DataType::Time32(_) | DataType::Time64(_) => "TIME".to_owned(),
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE".to_owned(),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP_NS".to_owned(),
        DataType::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP_MS".to_owned(),
        DataType::Timestamp(TimeUnit::Second, None) => "TIMESTAMP_S".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP".to_owned(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL".to_owned(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => format!("{}[]", type_name(field.data_type())),
        DataType::FixedSizeList(field, length) => {
            format!("{}[{length}]", type_name(field.data_type()))
        }
        DataType::Struct(fields) => {
            let field = |name: &str, kind| format!("{name} {}", type_name(kind));
            let fields: Vec<String> =
                fields.iter().map(|it| field(it.name(), it.data_type())).collect();
            format!("STRUCT({})", fields.join(", "))
        }
        DataType::Dictionary(_, values) => type_name(values),
        DataType::RunEndEncoded(_, values) => type_name(values.data_type()),
        DataType::Null => "\"NULL\"".to_owned(),
        other => other.to_string(),
    }
}
