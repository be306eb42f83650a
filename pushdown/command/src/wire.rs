// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes sections, which commands and stored fragments share, and fragments in them.
//!
//! A writer lays sections out one after the other, each on a 64-byte line, and a directory before
//! them. A reader finds sections by number, refuses unknown critical ones and skips the others.

use crate::{
    error::Error,
    fragment::{
        Aggregate, Column, Fragment, Function, Key, KeyRange, Output, RowColumn, StringTest,
        TestOp, Top,
    },
    key_filter,
    layout::{
        AggregateRecord, FORMAT_MAJOR, FORMAT_MINOR, FRAGMENT_MAGIC, KeyFilterRecord,
        KeyRangeRecord, KeyRecord, LiteralRecord, OutputColumnRecord, Record, SECTION_BYTES,
        SECTION_CRITICAL, SectionEntry, StepRecord, StringRecord, TestRecord, TopRecord,
        output_mode, section, top,
    },
    limits,
    program::{Op, Operand, Program, Step},
    types::{ValueKind, Width},
};

/// Collects sections.
#[derive(Default)]
pub(crate) struct SectionWriter {
    sections: Vec<(SectionEntry, Vec<u8>)>,
}

impl SectionWriter {
    /// Adds a section of records; an empty one is left out.
    pub(crate) fn records<R: Record>(&mut self, kind: u16, records: impl Iterator<Item = R>) {
        let mut bytes = Vec::new();
        let mut count = 0;
        for record in records {
            record.encode(&mut bytes);
            count += 1;
        }
        self.raw(kind, SECTION_CRITICAL, count, bytes);
    }

    /// Adds a section of plain bytes; an empty one is left out.
    pub(crate) fn raw(&mut self, kind: u16, flags: u16, count: u32, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let entry = SectionEntry { kind, flags, count, offset: 0, bytes: length };
            self.sections.push((entry, bytes));
        }
    }

    pub(crate) fn section_count(&self) -> u16 {
        u16::try_from(self.sections.len()).unwrap_or(u16::MAX)
    }

    /// Appends directory and sections to `out`, which holds the header.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        let align = limits::SECTION_ALIGN as usize;
        let mut at =
            (out.len() + self.sections.len() * SECTION_BYTES as usize).next_multiple_of(align);
        for (entry, bytes) in &self.sections {
            let offset = u32::try_from(at).unwrap_or(u32::MAX);
            SectionEntry { offset, ..*entry }.encode(out);
            at = (at + bytes.len()).next_multiple_of(align);
        }
        for (_, bytes) in self.sections {
            out.resize(out.len().next_multiple_of(align), 0);
            out.extend_from_slice(&bytes);
        }
        out.resize(out.len().next_multiple_of(align), 0);
    }
}

/// The sections of some bytes, checked to be within them.
pub(crate) struct SectionReader<'a> {
    bytes: &'a [u8],
    entries: Vec<SectionEntry>,
    end: usize,
}

impl<'a> SectionReader<'a> {
    /// Reads the directory at `start` of `bytes`; what is not known to the container that the
    /// sections are in counts as unknown.
    pub(crate) fn open(
        bytes: &'a [u8],
        start: u32,
        count: u16,
        is_known: impl Fn(u16) -> bool,
    ) -> Result<Self, Error> {
        crate::program::limit("sections", usize::from(count), limits::SECTIONS_MAX)?;
        let mut entries = Vec::with_capacity(usize::from(count));
        let mut container = start as usize + usize::from(count) * SECTION_BYTES as usize;
        for index in 0..usize::from(count) {
            let at = start as usize + index * SECTION_BYTES as usize;
            let entry = read::<SectionEntry>(bytes, at, "section directory")?;
            let end = u64::from(entry.offset) + u64::from(entry.bytes);
            if end > bytes.len() as u64 {
                return Err(Error::Truncated {
                    part: "section",
                    needed: end,
                    available: bytes.len() as u64,
                });
            }
            if !entry.offset.is_multiple_of(limits::SECTION_ALIGN) {
                return Err(Error::Inconsistent { what: "a section is not aligned" });
            }
            container = container.max(usize::try_from(end).unwrap_or(usize::MAX));
            let mut known = section::ALL.iter().filter(|(kind, _)| is_known(*kind));
            let known = known.find(|(kind, _)| *kind == entry.kind);
            match known {
                None if entry.flags & SECTION_CRITICAL != 0 => {
                    return Err(Error::UnknownSection { kind: entry.kind });
                }
                None => continue,
                Some((_, name)) if entries.iter().any(|e: &SectionEntry| e.kind == entry.kind) => {
                    return Err(Error::SectionCount { section: name, count: 2 });
                }
                Some(_) => entries.push(entry),
            }
        }
        let end = container.next_multiple_of(limits::SECTION_ALIGN as usize);
        Ok(Self { bytes, entries, end })
    }

