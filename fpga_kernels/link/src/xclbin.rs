// SPDX-License-Identifier: Apache-2.0
//! Writes an image for emulation: the container that XRT loads.
//!
//! Everything is little endian.
//!
//! ```text
//!    0    8  magic "xclbin2\0"
//!    8    4  length of a signature: -1, there is none
//!   12  284  28 bytes of ones and 256 of zeros, where a signature would be
//!  296    8  a number of the image
//!  304    8  length of the file
//!  312    8  time stamp: 0, for an image is a function of its description
//!  320   10  feature ROM, patch of the version
//!  330    2  version 2.1
//!  332    2  mode: what it is for
//!  334   18  zeros
//!  352   64  platform
//!  416   16  identity of the image
//!  432   16  name of a debug file: none
//!  448    4  sections, and 4 zeros
//!  456   40  for each section: kind (4), name (16), zeros (4), offset (8), length (8)
//! ```
//!
//! The sections follow, each on a multiple of 8.

use crate::{
    description::{BANK_BYTES, ImageDescription, PLATFORM},
    metadata::{self, Format},
};

/// The magic word.
pub const MAGIC: &[u8; 8] = b"xclbin2\0";

/// Bytes before the table of sections.
pub const HEADER_BYTES: usize = 456;

/// Bytes of an entry of the table.
pub const ENTRY_BYTES: usize = 40;

/// Places of the fields that are read back.
pub(crate) mod place {
    pub(crate) const LENGTH: usize = 304;
    pub(crate) const MODE: usize = 332;
    pub(crate) const PLATFORM: usize = 352;
    pub(crate) const UUID: usize = 416;
    pub(crate) const SECTIONS: usize = 448;
}

/// The mode of an image for software emulation.
pub const MODE_SW_EMU: u16 = 5;

/// Kinds of sections.
pub mod kind {
    /// The configuration of the card; of an image for emulation a marker.
    pub const BITSTREAM: u32 = 0;
    /// The XML.
    pub const EMBEDDED_METADATA: u32 = 2;
    /// Banks.
    pub const MEM_TOPOLOGY: u32 = 6;
    /// Which argument of which unit goes to which bank.
    pub const CONNECTIVITY: u32 = 7;
    /// Units.
    pub const IP_LAYOUT: u32 = 8;
    /// Metadata that tools leave alone: ours.
    pub const USER_METADATA: u32 = 16;
}

/// The image for emulation, whole. `format` is the version of commands that its kernels take.
pub fn emulation(image: &ImageDescription, format: Format) -> Vec<u8> {
    let own = metadata::own(image, format);
    let marker = format!("no bitstream: kernels {}, emulated by name\n", crate::KERNELS_HASH);
    let sections = [
        (kind::BITSTREAM, "bitstream", marker.into_bytes()),
        (kind::EMBEDDED_METADATA, "metadata", metadata::xml(image).into_bytes()),
        (kind::MEM_TOPOLOGY, "banks", mem_topology()),
        (kind::CONNECTIVITY, "connectivity", connectivity(image)),
        (kind::IP_LAYOUT, "units", ip_layout(image)),
        (kind::USER_METADATA, "nearscan", own.into_bytes()),
    ];
    container(&sections)
}

/// One bank of DDR4: type 1, in use.
fn mem_topology() -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend([1, 1, 0, 0, 0, 0, 0, 0]);
    bytes.extend((BANK_BYTES / 1024).to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(padded("bank0", 16));
    bytes
}

/// Every argument of every unit is on the one bank.
fn connectivity(image: &ImageDescription) -> Vec<u8> {
    let units = 0u32..;
    let connected = units.zip(image.all_units()).flat_map(|(unit, (kernel, _))| {
        let arguments = kernel.arguments().iter();
        arguments.map(move |argument| [argument.index(), unit, 0].map(u32::to_le_bytes).concat())
    });
    let connected: Vec<Vec<u8>> = connected.collect();
    let mut bytes = u32::try_from(connected.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    bytes.extend(connected.concat());
    bytes
}

/// Units by the address of their registers, which rises with their place.
fn ip_layout(image: &ImageDescription) -> Vec<u8> {
    let count = u32::try_from(image.all_units().count()).unwrap_or(u32::MAX);
    let mut bytes = u64::from(count).to_le_bytes().to_vec();
    for (index, (kernel, unit)) in (0..).zip(image.all_units()) {
        // A kernel, started by a bit that it clears itself, without an interrupt.
        bytes.extend([1u32, 0].map(u32::to_le_bytes).concat());
        bytes.extend(ImageDescription::base_of(index).to_le_bytes());
        bytes.extend(padded(&format!("{}:{}", kernel.name(), kernel.unit_name(unit)), 64));
    }
    bytes
}

/// Text with zeros behind it; what is too long is cut.
fn padded(text: &str, bytes: usize) -> Vec<u8> {
    let mut padded = text.as_bytes().to_vec();
    padded.resize(bytes, 0);
    padded
}

fn container(sections: &[(u32, &str, Vec<u8>)]) -> Vec<u8> {
    let mut offset = (HEADER_BYTES + ENTRY_BYTES * sections.len()) as u64;
    let mut table = Vec::new();
    let mut body = Vec::new();
    for (kind, name, content) in sections {
        let length = content.len() as u64;
        table.extend(kind.to_le_bytes());
        table.extend(padded(name, 16));
        table.extend([0; 4]);
        table.extend(offset.to_le_bytes());
        table.extend(length.to_le_bytes());
        body.extend(content);
        offset += length.next_multiple_of(8);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let identity = xxhash_rust::xxh3::xxh3_128(&[table.as_slice(), &body].concat());
    let mut bytes = MAGIC.to_vec();
    bytes.extend((-1i32).to_le_bytes());
    bytes.extend([0xff; 28]);
    bytes.extend([0; 256]);
    bytes.extend(identity.to_le_bytes().into_iter().take(8));
    bytes.extend(offset.to_le_bytes());
    bytes.extend([0; 18]);
    bytes.extend([2, 1]);
    bytes.extend(MODE_SW_EMU.to_le_bytes());
    bytes.extend([0; 18]);
    bytes.extend(padded(PLATFORM, 64));
    bytes.extend(identity.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(u32::try_from(sections.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(table);
    bytes.extend(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::IMAGES;

    #[test]
    fn image_is_the_same_each_time_and_unlike_others() {
        let format = Format { major: 1, minor: 3 };
        let [first, second] = [0, 0].map(|index| emulation(&IMAGES[index], format));
        assert_eq!(first, second);
        let other = emulation(&IMAGES[0], Format { major: 1, minor: 4 });
        let identity = |bytes: &[u8]| bytes[place::UUID..place::UUID + 16].to_vec();
        assert_ne!(identity(&first), identity(&other));
    }

    #[test]
    fn fields_are_where_the_table_says() {
        let bytes = emulation(&IMAGES[0], Format { major: 1, minor: 3 });
        assert_eq!(&bytes[..8], MAGIC);
        let length = u64::from_le_bytes(bytes[304..312].try_into().unwrap());
        assert_eq!(length, bytes.len() as u64);
        assert_eq!(bytes[330..334], [2, 1, 5, 0]);
        assert_eq!(&bytes[352..352 + PLATFORM.len()], PLATFORM.as_bytes());
        assert_eq!(bytes[448..452], [6, 0, 0, 0]);
        assert_eq!(bytes.len() % 8, 0);
    }
}
