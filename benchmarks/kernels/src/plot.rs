// SPDX-License-Identifier: Apache-2.0
//! Draws the tables as figures: ours as lines or bars, the study's as labelled points.
//!
//! Each is drawn once, as SVG, and made into pixels from that. Text in the pixels is set in a font
//! that the program carries, so they look alike on a machine without fonts.

pub mod chart;
mod charts;

use std::{
    fs,
    path::{Path, PathBuf},
};

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg,
};

use crate::{
    error::{Error, Result},
    fast::Fast,
    runs::Runs,
};
use chart::Chart;

/// Width and height of a figure; an image has [`SCALE`] times as many pixels.
pub const SIZE: (u32, u32) = (800, 500);
/// Pixels of an image for each unit of [`SIZE`], so that it stays sharp on fine screens.
pub const SCALE: u16 = 2;

/// Writes every figure to a folder, which is made if it is not there; returns the files.
///
/// # Errors
/// When a figure cannot be drawn or a file not be written.
pub fn save(runs: &Runs, fast: &Fast, folder: &Path) -> Result<Vec<PathBuf>> {
    save_charts(&charts::all(runs, fast), folder)
}

/// Writes charts to a folder, as [`save`] does.
///
/// # Errors
/// As [`save`].
pub fn save_charts(charts: &[Chart], folder: &Path) -> Result<Vec<PathBuf>> {
    write(folder, |folder| fs::create_dir_all(folder))?;
    let mut files = Vec::new();
    for chart in charts {
        let failed = |reason| Error::Draw { figure: chart.name.clone(), reason };
        let svg = chart.draw().map_err(|error| failed(error.to_string()))?;
        let image = pixels(&svg).map_err(failed)?;
        for (extension, bytes) in [("svg", svg.as_bytes()), ("png", &image)] {
            let path = folder.join(&chart.name).with_extension(extension);
            write(&path, |path| fs::write(path, bytes))?;
            files.push(path);
        }
    }
    Ok(files)
}

fn write(path: &Path, write: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    write(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// A figure as PNG.
fn pixels(svg: &str) -> Result<Vec<u8>, String> {
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let (width, height) = SIZE;
    let scaled = |side: u32| side * u32::from(SCALE);
    let mut pixels = Pixmap::new(scaled(width), scaled(height)).ok_or("an image of no size")?;
    let scale = f32::from(SCALE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
