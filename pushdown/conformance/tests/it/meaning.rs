// SPDX-License-Identifier: Apache-2.0
//! Tests the evaluator against results computed by hand.

use nearscan_command::{
    Aggregate, Column, Fragment, Function, Key, KeyBits, KeyFilter, Merge, Op, Operand, Output,
    Program, Row, RowColumn, SortKey, Status, Step, StringTest, TestOp, Top, Value, ValueKind,
    Width,
};
use nearscan_conformance::evaluator::{Verdict, evaluate, evaluate_merge};

const A: Operand = Operand::Column(0);
const S: Operand = Operand::Column(1);

fn n(number: i128) -> Value {
    Value::Number(number)
}

fn s(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

fn fragment(predicate: Vec<Step>, projection: Vec<Step>, output: Output) -> Fragment {
    let fragment = Fragment {
        columns: vec![Column::new("a", ValueKind::Integer), Column::new("s", ValueKind::Bytes)],
        predicate: Program::new(predicate),
        projection: Program::new(projection),
        literals: vec![10, 20, i128::from(i64::MAX)],
        tests: vec![StringTest {
            column: 1,
            op: TestOp::GreaterOrEqual,
            strings: vec![b"m".to_vec()],
        }],
        key_filters: vec![],
        output,
    };
    fragment.check().unwrap();
    fragment
}

fn table() -> Vec<Row> {
    vec![
        vec![n(5), s("x")],
        vec![n(10), s("a")],
        vec![Value::Null, s("m")],
        vec![n(15), Value::Null],
        vec![n(25), s("z")],
    ]
}

fn both() -> Output {
    let column = |operand, width| RowColumn { operand, width };
    Output::Rows {
        columns: vec![column(A, Width::W64), column(S, Width::Bytes)],
        limit: None,
        top: None,
    }
}

#[test]
fn predicate_keeps_a_row_only_if_true() {
    let between = Step::between(A, Operand::Literal(0), Operand::Literal(1));
    let kept = evaluate(&fragment(vec![between], vec![], both()), &table());
    assert_eq!(kept.rows, Some(vec![vec![n(10), s("a")], vec![n(15), Value::Null]]));
    assert_eq!(kept.rows_kept, 2);
    let not = Step::unary(Op::Not, Operand::Step(0));
    let others = evaluate(&fragment(vec![between, not], vec![], both()), &table());
    assert_eq!(others.rows, Some(vec![vec![n(5), s("x")], vec![n(25), s("z")]]));
}

#[test]
fn key_filter_drops_numbers_without_a_bit() {
    // The bits of -1 and 42 in two blocks, computed apart from this crate.
    let words = [
        0x0800_0000_0080_0000,
        0x0004_0000_0800_0000,
        0x0000_0004_0000_0080,
        0x1000_0000_0000_0010,
        0x0020_0000_0040_0000,
        0x1000_0000_0000_2000,
        0x0000_0020_2000_0000,
        0x0000_0010_0020_0000,
    ];
    let bloom = |least, greatest| KeyBits::Bloom { least, greatest, words: words.into() };
    // 10 and 11, of 10 to 14.
    let bitmap = KeyBits::Bitmap { first: 10, last: 14, words: [0b11, 0, 0, 0].into() };
    let kept = |keys: &[KeyBits], numbers: &[i128]| {
        let filter = |keys: &KeyBits| KeyFilter { column: 0, keys: keys.clone() };
        let columns = vec![RowColumn { operand: A, width: Width::W128 }];
        let output = Output::Rows { columns, limit: None, top: None };
        let all = fragment(vec![], vec![], output);
        let fragment = Fragment { key_filters: keys.iter().map(filter).collect(), ..all };
        fragment.check().unwrap();
        let mut rows: Vec<Row> = numbers.iter().map(|number| vec![n(*number), s("")]).collect();
        rows.push(vec![Value::Null, s("")]);
        let verdict = evaluate(&fragment, &rows);
        let rows = verdict.rows.unwrap();
        assert_eq!(verdict.rows_kept, rows.len() as u64);
        let mut values = rows.into_iter().map(|mut row| row.swap_remove(0)).collect::<Vec<_>>();
        assert_eq!(values.pop(), Some(Value::Null), "NULL passes");
        values
    };
    let numbers = [-2, -1, 0, 41, 42, 43, i128::from(i64::MAX) + 1];
    assert_eq!(kept(&[bloom(-1, 42)], &numbers), [n(-1), n(42), n(1 << 63)]);
    assert_eq!(kept(&[bloom(0, 100)], &numbers), [n(42), n(1 << 63)]);
    assert_eq!(kept(&[bloom(1, 0)], &numbers), [n(1 << 63)]);
    let numbers = [9, 10, 11, 12, 14, 15, 1 << 64];
    assert_eq!(
        kept(std::slice::from_ref(&bitmap), &numbers),
        [n(9), n(10), n(11), n(15), n(1 << 64)]
    );
    assert_eq!(kept(&[bitmap, bloom(-1, 42)], &numbers), [n(1 << 64)]);
}

#[test]
fn test_of_null_is_null() {
    let test = Step::test(0);
    let kept = evaluate(&fragment(vec![test], vec![], both()), &table());
    assert_eq!(kept.rows_kept, 3);
    let null = Step::unary(Op::IsNull, Operand::Step(0));
    let unknown = evaluate(&fragment(vec![test, null], vec![], both()), &table());
    assert_eq!(unknown.rows, Some(vec![vec![n(15), Value::Null]]));
}

#[test]
fn limit_cuts_rows_and_tolerates_overflow_after_it() {
    let add = Step::arithmetic(Op::Add, Width::W64, A, Operand::Literal(2));
    let limited = |limit| {
        let column = RowColumn { operand: A, width: Width::W64 };
        Output::Rows { columns: vec![column], limit: Some(limit), top: None }
    };
    let rows = vec![vec![n(-1), s("")], vec![n(0), s("")], vec![n(1), s("")]];
    let two = evaluate(&fragment(vec![], vec![add], limited(2)), &rows);
    assert_eq!(two.rows, Some(vec![vec![n(-1)], vec![n(0)]]));
    assert!(two.overflow_allowed);
    let three = evaluate(&fragment(vec![], vec![add], limited(3)), &rows);
    assert_eq!(three.rows, None);
}

#[test]
fn states_match_the_documentation() {
    let slot = |function| Aggregate::new(function, A, Width::W64);
    let less = Step::compare(Op::Less, A, Operand::Literal(1));
    let slots = vec![
        Aggregate::count_rows(),
        slot(Function::Count),
        slot(Function::Sum),
        slot(Function::Min),
        slot(Function::Max),
        Aggregate { filter: Operand::Step(0), ..slot(Function::Sum) },
        Aggregate::new(Function::Count, S, Width::W32),
    ];
    let output = Output::States { keys: vec![], aggregates: slots.clone() };
    let all = evaluate(&fragment(vec![], vec![less], output.clone()), &table());
    let expected: Row = [5, 4, 55, 5, 25, 30, 4].map(n).to_vec();
    assert_eq!(all.rows, Some(vec![expected]));
    let none = evaluate(&fragment(vec![], vec![less], output), &[]);
    let mut empty = vec![Value::Null; 7];
    empty[0] = n(0);
    empty[1] = n(0);
    empty[6] = n(0);
    assert_eq!(
        none,
        Verdict {
            rows: Some(vec![empty]),
            overflow_allowed: false,
            outside_allowed: false,
            rows_kept: 0,
        }
    );
}

#[test]
fn null_is_a_group_and_groups_need_rows() {
    let output =
        Output::States { keys: vec![Key::column(1)], aggregates: vec![Aggregate::count_rows()] };
    let rows = vec![
        vec![n(1), s("b")],
        vec![n(2), Value::Null],
        vec![n(3), s("b")],
        vec![n(4), Value::Null],
        vec![n(5), s("a")],
    ];
    let groups = evaluate(&fragment(vec![], vec![], output.clone()), &rows);
    let expected = vec![vec![Value::Null, n(2)], vec![s("a"), n(1)], vec![s("b"), n(2)]];
    assert_eq!(groups.rows, Some(expected));
    assert_eq!(evaluate(&fragment(vec![], vec![], output), &[]).rows, Some(vec![]));
}

#[test]
fn sum_is_exact_and_its_absolutes_may_be_too_large() {
    let slot = Aggregate::new(Function::Sum, Operand::Literal(0), Width::W128);
    let mut sums = fragment(
        vec![],
        vec![Step::arithmetic(Op::Multiply, Width::W128, A, Operand::Literal(0))],
        Output::States {
            keys: vec![],
            aggregates: vec![Aggregate { operand: Operand::Step(0), ..slot }],
        },
    );
    sums.literals[0] = i128::MAX;
    let rows = |numbers: &[i128]| -> Vec<Row> {
        numbers.iter().map(|number| vec![n(*number), s("")]).collect()
    };
    let back = evaluate(&sums, &rows(&[1, 1, -1, -1, 1]));
    assert_eq!(back.rows, Some(vec![vec![n(i128::MAX)]]));
    assert!(back.overflow_allowed);
    let beyond = evaluate(&sums, &rows(&[1, 1]));
    assert_eq!(beyond.rows, None);
    sums.literals[0] = i128::from(i64::MAX);
    let within = evaluate(&sums, &rows(&[1, 1, -1]));
    assert!(!within.overflow_allowed);
}

#[test]
fn operand_or_result_beyond_64_bits_may_overflow_but_has_its_rows() {
    let product = Step::arithmetic(Op::Multiply, Width::W128, A, Operand::Literal(0));
    let column = RowColumn { operand: Operand::Step(0), width: Width::W128 };
    let output = Output::Rows { columns: vec![column], limit: None, top: None };
    let mut scaled = fragment(vec![], vec![product], output);
    let mut times = |literal: i128, number: Value| {
        scaled.literals[0] = literal;
        evaluate(&scaled, &[vec![number, s("")]])
    };
    let narrow = times(1 << 32, n(1 << 30));
    assert!(!narrow.overflow_allowed);
    let wide_result = times(1 << 32, n(1 << 31));
    assert_eq!(wide_result.rows, Some(vec![vec![n(1 << 63)]]));
    assert!(wide_result.overflow_allowed);
    let wide_column = times(1, n(1 << 63));
    assert_eq!(wide_column.rows, Some(vec![vec![n(1 << 63)]]));
    assert!(wide_column.overflow_allowed);
    let wide_literal = times(1 << 63, Value::Null);
    assert_eq!(wide_literal.rows, Some(vec![vec![Value::Null]]));
    assert!(wide_literal.overflow_allowed);
}

/// Keys by range, of which none is a dictionary.
fn ranged(operand: Operand, first: i64, count: u32, projection: Vec<Step>) -> Fragment {
    let keys = vec![Key::range(operand, first, count)];
    let output = Output::States { keys, aggregates: vec![Aggregate::count_rows()] };
    fragment(vec![], projection, output)
}

#[test]
fn key_by_range_allows_null_and_no_value_outside() {
    let inside = evaluate(&ranged(A, 5, 21, vec![]), &table());
    let counts = [Value::Null, n(5), n(10), n(15), n(25)].map(|key| vec![key, n(1)]);
    assert_eq!(inside.rows, Some(counts.to_vec()));
    assert!(!inside.outside_allowed);
    for (first, count) in [(6, 20), (5, 20)] {
        let outside = evaluate(&ranged(A, first, count, vec![]), &table());
        assert_eq!(outside.rows, None);
        assert!(outside.outside_allowed && !outside.overflow_allowed);
    }
    // Another row overflows: either may be told.
    let scaled = Step::arithmetic(Op::Multiply, Width::W32, A, Operand::Literal(0));
    let mut either = ranged(A, 6, 20, vec![scaled]);
    either.literals[0] = 1 << 28;
    let either = evaluate(&either, &table());
    assert!(either.rows.is_none() && either.outside_allowed && either.overflow_allowed);
}

#[test]
fn top_keeps_ties_and_every_candidate_row() {
    let kept = |numbers: &[Option<i128>], descending, nulls_first, count| {
        let columns = vec![RowColumn { operand: A, width: Width::W64 }];
        let top = Some(Top { operand: A, descending, nulls_first, count });
        let output = Output::Rows { columns, limit: None, top };
        let rows = numbers.iter().map(|number| vec![number.map_or(Value::Null, n), s("")]);
        let verdict = evaluate(&fragment(vec![], vec![], output), &rows.collect::<Vec<_>>());
        let number = |row: &Row| match row[0] {
            Value::Number(number) => Some(number),
            _ => None,
        };
        verdict.rows.unwrap().iter().map(number).collect::<Vec<_>>()
    };
    let numbers = [Some(5), Some(3), Some(5), None, Some(3), Some(4), Some(1), None, Some(3)];
    let some = |numbers: &[i128]| numbers.iter().copied().map(Some).collect::<Vec<_>>();
    assert_eq!(kept(&numbers, false, false, 2), [some(&[5, 3, 5, 3, 1, 3])].concat());
    assert_eq!(kept(&numbers, false, false, 1), some(&[5, 3, 3, 1]));
    assert_eq!(kept(&numbers, true, false, 1), some(&[5, 5]));
    let nulls = kept(&numbers, true, true, 1);
    assert_eq!(nulls, [Some(5), Some(5), None, None]);
    assert_eq!(kept(&numbers, false, false, 9), numbers);
}

#[test]
fn case_treats_null_as_false_and_checks_both_branches() {
    let less = Step::compare(Op::Less, A, Operand::Literal(1));
    let select = |width, b, c| {
        let steps = vec![less, Step::select(width, Operand::Step(0), b, c)];
        let columns = vec![RowColumn { operand: Operand::Step(1), width: Width::W128 }];
        let output = Output::Rows { columns, limit: None, top: None };
        evaluate(&fragment(vec![], steps, output), &table()).rows
    };
    let column = |numbers: [Value; 5]| Some(numbers.map(|number| vec![number]).to_vec());
    let taken = select(Width::W64, A, Operand::Literal(0));
    assert_eq!(taken, column([n(5), n(10), n(10), n(15), n(10)]));
    assert_eq!(
        select(Width::W32, Operand::Null, A),
        column([Value::Null, Value::Null, Value::Null, Value::Null, n(25)])
    );
    assert_eq!(select(Width::W32, A, Operand::Literal(2)), None);
}

/// The verdict of the evaluator on a scan with these rows.
fn given(rows: Vec<Row>) -> Verdict {
    let rows_kept = rows.len() as u64;
    Verdict { rows: Some(rows), overflow_allowed: false, outside_allowed: false, rows_kept }
}

fn merge(keys: &[SortKey], distinct: bool) -> Merge {
    Merge { keys: keys.to_vec(), distinct }
}

const UP: SortKey = SortKey { column: 0, descending: false, nulls_first: false };

#[test]
fn rows_with_equal_keys_are_in_the_order_of_their_inputs() {
    let inputs = [
        given(vec![vec![n(1), s("a")], vec![n(2), s("b")], vec![Value::Null, s("c")]]),
        given(vec![vec![n(1), s("d")], vec![n(1), s("e")], vec![n(3), s("f")]]),
    ];
    let merged = evaluate_merge(&merge(&[UP], false), &inputs);
    let texts = ["a", "d", "e", "b", "f", "c"].map(s);
    let rows = merged.rows.unwrap();
    assert!(rows.iter().map(|row| &row[1]).eq(&texts), "{rows:?}");
    assert_eq!((merged.rows_kept, merged.statuses), (6, vec![]));
}

#[test]
fn merge_reverses_removes_duplicates_and_refuses() {
    let down = SortKey { column: 0, descending: true, nulls_first: true };
    let one = given(vec![vec![Value::Null], vec![n(2)], vec![n(1)]]);
    let other = given(vec![vec![Value::Null], vec![n(1)], vec![n(1)]]);
    let merged = evaluate_merge(&merge(&[down], true), &[one.clone(), other]);
    assert_eq!(merged.rows.unwrap(), [vec![Value::Null], vec![n(2)], vec![n(1)]]);
    assert_eq!(merged.rows_kept, 6);
    let unsorted = evaluate_merge(&merge(&[UP], false), std::slice::from_ref(&one));
    assert_eq!((unsorted.rows, unsorted.statuses), (None, vec![Status::NotSorted]));
    let overflow = Verdict { rows: None, overflow_allowed: true, ..given(vec![]) };
    let failed = evaluate_merge(&merge(&[down], false), &[one, overflow]);
    assert_eq!((failed.rows, failed.statuses), (None, vec![Status::Overflow]));
}
