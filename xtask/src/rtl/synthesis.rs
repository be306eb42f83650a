// SPDX-License-Identifier: Apache-2.0
//! Synthesises a module with Yosys, unless it was done with the same sources before.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Shop, description::Module};
use crate::project;

/// What a module takes, and how deep its logic is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Resources {
    pub(super) lut: u64,
    pub(super) ff: u64,
    pub(super) lutram: u64,
    pub(super) bram: u64,
    pub(super) uram: u64,
    pub(super) dsp: u64,
    /// Levels between registers.
    pub(super) depth: u64,
}

/// The name of what a synthesis was made from, beside its result.
const STAMP: &str = "inputs.txt";
const RESULT: &str = "result.json";

/// Synthesises a module.
///
/// # Errors
/// When Yosys fails, or what it makes has a cell that is not known.
pub(super) fn of(shop: &Shop<'_>, module: &Module) -> Result<Resources> {
    let folder = shop.folder.join("synthesis").join(&module.name);
    std::fs::create_dir_all(&folder).context("cannot create the folder of the synthesis")?;
    if !is_fresh(shop, module, &folder)? {
        let mut command = shop.script("synthesise.py");
        command.arg(shop.path(&module.file())).arg("--log").arg(folder.join("yosys.log"));
        let text = project::output(&mut command)
            .with_context(|| format!("Yosys fails; see {}", folder.join("yosys.log").display()))?;
        std::fs::write(folder.join(RESULT), text).context("cannot write the result")?;
        stamp(shop, module, &folder)?;
    }
    let text = std::fs::read_to_string(folder.join(RESULT)).context("cannot read the result")?;
    parse(&text)
}

fn parse(text: &str) -> Result<Resources> {
    let value: Value = serde_json::from_str(text).context("the result is no JSON")?;
    let number = |key: &str| {
        value.get(key).and_then(Value::as_u64).with_context(|| format!("the result has no {key}"))
    };
    Ok(Resources {
        lut: number("lut")?,
        ff: number("ff")?,
        lutram: number("lutram")?,
        bram: number("bram")?,
        uram: number("uram")?,
        dsp: number("dsp")?,
        depth: number("depth")?,
    })
}

/// All that a synthesis depends on.
fn inputs(shop: &Shop<'_>, module: &Module) -> Result<String> {
    let mut all = String::new();
    let sources = module.sources.iter().map(|name| format!("src/{name}"));
    let others = ["synthesise.py".to_owned(), "../../xtask/requirements.txt".to_owned()];
    for name in sources.chain(others) {
        let text = std::fs::read_to_string(shop.path(&name));
        all.push_str(&text.with_context(|| format!("cannot read {name}"))?);
    }
    all.push_str(&module.parameters);
    all.push_str(&module.mapped_once);
    Ok(all)
}

/// Whether what is in a folder was made from what a synthesis depends on now.
///
/// # Errors
/// When a source cannot be read.
pub(super) fn is_fresh(shop: &Shop<'_>, module: &Module, folder: &Path) -> Result<bool> {
    let before = std::fs::read_to_string(folder.join(STAMP)).unwrap_or_default();
    Ok(before == inputs(shop, module)?)
}

/// Notes what the files in a folder were made from.
///
/// # Errors
/// When it cannot be written.
pub(super) fn stamp(shop: &Shop<'_>, module: &Module, folder: &Path) -> Result<()> {
    std::fs::write(folder.join(STAMP), inputs(shop, module)?).context("cannot write the stamp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_script_prints() {
        let text = "{\"lut\": 1, \"ff\": 2, \"lutram\": 3, \"bram\": 4, \"uram\": 5, \"dsp\": 6, \
                    \"depth\": 7, \"path\": []}";
        let resources = parse(text).unwrap();
        assert_eq!((resources.lut, resources.dsp, resources.depth), (1, 6, 7));
        assert_eq!(parse("{}").unwrap_err().to_string(), "the result has no lut");
    }
}
