// SPDX-License-Identifier: Apache-2.0
//! Keeps what is measured of the modules in `fpga_kernels/rtl/modules.toml`.
//!
//! Cycles are counted and cells are those of one version of Yosys: both may move a little when a
//! tool does. A figure that moves by more than a fifth is a finding, and so is deeper logic. What a
//! bench compares and how much it measures follows from fixed seeds: that is compared exactly.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::json;
use toml::{Table, Value};

use super::{
    FOLDER,
    bench::{Comparison, Counted, Workload},
    description::Module,
    synthesis::Resources,
};
use crate::project::Project;

/// A figure may differ by so many percent.
const TOLERANCE_PERCENT: u64 = 20;

/// Levels between two registers: more is not taken to reach 300 MHz.
pub(super) const DEPTH_MAX: u64 = 8;

/// The workload whose cycles are those of the shortest run.
const SMALLEST: &str = "smallest run";

/// What is measured of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) module: String,
    sources: Vec<String>,
    parameters: String,
    item: String,
    pub(super) counted: Counted,
    pub(super) resources: Resources,
}

impl Workload {
    /// Returns cycles an item, in thousandths.
    pub(super) fn millicycles(&self) -> u64 {
        (1000 * self.cycles + self.items / 2).checked_div(self.items).unwrap_or_default()
    }

    /// Returns cycles an item as a decimal number.
    pub(super) fn cycles_per_item(&self) -> String {
        decimal(self.millicycles())
    }
}

impl Comparison {
    /// Returns the cycles of the model by those of Verilator, in thousandths.
    fn millis(&self) -> u64 {
        let Self { cycles, cycles_modelled, .. } = self;
        (1000 * cycles_modelled + cycles / 2).checked_div(*cycles).unwrap_or_default()
    }

    /// Returns the same as a decimal number.
    pub(super) fn ratio(&self) -> String {
        decimal(self.millis())
    }
}

