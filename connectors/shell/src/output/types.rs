// SPDX-License-Identifier: Apache-2.0
//! Shortens the names of types for the heading of a table: they are in lower case, and a long list
//! of fields is left out.

use nearscan::{
    arrow::datatypes::{DataType, Field},
    type_name,
};

/// Longest text of the fields of a struct, map or union; longer ones are left out.
const FIELDS_WIDTH_MAX: usize = 24;

/// Returns the short name of a type.
pub(super) fn short_name(kind: &DataType) -> String {
    match kind {
        DataType::Null => "null".to_owned(),
        DataType::Timestamp(_, Some(_)) => "timestamptz".to_owned(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => format!("{}[]", short_name(field.data_type())),
        DataType::FixedSizeList(field, length) => {
            format!("{}[{length}]", short_name(field.data_type()))
        }
        DataType::Struct(fields) => with_fields("struct", fields.iter().map(AsRef::as_ref)),
        DataType::Union(fields, _) => {
            with_fields("union", fields.iter().map(|(_, field)| field.as_ref()))
        }
        DataType::Map(entries, _) => map(entries.data_type()),
        DataType::Dictionary(_, values) => short_name(values),
        DataType::RunEndEncoded(_, values) => short_name(values.data_type()),
        flat => type_name(flat).to_lowercase(),
    }
}

fn with_fields<'a>(name: &str, fields: impl Iterator<Item = &'a Field>) -> String {
    let fields: Vec<String> =
        fields.map(|field| format!("{} {}", field.name(), short_name(field.data_type()))).collect();
    shortened(name, &fields.join(", "))
}

fn map(entries: &DataType) -> String {
    let kinds: Vec<String> = match entries {
        DataType::Struct(fields) => {
            fields.iter().map(|field| short_name(field.data_type())).collect()
        }
        other => vec![short_name(other)],
    };
    shortened("map", &kinds.join(", "))
}

fn shortened(name: &str, inner: &str) -> String {
    let is_long = inner.chars().count() > FIELDS_WIDTH_MAX;
    format!("{name}({})", if is_long { "…" } else { inner })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use nearscan::arrow::datatypes::{Fields, IntervalUnit, TimeUnit};
    use rstest::rstest;

    fn list(kind: DataType) -> DataType {
        DataType::List(field("item", kind))
    }

    fn field(name: &str, kind: DataType) -> Arc<Field> {
        Arc::new(Field::new(name, kind, true))
    }

    fn structure(names: &[&str]) -> DataType {
        DataType::Struct(names.iter().map(|name| field(name, DataType::Int64)).collect())
    }

    fn map_of(value: DataType) -> DataType {
        let entries = Fields::from(vec![field("key", DataType::Utf8), field("value", value)]);
        DataType::Map(field("entries", DataType::Struct(entries)), false)
    }

    #[rstest]
    #[case(DataType::Int64, "bigint")]
    #[case(DataType::UInt32, "uinteger")]
    #[case(DataType::Utf8View, "varchar")]
    #[case(DataType::Float64, "double")]
    #[case(DataType::Decimal128(15, 2), "decimal(15,2)")]
    #[case(DataType::Date32, "date")]
    #[case(DataType::Timestamp(TimeUnit::Microsecond, None), "timestamp")]
    #[case(DataType::Timestamp(TimeUnit::Nanosecond, None), "timestamp_ns")]
    #[case(DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), "timestamptz")]
    #[case(DataType::Interval(IntervalUnit::MonthDayNano), "interval")]
    #[case(list(list(DataType::Int32)), "integer[][]")]
    #[case(DataType::FixedSizeList(field("item", DataType::Float32), 3), "float[3]")]
    #[case(structure(&["a", "b"]), "struct(a bigint, b bigint)")]
    #[case(structure(&["a", "b", "c"]), "struct(…)")]
    #[case(map_of(DataType::Boolean), "map(varchar, boolean)")]
    #[case(DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), "varchar")]
    fn types_have_the_names_of_sql(#[case] kind: DataType, #[case] expected: &str) {
        assert_eq!(short_name(&kind), expected);
    }
}
