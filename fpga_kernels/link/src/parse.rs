// SPDX-License-Identifier: Apache-2.0
//! Reads an xclbin: what it is for, its identity, and its sections.
//!
//! # Invariants
//!
//! - Any bytes end in an [`Xclbin`] or a [`ParseError`]; every section lies within the file.

use crate::xclbin::{ENTRY_BYTES, HEADER_BYTES, MAGIC, MODE_SW_EMU, place};

/// Sections that a file may have; tools write about twenty.
const SECTIONS_MAX: u32 = 256;

/// The target that an image is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A card.
    Card,
    /// XRT's software emulation.
    SoftwareEmulation,
}

/// The reason why bytes are no xclbin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It begins otherwise.
    #[error("it is not an xclbin")]
    Magic,
    /// It ends too soon.
    #[error("it is cut off: it has {bytes} bytes and needs {needed}")]
    CutOff {
        /// Its length.
        bytes: u64,
        /// The length that it should have.
        needed: u64,
    },
    /// It is for neither a card nor software emulation.
    #[error("its mode is {0}; images are for a card (0 to 3) or software emulation (5)")]
    Mode(u16),
    /// It says that it has more sections than any tool writes.
    #[error("it says that it has {0} sections")]
    Sections(u32),
}

/// A file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xclbin<'a> {
    /// The target that it is built for.
    pub target: Target,
    /// The platform it was linked for.
    pub platform: String,
    /// Its identity.
    pub uuid: [u8; 16],
    sections: Vec<(u32, &'a [u8])>,
}

impl<'a> Xclbin<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        if !bytes.starts_with(MAGIC) {
            return Err(ParseError::Magic);
        }
        let cut_off = |needed: u64| ParseError::CutOff { bytes: bytes.len() as u64, needed };
        let header = bytes.get(..HEADER_BYTES).ok_or_else(|| cut_off(HEADER_BYTES as u64))?;
        let length = u64_at(header, place::LENGTH);
        if length > bytes.len() as u64 {
            return Err(cut_off(length));
        }
        let target = match u16::from_le_bytes(array_at(header, place::MODE)) {
            0..=3 => Target::Card,
            MODE_SW_EMU => Target::SoftwareEmulation,
            mode => return Err(ParseError::Mode(mode)),
        };
        let count = u32::from_le_bytes(array_at(header, place::SECTIONS));
        if count > SECTIONS_MAX {
            return Err(ParseError::Sections(count));
        }
        let table = HEADER_BYTES + ENTRY_BYTES * count as usize;
        let table = bytes.get(HEADER_BYTES..table).ok_or_else(|| cut_off(table as u64))?;
        let entries = table.chunks_exact(ENTRY_BYTES).map(|entry| {
            let (offset, length) = (u64_at(entry, 24), u64_at(entry, 32));
            let end = offset.saturating_add(length);
            let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let content = bytes.get(index(offset)..index(end)).ok_or_else(|| cut_off(end))?;
            Ok((u32::from_le_bytes(array_at(entry, 0)), content))
        });
        let sections = entries.collect::<Result<_, ParseError>>()?;
        let platform = text(&array_at::<64>(header, place::PLATFORM));
        Ok(Self { target, platform, uuid: array_at(header, place::UUID), sections })
    }

    /// The first section of a kind.
    pub fn section(&self, kind: u32) -> Option<&'a [u8]> {
        self.sections.iter().find(|(other, _)| *other == kind).map(|(_, content)| *content)
    }

    /// The names of all units (`kernel:unit`), in the order of their registers.
    pub fn units(&self) -> Vec<String> {
        let layout = self.section(crate::xclbin::kind::IP_LAYOUT).unwrap_or_default();
        let entries = layout.get(8..).unwrap_or_default().chunks_exact(80);
        let count = layout.get(..4).map_or(0, |bytes| u32::from_le_bytes(array_at(bytes, 0)));
        let kernels =
            entries.take(count as usize).filter(|entry| array_at(entry, 0) == [1u8, 0, 0, 0]);
        kernels.map(|entry| text(&array_at::<64>(entry, 16))).collect()
    }
}

/// Zeros where there is nothing.
fn array_at<const BYTES: usize>(bytes: &[u8], at: usize) -> [u8; BYTES] {
    let mut array = [0; BYTES];
    if let Some(found) = bytes.get(at..at + BYTES) {
        array.copy_from_slice(found);
    }
    array
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// Text up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::description::{IMAGES, PLATFORM};
    use crate::metadata::Format;
    use crate::xclbin::{emulation, kind};

    fn image() -> Vec<u8> {
        emulation(&IMAGES[0], Format { major: 1, minor: 3 })
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = image();
        let xclbin = Xclbin::parse(&bytes).unwrap();
        assert_eq!(
            (xclbin.target, xclbin.platform.as_str()),
            (Target::SoftwareEmulation, PLATFORM)
        );
        let xml = xclbin.section(kind::EMBEDDED_METADATA).unwrap();
        assert_eq!(xml, crate::metadata::xml(&IMAGES[0]).as_bytes());
        let units = xclbin.units();
        assert_eq!(units.len(), 6);
        assert_eq!(
            (units[0].as_str(), units[5].as_str()),
            ("ns_scan:ns_scan_1", "ns_merge:ns_merge_2")
        );
        // One bank of 4 GiB, on which the eight arguments of four scans and the five of two merges
        // are.
        let banks = xclbin.section(kind::MEM_TOPOLOGY).unwrap();
        assert_eq!((banks.len(), u64_at(banks, 16)), (48, 4 << 20));
        assert_eq!(xclbin.section(kind::CONNECTIVITY).unwrap().len(), 4 + 12 * 42);
        assert_eq!(xclbin.section(99), None);
    }

    #[rstest]
    #[case::magic(0, 0xff, ParseError::Magic)]
    #[case::mode(332, 9, ParseError::Mode(9))]
    #[case::sections(450, 1, ParseError::Sections(0x1_0006))]
    fn what_is_no_image_is_refused(
        #[case] at: usize,
        #[case] byte: u8,
        #[case] expected: ParseError,
    ) {
        let mut bytes = image();
        bytes[at] = byte;
        assert_eq!(Xclbin::parse(&bytes), Err(expected));
    }

    #[rstest]
    #[case(8)]
    #[case(455)]
    #[case(500)]
    #[case(2000)]
    fn what_is_cut_off_is_refused(#[case] length: usize) {
        let bytes = image();
        let cut = Xclbin::parse(&bytes[..length]);
        assert!(matches!(cut, Err(ParseError::CutOff { .. })), "{cut:?}");
    }

    proptest! {
        #[test]
        fn damaged_bytes_end_in_a_file_or_an_error(
            damage in prop::collection::vec((0usize..3000, any::<u8>()), 1..20),
            length in 0usize..3000,
        ) {
            let mut bytes = image();
            for (at, byte) in damage {
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
            bytes.truncate(length.max(8));
            if let Ok(xclbin) = Xclbin::parse(&bytes) {
                prop_assert!(xclbin.units().len() <= bytes.len());
            }
        }
    }
}
