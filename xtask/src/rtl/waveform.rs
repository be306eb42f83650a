// SPDX-License-Identifier: Apache-2.0
//! Draws a run of a module for the page: from the bench's VCD to SVG, by a script.

use anyhow::{Context, Result};

use super::{
    Shop,
    bench::{self, Warnings},
    description::Module,
};
use crate::project;

/// Brings the drawing of a module up to date, or only says that it is not.
///
/// # Errors
/// When the bench or the script fails, or a file cannot be read or written.
pub(super) fn update(shop: &Shop<'_>, module: &Module, is_check: bool) -> Result<Option<String>> {
    let folder = shop.folder.join("bench").join(&module.name);
    let program = bench::build(shop, module, &shop.path("src"), Warnings::AreErrors, &folder)?;
    let trace = folder.join("trace.vcd");
    let mut command = shop.project.command(&program.to_string_lossy());
    project::output(command.arg(format!("--vcd={}", trace.display())))?;
    let mut command = shop.script("waveform.py");
    let drawn = project::output(command.arg(shop.path(&module.file())).arg(&trace))?;
    let name = format!("docs/rtl-{}.svg", module.name.replace('_', "-"));
    let path = shop.project.root().join(&name);
    if std::fs::read_to_string(&path).is_ok_and(|before| before == drawn) {
        return Ok(None);
    }
    if is_check {
        return Ok(Some(name));
    }
    std::fs::write(&path, drawn).with_context(|| format!("cannot write {name}"))?;
    println!("rtl: wrote {name}");
    Ok(None)
}
