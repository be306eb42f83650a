// SPDX-License-Identifier: Apache-2.0
//! An image as a host takes it: one of ours, for the commands that this host sends.

use crate::{
    description::Kernel,
    metadata::{self, ArgumentEntry, Format},
    parse::{ParseError, Target, Xclbin},
    xclbin::kind,
};

/// A unit of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its name, by which XRT opens it alone.
    pub name: String,
}

/// An image that this host can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The target that it is built for.
    pub target: Target,
    /// Its name among ours.
    pub name: String,
    /// The platform it was linked for.
    pub platform: String,
    /// Its identity.
    pub uuid: [u8; 16],
    /// Its units, those that scan and those that merge.
    pub units: Vec<Unit>,
    /// Columns of one scan.
    pub lanes: u32,
    /// Inputs of one merge; 0 where no unit merges.
    pub merge_inputs: u32,
}

/// The reason why an image is of no use here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// It is no xclbin.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It holds something else.
    #[error("it holds no kernels of Nearscan: {missing} is missing")]
    Foreign {
        /// The missing part.
        missing: &'static str,
    },
    /// Its kernels take other commands.
    #[error("its kernels take commands of format {found}, this program sends {expected}")]
    Format {
        /// The format it was built for.
        found: String,
        /// The one that is sent.
        expected: String,
    },
    /// It was made by another build, so the kernels that it names are not those that would run.
    #[error(
        "it was made for the kernels {found} and this program has {expected}: make it again with \
         `cargo xtask xclbin`"
    )]
    OtherBuild {
        /// Hash of the kernels' sources that it was made of.
        found: String,
        /// Of those here.
        expected: &'static str,
    },
    /// A kernel is started otherwise.
    #[error("the arguments of {kernel} are {found}, this program passes {expected}")]
    Arguments {
        /// The kernel.
        kernel: &'static str,
        /// Its arguments.
        found: String,
        /// Those that are passed.
        expected: String,
    },
    /// Without a unit that scans there is nothing to do.
    #[error("the image {name} has no unit that scans, and merges alone are of no use")]
    NothingScans {
        /// Its name.
        name: String,
    },
}

impl Image {
    /// Reads an image, and checks that it is one of ours for commands of `format`. Of one for
    /// emulation the kernels must be those of this build, for these run.
    ///
    /// # Errors
    /// [`ImageError`] if it is of no use here.
    pub fn read(bytes: &[u8], format: Format) -> Result<Self, ImageError> {
        let xclbin = Xclbin::parse(bytes)?;
        let text = |kind, missing| {
            let section = xclbin.section(kind).and_then(|bytes| std::str::from_utf8(bytes).ok());
            section.ok_or(ImageError::Foreign { missing })
        };
        let own = text(kind::USER_METADATA, "the section of Nearscan")?;
        let value = |key, missing| metadata::value(own, key).ok_or(ImageError::Foreign { missing });
        let name = value("image", "the name of the image")?.to_owned();
        check_format(value("format", "the format of commands")?, format)?;
        let kernels = value("kernels", "the hash of the kernels")?;
        if xclbin.target == Target::SoftwareEmulation && kernels != crate::KERNELS_HASH {
            let found = kernels.to_owned();
            return Err(ImageError::OtherBuild { found, expected: crate::KERNELS_HASH });
        }
        let number = |key, missing| {
            value(key, missing)?.parse::<u32>().map_err(|_| ImageError::Foreign { missing })
        };
        let lanes = number("lanes", "the number of lanes")?;
        let merge_inputs = number("merge_inputs", "the number of inputs of a merge")?;
        let units: Vec<Unit> = xclbin.units().iter().filter_map(|unit| unit_of(unit)).collect();
        let arguments = metadata::arguments(text(kind::EMBEDDED_METADATA, "the metadata of XRT")?);
        for kernel in Kernel::ALL {
            if units.iter().any(|unit| unit.kernel == kernel) {
                check_arguments(kernel, &arguments)?;
            }
        }
        if !units.iter().any(|unit| unit.kernel == Kernel::Scan) || lanes == 0 {
            return Err(ImageError::NothingScans { name });
        }
        let merges = units.iter().any(|unit| unit.kernel == Kernel::Merge);
        Ok(Self {
            target: xclbin.target,
            name,
            platform: xclbin.platform,
            uuid: xclbin.uuid,
            units,
            lanes,
            merge_inputs: if merges { merge_inputs } else { 0 },
        })
    }

