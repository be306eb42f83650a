// SPDX-License-Identifier: Apache-2.0
//! The one description: which arguments a kernel has, on which ports they go, and which images are
//! made of how many units.
//!
//! # Invariants
//!
//! - All kernels begin with the same arguments, which keep their places: a host that starts one
//!   starts all. A scan has two more.
//! - The kernels' sources say the same, which a test reads off their text.

/// An argument of a kernel: a place in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Argument {
    /// The command.
    Command,
    /// Column chunks, or the results that are merged.
    Input,
    /// The result.
    Output,
    /// The working memory of the kernel.
    Scratch,
    /// A word that is not zero once the kernel is to stop.
    Cancel,
    /// The column chunks again, for the loaders of dictionaries.
    Dictionaries,
    /// The working memory again, for the entries that the loaders write.
    Entries,
    /// The working memory again, for the strings and entries that lanes write.
    ScratchOut,
}

impl Argument {
    /// All arguments, in the order of the list.
    pub const ALL: [Self; 8] = [
        Self::Command,
        Self::Input,
        Self::Output,
        Self::Scratch,
        Self::Cancel,
        Self::Dictionaries,
        Self::Entries,
        Self::ScratchOut,
    ];

    /// Its place in the list.
    pub const fn index(self) -> u32 {
        self as u32
    }

    /// Its name in the sources.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Input => "input",
            Self::Output => "output",
            Self::Scratch => "scratch",
            Self::Cancel => "cancel",
            Self::Dictionaries => "dictionaries",
            Self::Entries => "entries",
            Self::ScratchOut => "scratch_out",
        }
    }

    /// The bundle of ports that it goes through. `media` reads chunks and writes results, in lines;
    /// `memory` does the rest.
    pub const fn bundle(self) -> &'static str {
        match self {
            Self::Input | Self::Output | Self::Dictionaries => "media",
            Self::Command | Self::Scratch | Self::Cancel | Self::Entries | Self::ScratchOut => {
                "memory"
            }
        }
    }

    /// The width of what it points to, in bits.
    const fn bits(self) -> u32 {
        match self {
            Self::Input | Self::Output | Self::Dictionaries => 512,
            Self::ScratchOut => 128,
            Self::Command | Self::Scratch | Self::Entries => 64,
            Self::Cancel => 32,
        }
    }

    /// The type that it points to, in the words of C.
    pub const fn pointee(self) -> &'static str {
        match self {
            Self::Command | Self::Output | Self::Scratch | Self::Entries => "ulong",
            Self::Input | Self::Dictionaries => "line_t",
            Self::Cancel => "uint",
            Self::ScratchOut => "pair_t",
        }
    }

    /// Its place in the registers of a unit: 8 bytes each, and a word that the tool reserves.
    pub const fn register_offset(self) -> u32 {
        0x10 + self.index() * 12
    }
}

/// The bundles of a unit.
pub const BUNDLES: [&str; 2] = ["media", "memory"];

/// A kernel of the images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Scans one row group.
    Scan,
    /// Merges results of scans, or does one part of that.
    Merge,
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 2] = [Self::Scan, Self::Merge];

    /// The name of its function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scan => "ns_scan",
            Self::Merge => "ns_merge",
        }
    }

    /// The file of its function, below `fpga_kernels/hls`.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Scan => "scan/scan_top.cpp",
            Self::Merge => "merge/merge_top.cpp",
        }
    }

    /// The modules of `fpga_kernels/rtl` that it calls as black boxes: function `NAME_blackbox` is
    /// the module `NAME`.
    pub const fn black_boxes(self) -> &'static [&'static str] {
        match self {
            Self::Scan => &["snappy_decoder"],
            Self::Merge => &[],
        }
    }

    /// Its arguments, in the order of the list.
    pub fn arguments(self) -> &'static [Argument] {
        match self {
            Self::Scan => &Argument::ALL,
            Self::Merge => Argument::ALL.split_at(Argument::Dictionaries as usize).0,
        }
    }

    /// The width of one of its bundles in bits: that of the widest argument which goes through it.
    pub fn bundle_bits(self, bundle: &str) -> u32 {
        let of_bundle = self.arguments().iter().filter(|argument| argument.bundle() == bundle);
        of_bundle.map(|argument| argument.bits()).max().unwrap_or(0)
    }

    /// The kernel of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// The name of one of its units; units count from 1, as the linker has it.
    pub fn unit_name(self, unit: u32) -> String {
        format!("{}_{unit}", self.name())
    }
}

/// An image: what is linked together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageDescription {
    /// Its name, and that of its files.
    pub name: &'static str,
    /// Units of each kernel.
    pub units: &'static [(Kernel, u32)],
    /// Columns that a unit scans side by side (`NS_LANES`); 0 where none scans.
    pub lanes: u32,
    /// Results that a unit merges; 0 where none merges.
    pub merge_inputs: u32,
}