    /// What stands behind the last section, from the next line on.
    pub(crate) fn behind(&self) -> &'a [u8] {
        self.bytes.get(self.end..).unwrap_or_default()
    }

    /// Record count and bytes of a section; nothing when it is not there.
    pub(crate) fn raw(&self, kind: u16) -> (u32, &'a [u8]) {
        match self.entries.iter().find(|entry| entry.kind == kind) {
            Some(entry) => {
                let start = entry.offset as usize;
                (entry.count, &self.bytes[start..start + entry.bytes as usize])
            }
            None => (0, &[]),
        }
    }

    /// The record of a section that has exactly one.
    pub(crate) fn one<R: Record>(&self, kind: u16, section: &'static str) -> Result<R, Error> {
        let records = self.records(kind)?;
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        let mut records = records.into_iter();
        match (records.next(), records.next()) {
            (Some(record), None) => Ok(record),
            _ => Err(Error::SectionCount { section, count }),
        }
    }

    /// The records of a section; none when it is not there.
    pub(crate) fn records<R: Record>(&self, kind: u16) -> Result<Vec<R>, Error> {
        let (count, bytes) = self.raw(kind);
        let size = R::LAYOUT.bytes as usize;
        if bytes.len() as u64 != u64::from(count) * size as u64 {
            return Err(Error::Truncated {
                part: R::LAYOUT.name,
                needed: u64::from(count) * size as u64,
                available: bytes.len() as u64,
            });
        }
        bytes.chunks_exact(size).map(|chunk| read::<R>(chunk, 0, R::LAYOUT.name)).collect()
    }
}

/// Reads one record at `at`.
pub(crate) fn read<R: Record>(bytes: &[u8], at: usize, part: &'static str) -> Result<R, Error> {
    bytes.get(at..).and_then(R::decode).ok_or_else(|| Error::Truncated {
        part,
        needed: at as u64 + u64::from(R::LAYOUT.bytes),
        available: bytes.len() as u64,
    })
}