/// Thousandths as a decimal number.
fn decimal(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

impl Figures {
    pub(super) fn new(module: &Module, counted: Counted, resources: Resources) -> Self {
        Self {
            module: module.name.clone(),
            sources: module.sources.clone(),
            parameters: module.parameters.clone(),
            item: module.item.clone(),
            counted,
            resources,
        }
    }

    /// Returns what the description of a black box says of the module.
    pub(super) fn as_json(&self) -> String {
        let smallest = self.counted.workloads.iter().find(|it| it.name == SMALLEST);
        let Resources { lut, ff, lutram, bram, uram, dsp, .. } = self.resources;
        let latency = smallest.map_or(0, |workload| workload.cycles);
        json!({
            "latency": latency, "lut": lut, "ff": ff, "lutram": lutram, "bram": bram,
            "uram": uram, "dsp": dsp,
        })
        .to_string()
    }

    /// Returns the numbers that say how much a bench does, each with its name.
    fn extent(&self) -> Vec<(String, u64)> {
        let Counted { workloads, comparisons, runs, vectors } = &self.counted;
        let sizes = workloads.iter().flat_map(|it| {
            let Workload { name, item, items, bytes, .. } = it;
            [(format!("{item} of `{name}`"), *items), (format!("bytes of `{name}`"), *bytes)]
        });
        let compared = comparisons
            .iter()
            .map(|it| (format!("compared {} of `{}`", it.item, it.name), it.items));
        let counts = [("runs", *runs), ("results", *vectors)];
        let counts = counts.into_iter().map(|(name, value)| (name.to_owned(), value));
        counts.chain(sizes).chain(compared).collect()
    }

    /// Returns the numbers that may move a little, each with its name.
    fn numbers(&self) -> Vec<(String, u64)> {
        let Resources { lut, ff, lutram, bram, uram, dsp, .. } = self.resources;
        let resources = [
            ("lut", lut),
            ("ff", ff),
            ("lutram", lutram),
            ("bram", bram),
            ("uram", uram),
            ("dsp", dsp),
        ];
        let cycles = self.counted.workloads.iter();
        let cycles = cycles.map(|it| (format!("cycles of `{}`", it.name), it.millicycles()));
        let compared = self.counted.comparisons.iter().flat_map(|it| {
            let Comparison { name, cycles, cycles_modelled, .. } = it;
            [
                (format!("compared cycles of `{name}`"), *cycles),
                (format!("modelled cycles of `{name}`"), *cycles_modelled),
            ]
        });
        let resources = resources.into_iter().map(|(name, value)| (name.to_owned(), value));
        resources.chain(cycles).chain(compared).collect()
    }
}

/// Puts the figures of some modules in place of those that were kept.
pub(super) fn replace(kept: &mut Vec<Figures>, measured: &[Figures]) {
    kept.retain(|old| !measured.iter().any(|new| new.module == old.module));
    kept.extend_from_slice(measured);
    kept.sort_by(|a, b| a.module.cmp(&b.module));
}

/// Returns what is wrong with the measured figures.
pub(super) fn compare(kept: &[Figures], measured: &[Figures]) -> Vec<String> {
    let mut complaints = Vec::new();
    for new in measured {
        let name = &new.module;
        let depth = new.resources.depth;
        if depth > DEPTH_MAX {
            complaints.push(format!("{name}: {depth} levels of logic; {DEPTH_MAX} is the limit"));
        }
        let Some(old) = kept.iter().find(|old| old.module == new.module) else {
            complaints.push(format!("{name}: it has no figures yet"));
            continue;
        };
        if depth > old.resources.depth {
            let was = old.resources.depth;
            complaints.push(format!("{name}: {depth} levels of logic instead of {was}"));
        }
        complaints.extend(differences(old, new).into_iter().map(|text| format!("{name}: {text}")));
    }
    complaints
}

fn differences(old: &Figures, new: &Figures) -> Vec<String> {
    let exactly = |_before: u64| 0;
    let about = |before: u64| before * TOLERANCE_PERCENT / 100;
    let mut all = moved(&old.extent(), &new.extent(), exactly);
    all.extend(moved(&old.numbers(), &new.numbers(), about));
    all
}

/// Returns which numbers came, went, or moved by more than a limit.
fn moved(was: &[(String, u64)], is: &[(String, u64)], limit: impl Fn(u64) -> u64) -> Vec<String> {
    let gone = was
        .iter()
        .filter(|(name, _)| !is.iter().any(|(other, _)| other == name))
        .map(|(name, _)| format!("{name} is not measured any more"));
    let moved = is.iter().filter_map(|(name, value)| {
        let Some((_, before)) = was.iter().find(|(other, _)| other == name) else {
            return Some(format!("{name} is new: {value}"));
        };
        let has_moved = value.abs_diff(*before) > limit(*before);
        has_moved.then(|| format!("{name} is {value} instead of {before}"))
    });
    gone.chain(moved).collect()
}

fn path(project: &Project) -> std::path::PathBuf {
    project.root().join(FOLDER).join("modules.toml")
}

/// Reads the figures that are kept; none if there is no file.
///
/// # Errors
/// When the file is not as it should be.
pub(super) fn read(project: &Project) -> Result<Vec<Figures>> {
    let path = path(project);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).context("cannot read modules.toml")?;
    parse(&text).context("modules.toml is not as it should be")
}

/// Writes the figures.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(project: &Project, all: &[Figures]) -> Result<()> {
    std::fs::write(path(project), render(all)).context("cannot write modules.toml")
}

fn render(all: &[Figures]) -> String {
    let mut text = "# SPDX-License-Identifier: Apache-2.0\n\
        # What is counted and synthesised of the modules, written by `cargo xtask rtl --bless`. It\n\
        # is neither placed nor routed. `cycles` are those of a whole run of the module in its\n\
        # wrapper, with no back-pressure; what a module is asked for is in `modules/`. Of a\n\
        # comparison, `cycles_modelled` are those of its model for the same run, and\n\
        # `stage_iterations` those of the HLS stage, 0 where the kernel calls the module.\n"
        .to_owned();
    for figures in all {
        render_module(&mut text, figures);
    }
    text
}

