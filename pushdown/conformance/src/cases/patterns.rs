// SPDX-License-Identifier: Apache-2.0
//! LIKE: patterns of every shape against strings that nearly match.

use nearscan_command::{
    Fragment, Op, Program, Step, TestOp, limits,
    pattern::{ANY, ONE},
};

use super::{over, select_all, step, strings::layouts, test};
use crate::{
    case::Case,
    data::{ColumnData, Table, Values},
};

/// A pattern as SQL has it.
fn like(text: &str) -> Vec<u8> {
    let byte = |byte| match byte {
        b'%' => ANY,
        b'_' => ONE,
        other => other,
    };
    text.bytes().map(byte).collect()
}

fn patterns() -> Vec<Vec<u8>> {
    let most = limits::PATTERN_PLACES_MAX as usize;
    let texts = [
        "",
        "%",
        "%%",
        "_",
        "__",
        "_%",
        "%_",
        "_%_",
        "a",
        "a%",
        "%a",
        "%a%",
        "ab",
        "a_",
        "_b",
        "a%b",
        "%ab",
        "ab%",
        "%ab%",
        "a%b%c",
        "%a%b%",
        "a_c%",
        "%_a",
        "%aab",
        "%aba%",
        "a%a",
        "gr__e",
        "gr_%e",
        "gr___e",
        "%öß%",
        "%ö_",
        "_röße",
        "__________",
        "%s_ecial%req%sts%",
        "%special%requests%",
        "Brand#1%",
        "%BRASS",
        "a%%b",
        "%a_",
        "abab%abab",
    ];
    let mut patterns: Vec<Vec<u8>> = texts.map(like).into();
    patterns.extend([
        // As many places as there may be, of bytes and of characters.
        vec![b'm'; most],
        [vec![ANY], vec![b'm'; most], vec![ANY]].concat(),
        vec![ONE; most],
        [vec![ANY], vec![ONE; most]].concat(),
        [vec![ANY], vec![b'm'; most - 1], vec![b'n']].concat(),
        (0..most).flat_map(|_| [ANY, b'm']).chain([ANY]).collect(),
        // Bytes that are no text: a character is all the continuation bytes behind a byte.
        vec![ONE, 0xbf],
        vec![ANY, 0xbf],
        vec![0xc3, 0xb6],
        vec![b'g', b'r', 0xc3, ONE],
        vec![b'g', b'r', 0xc3, ANY, b'e'],
        vec![0x80, ONE],
        vec![ANY, 0x80, ANY],
        vec![0],
        vec![ANY, 0],
    ]);
    patterns
}

fn values() -> Vec<Option<Vec<u8>>> {
    let texts = [
        "",
        "a",
        "b",
        "ab",
        "ba",
        "aab",
        "abb",
        "abc",
        "aXbYc",
        "abab",
        "ababab",
        "abaab",
        "aaaaaaaab",
        "grße",
        "größe",
        "groesse",
        "größer",
        "öß",
        "ö",
        "日本語",
        "special requests",
        "the specials requested",
        "requests special",
        "Brand#12",
        "brand#12",
        "SMALL BRASS",
        "abababab",
        "abababababab",
        "m",
        "a\nb",
        "a%b",
        "a_b",
    ];
    let mut values: Vec<Vec<u8>> = texts.map(|text| text.as_bytes().to_vec()).into();
    for length in [62, 63, 64, 65, 127, 128, 129, 200, 1000] {
        values.push(vec![b'm'; length]);
        values.push([vec![b'm'; length], vec![b'n']].concat());
        values.push([vec![b'x'; length], b"special packages requests".to_vec()].concat());
        values.push("ö".repeat(length).into_bytes());
    }
    values.extend([
        vec![0xbf],
        vec![0xbf, 0xbf],
        vec![b'a', 0xbf],
        vec![0x80, 0x80, 0x80],
        vec![0xff],
        vec![0xfe, b'a'],
        vec![0],
        vec![b'a', 0],
        vec![b'g', b'r', 0xc3, b'e'],
        vec![0xc3, 0xb6, 0x80, b'a'],
    ]);
    values.into_iter().map(Some).chain([None]).collect()
}

pub(super) fn patterns_of_every_shape() -> Vec<Case> {
    let patterns = patterns();
    let mut cases = Vec::new();
    for (layout_name, layout) in layouts() {
        let layout = layout.clone();
        let table = Table::new(vec![ColumnData { values: Values::Bytes(values()), layout }]);
        for (number, part) in patterns.chunks(limits::PATTERNS_PER_COLUMN_MAX as usize).enumerate()
        {
            let tests = part.iter().map(|pattern| test(0, TestOp::Like, &[pattern])).collect();
            let steps: Vec<Step> = (0..).zip(part).map(|(index, _)| Step::test(index)).collect();
            let fragment = Fragment { tests, ..super::project(over(&table), steps) };
            let name = format!("LIKE, {layout_name}, part {number}");
            cases.push(Case::new(name, table.clone(), fragment));
        }
        let mixed = Fragment {
            tests: vec![
                test(0, TestOp::Greater, &[b"a"]),
                test(0, TestOp::Like, &[&like("%b%")]),
                test(0, TestOp::In, &[b"abc", b"ab"]),
                test(0, TestOp::Like, &[&like("m%n")]),
            ],
            predicate: Program::new([
                Step::test(1),
                Step::test(3),
                Step::compare(Op::Or, step(0), step(1)),
                Step::test(2),
                Step::unary(Op::Not, step(3)),
                Step::compare(Op::And, step(2), step(4)),
                Step::test(0),
                Step::compare(Op::And, step(5), step(6)),
            ]),
            ..select_all(&table)
        };
        cases.push(Case::new(format!("LIKE beside others, {layout_name}"), table, mixed));
    }
    cases
}
