// SPDX-License-Identifier: Apache-2.0
//! Reads the images of a card, and decides which of them runs a command.
//!
//! A card has one image loaded. A second one merges, or has other lanes: it is loaded when a
//! command needs it, and stays until one needs the first again.
//!
//! # Invariants
//!
//! - All images are for the same target, and have equally many units that scan: jobs are dealt out
//!   to units before it is known which image they will find.

use std::path::{Path, PathBuf};

use nearscan_command::layout::{FORMAT_MAJOR, FORMAT_MINOR};
use nearscan_drive::{Capabilities, Work};
use nearscan_link::{Image, Kernel, metadata::Format};

use crate::{config::Config, error::OpenError};

/// Reads an image and checks that it is of use here.
///
/// # Errors
/// [`OpenError::File`] and [`OpenError::Image`].
pub fn read_image(path: &Path) -> Result<Image, OpenError> {
    let bytes = std::fs::read(path).map_err(OpenError::file(path))?;
    let format = Format { major: FORMAT_MAJOR, minor: FORMAT_MINOR };
    Image::read(&bytes, format).map_err(|reason| OpenError::Image { path: path.to_owned(), reason })
}

/// An image with its file.
#[derive(Debug, Clone)]
pub(crate) struct ImageFile {
    pub(crate) path: PathBuf,
    pub(crate) image: Image,
}

impl ImageFile {
    fn read(path: &Path) -> Result<Self, OpenError> {
        Ok(Self { path: path.to_owned(), image: read_image(path)? })
    }

    /// Units that scan.
    pub(crate) fn scan_units(&self) -> u32 {
        self.image.units_of(Kernel::Scan)
    }

    /// Whether it merges.
    pub(crate) fn merges(&self) -> bool {
        self.image.units_of(Kernel::Merge) > 0
    }

    /// Whether it has the lanes and the units for a command.
    pub(crate) fn runs(&self, work: &Work) -> bool {
        work.columns() as u64 <= u64::from(self.image.lanes) && (self.merges() || !work.merges())
    }
}

/// The images of a card.
#[derive(Debug)]
pub(crate) struct Images {
    pub(crate) first: ImageFile,
    pub(crate) second: Option<ImageFile>,
}

impl Images {
    /// Reads the images of a configuration.
    ///
    /// # Errors
    /// As [`read_image`], and [`OpenError::Images`] when one cannot replace the other.
    pub(crate) fn read(config: &Config) -> Result<Self, OpenError> {
        let first = ImageFile::read(&config.xclbin)?;
        let second = config.merge_xclbin.as_deref().map(ImageFile::read).transpose()?;
        if let Some(second) = &second {
            let refuse = |reason| {
                let (first, second) = (first.path.clone(), second.path.clone());
                Err(OpenError::Images { first, second, reason })
            };
            if first.image.target != second.image.target {
                return refuse("one is for a card, one for software emulation");
            }
            if first.scan_units() != second.scan_units() {
                return refuse("they have different numbers of units that scan");
            }
        }
        Ok(Self { first, second })
    }

    fn all(&self) -> impl Iterator<Item = &ImageFile> {
        [Some(&self.first), self.second.as_ref()].into_iter().flatten()
    }

    /// The image to load for a command; nothing when `loaded` runs it, or none does.
    pub(crate) fn needed(&self, work: &Work, loaded: &ImageFile) -> Option<&ImageFile> {
        if loaded.runs(work) {
            return None;
        }
        self.all().find(|image| image.runs(work))
    }

    /// What a card with these images can do, with the one that a command needs.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let widest = Capabilities::of_scan_kernel().columns_max;
        let lanes = |image: &ImageFile| image.image.lanes.min(widest);
        let merging = || self.all().filter(|image| image.merges());
        Capabilities {
            columns_max: self.all().map(lanes).max().unwrap_or(0),
            merge_inputs_max: merging().map(|image| image.image.merge_inputs).max().unwrap_or(0),
            merge_columns_max: merging().map(lanes).max().unwrap_or(0),
            ..Capabilities::of_scan_kernel()
        }
    }

    /// The images in words.
    pub(crate) fn in_words(&self) -> String {
        let words = |file: &ImageFile| {
            let (scans, merges) = (file.scan_units(), file.image.units_of(Kernel::Merge));
            format!("{scans} to scan with {} lanes each, {merges} to merge", file.image.lanes)
        };
        self.all().map(words).collect::<Vec<_>>().join(", or ")
    }
}