/// The two halves of a 128-bit number, low first.
pub(crate) fn split(value: u128) -> (u64, u64) {
    let bytes = value.to_le_bytes();
    let half = |start: usize| {
        bytes[start..start + 8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    };
    (half(0), half(8))
}

/// The 128-bit number of two halves.
pub(crate) fn join(low: u64, high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Adds what of a fragment the kernel needs, and the names.
pub(crate) fn write_fragment(fragment: &Fragment, out: &mut SectionWriter) {
    out.records(section::PREDICATE, fragment.predicate.steps.iter().map(step_record));
    out.records(section::PROJECTION, fragment.projection.steps.iter().map(step_record));
    out.records(
        section::LITERALS,
        fragment.literals.iter().map(|literal| {
            let (low, high) = split(literal.cast_unsigned());
            LiteralRecord { low, high }
        }),
    );
    write_tests(&fragment.tests, out);
    let filters = fragment.key_filters.iter().map(key_filter::KeyFilter::record);
    out.records(section::KEY_FILTERS, filters);
    let columns: Vec<(Operand, Width)> = match &fragment.output {
        Output::States { keys, aggregates } => {
            out.records(section::AGGREGATES, aggregates.iter().map(aggregate_record));
            out.records(
                section::KEYS,
                keys.iter()
                    .map(|key| KeyRecord { operand: key.operand.pack(), ..KeyRecord::default() }),
            );
            let ranges = keys.iter().enumerate().filter_map(|(index, key)| {
                let KeyRange { first, count } = key.range?;
                let key = u16::try_from(index).unwrap_or(u16::MAX);
                Some(KeyRangeRecord { key, reserved: 0, count, first: first.cast_unsigned() })
            });
            out.records(section::KEY_RANGES, ranges);
            fragment.output_widths().into_iter().map(|width| (Operand::None, width)).collect()
        }
        Output::Rows { columns, top, .. } => {
            out.records(section::TOP, top.iter().map(top_record));
            columns.iter().map(|column| (column.operand, column.width)).collect()
        }
    };
    out.records(
        section::OUTPUT_COLUMNS,
        columns.into_iter().map(|(operand, width)| OutputColumnRecord {
            operand: operand.pack(),
            width: u16::from(width.code()),
            ..OutputColumnRecord::default()
        }),
    );
    let mut names = Vec::new();
    for column in &fragment.columns {
        names.push(column.kind.code());
        names.push(u8::try_from(column.name.len()).unwrap_or(u8::MAX));
        names.extend_from_slice(column.name.as_bytes());
    }
    let count = u32::try_from(fragment.columns.len()).unwrap_or(u32::MAX);
    out.raw(section::NAMES, 0, count, names);
}

fn step_record(step: &Step) -> StepRecord {
    StepRecord {
        op: step.op.code(),
        width: step.width.code(),
        a: step.a.pack(),
        b: step.b.pack(),
        c: step.c.pack(),
        reserved: 0,
    }
}

fn aggregate_record(slot: &Aggregate) -> AggregateRecord {
    AggregateRecord {
        function: slot.function.code(),
        width: slot.width.code(),
        operand: slot.operand.pack(),
        filter: slot.filter.pack(),
        ..AggregateRecord::default()
    }
}

fn top_record(order: &Top) -> TopRecord {
    let descending = u16::from(order.descending) * top::DESCENDING;
    let nulls_first = u16::from(order.nulls_first) * top::NULLS_FIRST;
    TopRecord {
        operand: order.operand.pack(),
        flags: descending | nulls_first,
        count: order.count,
        reserved: 0,
    }
}

fn write_tests(tests: &[StringTest], out: &mut SectionWriter) {
    let mut bytes = Vec::new();
    let mut strings = Vec::new();
    let mut records = Vec::new();
    let index = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    for test in tests {
        records.push(TestRecord {
            column: test.column,
            op: test.op.code(),
            string_first: index(strings.len()),
            string_count: index(test.strings.len()),
            reserved: 0,
        });
        for literal in &test.strings {
            strings.push(StringRecord { offset: index(bytes.len()), length: index(literal.len()) });
            bytes.extend_from_slice(literal);
        }
    }
    out.records(section::TESTS, records.into_iter());
    out.records(section::STRINGS, strings.into_iter());
    out.raw(section::BYTES, SECTION_CRITICAL, 0, bytes);
}

/// Reads a fragment from sections and checks it. `mode` and `limit` are of the output record,
/// `kinds` of the columns when they are known from elsewhere; the bits of key filters are at the
/// start of `bits`.
pub(crate) fn read_fragment(
    sections: &SectionReader<'_>,
    mode: u16,
    limit: Option<u64>,
    kinds: Option<Vec<ValueKind>>,
    bits: &[u8],
) -> Result<Fragment, Error> {
    let named = read_names(sections)?;
    let columns = match kinds {
        None => named,
        Some(kinds) if named.is_empty() => kinds
            .into_iter()
            .enumerate()
            .map(|(index, kind)| Column::new(format!("column {index}"), kind))
            .collect(),
        Some(kinds) if named.iter().map(|column| column.kind).eq(kinds.iter().copied()) => named,
        Some(_) => {
            return Err(Error::Inconsistent { what: "names and columns differ" });
        }
    };
    let output_columns: Vec<OutputColumnRecord> = sections.records(section::OUTPUT_COLUMNS)?;
    let output = match (mode, limit) {
        (output_mode::STATES, Some(_)) => {
            return Err(Error::Inconsistent { what: "states have no limit" });
        }
        (output_mode::STATES, None) => Output::States {
            keys: read_keys(sections)?,
            aggregates: sections
                .records(section::AGGREGATES)?
                .iter()
                .map(read_aggregate)
                .collect::<Result<_, _>>()?,
        },
        (output_mode::ROWS, limit) => Output::Rows {
            columns: output_columns.iter().map(read_row_column).collect::<Result<_, _>>()?,
            limit,
            top: read_top(sections)?,
        },
        _ => {
            return Err(Error::UnknownCode { what: "output mode", value: u64::from(mode) });
        }
    };
    let key_filters: Vec<KeyFilterRecord> = sections.records(section::KEY_FILTERS)?;
    let fragment = Fragment {
        columns,
        predicate: read_program(sections, section::PREDICATE)?,
        projection: read_program(sections, section::PROJECTION)?,
        literals: sections
            .records(section::LITERALS)?
            .iter()
            .map(|literal: &LiteralRecord| join(literal.low, literal.high).cast_signed())
            .collect(),
        tests: read_tests(sections)?,
        key_filters: key_filter::read(&key_filters, bits)?,
        output,
    };
    fragment.check()?;
    let widths = output_columns.iter().map(|column| u64::from(column.width));
    if !widths.eq(fragment.output_widths().iter().map(|width| u64::from(width.code()))) {
        return Err(Error::Inconsistent { what: "output columns are not those of the output" });
    }
    Ok(fragment)
}

fn read_program(sections: &SectionReader<'_>, kind: u16) -> Result<Program, Error> {
    let read = |record: &StepRecord| {
        Ok(Step {
            op: Op::from_code(record.op)?,
            width: Width::from_code(record.width)?,
            a: Operand::unpack(record.a)?,
            b: Operand::unpack(record.b)?,
            c: Operand::unpack(record.c)?,
        })
    };
    Ok(Program { steps: sections.records(kind)?.iter().map(read).collect::<Result<_, _>>()? })
}

fn read_keys(sections: &SectionReader<'_>) -> Result<Vec<Key>, Error> {
    let records: Vec<KeyRecord> = sections.records(section::KEYS)?;
    let key =
        |record: &KeyRecord| Ok(Key { operand: Operand::unpack(record.operand)?, range: None });
    let mut keys = records.iter().map(key).collect::<Result<Vec<Key>, Error>>()?;
    let ranges: Vec<KeyRangeRecord> = sections.records(section::KEY_RANGES)?;
    for range in ranges {
        let count = keys.len();
        let Some(key) = keys.get_mut(usize::from(range.key)) else {
            return Err(crate::program::index_error("group key", range.key, count));
        };
        let numbers = KeyRange { first: range.first.cast_signed(), count: range.count };
        if key.range.replace(numbers).is_some() {
            return Err(Error::Inconsistent { what: "a group key has two ranges" });
        }
    }
    Ok(keys)
}

fn read_top(sections: &SectionReader<'_>) -> Result<Option<Top>, Error> {
    let records: Vec<TopRecord> = sections.records(section::TOP)?;
    let record = match records.as_slice() {
        [] => return Ok(None),
        [record] => record,
        several => {
            let count = u32::try_from(several.len()).unwrap_or(u32::MAX);
            return Err(Error::SectionCount { section: "TOP", count });
        }
    };
    if record.flags & !(top::DESCENDING | top::NULLS_FIRST) != 0 {
        let value = u64::from(record.flags);
        return Err(Error::UnknownCode { what: "flags of a top", value });
    }
    Ok(Some(Top {
        operand: Operand::unpack(record.operand)?,
        descending: record.flags & top::DESCENDING != 0,
        nulls_first: record.flags & top::NULLS_FIRST != 0,
        count: record.count,
    }))
}

fn read_aggregate(record: &AggregateRecord) -> Result<Aggregate, Error> {
    Ok(Aggregate {
        function: Function::from_code(record.function)?,
        operand: Operand::unpack(record.operand)?,
        width: Width::from_code(record.width)?,
        filter: Operand::unpack(record.filter)?,
    })
}

fn read_row_column(record: &OutputColumnRecord) -> Result<RowColumn, Error> {
    let width = u8::try_from(record.width)
        .map_err(|_| Error::UnknownCode { what: "width", value: u64::from(record.width) })?;
    Ok(RowColumn { operand: Operand::unpack(record.operand)?, width: Width::from_code(width)? })
}

fn read_tests(sections: &SectionReader<'_>) -> Result<Vec<StringTest>, Error> {
    let strings: Vec<StringRecord> = sections.records(section::STRINGS)?;
    let (_, bytes) = sections.raw(section::BYTES);
    let literal = |record: &StringRecord| {
        let end = record.offset as usize + record.length as usize;
        bytes.get(record.offset as usize..end).map(<[u8]>::to_vec).ok_or(Error::Truncated {
            part: "bytes of string literals",
            needed: end as u64,
            available: bytes.len() as u64,
        })
    };
    let read = |record: &TestRecord| {
        let first = record.string_first as usize;
        let end = first + record.string_count as usize;
        let records = strings.get(first..end).ok_or(Error::Index {
            what: "string literal",
            index: end as u64,
            count: strings.len() as u64,
        })?;
        Ok(StringTest {
            column: record.column,
            op: TestOp::from_code(record.op)?,
            strings: records.iter().map(literal).collect::<Result<_, _>>()?,
        })
    };
    sections.records(section::TESTS)?.iter().map(read).collect()
}

fn read_names(sections: &SectionReader<'_>) -> Result<Vec<Column>, Error> {
    let (count, mut bytes) = sections.raw(section::NAMES);
    crate::program::limit("columns", count as usize, limits::COLUMNS_MAX)?;
    let mut columns = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let [kind, length, rest @ ..] = bytes else {
            return Err(Error::Truncated {
                part: "names",
                needed: 2,
                available: bytes.len() as u64,
            });
        };
        let length = usize::from(*length);
        let Some((name, rest)) = rest.split_at_checked(length) else {
            return Err(Error::Truncated {
                part: "names",
                needed: length as u64,
                available: rest.len() as u64,
            });
        };
        let name = std::str::from_utf8(name)
            .map_err(|_| Error::Inconsistent { what: "a column's name is not UTF-8" })?;
        columns.push(Column::new(name, ValueKind::from_code(*kind)?));
        bytes = rest;
    }
    Ok(columns)
}

impl Fragment {
    /// A 64-bit hash of everything in the fragment: equal fragments have equal hashes on every
    /// machine.
    pub fn hash(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&fragment_bytes(self))
    }

    /// The fragment as bytes that can be stored or sent.
    ///
    /// # Errors
    /// The errors of [`Fragment::check`].
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        Ok(fragment_bytes(self))
    }

    /// Reads what [`Fragment::encode`] wrote.
    ///
    /// # Errors
    /// The first error in the bytes; never panics.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        fragment_from_bytes(bytes)
    }
}

