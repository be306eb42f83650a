// SPDX-License-Identifier: Apache-2.0
//! Finds numbers of more than 64 bits, which a drive need not have operands for.

use nearscan_command::{Fragment, Row, Value, Width};

use super::{is_kept, run};

/// Whether a literal, a value of a column, or the result of a step of an evaluated row has more
/// than 64 bits.
pub(super) fn has_wide_number(fragment: &Fragment, rows: &[Row]) -> bool {
    let is_wide = |number: i128| !Width::W64.fits(number);
    let is_wide_value = |value: &Value| matches!(value, Value::Number(number) if is_wide(*number));
    let has_wide_step = |row: &Row| {
        let predicate = run(&fragment.predicate, fragment, row);
        let is_needed = is_kept(fragment, row).unwrap_or(false);
        let projection =
            if is_needed { run(&fragment.projection, fragment, row) } else { Ok(vec![]) };
        // A row that overflows is allowed to do so anyway.
        let steps = [predicate, projection].into_iter().filter_map(Result::ok);
        steps.flatten().flatten().any(is_wide)
    };
    fragment.literals.iter().any(|literal| is_wide(*literal))
        || rows.iter().any(|row| row.iter().any(is_wide_value) || has_wide_step(row))
}
