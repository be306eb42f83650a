// SPDX-License-Identifier: Apache-2.0
//! The flash: files by number, their versions, and reads into device memory.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use nearscan_command::{InputRef, MediaPlan, Span};
use nearscan_drive::{Failure, FileRef, Placement, file_version};
use nearscan_models::Line;

/// The files that a drive has been asked for.
#[derive(Debug)]
pub(crate) struct Media {
    root: Option<PathBuf>,
    files: Mutex<Files>,
}

#[derive(Debug, Default)]
struct Files {
    ids: HashMap<PathBuf, u64>,
    paths: Vec<PathBuf>,
}

impl Media {
    /// Media that hold the files below `root`, or all.
    pub(crate) fn new(root: Option<PathBuf>) -> Self {
        Self { root, files: Mutex::default() }
    }

    /// Whether a file lies on these media.
    pub(crate) fn locate(&self, file: &FileRef) -> Placement {
        let not_here = |reason: String| Placement::NotHere { reason };
        let path = match file.path.canonicalize() {
            Ok(path) => path,
            Err(error) => return not_here(format!("{}: {error}", file.path.display())),
        };
        let root =
            self.root.as_ref().map(|root| root.canonicalize().unwrap_or_else(|_| root.clone()));
        match root {
            Some(root) if !path.starts_with(&root) => {
                not_here(format!("{} is not below {}", path.display(), root.display()))
            }
            _ => {
                let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(file_id) = files.ids.get(&path) {
                    return Placement::Here { file_id: *file_id };
                }
                let file_id = files.paths.len() as u64;
                files.paths.push(path.clone());
                files.ids.insert(path, file_id);
                Placement::Here { file_id }
            }
        }
    }

    fn path(&self, file_id: u64) -> Option<PathBuf> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.paths.get(usize::try_from(file_id).ok()?).cloned()
    }

    /// Reads the inputs of a command into device memory, as the plan says, and gives them as device
    /// ranges.
    pub(crate) fn load(
        &self,
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
            self.read(span, part)?;
            at = span.place + span.length;
            rest = behind;
        }
        Ok((memory, placed))
    }

    fn read(&self, span: &Span, into: &mut [u8]) -> Result<(), Failure> {
        let path = self.path(span.file_id).ok_or_else(|| Failure::Read {
            path: format!("file {}", span.file_id),
            reason: "the drive was never asked for it".to_owned(),
        })?;
        let failed = |error: std::io::Error| Failure::Read {
            path: path.display().to_string(),
            reason: error.to_string(),
        };
        let file = File::open(&path).map_err(failed)?;
        if file_version(&file.metadata().map_err(failed)?) != span.version {
            return Err(Failure::Stale { path: path.display().to_string() });
        }
        file.read_exact_at(into, span.offset).map_err(failed)
    }
}

impl Media {
    /// The file that a command reads first, for messages.
    pub(crate) fn first_path(&self, inputs: &[InputRef]) -> String {
        let id = inputs.iter().find_map(|input| match input {
            InputRef::FileRange { file_id, .. } => Some(*file_id),
            _ => None,
        });
        let path = id.and_then(|id| self.path(id));
        path.map_or_else(|| "the input".to_owned(), |path| path.display().to_string())
    }
}
