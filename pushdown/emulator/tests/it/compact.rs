// SPDX-License-Identifier: Apache-2.0
//! Tests how much less compact rows take of the link: rows as TPC-H has them in lineitem.

use std::path::PathBuf;

use nearscan_command::{
    Column, Command, Fragment, InputRef, Operand, Output, Program, RowColumn, Unit, Width,
};
use nearscan_conformance::{
    ColumnData, Random, Values,
    pages::{ChunkLayout, write_chunk},
    sample::{envelope, modelled, run, session},
};
use nearscan_drive::{Drive, FileRef, Placement};
use nearscan_emulator::Emulator;

use crate::scan::open;

const ROWS: usize = 30_000;

/// The columns of lineitem with their widths, in their order.
fn lineitem() -> Vec<(ColumnData, Width)> {
    let mut random = Random::new(7);
    let mut numbers = |width: Width, least: usize, count: usize, step: usize| {
        let mut number = || i64::try_from(least + random.below(count) * step).unwrap();
        (Values::integers((0..ROWS).map(|_| number())), ChunkLayout::common(), width)
    };
    let keys = (0..ROWS).map(|row| i64::try_from(row / 4 / 8 * 32 + row / 4 % 8).unwrap());
    let mut columns = vec![
        (Values::integers(keys), ChunkLayout::common(), Width::W64),
        numbers(Width::W64, 1, 200_000, 1),
        numbers(Width::W64, 1, 10_000, 1),
        numbers(Width::W32, 1, 7, 1),
        numbers(Width::W64, 100, 50, 100),
        numbers(Width::W64, 90_000, 10_000_000, 1),
        numbers(Width::W64, 0, 11, 1),
        numbers(Width::W64, 0, 9, 1),
        numbers(Width::W32, 8036, 2526, 1),
        numbers(Width::W32, 8066, 2526, 1),
        numbers(Width::W32, 8037, 2526, 1),
    ];
    for texts in [
        &["A", "N", "R"][..],
        &["O", "F"],
        &["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"],
        &["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"],
    ] {
        let values = Values::strings((0..ROWS).map(|_| texts[random.below(texts.len())]));
        columns.push((values, ChunkLayout::common(), Width::Bytes));
    }
    let comment = |random: &mut Random| {
        "carefully final deposits. regular, even accounts"[..10 + random.below(34)].to_owned()
    };
    let comments: Vec<String> = (0..ROWS).map(|_| comment(&mut random)).collect();
    let comments = Values::strings(comments.iter().map(String::as_str));
    columns.push((comments, ChunkLayout::plain(), Width::Bytes));
    let data = |(values, layout, width)| (ColumnData { values, layout }, width);
    columns.into_iter().map(data).collect()
}

/// A file with the chunks, removed on drop.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// A command that returns all rows of the columns.
fn select(name: &str, drive: &Emulator, columns: &[(ColumnData, Width)]) -> (File, Command) {
    let mut bytes = Vec::new();
    let mut chunks = Vec::new();
    for (column, _) in columns {
        let written = write_chunk(&column.values, &column.layout);
        chunks.push(column.chunk(&written, 0, bytes.len() as u64));
        bytes.extend_from_slice(&written.bytes);
    }
    let path = std::env::temp_dir().join(format!("nearscan-{name}-{}", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let file = FileRef::of(&path).unwrap();
    let Placement::Here { file_id } = drive.locate(&file) else { panic!("it is not there") };
    let (version, length) = (file.version, bytes.len() as u64);
    let inputs = vec![InputRef::FileRange { file_id, version, offset: 0, length }];
    let unit = Unit { rows: ROWS as u64, inputs, chunks };
    let named = columns.iter().zip(0..).map(|((column, _), index)| {
        Column::new(format!("c{index}"), column.values.physical_type().kind())
    });
    let shown = columns
        .iter()
        .zip(0..)
        .map(|((_, width), index)| RowColumn { operand: Operand::Column(index), width: *width });
    let fragment = Fragment {
        columns: named.collect(),
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![],
        tests: vec![],
        key_filters: vec![],
        output: Output::Rows { columns: shown.collect(), limit: None, top: None },
    };
    let session = session(drive);
    let command = Command::bind(&fragment, unit, envelope(session.as_ref(), 9)).unwrap();
    (File(path), command)
}

/// Bytes of compact rows for each of plain ones, and the same of the modelled times.
fn ratios(name: &str, columns: &[(ColumnData, Width)]) -> (f64, f64) {
    let drive = open("");
    let session = session(&drive);
    let (_file, command) = select(name, &drive, columns);
    let [plain, compact] = [command.clone(), command.compact()].map(|command| {
        let completion = run(session.as_ref(), command.clone()).unwrap();
        let view = completion.check(&command).unwrap();
        assert_eq!(view.header.rows_out, ROWS as u64);
        (completion.traffic.link_bytes as f64, modelled(&completion).serial_ns() as f64)
    });
    (compact.0 / plain.0, compact.1 / plain.1)
}

#[test]
fn compact_rows_take_less_of_the_link() {
    let all = lineitem();
    let of = |indexes: &[usize]| indexes.iter().map(|at| all[*at].clone()).collect::<Vec<_>>();
    for (name, columns, bytes_max) in [
        ("keys and numbers", of(&[0, 1, 2, 3, 4, 5, 6, 7]), 0.2),
        ("dates and modes", of(&[0, 8, 9, 10, 13, 14]), 0.2),
        ("without comments", of(&(0..15).collect::<Vec<_>>()), 0.2),
        ("with comments", all.clone(), 0.4),
        ("comments", of(&[0, 15]), 0.8),
    ] {
        let (bytes, time) = ratios(name, &columns);
        assert!(bytes < bytes_max, "{name}: {bytes}");
        assert!(time < 1.0, "{name}: {time}");
    }
}