/// A string in TOML; those here have neither quotes nor line breaks.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn render_module(text: &mut String, figures: &Figures) {
    let Resources { lut, ff, lutram, bram, uram, dsp, depth } = figures.resources;
    let sources: Vec<String> = figures.sources.iter().map(|name| quoted(name)).collect();
    // Writing to a string does not fail.
    _ = write!(
        text,
        "\n[{}]\nsources = [\n  {},\n]\nparameters = {}\nitem = {}\n",
        figures.module,
        sources.join(",\n  "),
        figures.parameters,
        quoted(&figures.item),
    );
    _ = write!(
        text,
        "runs = {}\nvectors = {}\nlut = {lut}\nff = {ff}\nlutram = {lutram}\nbram = {bram}\n\
         uram = {uram}\ndsp = {dsp}\ndepth = {depth}\n",
        figures.counted.runs, figures.counted.vectors,
    );
    for workload in &figures.counted.workloads {
        let Workload { name, item, items, bytes, cycles } = workload;
        _ = write!(
            text,
            "\n[[{}.workloads]]\nname = {}\nitem = {}\nitems = {items}\nbytes = {bytes}\n\
             cycles = {cycles}\ncycles_per_item = {}\n",
            figures.module,
            quoted(name),
            quoted(item),
            workload.cycles_per_item(),
        );
    }
    for comparison in &figures.counted.comparisons {
        let Comparison { name, item, items, cycles, cycles_modelled, model, stage_iterations } =
            comparison;
        _ = write!(
            text,
            "\n[[{}.comparisons]]\nname = {}\nitem = {}\nitems = {items}\ncycles = {cycles}\n\
             cycles_modelled = {cycles_modelled}\nmodel = {}\nratio = {}\n\
             stage_iterations = {stage_iterations}\n",
            figures.module,
            quoted(name),
            quoted(item),
            quoted(model),
            comparison.ratio(),
        );
    }
}

fn parse(text: &str) -> Result<Vec<Figures>> {
    let table: Table = text.parse().context("it is not TOML")?;
    table.iter().map(|(name, value)| module(name, value).with_context(|| name.clone())).collect()
}

fn module(name: &str, value: &Value) -> Result<Figures> {
    let table = value.as_table().context("it is no table")?;
    let none = Vec::new();
    let sources = table.get("sources").and_then(Value::as_array).unwrap_or(&none);
    let workloads = table.get("workloads").and_then(Value::as_array).unwrap_or(&none);
    let comparisons = table.get("comparisons").and_then(Value::as_array).unwrap_or(&none);
    Ok(Figures {
        module: name.to_owned(),
        sources: sources.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        parameters: table.get("parameters").context("it has no parameters")?.to_string(),
        item: string(table, "item")?,
        counted: Counted {
            workloads: workloads.iter().map(workload).collect::<Result<_>>()?,
            comparisons: comparisons.iter().map(comparison).collect::<Result<_>>()?,
            runs: number(table, "runs")?,
            vectors: number(table, "vectors")?,
        },
        resources: Resources {
            lut: number(table, "lut")?,
            ff: number(table, "ff")?,
            lutram: number(table, "lutram")?,
            bram: number(table, "bram")?,
            uram: number(table, "uram")?,
            dsp: number(table, "dsp")?,
            depth: number(table, "depth")?,
        },
    })
}

fn workload(value: &Value) -> Result<Workload> {
    let table = value.as_table().context("a workload is no table")?;
    Ok(Workload {
        name: string(table, "name")?,
        item: string(table, "item")?,
        items: number(table, "items")?,
        bytes: number(table, "bytes")?,
        cycles: number(table, "cycles")?,
    })
}

fn comparison(value: &Value) -> Result<Comparison> {
    let table = value.as_table().context("a comparison is no table")?;
    Ok(Comparison {
        name: string(table, "name")?,
        item: string(table, "item")?,
        items: number(table, "items")?,
        cycles: number(table, "cycles")?,
        cycles_modelled: number(table, "cycles_modelled")?,
        model: string(table, "model")?,
        stage_iterations: number(table, "stage_iterations")?,
    })
}

fn string(table: &Table, key: &str) -> Result<String> {
    let value = table.get(key).and_then(Value::as_str);
    Ok(value.with_context(|| format!("it has no {key}"))?.to_owned())
}

