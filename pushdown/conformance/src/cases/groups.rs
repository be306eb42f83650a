// SPDX-License-Identifier: Apache-2.0
//! Cases of group keys: kinds, numbers, NULLs, and too many groups.

use nearscan_command::{Aggregate, Encoding, Fragment, Function, Op, Program, Step, limits};

use super::{aggregate, col, column, lit, over, states};
use crate::{
    case::Case,
    data::{ColumnData, Table, Values},
    pages::{ChunkLayout, Runs, ValueLayout},
};

fn slots() -> Vec<Aggregate> {
    vec![
        Aggregate::count_rows(),
        aggregate(Function::Sum, col(0)),
        aggregate(Function::Min, col(0)),
        aggregate(Function::Max, col(0)),
        aggregate(Function::Count, col(0)),
    ]
}

/// `count` rows: a number, then a key of each kind with a few values and NULLs.
fn table(count: i64) -> Table {
    let every = |period: i64, n: i64| n % period != period - 1;
    let numbers = (0..count).map(|n| every(11, n).then_some(n * n % 1000 - 500)).collect();
    let flags = (0..count)
        .map(|n| {
            every(13, n)
                .then(|| vec![b"ABC"[usize::from(n % 3 == 1) + 2 * usize::from(n % 3 == 2)]])
        })
        .collect();
    let names = (0..count).map(|n| Some(format!("name {}", n % 5).into_bytes())).collect();
    let codes = (0..count).map(|n| every(7, n).then_some(n % 4 - 2)).collect();
    let small = (0..count).map(|n| i32::try_from(n % 2).ok()).collect();
    let required = ChunkLayout::common().required();
    Table::new(vec![
        column(Values::Int64(numbers)),
        column(Values::Bytes(flags)),
        ColumnData { values: Values::Bytes(names), layout: required.clone() },
        column(Values::Int64(codes)),
        ColumnData { values: Values::Int32(small), layout: required },
    ])
}

pub(super) fn keys() -> Vec<Case> {
    let table = table(3000);
    let mut cases = Vec::new();
    let key_sets: [&[u16]; 9] =
        [&[1], &[2], &[3], &[4], &[1, 2], &[3, 1], &[4, 2], &[1, 3, 4], &[4, 1, 3]];
    for keys in key_sets {
        let all = Fragment { output: states(keys, slots()), ..over(&table) };
        cases.push(Case::new(format!("groups by {keys:?}"), table.clone(), all.clone()));
        let some = Fragment {
            predicate: Program::new([Step::compare(Op::Less, col(0), lit(0))]),
            literals: vec![-400],
            ..all.clone()
        };
        cases.push(Case::new(format!("groups of some rows by {keys:?}"), table.clone(), some));
        let none = Fragment {
            predicate: Program::new([Step::compare(Op::Less, col(0), lit(0))]),
            literals: vec![-4000],
            ..all
        };
        cases.push(Case::new(format!("groups of no rows by {keys:?}"), table.clone(), none));
    }
    let only = Fragment { output: states(&[1, 3], vec![]), ..over(&table) };
    cases.push(Case::new("groups without slots", table.clone(), only));
    // One group leaves its width, the others do not.
    let table = Table::new(vec![
        column(Values::integers((0..20).map(|n| if n % 4 == 2 { i64::MAX } else { n }))),
        column(Values::integers((0..20).map(|n| n % 4))),
    ]);
    for width in [nearscan_command::Width::W64, nearscan_command::Width::W128] {
        let slot = Aggregate::new(Function::Sum, col(0), width);
        let fragment = Fragment { output: states(&[1], vec![slot]), ..over(&table) };
        cases.push(Case::new(format!("a group beyond {width:?}"), table.clone(), fragment));
    }
    cases
}

pub(super) fn cardinality() -> Vec<Case> {
    let mut cases = Vec::new();
    let most = i64::from(limits::GROUPS_MAX);
    let by_key = |name: String, values: Values, layout: ChunkLayout| {
        let count = i64::try_from(values.len()).unwrap_or(0);
        let table =
            Table::new(vec![column(Values::integers(0..count)), ColumnData { values, layout }]);
        let fragment = Fragment { output: states(&[1], slots()), ..over(&table) };
        Case::new(name, table, fragment)
    };
    // One place is for NULL.
    for entries in [1, 2, most - 2, most - 1, most, most + 44, 5000] {
        let values = Values::integers((0..5000).map(|n| n % entries * 1_000_003));
        let name = format!("a key with {entries} values");
        cases.push(by_key(name, values, ChunkLayout::common()));
        let texts = (0..5000).map(|n| Some(format!("key {}", n % entries).into_bytes()));
        let name = format!("a key with {entries} strings");
        cases.push(by_key(name, Values::Bytes(texts.collect()), ChunkLayout::common()));
    }
    let few = || Values::integers((0..5000).map(|n| n % 3));
    let plain = ChunkLayout { values: ValueLayout::Plain, ..ChunkLayout::common() };
    cases.push(by_key("a plain key".to_owned(), few(), plain));
    let dictionary = |unused_entries, pages_max| ChunkLayout {
        values: ValueLayout::Dictionary {
            label: Encoding::RleDictionary,
            index_runs: Runs::Mixed,
            unused_entries,
            width_min: 0,
            pages_max,
        },
        ..ChunkLayout::common().paged(&[1000])
    };
    cases.push(by_key("a key that falls back to plain".to_owned(), few(), dictionary(0, 3)));
    cases.push(by_key("a key with unused entries".to_owned(), few(), dictionary(200, usize::MAX)));
    let many = usize::try_from(most).unwrap_or(0);
    let unused = u16::try_from(many).unwrap_or(u16::MAX);
    cases.push(by_key(
        "a key with more unused entries than groups".to_owned(),
        few(),
        dictionary(unused, usize::MAX),
    ));
    let nulls = Values::Int64(vec![None; 2000]);
    cases.push(by_key("a key of NULLs".to_owned(), nulls, ChunkLayout::common()));
    // Sixteen places and the rest of them are exactly the most; one more entry is too many.
    for entries in [most / 16 - 1, most / 16] {
        let table = Table::new(vec![
            column(Values::integers(0..3000)),
            column(Values::integers((0..3000).map(|n| n % 15))),
            column(Values::integers((0..3000).map(|n| n / 7 % entries))),
        ]);
        let fragment = Fragment { output: states(&[1, 2], slots()), ..over(&table) };
        cases.push(Case::new(format!("15 by {entries} groups"), table, fragment));
    }
    cases
}
