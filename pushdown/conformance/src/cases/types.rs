// SPDX-License-Identifier: Apache-2.0
//! Stored types and how they are read: truth values, floats, numbers without a sign or of fewer
//! bits than are stored, decimals of bytes.

use nearscan_command::{Aggregate, Fragment, Function, Op, Program, ReadAs, Step, Width};

use super::{aggregate, col, lit, rows, select_all, states};
use crate::{
    case::{Case, Expectation},
    data::{ColumnData, Table, Values},
    pages::ChunkLayout,
};

/// A name, and the values of 600 rows.
type Sample = (String, Values);

/// `value(n)` for each row, NULL in every ninth.
fn some<T>(value: impl Fn(i32) -> T) -> Vec<Option<T>> {
    (0..600).map(|n| (n % 9 != 4).then(|| value(n))).collect()
}

/// Every type, with values at both ends of its range.
fn samples() -> Vec<Sample> {
    let mut samples = vec![
        ("truth values".to_owned(), Values::Boolean(some(|n| n % 3 == 0))),
        (
            "64 bits without a sign".to_owned(),
            Values::Unsigned64(some(|n| {
                if n % 50 == 0 { u64::MAX } else { u64::from(n.unsigned_abs()) % 77 }
            })),
        ),
        ("floats".to_owned(), Values::Float(some(|n| odd_float(n).unwrap_or(n as f32 / 8.0)))),
        (
            "doubles".to_owned(),
            Values::Double(some(|n| odd_double(n).unwrap_or_else(|| f64::from(n) / -8.0))),
        ),
    ];
    for bits in [1, 8, 16, 31, 32] {
        for rule in [ReadAs::Signed, ReadAs::Unsigned] {
            let least = match (rule, bits) {
                (ReadAs::Unsigned, _) => 0,
                (_, bits) => i32::MIN >> (32 - bits),
            };
            let most = match (rule, bits) {
                (ReadAs::Unsigned, bits) => (u32::MAX >> (32 - bits)).cast_signed(),
                (_, bits) => i32::MAX >> (32 - bits),
            };
            let value = |n: i32| match n % 3 {
                0 => least,
                1 => most,
                _ => 0,
            };
            let values = Values::Narrow { rule, bits, values: some(value) };
            samples.push((format!("{bits} bits, {rule:?}"), values));
        }
    }
    for length in [1, 2, 3, 4, 7, 8, 9, 12, 15, 16] {
        // As far as both the bytes and a column reach.
        let shift = 64 - 8 * u32::from(length).min(8);
        let value = |n: i32| match n % 5 {
            0 => i128::from(i64::MIN >> shift),
            1 => i128::from(i64::MAX >> shift),
            _ => i128::from(n % 60 - 30),
        };
        let values = Values::Fixed { length, values: some(value) };
        samples.push((format!("decimals of {length} bytes"), values));
    }
    samples
}

/// Numbers that are no usual ones, here and there.
fn odd_float(n: i32) -> Option<f32> {
    let odd = [
        0x8000_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc0_0001,
        0x7f80_0001,
        0xff80_0001,
        0x0000_0001,
        0x8000_0001,
        0x007f_ffff,
        0x0040_0000,
        0x0080_0000,
        0x7f7f_ffff,
        0xff7f_ffff,
    ];
    (n % 3 == 0).then(|| f32::from_bits(odd[n.unsigned_abs() as usize / 3 % odd.len()]))
}

fn odd_double(n: i32) -> Option<f64> {
    let odd = [
        0x8000_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0xfff8_0000_0000_0001,
        0x7ff0_0000_0000_0001,
        0x0000_0000_0000_0001,
        0x8000_0000_0000_0001,
        0x7fef_ffff_ffff_ffff,
    ];
    (n % 3 == 0).then(|| f64::from_bits(odd[n.unsigned_abs() as usize / 3 % odd.len()]))
}

