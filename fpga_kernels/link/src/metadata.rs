// SPDX-License-Identifier: Apache-2.0
//! Writes the metadata of an image: the XML that XRT reads, and a few lines of our own.
//!
//! Ours are `key value`, one a line, in the section for users' metadata, which tools leave alone.

use std::fmt::Write;

use crate::{
    KERNELS_HASH,
    description::{BUNDLES, ImageDescription, PLATFORM},
};

/// Version of the lines that [`own`] writes.
pub const VERSION: u32 = 1;

/// The metadata that XRT reads: kernels, their arguments and ports, their units.
pub fn xml(image: &ImageDescription) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <project name=\"nearscan\">\n \
         <platform vendor=\"xilinx\" boardid=\"u2\" name=\"{PLATFORM}\" featureRomTime=\"0\">\n  \
         <device name=\"fpga0\" fpgaDevice=\"\">\n   \
         <core name=\"OCL_REGION_0\" target=\"sw_emu\" type=\"clc_region\" \
         numComputeUnits=\"{}\">\n",
        image.all_units().count()
    );
    let mut base = (0..).map(ImageDescription::base_of);
    // Writing to a string does not fail.
    for (kernel, count) in image.units {
        let _ = writeln!(
            text,
            "    <kernel name=\"{}\" language=\"c\" type=\"pl\" workGroupSize=\"1\">",
            kernel.name()
        );
        for bundle in BUNDLES {
            let width = kernel.bundle_bits(bundle);
            let _ = writeln!(
                text,
                "     <port name=\"{}\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" \
                 dataWidth=\"{width}\" portType=\"addressable\" base=\"0x0\"/>",
                port(bundle)
            );
        }
        text.push_str(
            "     <port name=\"S_AXI_CONTROL\" mode=\"slave\" range=\"0x1000\" dataWidth=\"32\" \
             portType=\"addressable\" base=\"0x0\"/>\n",
        );
        for argument in kernel.arguments() {
            let _ = writeln!(
                text,
                "     <arg name=\"{}\" addressQualifier=\"1\" id=\"{}\" port=\"{}\" size=\"0x8\" \
                 offset=\"{:#x}\" hostOffset=\"0x0\" hostSize=\"0x8\" type=\"{}*\"/>",
                argument.name(),
                argument.index(),
                port(argument.bundle()),
                argument.register_offset(),
                argument.pointee()
            );
        }
        for unit in 1..=*count {
            let _ = writeln!(
                text,
                "     <instance name=\"{}\"><addrRemap base=\"{:#x}\" port=\"S_AXI_CONTROL\"/>\
                 </instance>",
                kernel.unit_name(unit),
                base.next().unwrap_or_default()
            );
        }
        text.push_str("    </kernel>\n");
    }
    text.push_str("   </core>\n  </device>\n </platform>\n</project>\n");
    text
}

/// The port of a bundle, as XRT calls it.
fn port(bundle: &str) -> String {
    format!("M_AXI_{}", bundle.to_uppercase())
}

/// Returns the metadata that only we read: the image, the hash of its kernels, and the format of
/// its commands. `format` is the version of commands.
pub fn own(image: &ImageDescription, format: Format) -> String {
    format!(
        "nearscan {VERSION}\n\
         image {}\n\
         format {}.{}\n\
         kernels {KERNELS_HASH}\n\
         lanes {}\n\
         merge_inputs {}\n",
        image.name, format.major, format.minor, image.lanes, image.merge_inputs
    )
}

/// A version of the command format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Another one is not understood.
    pub major: u16,
    /// A higher one only adds.
    pub minor: u16,
}

/// The value of a key in the lines that [`own`] writes.
pub(crate) fn value<'a>(own: &'a str, key: &str) -> Option<&'a str> {
    own.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
}

/// An argument as the XML has it: its kernel, name, place in the list and place in the registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentEntry {
    pub(crate) kernel: String,
    pub(crate) name: String,
    pub(crate) index: String,
}

/// The arguments of all kernels in a text of XML, in its order. It is not a parser of XML: it finds
/// tags and their attributes, which is all that this metadata has.
pub(crate) fn arguments(xml: &str) -> Vec<ArgumentEntry> {
    let mut kernel = String::new();
    let mut found = Vec::new();
    for tag in xml.split('<').skip(1) {
        match tag.split([' ', '>', '/']).next() {
            Some("kernel") => kernel = attribute(tag, "name"),
            Some("arg") => found.push(ArgumentEntry {
                kernel: kernel.clone(),
                name: attribute(tag, "name"),
                index: attribute(tag, "id"),
            }),
            _ => {}
        }
    }
    found
}

/// A unit as the XML has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitEntry {
    /// Its kernel.
    pub kernel: String,
    /// Its name.
    pub name: String,
    /// The address of its registers.
    pub base: u64,
}

/// The units of all kernels in a text of XML, in its order; what has no address is left out.
pub fn units(xml: &str) -> Vec<UnitEntry> {
    let (mut kernel, mut name) = (String::new(), String::new());
    let mut found = Vec::new();
    for tag in xml.split('<').skip(1) {
        match tag.split([' ', '>', '/']).next() {
            Some("kernel") => kernel = attribute(tag, "name"),
            Some("instance") => name = attribute(tag, "name"),
            Some("addrRemap") => {
                let base = attribute(tag, "base");
                let digits = base.strip_prefix("0x").unwrap_or(&base);
                if let Ok(base) = u64::from_str_radix(digits, 16) {
                    found.push(UnitEntry { kernel: kernel.clone(), name: name.clone(), base });
                }
            }
            _ => {}
        }
    }
    found
}

fn attribute(tag: &str, name: &str) -> String {
    let value = tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    value.map_or_else(String::new, |(value, _)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Kernel;

    #[test]
    fn xml_has_every_argument_and_unit() {
        let image = ImageDescription::of_name("emulation").unwrap();
        let text = xml(image);
        let arguments = arguments(&text);
        assert_eq!(arguments.len(), 8 + 5);
        let last = arguments.last().unwrap();
        assert_eq!(
            (last.kernel.as_str(), last.name.as_str(), last.index.as_str()),
            ("ns_merge", "cancel", "4")
        );
        assert!(text.contains("<instance name=\"ns_scan_4\"><addrRemap base=\"0x1830000\""));
        assert!(text.contains("<instance name=\"ns_merge_1\"><addrRemap base=\"0x1840000\""));
        assert_eq!(image.all_units().last(), Some((Kernel::Merge, 2)));
        let units = units(&text);
        let last = units.last().unwrap();
        assert_eq!((units.len(), last.kernel.as_str()), (6, "ns_merge"));
        assert_eq!((last.name.as_str(), last.base), ("ns_merge_2", 0x185_0000));
    }

    #[test]
    fn key_is_a_whole_word() {
        let own = "lanes 6\nlane 7\n";
        assert_eq!((value(own, "lanes"), value(own, "lane")), (Some("6"), Some("7")));
        assert_eq!(value(own, "x"), None);
    }
}