    /// Units of a kernel.
    pub fn units_of(&self, kernel: Kernel) -> u32 {
        let count = self.units.iter().filter(|unit| unit.kernel == kernel).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

/// `kernel:unit`, of kernels that we know.
fn unit_of(name: &str) -> Option<Unit> {
    let (kernel, unit) = name.split_once(':')?;
    Some(Unit { kernel: Kernel::of_name(kernel)?, name: unit.to_owned() })
}

/// Another major version is not understood, and commands may use all that the minor one has.
fn check_format(found: &str, expected: Format) -> Result<(), ImageError> {
    let parts = found.split_once('.');
    let found_format = parts.and_then(|(major, minor)| {
        Some(Format { major: major.parse().ok()?, minor: minor.parse().ok()? })
    });
    match found_format {
        Some(Format { major, minor }) if major == expected.major && minor >= expected.minor => {
            Ok(())
        }
        _ => Err(ImageError::Format {
            found: found.to_owned(),
            expected: format!("{}.{}", expected.major, expected.minor),
        }),
    }
}

fn check_arguments(kernel: Kernel, all: &[ArgumentEntry]) -> Result<(), ImageError> {
    let of_kernel = all.iter().filter(|argument| argument.kernel == kernel.name());
    let found: Vec<String> =
        of_kernel.map(|argument| format!("{} {}", argument.index, argument.name)).collect();
    let expected: Vec<String> = kernel
        .arguments()
        .iter()
        .map(|argument| format!("{} {}", argument.index(), argument.name()))
        .collect();
    if found == expected {
        return Ok(());
    }
    Err(ImageError::Arguments {
        kernel: kernel.name(),
        found: found.join(", "),
        expected: expected.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{IMAGES, ImageDescription};
    use crate::xclbin::emulation;

    const FORMAT: Format = Format { major: 1, minor: 3 };

    /// The image with a text in it replaced by one of equal length.
    fn changed(from: &str, to: &str) -> Vec<u8> {
        let bytes = emulation(&IMAGES[0], FORMAT);
        assert_eq!(from.len(), to.len());
        let at = bytes.windows(from.len()).rposition(|window| window == from.as_bytes()).unwrap();
        [&bytes[..at], to.as_bytes(), &bytes[at + to.len()..]].concat()
    }

    #[test]
    fn image_says_what_it_has() {
        let image = Image::read(&emulation(&IMAGES[0], FORMAT), FORMAT).unwrap();
        assert_eq!((image.units_of(Kernel::Scan), image.units_of(Kernel::Merge)), (4, 2));
        assert_eq!((image.lanes, image.merge_inputs), (16, 16));
        let scan = ImageDescription::of_name("smartssd_scan").unwrap();
        let image = Image::read(&emulation(scan, FORMAT), FORMAT).unwrap();
        assert_eq!((image.lanes, image.merge_inputs), (7, 0));
    }

    #[test]
    fn what_is_not_for_this_host_is_refused_with_the_reason() {
        let reason = |bytes: &[u8]| Image::read(bytes, FORMAT).unwrap_err().to_string();
        assert_eq!(reason(b"PAR1"), "it is not an xclbin");
        assert_eq!(
            reason(&changed("format 1.3", "format 2.0")),
            "its kernels take commands of format 2.0, this program sends 1.3"
        );
        assert_eq!(
            reason(&changed("format 1.3", "format 1.2")),
            "its kernels take commands of format 1.2, this program sends 1.3"
        );
        let kernels = format!("kernels {}", crate::KERNELS_HASH);
        let other = reason(&changed(&kernels, "kernels 0000000000000000"));
        assert!(other.starts_with("it was made for the kernels 0000000000000000"), "{other}");
        assert_eq!(
            reason(&changed("image ", "imagx ")),
            "it holds no kernels of Nearscan: the name of the image is missing"
        );
        let arguments = reason(&changed("arg name=\"scratch\"", "arg name=\"scretch\""));
        assert!(
            arguments.starts_with(
                "the arguments of ns_merge are 0 command, 1 input, 2 output, 3 scretch"
            ),
            "{arguments}"
        );
        let units = &[(Kernel::Merge, 2)];
        let merge = ImageDescription { name: "merge", units, lanes: 0, merge_inputs: 16 };
        assert_eq!(
            reason(&emulation(&merge, FORMAT)),
            "the image merge has no unit that scans, and merges alone are of no use"
        );
    }
}