/// The column itself, the rows above the middle of it, and what can be aggregated.
fn three_ways(name: &str, values: &Values, layout: &ChunkLayout) -> Vec<Case> {
    let table = Table::new(vec![ColumnData { values: values.clone(), layout: layout.clone() }]);
    let all = select_all(&table);
    let above = Fragment {
        predicate: Program::new([Step::compare(Op::Greater, col(0), lit(0))]),
        literals: vec![3],
        output: rows(&[(col(0), Width::W128)]),
        ..all.clone()
    };
    let slots = vec![
        aggregate(Function::Sum, col(0)),
        aggregate(Function::Min, col(0)),
        aggregate(Function::Max, col(0)),
        aggregate(Function::Count, col(0)),
        Aggregate::count_rows(),
    ];
    let sums = Fragment { output: states(&[], slots), ..all.clone() };
    vec![
        Case::new(format!("{name}, all rows"), table.clone(), all),
        Case::new(format!("{name}, some rows"), table.clone(), above),
        Case::new(format!("{name}, sums"), table, sums),
    ]
}

pub(super) fn readings() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, values) in samples() {
        for (layout_name, layout) in [
            ("plain", ChunkLayout::plain()),
            ("dictionary", ChunkLayout::common()),
            ("pages", ChunkLayout::plain().paged(&[100, 1, 7])),
        ] {
            cases.extend(three_ways(&format!("{name}, {layout_name}"), &values, &layout));
        }
        let required = without_nulls(&values);
        for (layout_name, layout) in
            [("plain", ChunkLayout::plain()), ("dictionary", ChunkLayout::common())]
        {
            let name = format!("{name}, required, {layout_name}");
            cases.extend(three_ways(&name, &required, &layout.required()));
        }
    }
    cases
}

/// The same with the first value in place of NULLs.
fn without_nulls(values: &Values) -> Values {
    fn filled<T: Clone>(values: &[Option<T>]) -> Vec<Option<T>> {
        values.iter().map(|value| value.clone().or_else(|| values[0].clone())).collect()
    }
    match values {
        Values::Boolean(values) => Values::Boolean(filled(values)),
        Values::Int32(values) => Values::Int32(filled(values)),
        Values::Narrow { rule, bits, values } => {
            Values::Narrow { rule: *rule, bits: *bits, values: filled(values) }
        }
        Values::Int64(values) => Values::Int64(filled(values)),
        Values::Unsigned64(values) => Values::Unsigned64(filled(values)),
        Values::Float(values) => Values::Float(filled(values)),
        Values::Double(values) => Values::Double(filled(values)),
        Values::Bytes(values) => Values::Bytes(filled(values)),
        Values::Fixed { length, values } => {
            Values::Fixed { length: *length, values: filled(values) }
        }
    }
}

/// Numbers that their annotation or a column of 64 bits has no room for.
pub(super) fn bits() -> Vec<Case> {
    let mut cases = Vec::new();
    for (layout_name, layout) in
        [("plain", ChunkLayout::plain()), ("dictionary", ChunkLayout::common())]
    {
        let with = |values| {
            let table = Table::new(vec![ColumnData { values, layout: layout.clone() }]);
            let fragment = select_all(&table);
            (table, fragment)
        };
        for (rule, bits, odd) in [
            (ReadAs::Signed, 1, 1),
            (ReadAs::Signed, 8, 128),
            (ReadAs::Signed, 8, -129),
            (ReadAs::Signed, 16, 1 << 15),
            (ReadAs::Signed, 31, i32::MIN),
            (ReadAs::Unsigned, 8, 256),
            (ReadAs::Unsigned, 8, -1),
            (ReadAs::Unsigned, 16, i32::MIN),
            (ReadAs::Unsigned, 31, -1),
        ] {
            let values = (0..40).map(|n| Some(if n == 33 { odd } else { 0 })).collect();
            let (table, fragment) = with(Values::Narrow { rule, bits, values });
            let name = format!("{odd} in {bits} bits, {rule:?}, {layout_name}");
            cases.push(Case::new(name, table, fragment).expecting(Expectation::Refused));
        }
        let wide = (0..40).map(|n| Some(if n == 33 { 1 << 63 } else { n })).collect();
        let (table, fragment) = with(Values::Unsigned64(wide));
        cases.push(Case::new(format!("2^63 without a sign, {layout_name}"), table, fragment));
        for length in [9, 16] {
            for odd in [1i128 << 63, -(1 << 63) - 1, 1 << 64, -(1 << 70)] {
                let values = (0..40).map(|n| Some(if n == 33 { odd } else { n })).collect();
                let (table, fragment) = with(Values::Fixed { length, values });
                let name = format!("{odd} in {length} bytes, {layout_name}");
                cases.push(Case::new(name, table, fragment));
            }
        }
    }
    cases
}