/// Columns of the widest build, which is the one that is compiled for emulation.
pub const LANES_MAX: u32 = 16;

/// Inputs of a merge.
pub const MERGE_INPUTS: u32 = 16;

/// All images. `fpga_kernels/budget.toml` says which fit the part: those for the card do.
pub const IMAGES: &[ImageDescription] = &[
    ImageDescription {
        name: "emulation",
        units: &[(Kernel::Scan, 4), (Kernel::Merge, 2)],
        lanes: LANES_MAX,
        merge_inputs: MERGE_INPUTS,
    },
    ImageDescription {
        name: "smartssd_scan",
        units: &[(Kernel::Scan, 1)],
        lanes: 7,
        merge_inputs: 0,
    },
    ImageDescription {
        name: "smartssd_scan_merge",
        units: &[(Kernel::Scan, 1), (Kernel::Merge, 1)],
        lanes: 5,
        merge_inputs: MERGE_INPUTS,
    },
];

impl ImageDescription {
    /// The image of that name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        IMAGES.iter().find(|image| image.name == name)
    }

    /// Every unit: its kernel, and its number among that kernel's.
    pub fn all_units(&self) -> impl Iterator<Item = (Kernel, u32)> {
        self.units.iter().flat_map(|(kernel, count)| (1..=*count).map(|unit| (*kernel, unit)))
    }

    /// The address of the registers of unit `index` of the image: 64 KiB apart, as platforms have
    /// it.
    pub const fn base_of(index: u32) -> u64 {
        0x180_0000 + 0x1_0000 * index as u64
    }
}

/// The platform that images are linked for.
pub const PLATFORM: &str = "xilinx_u2_gen3x4_xdma_gc_base_2";

/// The drive's one bank, as the linker calls it. Assumed until a platform has been asked
/// (`platforminfo`).
pub const BANK: &str = "DDR[0]";

/// Bytes of the bank.
pub const BANK_BYTES: u64 = 4 << 30;

/// Ports of the bank.
pub const PORTS_MAX: u32 = 15;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn kernels_have_these_arguments_on_these_bundles() {
        for kernel in Kernel::ALL {
            let path = Path::new("../hls").join(kernel.source());
            let text = std::fs::read_to_string(path).unwrap();
            let start = format!("extern \"C\" void {}(", kernel.name());
            let (_, rest) = text.split_once(&start).unwrap();
            let (list, _) = rest.split_once(')').unwrap();
            let names: Vec<&str> =
                list.split(',').filter_map(|part| part.split([' ', '*']).next_back()).collect();
            let arguments = kernel.arguments();
            let expected: Vec<&str> = arguments.iter().map(|argument| argument.name()).collect();
            assert_eq!(names, expected, "{}", kernel.name());
            for argument in arguments {
                let port = format!("port = {} bundle = {}", argument.name(), argument.bundle());
                assert!(text.contains(&port), "{}: {port}", kernel.name());
            }
        }
    }

    #[test]
    fn black_boxes_are_modules_that_the_kernel_calls() {
        for kernel in Kernel::ALL {
            let folder = Path::new("../hls").join(kernel.source());
            let mut called = Vec::new();
            for entry in std::fs::read_dir(folder.parent().unwrap()).unwrap() {
                let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
                let calls = text.lines().filter(|line| !line.starts_with("//"));
                let names = calls.filter_map(|line| line.trim().split_once("_blackbox("));
                called.extend(names.map(|(name, _)| name.rsplit(' ').next().unwrap().to_owned()));
            }
            called.sort();
            called.dedup();
            assert_eq!(called, kernel.black_boxes(), "{}", kernel.name());
            for name in kernel.black_boxes() {
                assert!(Path::new(&format!("../rtl/modules/{name}.toml")).is_file(), "{name}");
            }
        }
    }

    #[test]
    fn indexes_are_places_in_the_list() {
        for (place, argument) in Argument::ALL.into_iter().enumerate() {
            assert_eq!(argument.index() as usize, place);
        }
        assert_eq!(Argument::Cancel.register_offset(), 0x40);
    }

    #[test]
    fn bundle_is_as_wide_as_its_widest_argument() {
        assert_eq!(Kernel::Scan.bundle_bits("memory"), 128);
        assert_eq!(Kernel::Merge.bundle_bits("memory"), 64);
        assert_eq!(BUNDLES.map(|bundle| Kernel::Merge.bundle_bits(bundle)), [512, 64]);
    }

    #[test]
    fn no_image_has_more_ports_than_the_bank() {
        for image in IMAGES {
            let units = u32::try_from(image.all_units().count()).unwrap();
            let ports = units * u32::try_from(BUNDLES.len()).unwrap();
            assert!(ports <= PORTS_MAX, "{}: {ports}", image.name);
            let scans = image.units.iter().any(|(kernel, _)| *kernel == Kernel::Scan);
            assert_eq!(image.lanes > 0, scans, "{}", image.name);
        }
    }
}
