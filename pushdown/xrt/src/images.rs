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
use nearscan_drive::{Capabilities, ImageAbility, Work, images::image_needed};
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

    fn merges(&self) -> bool {
        self.image.units_of(Kernel::Merge) > 0
    }

    /// What it can run.
    pub(crate) fn ability(&self) -> ImageAbility {
        let merge_inputs_max = if self.merges() { self.image.merge_inputs } else { 0 };
        ImageAbility { columns_max: self.image.lanes, merge_inputs_max }
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

    fn all(&self) -> impl Iterator<Item = &ImageFile> + Clone {
        [Some(&self.first), self.second.as_ref()].into_iter().flatten()
    }

    /// The image to load for a command; nothing when `loaded` runs it, or none does.
    pub(crate) fn needed<'a>(
        &'a self,
        work: &Work,
        loaded: &'a ImageFile,
    ) -> Option<&'a ImageFile> {
        image_needed(work, &loaded, self.all(), |file| file.ability())
    }

    /// What a card with these images can do, with the one that a command needs.
    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities::of_images(self.all().map(ImageFile::ability))
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
