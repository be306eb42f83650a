// SPDX-License-Identifier: Apache-2.0
//! Implements the target `pages`: a column chunk in which chosen fields are wrong.
//!
//! Bytes are choices, not the chunk itself: every size, count and encoding in a page header, and
//! every offset, length and type in the command's description of the chunk, can be set to anything
//! while all the others stay true. The scan kernel and the CPU drive must both end, and agree where
//! both give rows.

use nearscan_command::{
    Codec, Column, Command, Encodings, Envelope, Fragment, InputRef, Operand, Output, OutputRef,
    PhysicalType, Program, RowColumn, Unit, ValueKind, Width,
};
use nearscan_conformance::{
    Random,
    pages::{Flag, Page, PageKind, assemble, draft},
    random_column,
};

use crate::{call::Call, choices::Choices, drives};

/// Rows of a column.
const ROWS_MAX: usize = 200;
/// Largest number of wrong fields.
const CORRUPTIONS_MAX: usize = 8;
/// Room for the result.
const ROOM_BYTES: u64 = 1 << 16;

/// Makes a chunk of choices and scans it twice. Whether both give rows.
///
/// # Panics
/// When a drive breaks a promise, or both give rows and these differ.
pub fn pages(bytes: &[u8]) -> bool {
    call(&mut Choices::new(bytes)).and_then(|mut call| drives::compare(&mut call)).is_some()
}

fn call(choices: &mut Choices<'_>) -> Option<Call> {
    let has_declared_depths = choices.below(2) == 1;
    let rows = choices.below(ROWS_MAX);
    let column = random_column(&mut Random::new(choices.word()), rows);
    let mut pages = draft(&column.values, &column.layout);
    let mut damage = Vec::new();
    let mut claims = Vec::new();
    for _ in 0..CORRUPTIONS_MAX {
        if choices.is_empty() {
            break;
        }
        match choices.byte() % 3 {
            0 => lie_in_page(choices, &mut pages),
            1 => claims.push((choices.byte(), choices.word())),
            _ => damage.push((choices.word(), choices.byte())),
        }
    }
    let mut written = assemble(&pages, &column.layout);
    let length = written.bytes.len() as u64;
    for (at, value) in damage {
        if let Some(byte) = at.checked_rem(length).and_then(|at| usize::try_from(at).ok()) {
            written.bytes[byte] = value;
        }
    }
    let chunk = column.chunk(&written, 0, 0);
    let mut unit = Unit {
        rows: rows as u64,
        inputs: vec![InputRef::DeviceRange { lease: 0, offset: 0, length }],
        chunks: vec![chunk],
    };
    for (field, value) in claims {
        lie_in_command(&mut unit, field, value);
    }
    let kind = unit.chunks[0].physical_type.kind();
    let mut command = Command::bind(&select(kind), unit, Envelope::default()).ok()?;
    command.output = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max: ROOM_BYTES };
    let command = command.encode().ok()?;
    let mut memory = written.bytes;
    memory.resize(memory.len().next_multiple_of(64), 0);
    Some(Call { has_declared_depths, command, memory })
}

/// A fragment that gives the column back.
fn select(kind: ValueKind) -> Fragment {
    let width = match kind {
        ValueKind::Bytes => Width::Bytes,
        ValueKind::Integer => Width::W64,
    };
    let columns = vec![RowColumn { operand: Operand::Column(0), width }];
    Fragment {
        columns: vec![Column::new("a", kind)],
        predicate: Program::default(),
        projection: Program::default(),
        literals: Vec::new(),
        tests: Vec::new(),
        key_filters: vec![],
        output: Output::Rows { columns, limit: None, top: None },
    }
}

/// Sets one field of one page.
fn lie_in_page(choices: &mut Choices<'_>, pages: &mut Vec<Page>) {
    if pages.is_empty() {
        return;
    }
    let index = choices.below(pages.len());
    let body_bytes = i64::try_from(pages[index].body.len()).unwrap_or(i64::MAX);
    let field = choices.byte() % 16;
    if field == 15 {
        let page = pages[index].clone();
        pages.insert(choices.below(index + 1), page);
        return;
    }
    let page = &mut pages[index];
    let second = &mut page.second;
    match field {
        0 => page.value_count = choices.wrong_number(page.value_count),
        1 => page.encoding = choices.wrong_number(page.encoding),
        2 => page.level_encoding = choices.wrong_number(page.level_encoding),
        3 => second.null_count = choices.wrong_number(second.null_count),
        4 => second.row_count = choices.wrong_number(second.row_count),
        5 => second.level_bytes = choices.wrong_number(second.level_bytes),
        6 => second.repetition_bytes = choices.wrong_number(second.repetition_bytes),
        7 => page.uncompressed_size = Some(choices.wrong_number(body_bytes)),
        8 => page.compressed_size = Some(choices.wrong_number(body_bytes)),
        9 => {
            let flags = [Flag::Absent, Flag::Compressed, Flag::Uncompressed];
            second.flag = flags[choices.below(flags.len())];
        }
        10 => {
            let kinds = [PageKind::Data, PageKind::Index, PageKind::Dictionary, PageKind::DataV2];
            page.kind = kinds[choices.below(kinds.len())];
        }
        11 => page.body.truncate(choices.below(256)),
        12 => page.body.extend((0..choices.below(64)).map(|_| choices.byte())),
        13 => page.compressed = Some((0..choices.below(64)).map(|_| choices.byte()).collect()),
        _ => {
            let at = choices.below(256);
            if let Some(byte) = page.body.get_mut(at) {
                *byte = choices.byte();
            }
        }
    }
}

/// Sets one field of what the command says of the chunk.
fn lie_in_command(unit: &mut Unit, field: u8, value: u64) {
    let [low, high, ..] = value.to_le_bytes();
    let chunk = &mut unit.chunks[0];
    match field % 12 {
        0 => unit.rows = value,
        1 => unit.rows = unit.rows.wrapping_add(u64::from(low)),
        2 => chunk.offset = value,
        3 => chunk.offset = u64::from(low),
        4 => chunk.length = value,
        5 => chunk.length = chunk.length.wrapping_sub(u64::from(low)),
        6 => chunk.uncompressed_bytes = value,
        7 => chunk.uncompressed_bytes = chunk.uncompressed_bytes.wrapping_sub(u64::from(low)),
        8 => chunk.definition_level_max = low,
        9 => chunk.codec = Codec::from_code(low).unwrap_or(chunk.codec),
        10 => {
            chunk.physical_type = PhysicalType::from_code(low).unwrap_or(chunk.physical_type);
            chunk.reading.length = u16::from(high);
        }
        _ => {
            let bits = u16::from_le_bytes([low, high]);
            chunk.encodings = Encodings::from_bits(bits).unwrap_or(chunk.encodings);
        }
    }
}