/// Bytes before the directory of a stored fragment: magic, version, section count, mode, limit.
const FRAGMENT_HEADER_BYTES: u32 = 32;

/// A fragment as bytes; deterministic.
fn fragment_bytes(fragment: &Fragment) -> Vec<u8> {
    let mut sections = SectionWriter::default();
    write_fragment(fragment, &mut sections);
    let (mode, limit) = mode_of(&fragment.output);
    let mut out = Vec::new();
    out.extend_from_slice(&FRAGMENT_MAGIC.to_le_bytes());
    out.extend_from_slice(&FORMAT_MAJOR.to_le_bytes());
    out.extend_from_slice(&FORMAT_MINOR.to_le_bytes());
    out.extend_from_slice(&sections.section_count().to_le_bytes());
    out.extend_from_slice(&mode.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&limit.unwrap_or(u64::MAX).to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    sections.finish(&mut out);
    out.append(&mut key_filter::trailer(&fragment.key_filters));
    out
}

/// Mode and limit of an output, as both containers store them.
pub(crate) fn mode_of(output: &Output) -> (u16, Option<u64>) {
    match output {
        Output::States { .. } => (output_mode::STATES, None),
        Output::Rows { limit, .. } => (output_mode::ROWS, *limit),
    }
}

fn fragment_from_bytes(bytes: &[u8]) -> Result<Fragment, Error> {
    let part = "fragment";
    let Some(header) = bytes.get(..FRAGMENT_HEADER_BYTES as usize) else {
        return Err(Error::Truncated {
            part,
            needed: u64::from(FRAGMENT_HEADER_BYTES),
            available: bytes.len() as u64,
        });
    };
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if header[..4] != FRAGMENT_MAGIC.to_le_bytes() {
        return Err(Error::Magic { part });
    }
    check_version(half(4), half(6))?;
    let mut limit = [0; 8];
    limit.copy_from_slice(&header[16..24]);
    let limit = u64::from_le_bytes(limit);
    let is_known = |kind| !section::OF_MERGES_ONLY.contains(&kind);
    let sections = SectionReader::open(bytes, FRAGMENT_HEADER_BYTES, half(8), is_known)?;
    read_fragment(
        &sections,
        half(10),
        (limit != u64::MAX).then_some(limit),
        None,
        sections.behind(),
    )
}

/// Refuses another major version.
pub(crate) fn check_version(major: u16, minor: u16) -> Result<(), Error> {
    if major == FORMAT_MAJOR { Ok(()) } else { Err(Error::FormatVersion { major, minor }) }
}
