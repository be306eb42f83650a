// SPDX-License-Identifier: Apache-2.0
//! Tests random tables in random batches.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, StringViewArray};
use nearscan_aggregate::Values;
use proptest::{collection::vec, option, prelude::*};

use nearscan_aggregate::Limits;

use crate::support::{Job, Table, expected, grouped, layout_of, states_over};

fn key_column(rows: usize) -> impl Strategy<Value = ArrayRef> {
    prop_oneof![
        vec(option::of(-3..3_i64), rows)
            .prop_map(|values| Arc::new(Int64Array::from(values)) as ArrayRef),
        vec(any::<i32>(), rows).prop_map(|values| Arc::new(Int32Array::from(values)) as ArrayRef),
        vec(option::of(any::<bool>()), rows)
            .prop_map(|values| Arc::new(BooleanArray::from(values)) as ArrayRef),
        vec(option::of("[ab]{0,14}"), rows)
            .prop_map(|values| Arc::new(StringViewArray::from_iter(values)) as ArrayRef),
    ]
}

prop_compose! {
    fn tables()(rows in 1..200_usize)(
        keys in vec(key_column(rows), 1..4),
        argument in vec(option::of(any::<i64>()), rows),
    ) -> Table {
        Table { keys, arguments: vec![Arc::new(Int64Array::from(argument))] }
    }
}

proptest! {
    #[test]
    fn groups_of_random_tables_are_those_of_a_map(
        table in tables(),
        outputs in 1..20_usize,
        collectors in 1..4_usize,
        batch_rows in 1..50_usize,
        spills_after in option::of(1..5_usize),
        (table_groups, untried_rows, block_rows, section_rows, merged_rows) in
            (1..100_usize, 1..100_usize, 1..100_usize, 1..50_usize, 1..100_usize),
    ) {
        let limits = Limits { table_groups, untried_rows, block_rows, section_rows, merged_rows };
        let states = states_over(&[Values::I64]);
        let job =
            Job { states, outputs, collectors, batch_rows, spills_after, limits, ..Job::default() };
        let answer = grouped(&table, layout_of(&table.keys), &job);
        prop_assert_eq!(answer, expected(&table, &job.states));
    }
}