fn number(table: &Table, key: &str) -> Result<u64> {
    let value = table.get(key).and_then(Value::as_integer);
    let value = value.and_then(|value| u64::try_from(value).ok());
    value.with_context(|| format!("it has no {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lut: u64, depth: u64, cycles: u64) -> Figures {
        let workload = Workload {
            name: "a".to_owned(),
            item: "row".to_owned(),
            items: 1000,
            bytes: 8000,
            cycles,
        };
        Figures {
            module: "m".to_owned(),
            sources: vec!["m.sv".to_owned(), "fifo.sv".to_owned()],
            parameters: "{ ROWS = 8 }".to_owned(),
            item: "row".to_owned(),
            counted: Counted {
                workloads: vec![workload],
                comparisons: Vec::new(),
                runs: 3,
                vectors: 4,
            },
            resources: Resources { lut, depth, ..Resources::default() },
        }
    }

    /// A sample whose cycles were compared with those of the model.
    fn compared(items: u64, cycles: u64, cycles_modelled: u64) -> Figures {
        let (name, item) = ("b".to_owned(), "byte".to_owned());
        let mut figures = sample(1, 1, 1);
        let model = "HLS stage".to_owned();
        let comparison =
            Comparison { name, item, items, cycles, cycles_modelled, model, stage_iterations: 0 };
        figures.counted.comparisons.push(comparison);
        figures
    }

    #[test]
    fn figures_that_are_written_are_read_again() {
        let mut other = compared(8000, 1000, 1049);
        other.module = "n".to_owned();
        let all = [sample(100, 5, 501), other];
        let text = render(&all);
        assert!(text.contains("cycles_per_item = 0.501\n"), "{text}");
        assert!(text.contains("[[n.comparisons]]\nname = \"b\"\n"), "{text}");
        assert!(
            text.contains("cycles_modelled = 1049\nmodel = \"HLS stage\"\nratio = 1.049\n"),
            "{text}"
        );
        assert_eq!(parse(&text).unwrap(), all);
    }

    #[test]
    fn model_that_moves_is_told() {
        let kept = [compared(8000, 1000, 1000)];
        assert!(compare(&kept, &[compared(8000, 1200, 800)]).is_empty());
        assert_eq!(
            compare(&kept, &[compared(8001, 799, 1201)]),
            [
                "m: compared byte of `b` is 8001 instead of 8000",
                "m: compared cycles of `b` is 799 instead of 1000",
                "m: modelled cycles of `b` is 1201 instead of 1000",
            ]
        );
        assert_eq!(
            compare(&[sample(1, 1, 1)], &kept),
            [
                "m: compared byte of `b` is new: 8000",
                "m: compared cycles of `b` is new: 1000",
                "m: modelled cycles of `b` is new: 1000",
            ]
        );
    }

    #[test]
    fn figure_may_move_by_a_fifth_and_logic_may_not_become_deeper() {
        let kept = [sample(100, 5, 500)];
        assert!(compare(&kept, &[sample(120, 5, 400)]).is_empty());
        assert_eq!(compare(&kept, &[sample(121, 5, 500)]), ["m: lut is 121 instead of 100"]);
        assert_eq!(
            compare(&kept, &[sample(100, 6, 399)]),
            ["m: 6 levels of logic instead of 5", "m: cycles of `a` is 399 instead of 500"]
        );
        assert_eq!(
            compare(&[sample(1, 9, 1)], &[sample(1, 9, 1)]),
            ["m: 9 levels of logic; 8 is the limit"]
        );
        assert_eq!(compare(&[], &[sample(1, 1, 1)]), ["m: it has no figures yet"]);
    }

    #[test]
    fn workload_that_comes_or_goes_is_told() {
        let (mut old, new) = (sample(1, 1, 1), sample(1, 1, 1));
        old.counted.workloads[0].name = "b".to_owned();
        assert_eq!(
            compare(&[old], &[new]),
            [
                "m: row of `b` is not measured any more",
                "m: bytes of `b` is not measured any more",
                "m: row of `a` is new: 1000",
                "m: bytes of `a` is new: 8000",
                "m: cycles of `b` is not measured any more",
                "m: cycles of `a` is new: 1",
            ]
        );
    }

    #[test]
    fn bench_that_does_less_or_more_is_told() {
        let (old, mut new) = (sample(1, 1, 1000), sample(1, 1, 1000));
        new.counted.runs = 2;
        new.counted.vectors = 5;
        new.counted.workloads[0].items = 999;
        new.counted.workloads[0].bytes = 7999;
        assert_eq!(
            compare(&[old], &[new]),
            [
                "m: runs is 2 instead of 3",
                "m: results is 5 instead of 4",
                "m: row of `a` is 999 instead of 1000",
                "m: bytes of `a` is 7999 instead of 8000",
            ]
        );
    }

    #[test]
    fn replaces_the_figures_of_a_module() {
        let mut kept = vec![sample(1, 1, 1)];
        replace(&mut kept, &[sample(2, 2, 2)]);
        assert_eq!(kept, [sample(2, 2, 2)]);
    }
}
