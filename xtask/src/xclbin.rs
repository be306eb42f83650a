// SPDX-License-Identifier: Apache-2.0
//! Makes images of the FPGA: the one that XRT's software emulation loads is written here, and those
//! of the card are made by the vendor's `v++` from the same description.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use nearscan_command::layout::{FORMAT_MAJOR, FORMAT_MINOR};
use nearscan_link::{
    IMAGES, ImageDescription, Kernel, configuration,
    metadata::{self, Format},
    xclbin,
};

use crate::{
    codegen,
    project::{self, Project},
    rtl,
};

/// Which image.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Target of the image
    #[arg(long, value_enum, default_value_t = Target::SwEmu)]
    target: Target,
    /// Its name; for emulation `emulation`, for a card `smartssd_scan` unless given
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
    /// Path of the image; `xclbin/NAME.TARGET.xclbin` in the target folder unless given
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// XRT's software emulation.
    #[value(name = "sw_emu")]
    SwEmu,
    /// A card.
    Hw,
}

impl Target {
    const fn name(self) -> &'static str {
        match self {
            Self::SwEmu => "sw_emu",
            Self::Hw => "hw",
        }
    }
}

/// The version of commands that the kernels of this checkout take.
const FORMAT: Format = Format { major: FORMAT_MAJOR, minor: FORMAT_MINOR };

/// Makes an image and prints where it is.
///
/// # Errors
/// When there is no such image, when it cannot be written, and, for a card, when `v++` is missing.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    let image = chosen(options)?;
    let name = format!("{}.{}.xclbin", image.name, options.target.name());
    let default = || project.target_folder().join("xclbin").join(name);
    let output = options.output.clone().unwrap_or_else(default);
    let folder = output.parent().context("the file has no folder")?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    match options.target {
        Target::SwEmu => std::fs::write(&output, xclbin::emulation(image, FORMAT))
            .with_context(|| format!("cannot write {}", output.display()))?,
        Target::Hw => link(project, image, &output)?,
    }
    println!("xclbin: wrote {}", output.display());
    Ok(())
}

fn chosen(options: &Options) -> Result<&'static ImageDescription> {
    let default = match options.target {
        Target::SwEmu => "emulation",
        Target::Hw => "smartssd_scan",
    };
    let name = options.image.as_deref().unwrap_or(default);
    let names: Vec<&str> = IMAGES.iter().map(|image| image.name).collect();
    ImageDescription::of_name(name)
        .with_context(|| format!("there is no image {name}; there are {}", names.join(", ")))
}

/// Compiles and links with `v++`, then adds what only we read. It takes hours.
fn link(project: &Project, image: &ImageDescription, output: &std::path::Path) -> Result<()> {
    for (tool, package) in [("v++", "Vitis"), ("xclbinutil", "XRT")] {
        let mut probe = project.command(tool);
        probe.arg("--version");
        if !project::succeeds(probe) {
            bail!(
                "{tool} of {package} is not here, and an image for a card needs it; it was never \
                 run for this project. `--target sw_emu` needs no vendor tool"
            );
        }
    }
    let folder = output.parent().context("the file has no folder")?;
    let mut objects = Vec::new();
    for (kernel, _) in image.units {
        let object = folder.join(format!("{}.xo", kernel.name()));
        let object = object.to_str().context("the target folder's name is not UTF-8")?.to_owned();
        let script = black_boxes(project, *kernel, folder)?;
        let arguments =
            configuration::compile_arguments(image, *kernel, &object, script.as_deref());
        project::run(project.command("v++").args(arguments))?;
        objects.push(object);
    }
    let wanted = configuration::of_image(image, &codegen::marker()).text;
    let config = folder.join(format!("{}.cfg", image.name));
    std::fs::write(&config, wanted)
        .with_context(|| format!("cannot write {}", config.display()))?;
    let config = config.to_str().context("the target folder's name is not UTF-8")?;
    let bare = folder.join(format!("{}.bare.xclbin", image.name));
    let bare = bare.to_str().context("the target folder's name is not UTF-8")?.to_owned();
    let arguments = configuration::link_arguments(config, &objects, &bare);
    project::run(project.command("v++").args(arguments))?;
    let own = folder.join(format!("{}.metadata", image.name));
    std::fs::write(&own, metadata::own(image, FORMAT))?;
    let mut add = project.command("xclbinutil");
    add.args(["--force", "--input", &bare, "--output"]).arg(output);
    add.arg("--add-section").arg(format!("USER_METADATA:RAW:{}", own.display()));
    project::run(&mut add)?;
    ensure!(output.is_file(), "xclbinutil wrote nothing");
    Ok(())
}

/// Makes the black boxes of a kernel, and in `folder` the script that adds them to the project of
/// the HLS tool; gives the script's path, or `None` for a kernel without black boxes.
fn black_boxes(
    project: &Project,
    kernel: Kernel,
    folder: &std::path::Path,
) -> Result<Option<String>> {
    let mut all = PathBuf::new();
    for name in kernel.black_boxes() {
        all = rtl::provide_black_box(project, name)?;
        let file = all.join(name).join(configuration::black_box_file(name));
        ensure!(file.is_file(), "{} is missing", file.display());
    }
    let all = all.to_str().context("the target folder's name is not UTF-8")?;
    let Some(text) = configuration::black_box_script(kernel, all, &codegen::marker()) else {
        return Ok(None);
    };
    let script = folder.join(format!("{}.tcl", kernel.name()));
    std::fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
    let script = script.to_str().context("the target folder's name is not UTF-8")?;
    Ok(Some(script.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(target: Target, image: Option<&str>) -> Options {
        Options { target, image: image.map(str::to_owned), output: None }
    }

    #[test]
    fn image_for_emulation_is_one_that_a_drive_takes() {
        let project = Project::open().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("new/a.xclbin");
        let options = Options { output: Some(output.clone()), ..options(Target::SwEmu, None) };
        run(&project, &options).unwrap();
        let image = nearscan_link::Image::read(&std::fs::read(output).unwrap(), FORMAT).unwrap();
        assert_eq!(image.name, "emulation");
    }

    #[test]
    fn missing_tool_is_named() {
        let project = Project::open().unwrap();
        let unknown = run(&project, &options(Target::SwEmu, Some("u280"))).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "there is no image u280; there are emulation, smartssd_scan, \
             smartssd_scan_merge"
        );
        let mut probe = project.command("v++");
        probe.arg("--version");
        if !project::succeeds(probe) {
            let missing = run(&project, &options(Target::Hw, None)).unwrap_err().to_string();
            assert!(missing.starts_with("v++ of Vitis is not here"), "{missing}");
        }
    }
}
