// SPDX-License-Identifier: Apache-2.0
//! Emulates the media: it reads files into device memory, and has the flash count it.

use std::os::unix::fs::FileExt;

use nearscan_command::{InputRef, MediaPlan};
use nearscan_drive::{Failure, FileTable};
use nearscan_models::Line;

use crate::flash::Flash;

/// Reads the inputs of a command into device memory, as the plan says, and gives them as device
/// ranges.
pub(crate) fn load(
    files: &FileTable,
    flash: &Flash,
    plan: &MediaPlan,
    inputs: &[InputRef],
) -> Result<(Vec<Line>, Vec<InputRef>), Failure> {
    let mut placed = Vec::with_capacity(inputs.len());
    for (input, offset) in inputs.iter().zip(&plan.places) {
        let InputRef::FileRange { length, .. } = *input else {
            return Err(Failure::Kernel {
                reason: format!("an emulated drive reads file ranges, not {input:?}"),
            });
        };
        placed.push(InputRef::DeviceRange { lease: 0, offset: *offset, length });
    }
    let mut memory =
        nearscan_models::zeroed_lines(usize::try_from(plan.bytes).unwrap_or(usize::MAX));
    let mut rest: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
    let mut at = 0;
    for span in &plan.spans {
        let room = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (_, behind) = rest.split_at_mut(room(span.place - at));
        let (part, behind) = behind.split_at_mut(room(span.length));
        let file = files.open(span.file_id, span.version)?;
        file.read(|file| file.read_exact_at(part, span.offset))?;
        flash.count(files, span);
        at = span.place + span.length;
        rest = behind;
    }
    Ok((memory, placed))
}
