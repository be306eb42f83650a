// SPDX-License-Identifier: Apache-2.0
//! Puts what a fragment has in the order that commands ask for: string tests in the order of their
//! columns, and columns with tests in front, since only the first lanes of a kernel have tests.

use nearscan_command::{Fragment, Operand, Output, Step, limits};

use super::steps::index;

/// Orders columns and tests. Columns stay where they are if all that have tests are in front.
pub(super) fn order(fragment: &mut Fragment) {
    let is_tested =
        |column: usize| fragment.tests.iter().any(|test| usize::from(test.column) == column);
    let mut columns: Vec<usize> = (0..fragment.columns.len()).collect();
    if columns.iter().skip(limits::TEST_COLUMNS_MAX as usize).any(|column| is_tested(*column)) {
        columns.sort_by_key(|column| !is_tested(*column));
    }
    let column_at = places(&columns);
    for test in &mut fragment.tests {
        test.column = column_at(test.column);
    }
    let mut tests: Vec<usize> = (0..fragment.tests.len()).collect();
    tests.sort_by_key(|test| fragment.tests[*test].column);
    let test_at = places(&tests);
    let moved = |operand: &mut Operand| match operand {
        Operand::Column(column) => *column = column_at(*column),
        Operand::Test(test) => *test = test_at(*test),
        _ => {}
    };
    for step in fragment.predicate.steps.iter_mut().chain(&mut fragment.projection.steps) {
        let Step { a, b, c, .. } = step;
        [a, b, c].into_iter().for_each(moved);
    }
    match &mut fragment.output {
        Output::States { keys, aggregates } => {
            keys.iter_mut().for_each(|key| moved(&mut key.operand));
            for aggregate in aggregates {
                moved(&mut aggregate.operand);
                moved(&mut aggregate.filter);
            }
        }
        Output::Rows { columns, top, .. } => {
            columns.iter_mut().for_each(|column| moved(&mut column.operand));
            if let Some(top) = top {
                moved(&mut top.operand);
            }
        }
    }
    for filter in &mut fragment.key_filters {
        filter.column = column_at(filter.column);
    }
    fragment.columns = columns.iter().map(|column| fragment.columns[*column].clone()).collect();
    fragment.tests = tests.iter().map(|test| fragment.tests[*test].clone()).collect();
}

/// Where each number has gone, in that order.
fn places(order: &[usize]) -> impl Fn(u16) -> u16 + '_ {
    |number| order.iter().position(|old| *old == usize::from(number)).map_or(number, index)
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use nearscan_command::{Op, RowColumn, TestOp, Width};

    use super::*;
    use crate::lower::{FragmentBuilder, builder::Target};

    fn schema() -> Schema {
        let number = Field::new("n", DataType::Int64, true);
        let texts = ('a'..='f').map(|name| Field::new(name.to_string(), DataType::Utf8, true));
        Schema::new([number].into_iter().chain(texts).collect::<Vec<_>>())
    }

    /// Reads all columns, tests some of them, and shows the number and the last of those.
    fn tested(columns: &[u16]) -> Fragment {
        let schema = schema();
        let mut builder = FragmentBuilder::new(&schema, 7);
        for column in 0..7 {
            builder.column(column).unwrap();
        }
        for column in columns {
            let strings = vec![column.to_string().into_bytes()];
            let verdict = builder.test(Target::Predicate, *column, TestOp::In, strings).unwrap();
            builder.keep_where(verdict);
        }
        let last = columns.last().copied().unwrap();
        let shown = [0, last].map(|column| RowColumn {
            operand: Operand::Column(column),
            width: if column == 0 { Width::W64 } else { Width::Bytes },
        });
        builder.rows(shown.to_vec(), None).unwrap()
    }

    fn names(fragment: &Fragment) -> String {
        fragment.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// Which column and which literal each step of the predicate tests.
    fn conjuncts(fragment: &Fragment) -> Vec<(&str, &[u8])> {
        let tests = fragment.predicate.steps.iter().filter_map(|step| match (step.op, step.a) {
            (Op::Test, Operand::Test(test)) => Some(&fragment.tests[usize::from(test)]),
            _ => None,
        });
        let shown = tests.map(|test| {
            let column = &fragment.columns[usize::from(test.column)];
            (column.name.as_str(), test.strings[0].as_slice())
        });
        shown.collect()
    }

    fn shown(fragment: &Fragment) -> Vec<&str> {
        let Output::Rows { columns, .. } = &fragment.output else { return vec![] };
        let name = |column: &RowColumn| match column.operand {
            Operand::Column(column) => fragment.columns[usize::from(column)].name.as_str(),
            _ => "",
        };
        columns.iter().map(name).collect()
    }

    #[test]
    fn columns_stay_where_all_that_have_tests_are_in_front() {
        let fragment = tested(&[2, 1]);
        assert_eq!(names(&fragment), "nabcdef");
        assert_eq!(conjuncts(&fragment), [("b", &b"2"[..]), ("a", b"1")]);
        assert_eq!(fragment.tests.iter().map(|test| test.column).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn columns_with_tests_come_first_if_one_is_behind() {
        let fragment = tested(&[6, 2]);
        assert_eq!(names(&fragment), "bfnacde");
        assert_eq!(conjuncts(&fragment), [("f", &b"6"[..]), ("b", b"2")]);
        assert_eq!(shown(&fragment), ["n", "b"]);
        assert_eq!(fragment.check(), Ok(()));
    }

    #[test]
    fn tests_of_more_columns_than_a_kernel_tests_are_kept() {
        let schema = schema();
        let mut builder = FragmentBuilder::new(&schema, 7);
        let mut test = |column: u16| {
            let column = builder.column(usize::from(column)).unwrap();
            builder.test(Target::Predicate, column, TestOp::In, vec![b"x".to_vec()])
        };
        for column in 1..=3 {
            test(column).unwrap();
        }
        test(3).unwrap();
        let kept = test(4).unwrap_err();
        assert_eq!(kept.detail, "more than 3 columns with string tests");
    }
}
