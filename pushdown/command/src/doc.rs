// SPDX-License-Identifier: Apache-2.0
//! Generates the tables of `docs/command-format.md` from [`layout`], [`limits`](crate::limits) and
//! the enums.
//!
//! The page is written by hand, except for the text between two markers:
//!
//! ```text
//! <!-- begin record StepRecord -->
//! ...a table...
//! <!-- end record StepRecord -->
//! ```
//!
//! [`generate`] replaces that and leaves the rest alone. The page is committed; a test regenerates
//! and compares it.

use std::fmt::Write;

use crate::{
    Command, Envelope, Status,
    cpp_header::LIMITS,
    fragment::{Aggregate, Column, Fragment, Function, Output, TestOp},
    input::{InputRef, Version},
    key_filter::KeySetKind,
    layout::{self, HEADER_BYTES, Layout, Record, SECTION_BYTES, SectionEntry, section},
    program::{Op, Operand, Program, Step},
    types::{
        BlockForm, Codec, Encoding, Encodings, Packing, PhysicalType, ReadAs, Reading, ValueKind,
        Width,
    },
    unit::{Chunk, Unit},
};

/// The text of a block without a generator; a test refuses it.
pub const UNKNOWN_BLOCK: &str = "(nothing generates a block of this name)";

const BEGIN: &str = "<!-- begin ";
const END: &str = "<!-- end ";
const CLOSE: &str = " -->";

/// Returns the page with every block between markers regenerated.
///
/// A block whose name is not known becomes [`UNKNOWN_BLOCK`]; one without an end runs to the end of
/// the page.
pub fn generate(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut inside: Option<&str> = None;
    for text in page.lines() {
        let marked = |prefix| text.strip_prefix(prefix)?.strip_suffix(CLOSE);
        match inside {
            None => {
                line(&mut out, text);
                if let Some(name) = marked(BEGIN) {
                    let table = block(name);
                    line(&mut out, table.as_deref().unwrap_or(UNKNOWN_BLOCK).trim_end());
                    inside = Some(name);
                }
            }
            Some(name) if marked(END) == Some(name) => {
                line(&mut out, text);
                inside = None;
            }
            Some(_) => {}
        }
    }
    out
}

/// The names of all blocks that can be generated.
pub fn block_names() -> Vec<String> {
    let records = layout::RECORDS.iter().map(|record| record.name);
    let enums = ENUMS.iter().map(|(name, _)| *name);
    records
        .map(|name| format!("record {name}"))
        .chain(enums.map(|name| format!("enum {name}")))
        .chain(["sections", "limits", "example"].map(str::to_owned))
        .collect()
}

fn block(name: &str) -> Option<String> {
    if let Some(name) = name.strip_prefix("record ") {
        let record = layout::RECORDS.iter().find(|record| record.name == name)?;
        return Some(record_table(record));
    }
    if let Some(name) = name.strip_prefix("enum ") {
        let (_, table) = ENUMS.iter().find(|(other, _)| *other == name)?;
        return Some(table());
    }
    match name {
        "sections" => Some(section_table()),
        "limits" => Some(limit_table()),
        "example" => example_table(),
        _ => None,
    }
}

fn record_table(record: &Layout) -> String {
    let mut out = format!("{} bytes.\n\n", record.bytes);
    line(&mut out, "| offset | bytes | field | meaning |");
    line(&mut out, "|---:|---:|---|---|");
    for field in record.fields {
        line(
            &mut out,
            &format!(
                "| {} | {} | `{}` | {} |",
                field.offset,
                field.bytes,
                field.name,
                field.doc.trim()
            ),
        );
    }
    out
}

fn section_table() -> String {
    let mut out = String::new();
    line(&mut out, "| kind | section | holds |");
    line(&mut out, "|---:|---|---|");
    for (kind, name) in section::ALL {
        line(&mut out, &format!("| {kind} | `{name}` | {} |", section_holds(*kind)));
    }
    out
}

