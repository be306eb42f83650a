// SPDX-License-Identifier: Apache-2.0
//! Reads the descriptions of the modules, `fpga_kernels/rtl/modules/NAME.toml`.
//!
//! The scripts read the ports in them; here is only what the task itself needs.

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use super::FOLDER;
use crate::project::Project;

/// A module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Module {
    /// Of the module and of its description.
    pub(super) name: String,
    /// What a reader calls it.
    pub(super) title: String,
    /// What it does, in a few words.
    pub(super) does: String,
    /// The HLS stage that it is compared with.
    pub(super) golden: String,
    /// Files in `src`, its own first.
    pub(super) sources: Vec<String>,
    /// What an item is.
    pub(super) item: String,
    /// Where the bytes of a workload are counted.
    pub(super) bytes: Side,
    /// Of the instance that is synthesised, as TOML.
    pub(super) parameters: String,
    /// Sources that the synthesis maps once for all instances, as TOML; empty if there are none.
    pub(super) mapped_once: String,
    /// Whether a run is drawn for the page.
    pub(super) waveform: bool,
    pub(super) mutants: Vec<Mutant>,
}

/// A side of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Input,
    Output,
}

impl Side {
    fn parse(text: &str) -> Result<Self> {
        match text {
            "input" => Ok(Self::Input),
            "output" => Ok(Self::Output),
            _ => bail!("bytes are those of `input` or of `output`, not of `{text}`"),
        }
    }

    /// Returns what a reader calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// A deliberate bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    /// What is wrong, in a few words.
    pub(super) what: String,
    /// A file in `src`.
    pub(super) file: String,
    /// Text that occurs once in it.
    pub(super) find: String,
    pub(super) replace: String,
}

impl Module {
    /// Returns the path of the description in the folder of the modules.
    pub(super) fn file(&self) -> String {
        format!("modules/{}.toml", self.name)
    }
}

/// Reads all descriptions, in the order of their names.
///
/// # Errors
/// When one cannot be read or is not as it should be.
pub(super) fn read(project: &Project) -> Result<Vec<Module>> {
    let folder = project.root().join(FOLDER).join("modules");
    let mut modules = Vec::new();
    for entry in std::fs::read_dir(&folder).context("cannot list the descriptions")? {
        let path = entry.context("cannot list the descriptions")?.path();
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let module = parse(&text).with_context(|| format!("{}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        ensure!(stem == module.name, "{} describes {}", path.display(), module.name);
        modules.push(module);
    }
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}

fn parse(text: &str) -> Result<Module> {
    let table: Table = text.parse().context("it is not TOML")?;
    let string = |key: &str| text_of(&table, key);
    let sources = table.get("sources").and_then(Value::as_array).context("it has no sources")?;
    let sources = sources.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let parameters = table.get("parameters").and_then(Value::as_table).cloned();
    let parameters = Value::Table(parameters.unwrap_or_default()).to_string();
    let mapped_once = table.get("mapped_once").map(Value::to_string).unwrap_or_default();
    let waveform = table.get("waveform").is_some();
    let none = Vec::new();
    let mutants = table.get("mutants").and_then(Value::as_array).unwrap_or(&none);
    let mutants = mutants.iter().map(mutant).collect::<Result<_>>()?;
    Ok(Module {
        name: string("name")?,
        title: string("title")?,
        does: string("does")?,
        golden: string("golden")?,
        sources,
        item: string("item")?,
        bytes: Side::parse(&string("bytes")?)?,
        parameters,
        mapped_once,
        waveform,
        mutants,
    })
}

fn mutant(entry: &Value) -> Result<Mutant> {
    let table = entry.as_table().context("a mutant is a table")?;
    let string = |key: &str| text_of(table, key);
    Ok(Mutant {
        what: string("what")?,
        file: string("file")?,
        find: string("find")?,
        replace: string("replace")?,
    })
}

fn text_of(table: &Table, key: &str) -> Result<String> {
    let value = table.get(key).and_then(Value::as_str);
    Ok(value.with_context(|| format!("it has no {key}"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_task_needs() {
        let text = "name = 'a'\ntitle = 'A'\ndoes = 'b'\ngolden = 'c'\nsources = ['a.sv']\n\
                    item = 'row'\nbytes = 'output'\nparameters = { ROWS = 8 }\n\
                    mapped_once = ['b']\n[waveform]\nsignals = []\n\
                    [[mutants]]\nwhat = 'x'\nfile = 'a.sv'\nfind = '1'\nreplace = '2'\n";
        let module = parse(text).unwrap();
        assert_eq!((module.name.as_str(), module.sources.len()), ("a", 1));
        assert_eq!(module.parameters, "{ ROWS = 8 }");
        assert_eq!(module.mapped_once, "[\"b\"]");
        assert_eq!(module.bytes, Side::Output);
        assert!(module.waveform);
        assert_eq!(module.mutants[0].what, "x");
        assert_eq!(parse("name = 'a'").unwrap_err().to_string(), "it has no sources");
        let error = parse(&text.replace("output", "both")).unwrap_err().to_string();
        assert_eq!(error, "bytes are those of `input` or of `output`, not of `both`");
    }

    #[test]
    fn every_module_has_its_sources_a_bench_and_a_model() {
        let project = Project::open().unwrap();
        let folder = project.root().join(FOLDER);
        for module in read(&project).unwrap() {
            for source in &module.sources {
                assert!(folder.join("src").join(source).is_file(), "{source}");
            }
            assert_eq!(module.sources[0], format!("{}.sv", module.name));
            for file in
                [format!("tests/{}_tb.cpp", module.name), format!("models/{}.cpp", module.name)]
            {
                assert!(folder.join(&file).is_file(), "{file}");
            }
            for mutant in &module.mutants {
                let text = std::fs::read_to_string(folder.join("src").join(&mutant.file)).unwrap();
                assert_eq!(text.matches(&mutant.find).count(), 1, "{}", mutant.what);
            }
        }
    }
}
