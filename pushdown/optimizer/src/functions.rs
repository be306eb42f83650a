// SPDX-License-Identifier: Apache-2.0
//! Lists what each drive can run, as rows of the table `nearscan.pushdown_functions`.
//!
//! A test compares every row with lowering.

use nearscan_command::{Function, Op, PhysicalType, TestOp};
use nearscan_drive::Capabilities;

/// One row: a function over a type on a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushdownFunction {
    /// Operator or function, as in SQL.
    pub function: &'static str,
    /// SQL type.
    pub data_type: &'static str,
    /// Whether it can run on the drive.
    pub offloadable: bool,
    /// If it cannot, the word of the [`KeepReason`](crate::KeepReason).
    pub reason: &'static str,
}

/// The operations on numbers of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Computed with as they are.
    Whole,
    /// Computed with only when they are cast to wider ones.
    Narrow,
    /// The same, and no bounds of them are known.
    Vast,
    Decimal,
    /// Has years, months and days.
    Calendar,
    /// Only compared.
    Ordered,
    Float,
    Truth,
}

/// Types of numbers, with how they are stored.
const NUMBERS: &[(&str, PhysicalType, Family)] = &[
    ("TINYINT", PhysicalType::Int32, Family::Narrow),
    ("SMALLINT", PhysicalType::Int32, Family::Narrow),
    ("INT", PhysicalType::Int32, Family::Whole),
    ("BIGINT", PhysicalType::Int64, Family::Whole),
    ("TINYINT UNSIGNED", PhysicalType::Int32, Family::Narrow),
    ("SMALLINT UNSIGNED", PhysicalType::Int32, Family::Narrow),
    ("INT UNSIGNED", PhysicalType::Int32, Family::Narrow),
    ("BIGINT UNSIGNED", PhysicalType::Int64, Family::Vast),
    ("DECIMAL(<=18)", PhysicalType::Int64, Family::Decimal),
    ("DATE", PhysicalType::Int32, Family::Calendar),
    ("TIMESTAMP", PhysicalType::Int64, Family::Calendar),
    ("TIME", PhysicalType::Int64, Family::Ordered),
    ("BOOLEAN", PhysicalType::Boolean, Family::Truth),
    ("REAL", PhysicalType::Float, Family::Float),
    ("DOUBLE", PhysicalType::Double, Family::Float),
];

/// Arithmetic.
const ARITHMETIC: &[(&str, Op)] = &[
    ("+", Op::Add),
    ("-", Op::Subtract),
    ("*", Op::Multiply),
    ("/", Op::Divide),
    ("%", Op::Remainder),
];

/// Comparisons of numbers, and what is made of them.
const COMPARISONS: &[(&str, Op)] = &[
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
    ("IS DISTINCT FROM", Op::IsDistinct),
    ("CASE", Op::Select),
];

/// Parts of dates.
const PARTS: &[(&str, Op)] =
    &[("extract(year)", Op::Year), ("extract(month)", Op::Month), ("extract(day)", Op::Day)];

/// Conditions on byte strings.
const STRING_OPERATORS: &[(&str, TestOp)] = &[
    ("=", TestOp::In),
    ("<>", TestOp::In),
    ("IN", TestOp::In),
    ("<", TestOp::Less),
    ("<=", TestOp::LessOrEqual),
    (">", TestOp::Greater),
    (">=", TestOp::GreaterOrEqual),
    ("LIKE", TestOp::Like),
    ("starts_with", TestOp::Like),
    ("substr", TestOp::Like),
    ("left", TestOp::Like),
];

/// Aggregates.
const AGGREGATES: &[(&str, Function)] = &[
    ("count", Function::Count),
    ("sum", Function::Sum),
    ("avg", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
];

impl Family {
    /// Whether arithmetic with `op` has a counterpart.
    fn computes(self, op: Op) -> bool {
        match self {
            Self::Whole => true,
            Self::Decimal => !op.is_division(),
            // DataFusion computes with these in their own width, at which no step wraps.
            Self::Narrow | Self::Vast => false,
            Self::Calendar | Self::Ordered | Self::Float | Self::Truth => false,
        }
    }

    /// Whether a comparison has a counterpart.
    fn compares(self, op: Op) -> bool {
        !(self == Self::Float && op == Op::In)
    }

    /// Whether an aggregate has a counterpart, and if not, why.
    fn aggregates(self, name: &str) -> Result<(), &'static str> {
        match (self, name) {
            (Self::Float, "sum" | "avg") | (Self::Vast, "avg") => Err("float_order"),
            (Self::Calendar | Self::Ordered | Self::Truth, "sum" | "avg") => Err("function"),
            (Self::Truth, "min" | "max") => Err("function"),
            _ => Ok(()),
        }
    }
}

/// The rows of one drive.
pub fn pushdown_functions(capabilities: &Capabilities) -> Vec<PushdownFunction> {
    let row = |function, data_type, offloadable, reason| PushdownFunction {
        function,
        data_type,
        offloadable,
        reason: if offloadable { "" } else { reason },
    };
    let mut rows = Vec::new();
    for (name, stored, family) in NUMBERS {
        let reads = capabilities.physical_types.contains(stored);
        let runs = |op: &Op| reads && capabilities.operations.contains(op);
        for (function, op) in ARITHMETIC {
            rows.push(row(*function, *name, runs(op) && family.computes(*op), "expression"));
        }
        for (function, op) in COMPARISONS {
            rows.push(row(*function, *name, runs(op) && family.compares(*op), "expression"));
        }
        if *family == Family::Calendar {
            rows.extend(PARTS.iter().map(|(part, op)| row(*part, *name, runs(op), "expression")));
        }
        for (function, slot) in AGGREGATES {
            let (fits, reason) = match family.aggregates(function) {
                Ok(()) => (true, "function"),
                Err(reason) => (false, reason),
            };
            let runs = reads && fits && capabilities.functions.contains(slot);
            rows.push(row(*function, *name, runs, reason));
        }
        if *family == Family::Truth {
            for (function, slot) in [("bool_and", Function::Min), ("bool_or", Function::Max)] {
                let runs = reads && capabilities.functions.contains(&slot);
                rows.push(row(function, *name, runs, "function"));
            }
        }
    }
    let strings = capabilities.physical_types.contains(&PhysicalType::ByteArray);
    for (function, test) in STRING_OPERATORS {
        let runs = strings && capabilities.tests.contains(test);
        rows.push(row(*function, "VARCHAR", runs, "expression"));
    }
    for (function, slot) in
        [("count", Function::Count), ("min", Function::Min), ("max", Function::Max)]
    {
        let runs = strings && capabilities.functions.contains(&slot);
        rows.push(row(function, "VARCHAR", runs, "function"));
    }
    let counts = capabilities.functions.contains(&Function::CountRows);
    rows.push(row("count(*)", "", counts, "function"));
    for function in ["||", "upper", "ILIKE"] {
        rows.push(row(function, "VARCHAR", false, "expression"));
    }
    rows.push(row("count(DISTINCT)", "BIGINT", false, "function"));
    rows
}
