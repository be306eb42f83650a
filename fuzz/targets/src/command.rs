// SPDX-License-Identifier: Apache-2.0
//! Implements the target `command`: everything that is decoded from bytes of another machine.

use nearscan_command::{
    Command, Fragment, MediaPlan, MergeCommand, ResultHeader, ResultView, ResultWriter, Status,
    Width, join_parts,
};

use crate::{drives::rows, sign};

/// Widths of a result's columns, by number.
const WIDTHS: [Width; 5] = [Width::Bool, Width::W32, Width::W64, Width::W128, Width::Bytes];
/// Columns of a result, at most.
const COLUMNS_MAX: usize = 8;

/// Decodes: the first byte says as what. Whether it decodes.
///
/// # Panics
/// When what decodes does not come back as it was.
pub fn command(bytes: &[u8]) -> bool {
    let Some((kind, bytes)) = bytes.split_first() else { return false };
    match kind % 4 {
        0 => scan(bytes.to_vec()),
        1 => merge(bytes.to_vec()),
        2 => fragment(bytes),
        _ => result(bytes),
    }
}

fn scan(mut bytes: Vec<u8>) -> bool {
    sign::command(&mut bytes);
    let Ok(command) = Command::decode(&bytes) else { return false };
    assert!(command.scratch_bytes().is_multiple_of(64), "scratch in whole lines");
    assert!(command.device_bytes() >= command.output.bytes_max());
    let plan = MediaPlan::of(&command.unit.inputs);
    assert!(plan.media_bytes() <= plan.bytes, "more is read than fits");
    let encoded = command.encode().expect("what decodes encodes");
    let back = Command::decode(&encoded).expect("what was encoded decodes");
    assert_eq!(back, command);
    assert_eq!(back.encode().as_ref(), Ok(&encoded), "a command has one encoding");
    fragment_comes_back(&command.fragment);
    true
}

fn merge(mut bytes: Vec<u8>) -> bool {
    sign::merge(&mut bytes);
    let Ok(command) = MergeCommand::decode(&bytes) else { return false };
    assert!(command.device_bytes() >= command.output.bytes_max());
    let encoded = command.encode().expect("what decodes encodes");
    let back = MergeCommand::decode(&encoded).expect("what was encoded decodes");
    assert_eq!(back, command);
    assert_eq!(back.hash(), command.hash());
    assert_eq!(back.encode().as_ref(), Ok(&encoded), "a merge has one encoding");
    true
}

fn fragment(bytes: &[u8]) -> bool {
    Fragment::decode(bytes).is_ok_and(|fragment| {
        fragment_comes_back(&fragment);
        true
    })
}

fn fragment_comes_back(fragment: &Fragment) {
    fragment.check().expect("what decodes is within the rules");
    let encoded = fragment.encode().expect("what decodes encodes");
    let back = Fragment::decode(&encoded).expect("what was encoded decodes");
    assert_eq!(&back, fragment);
    assert_eq!(back.hash(), fragment.hash());
    assert_eq!(back.encode().as_ref(), Ok(&encoded), "a fragment has one encoding");
}

/// A count of columns, their widths, and a result of them.
fn result(bytes: &[u8]) -> bool {
    let Some((count, bytes)) = bytes.split_first() else { return false };
    let count = (usize::from(*count) % (COLUMNS_MAX + 1)).min(bytes.len());
    let (widths, bytes) = bytes.split_at(count);
    let widths: Vec<Width> =
        widths.iter().map(|byte| WIDTHS[usize::from(*byte) % WIDTHS.len()]).collect();
    let mut bytes = bytes.to_vec();
    sign::result(&mut bytes);
    if let Ok(joined) = join_parts(&[&bytes, &bytes]) {
        // Equal parts twice: the same rows twice, or the failure.
        let joined = ResultHeader::decode(&joined).expect("what is joined is a result");
        let one = ResultHeader::decode(&bytes).expect("what was joined is a result");
        let twice = one.rows_out.checked_mul(2) == Some(joined.rows_out);
        assert!(twice || joined.status != Status::Ok, "rows of both parts");
    }
    let Ok(view) = ResultView::parse(&bytes, &widths) else { return false };
    let cells: usize = view.blocks.iter().map(|block| block.rows as usize * widths.len()).sum();
    // A column of a compact block has 16 bytes, and no more than 1024 values.
    assert!(cells <= bytes.len() / 16 * 1024, "more values than blocks have");
    if widths.contains(&Width::Bool) || !holds_zeros(&view, &widths) {
        // A truth value may be any byte, and a null value anything, until it is checked.
        return true;
    }
    let expected = rows(&view, &widths);
    let mut writer = ResultWriter::new(widths.clone());
    for row in expected.clone() {
        writer.push(row).expect("what was read fits");
    }
    let written = writer.finish(view.header);
    let back = ResultView::parse(&written, &widths).expect("what was written is read");
    assert_eq!(rows(&back, &widths), expected);
    true
}

/// Whether all rows that are null hold zero or no bytes.
fn holds_zeros(view: &ResultView<'_>, widths: &[Width]) -> bool {
    view.blocks.iter().all(|block| {
        block.columns.iter().zip(widths).all(|(column, width)| {
            (0..block.rows as usize).filter(|row| !column.is_valid(*row)).all(|row| match width {
                Width::Bytes => column.string(row) == Some(b""),
                _ => column.number(row) == Some(0),
            })
        })
    })
}