fn section_holds(kind: u16) -> &'static str {
    match kind {
        section::INPUTS => "`InputRecord`s: where bytes come from",
        section::EXTENTS => "`ExtentRecord`s of NVMe inputs",
        section::COLUMNS => "`ColumnRecord`s, one a lane",
        section::PREDICATE => "`StepRecord`s; the last one is the verdict",
        section::PROJECTION => "`StepRecord`s, for kept rows only",
        section::LITERALS => "`LiteralRecord`s",
        section::TESTS => "`TestRecord`s, ordered by column",
        section::STRINGS => "`StringRecord`s of the tests",
        section::BYTES => "the bytes of the strings; count 0",
        section::AGGREGATES => "`AggregateRecord`s, in states mode",
        section::KEYS => "`KeyRecord`s, in states mode",
        section::OUTPUT => "one `OutputRecord`; not in a stored fragment",
        section::OUTPUT_COLUMNS => "`OutputColumnRecord`s: the columns of the result",
        section::READINGS => "a `ReadingRecord` for each column, unless all are read plainly",
        section::KEY_RANGES => "`KeyRangeRecord`s, ordered by key",
        section::TOP => "at most one `TopRecord`, in rows mode",
        section::SCANS => "the scan commands that a merge carries, one after the other",
        section::MERGE => "one `MergeRecord`",
        section::MERGE_KEYS => "`SortKeyRecord`s, the most significant first",
        section::KEY_FILTERS => "`KeyFilterRecord`s; their bits stand behind the sections",
        section::MERGE_PART => "at most one `MergePartRecord`; for kernels only",
        section::NAMES => "for each column: kind (1 byte), length (1 byte), name; not critical",
        _ => "",
    }
}

fn limit_table() -> String {
    let mut out = String::new();
    line(&mut out, "| limit | value |");
    line(&mut out, "|---|---:|");
    for (name, value) in LIMITS {
        line(&mut out, &format!("| `{name}` | {value} |"));
    }
    out
}

