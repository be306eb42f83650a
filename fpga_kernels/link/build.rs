// SPDX-License-Identifier: Apache-2.0
//! Hashes the sources of the kernels, so that an image which another build made is noticed.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn main() -> std::io::Result<()> {
    let mut files = Vec::new();
    // A kernel calls modules as black boxes.
    for folder in ["../hls", "../rtl/src"] {
        println!("cargo::rerun-if-changed={folder}");
        list(Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for file in files {
        // Names are relative: the hash is the same wherever the checkout is.
        hash.update(file.to_string_lossy().as_bytes());
        hash.update(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=NEARSCAN_KERNELS_HASH={:016x}", hash.digest());
    Ok(())
}

/// Lists the sources that kernels are made of: headers, top functions and modules, no benches, no
/// samples.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if path.is_dir() && name != "samples" {
            list(&path, files)?;
        }
        let is_kernel =
            name.ends_with(".hpp") || name.ends_with("_top.cpp") || name.ends_with(".sv");
        if is_kernel && !name.starts_with("tb_") {
            files.push(path);
        }
    }
    Ok(())
}
