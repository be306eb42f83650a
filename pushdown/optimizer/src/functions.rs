// SPDX-License-Identifier: Apache-2.0
//! What each drive can run, as rows of the table `nearscan.pushdown_functions`.

use nearscan_command::{Function, Op, PhysicalType, TestOp};
use nearscan_drive::Capabilities;

/// One row: a function over a type on a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushdownFunction {
    /// Operator or aggregate, as in SQL.
    pub function: &'static str,
    /// SQL type.
    pub data_type: &'static str,
    /// Whether it can run on the drive.
    pub offloadable: bool,
    /// Why not.
    pub reason: &'static str,
}

/// Types of numbers, with how they are stored.
const NUMBERS: &[(&str, PhysicalType)] = &[
    ("INT", PhysicalType::Int32),
    ("BIGINT", PhysicalType::Int64),
    ("DATE", PhysicalType::Int32),
    ("DECIMAL(<=18)", PhysicalType::Int64),
];

/// Operators on numbers.
const OPERATORS: &[(&str, Op)] = &[
    ("+", Op::Add),
    ("-", Op::Subtract),
    ("*", Op::Multiply),
    ("=", Op::Equal),
    ("<>", Op::NotEqual),
    ("<", Op::Less),
    ("<=", Op::LessOrEqual),
    (">", Op::Greater),
    (">=", Op::GreaterOrEqual),
    ("BETWEEN", Op::Between),
    ("IN", Op::In),
    ("IS NULL", Op::IsNull),
    ("IS NOT NULL", Op::IsNotNull),
];

/// Comparisons of strings with literals.
const STRING_OPERATORS: &[(&str, TestOp)] = &[
    ("=", TestOp::In),
    ("<>", TestOp::In),
    ("IN", TestOp::In),
    ("<", TestOp::Less),
    ("<=", TestOp::LessOrEqual),
    (">", TestOp::Greater),
    (">=", TestOp::GreaterOrEqual),
];

/// Aggregates on numbers.
const AGGREGATES: &[(&str, Function)] = &[
    ("count", Function::Count),
    ("sum", Function::Sum),
    ("avg", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
];

/// The rows of one drive.
pub fn pushdown_functions(capabilities: &Capabilities) -> Vec<PushdownFunction> {
    let row = |function, data_type, offloadable, reason| PushdownFunction {
        function,
        data_type,
        offloadable,
        reason: if offloadable { "" } else { reason },
    };
    let mut rows = Vec::new();
    for (name, stored) in NUMBERS {
        let reads = capabilities.physical_types.contains(stored);
        for (function, op) in OPERATORS {
            let arithmetic_on_date = op.is_arithmetic() && *name == "DATE";
            let runs = reads && capabilities.operations.contains(op) && !arithmetic_on_date;
            rows.push(row(*function, *name, runs, "expression"));
        }
        for (function, slot) in AGGREGATES {
            let sums_no_such = *slot == Function::Sum && *name == "DATE";
            let runs = reads && capabilities.functions.contains(slot) && !sums_no_such;
            rows.push(row(*function, *name, runs, "function"));
        }
    }
    let strings = capabilities.physical_types.contains(&PhysicalType::ByteArray);
    for (function, test) in STRING_OPERATORS {
        let runs = strings && capabilities.tests.contains(test);
        rows.push(row(*function, "VARCHAR", runs, "expression"));
    }
    let counts = strings && capabilities.functions.contains(&Function::Count);
    rows.push(row("count", "VARCHAR", counts, "function"));
    rows.push(row(
        "count(*)",
        "",
        capabilities.functions.contains(&Function::CountRows),
        "function",
    ));
    for function in ["min", "max"] {
        rows.push(row(function, "VARCHAR", false, "function"));
    }
    for function in ["LIKE", "/", "%", "CASE"] {
        rows.push(row(function, "", false, "expression"));
    }
    for function in ["sum", "avg"] {
        rows.push(row(function, "DOUBLE", false, "float_order"));
    }
    rows
}