/// The name of a closed set, and its table.
type EnumTable = (&'static str, fn() -> String);

/// The closed sets that the page shows.
const ENUMS: &[EnumTable] = &[
    ("Status", || variants(Status::ALL, Status::DOCS)),
    ("PhysicalType", || variants(PhysicalType::ALL, PhysicalType::DOCS)),
    ("ReadAs", || variants(ReadAs::ALL, ReadAs::DOCS)),
    ("Codec", || variants(Codec::ALL, Codec::DOCS)),
    ("Encoding", || variants(Encoding::ALL, Encoding::DOCS)),
    ("ValueKind", || variants(ValueKind::ALL, ValueKind::DOCS)),
    ("Width", || variants(Width::ALL, Width::DOCS)),
    ("Op", || variants(Op::ALL, Op::DOCS)),
    ("TestOp", || variants(TestOp::ALL, TestOp::DOCS)),
    ("Function", || variants(Function::ALL, Function::DOCS)),
    ("KeySetKind", || variants(KeySetKind::ALL, KeySetKind::DOCS)),
    ("BlockForm", || variants(BlockForm::ALL, BlockForm::DOCS)),
    ("Packing", || variants(Packing::ALL, Packing::DOCS)),
];

/// A variant that has a number on the wire.
trait Coded: Copy {
    fn number(self) -> u32;
}

macro_rules! coded {
    ($($ty:ty),*) => {
        $(impl Coded for $ty {
            fn number(self) -> u32 {
                self.code().into()
            }
        })*
    };
}
coded!(
    Status,
    PhysicalType,
    ReadAs,
    Codec,
    Encoding,
    ValueKind,
    Width,
    Op,
    TestOp,
    Function,
    KeySetKind,
    BlockForm,
    Packing
);

fn variants<T: Coded>(all: &[(T, &str)], docs: &[&str]) -> String {
    let mut out = String::new();
    line(&mut out, "| number | name | meaning |");
    line(&mut out, "|---:|---|---|");
    for ((variant, name), doc) in all.iter().zip(docs) {
        line(&mut out, &format!("| {} | `{name}` | {} |", variant.number(), doc.trim()));
    }
    out
}

/// The command of the worked example: TPC-H Q6 over one row group of 122,880 rows.
///
/// # Errors
/// None, unless a rule of the format changes.
pub fn example() -> Result<Command, crate::Error> {
    let [shipdate, discount, quantity, price] = [0, 1, 2, 3].map(Operand::Column);
    let fragment = Fragment {
        columns: ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"]
            .map(|name| Column::new(name, ValueKind::Integer))
            .into(),
        predicate: Program::new([
            Step::compare(Op::GreaterOrEqual, shipdate, Operand::Literal(0)),
            Step::compare(Op::Less, shipdate, Operand::Literal(1)),
            Step::compare(Op::And, Operand::Step(0), Operand::Step(1)),
            Step::between(discount, Operand::Literal(2), Operand::Literal(3)),
            Step::compare(Op::And, Operand::Step(2), Operand::Step(3)),
            Step::compare(Op::Less, quantity, Operand::Literal(4)),
            Step::compare(Op::And, Operand::Step(4), Operand::Step(5)),
        ]),
        projection: Program::new([Step::arithmetic(Op::Multiply, Width::W128, price, discount)]),
        literals: vec![8766, 9131, 5, 7, 2400],
        tests: vec![],
        key_filters: vec![],
        output: Output::States {
            keys: vec![],
            aggregates: vec![Aggregate::new(Function::Sum, Operand::Step(0), Width::W128)],
        },
    };
    let chunk_lengths = [196_608, 61_440, 92_160, 851_968];
    let mut offset = 0;
    let chunks = chunk_lengths.map(|length| {
        let chunk = Chunk {
            input: 0,
            offset,
            length,
            uncompressed_bytes: length + length / 4,
            physical_type: PhysicalType::Int64,
            definition_level_max: 0,
            codec: Codec::Snappy,
            encodings: Encodings::SCAN,
            dictionary_bytes: 0,
            reading: Reading::PLAIN,
        };
        offset += length;
        chunk
    });
    let mut chunks = Vec::from(chunks);
    if let Some(date) = chunks.first_mut() {
        date.physical_type = PhysicalType::Int32;
    }
    let file = InputRef::FileRange {
        file_id: 1,
        version: Version { size_bytes: 209_715_200, stamp: 1_700_000_000_000_000_000 },
        offset: 4_194_304,
        length: offset,
    };
    let unit = Unit { rows: 122_880, inputs: vec![file], chunks };
    let envelope =
        Envelope { command_id: 6, query_id: 1, deadline_ns: 5_000_000_000, ..Envelope::default() };
    Command::bind(&fragment, unit, envelope)
}

/// The example's directory, and the bytes of its predicate, step by step.
fn example_table() -> Option<String> {
    let command = example().ok()?;
    let bytes = command.encode().ok()?;
    let mut out = format!("The command has {} bytes.\n\n", bytes.len());
    line(&mut out, "| offset | bytes | part |");
    line(&mut out, "|---:|---:|---|");
    line(&mut out, &format!("| 0 | {HEADER_BYTES} | header |"));
    let count = usize::from(u16::from_le_bytes([*bytes.get(20)?, *bytes.get(21)?]));
    let directory = count * SECTION_BYTES as usize;
    line(&mut out, &format!("| {HEADER_BYTES} | {directory} | directory of {count} sections |"));
    let mut predicate: &[u8] = &[];
    for index in 0..count {
        let at = HEADER_BYTES as usize + index * SECTION_BYTES as usize;
        let entry = SectionEntry::decode(bytes.get(at..)?)?;
        let (_, name) = section::ALL.iter().find(|(kind, _)| *kind == entry.kind)?;
        line(
            &mut out,
            &format!("| {} | {} | `{name}`, {} records |", entry.offset, entry.bytes, entry.count),
        );
        if entry.kind == section::PREDICATE {
            let start = entry.offset as usize;
            predicate = bytes.get(start..start + entry.bytes as usize)?;
        }
    }
    out.push_str("\nIts predicate, a step of 16 bytes a line:\n\n```text\n");
    let steps = &command.fragment.predicate.steps;
    for (index, (record, step)) in predicate.chunks(16).zip(steps).enumerate() {
        let hex: Vec<String> = record[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        line(
            &mut out,
            &format!(
                "{} 00 ..   step {index}: {:?} {}",
                hex.join(" "),
                step.op,
                [step.a, step.b, step.c]
                    .iter()
                    .filter(|operand| **operand != Operand::None)
                    .map(|operand| format!("{operand:?}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        );
    }
    out.push_str("```\n");
    Some(out)
}

fn line(out: &mut String, text: &str) {
    let written = writeln!(out, "{text}");
    debug_assert!(written.is_ok(), "writing to a string succeeds");
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "top\n<!-- begin enum Codec -->\nold\n<!-- end enum Codec -->\nbottom\n";

    #[test]
    fn only_text_between_markers_is_replaced() {
        let page = generate(PAGE);
        assert!(page.starts_with("top\n<!-- begin enum Codec -->\n| number |"));
        assert!(page.contains("| 1 | `Snappy` | Raw Snappy, one block a page. |"));
        assert!(page.ends_with("<!-- end enum Codec -->\nbottom\n"));
        assert!(!page.contains("old"));
        assert_eq!(generate(&page), page);
    }

    #[test]
    fn block_without_a_generator_is_marked() {
        assert!(generate("<!-- begin enum Colour -->\n").contains(UNKNOWN_BLOCK));
        for name in block_names() {
            assert!(block(&name).is_some(), "{name}");
        }
    }
}
