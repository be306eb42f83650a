// SPDX-License-Identifier: Apache-2.0
//! Defines the numbers in records: sections, opcodes, modes, bits. They never change.

/// The sections. Their numbers never change.
pub mod section {
    /// [`crate::layout::InputRecord`]s.
    pub const INPUTS: u16 = 1;
    /// [`crate::layout::ExtentRecord`]s.
    pub const EXTENTS: u16 = 2;
    /// [`crate::layout::ColumnRecord`]s.
    pub const COLUMNS: u16 = 3;
    /// [`crate::layout::StepRecord`]s of the predicate; the last one is the verdict.
    pub const PREDICATE: u16 = 4;
    /// [`crate::layout::StepRecord`]s of the projection.
    pub const PROJECTION: u16 = 5;
    /// [`crate::layout::LiteralRecord`]s.
    pub const LITERALS: u16 = 6;
    /// [`crate::layout::TestRecord`]s, ordered by column.
    pub const TESTS: u16 = 7;
    /// [`crate::layout::StringRecord`]s of the tests.
    pub const STRINGS: u16 = 8;
    /// The bytes of the strings.
    pub const BYTES: u16 = 9;
    /// [`crate::layout::AggregateRecord`]s.
    pub const AGGREGATES: u16 = 10;
    /// [`crate::layout::KeyRecord`]s.
    pub const KEYS: u16 = 11;
    /// One [`crate::layout::OutputRecord`].
    pub const OUTPUT: u16 = 12;
    /// [`crate::layout::OutputColumnRecord`]s.
    pub const OUTPUT_COLUMNS: u16 = 13;
    /// Names of the columns, for people and for servers that bind by name; not critical.
    pub const NAMES: u16 = 14;

    /// A [`crate::layout::ReadingRecord`] for each column, unless all are read plainly.
    pub const READINGS: u16 = 15;
    /// [`crate::layout::KeyRangeRecord`]s, ordered by key.
    pub const KEY_RANGES: u16 = 16;
    /// At most one [`crate::layout::TopRecord`].
    pub const TOP: u16 = 17;

    /// The scan commands whose results are merged, one after the other.
    pub const SCANS: u16 = 18;
    /// One [`crate::layout::MergeRecord`].
    pub const MERGE: u16 = 19;
    /// [`crate::layout::SortKeyRecord`]s, the most significant first.
    pub const MERGE_KEYS: u16 = 20;
    /// At most one [`crate::layout::MergePartRecord`], in the form that a kernel reads.
    pub const MERGE_PART: u16 = 21;

    /// [`crate::layout::KeyFilterRecord`]s; their bits stand behind the container.
    pub const KEY_FILTERS: u16 = 22;

    /// Sections that neither a scan nor a stored fragment has.
    pub const OF_MERGES_ONLY: [u16; 4] = [SCANS, MERGE, MERGE_KEYS, MERGE_PART];

    /// Sections of a merge, in the form that a host sends.
    pub const OF_MERGES: [u16; 6] = [INPUTS, OUTPUT, OUTPUT_COLUMNS, SCANS, MERGE, MERGE_KEYS];

    /// Every section with its name, for the C++ header.
    pub const ALL: &[(u16, &str)] = &[
        (INPUTS, "INPUTS"),
        (EXTENTS, "EXTENTS"),
        (COLUMNS, "COLUMNS"),
        (PREDICATE, "PREDICATE"),
        (PROJECTION, "PROJECTION"),
        (LITERALS, "LITERALS"),
        (TESTS, "TESTS"),
        (STRINGS, "STRINGS"),
        (BYTES, "BYTES"),
        (AGGREGATES, "AGGREGATES"),
        (KEYS, "KEYS"),
        (OUTPUT, "OUTPUT"),
        (OUTPUT_COLUMNS, "OUTPUT_COLUMNS"),
        (NAMES, "NAMES"),
        (READINGS, "READINGS"),
        (KEY_RANGES, "KEY_RANGES"),
        (TOP, "TOP"),
        (SCANS, "SCANS"),
        (MERGE, "MERGE"),
        (MERGE_KEYS, "MERGE_KEYS"),
        (MERGE_PART, "MERGE_PART"),
        (KEY_FILTERS, "KEY_FILTERS"),
    ];
}

/// Bits of [`ColumnRecord::uses`](crate::layout::ColumnRecord::uses).
pub mod uses {
    /// The column is a group key: its dictionary codes travel.
    pub const CODES: u16 = 1;
    /// The column's byte strings appear in the output: they are kept in scratch.
    pub const BYTES: u16 = 2;
}

/// Bits of [`TopRecord::flags`](crate::layout::TopRecord::flags).
pub mod top {
    /// Greater numbers come first.
    pub const DESCENDING: u16 = 1;
    /// Nulls come first.
    pub const NULLS_FIRST: u16 = 2;
}

/// Bits of [`SortKeyRecord::flags`](crate::layout::SortKeyRecord::flags).
pub mod sort {
    /// Greater values come first.
    pub const DESCENDING: u16 = 1;
    /// Nulls come first.
    pub const NULLS_FIRST: u16 = 2;
}

/// Bits of [`MergeRecord::flags`](crate::layout::MergeRecord::flags).
pub mod merge {
    /// A row that equals the one before it is left out.
    pub const DISTINCT: u16 = 1;
}

/// Bits of [`CompactColumnRecord::flags`](crate::layout::CompactColumnRecord::flags).
pub mod compact {
    /// A row is null, and the validity of all rows follows.
    pub const NULLS: u8 = 1;
}

/// The packing of an operand into 16 bits: kind in the top three, index below; all ones is no
/// operand.
pub mod operand {
    /// A column of the unit.
    pub const COLUMN: u16 = 0;
    /// An earlier step of the same program.
    pub const STEP: u16 = 1;
    /// A literal.
    pub const LITERAL: u16 = 2;
    /// A string test.
    pub const TEST: u16 = 3;
    /// NULL; its index is zero.
    pub const NULL: u16 = 4;
    /// Position of the lowest bit of the kind.
    pub const KIND_SHIFT: u16 = 13;
}

/// Opcodes.
pub mod opcode {
    /// Scan one row group.
    pub const SCAN: u16 = 1;
    /// Merge the results of scans.
    pub const MERGE: u16 = 2;
}

/// Modes of the output.
pub mod output_mode {
    /// Aggregate states, one row a group.
    pub const STATES: u16 = 1;
    /// Filtered and projected rows.
    pub const ROWS: u16 = 2;
}
