// SPDX-License-Identifier: Apache-2.0
//! Writes the tables of `docs/rtl.md`: what is between two markers. The rest of the page is written
//! by hand.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use super::{bench::Comparison, description::Module, figures::Figures, synthesis::Resources};
use crate::project::Project;

/// The page, relative to the root.
const PATH: &str = "docs/rtl.md";

/// Brings the page up to date, or only says that it is not.
///
/// # Errors
/// When it cannot be read or written, or a marker is missing.
pub(super) fn update(
    project: &Project,
    modules: &[Module],
    all: &[Figures],
    is_check: bool,
) -> Result<Option<String>> {
    let path = project.root().join(PATH);
    let before = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PATH}"))?;
    let with_resources = replace(&before, "resources", &resources(modules, all))?;
    let with_cycles = replace(&with_resources, "cycles", &cycles(modules, all))?;
    let after = replace(&with_cycles, "comparisons", &comparisons(modules, all))?;
    if before == after {
        return Ok(None);
    }
    if is_check {
        return Ok(Some(PATH.to_owned()));
    }
    std::fs::write(&path, after).with_context(|| format!("cannot write {PATH}"))?;
    println!("rtl: wrote {PATH}");
    Ok(None)
}

/// Replaces what is between the markers of a block.
fn replace(page: &str, block: &str, text: &str) -> Result<String> {
    let begin = format!("<!-- begin {block} -->\n");
    let end = format!("<!-- end {block} -->");
    let (before, rest) =
        page.split_once(&begin).with_context(|| format!("{PATH} has no block {block}"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{block} has no end"))?;
    ensure!(!after.contains(&begin), "{block} is there twice");
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

fn find<'a>(all: &'a [Figures], module: &Module) -> Option<&'a Figures> {
    all.iter().find(|figures| figures.module == module.name)
}

fn resources(modules: &[Module], all: &[Figures]) -> String {
    let mut text = "| module | what it does | compared with | runs | results | LUT | FF | \
                    LUTRAM | BRAM | URAM | DSP | levels |\n\
                    |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for module in modules {
        let Some(figures) = find(all, module) else { continue };
        let Resources { lut, ff, lutram, bram, uram, dsp, depth } = figures.resources;
        // Writing to a string does not fail.
        _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {lut} | {ff} | {lutram} | {bram} | {uram} | {dsp} | \
             {depth} |",
            module.name, module.does, module.golden, figures.counted.runs, figures.counted.vectors,
        );
    }
    text
}

fn cycles(modules: &[Module], all: &[Figures]) -> String {
    let mut text = "| module | workload | items | cycles | cycles an item | bytes a cycle |\n\
                    |---|---|---:|---:|---:|---:|\n"
        .to_owned();
    for module in modules {
        let Some(figures) = find(all, module) else { continue };
        for workload in &figures.counted.workloads {
            let hundredths =
                (100 * workload.bytes).checked_div(workload.cycles).unwrap_or_default();
            // Writing to a string does not fail.
            _ = writeln!(
                text,
                "| {} | {} | {} ({}) | {} | {} | {}.{:02} of {} |",
                module.title,
                workload.name,
                workload.items,
                workload.item,
                workload.cycles,
                workload.cycles_per_item(),
                hundredths / 100,
                hundredths % 100,
                module.bytes.name(),
            );
        }
    }
    text
}

fn comparisons(modules: &[Module], all: &[Figures]) -> String {
    let mut text = "| module | workload | items | model | cycles of Verilator | \
                    cycles of the model | ratio | iterations of the HLS stage |\n\
                    |---|---|---:|---|---:|---:|---:|---:|\n"
        .to_owned();
    for module in modules {
        let Some(figures) = find(all, module) else { continue };
        for comparison in &figures.counted.comparisons {
            let Comparison { name, item, items, cycles, cycles_modelled, model, .. } = comparison;
            let iterations = match comparison.stage_iterations {
                0 => "-".to_owned(),
                iterations => iterations.to_string(),
            };
            // Writing to a string does not fail.
            _ = writeln!(
                text,
                "| {} | {name} | {items} ({item}) | {model} | {cycles} | {cycles_modelled} | {} | \
                 {iterations} |",
                module.title,
                comparison.ratio(),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::{description, figures};

    #[test]
    fn page_has_the_figures_that_are_kept() {
        let project = Project::open().unwrap();
        let modules = description::read(&project).unwrap();
        let kept = figures::read(&project).unwrap();
        assert_eq!(update(&project, &modules, &kept, true).unwrap(), None);
        for module in &modules {
            assert!(find(&kept, module).is_some(), "{} has no figures", module.name);
        }
        assert_eq!(kept.len(), modules.len());
    }

    #[test]
    fn page_tells_cycles_of_the_model_beside_those_of_verilator() {
        let project = Project::open().unwrap();
        let modules = description::read(&project).unwrap();
        let mut kept = figures::read(&project).unwrap();
        kept.retain(|figures| figures.module == modules[0].name);
        let comparison = |model: &str, stage_iterations| Comparison {
            name: "a page".to_owned(),
            item: "byte".to_owned(),
            items: 8000,
            cycles: 1000,
            cycles_modelled: 1049,
            model: model.to_owned(),
            stage_iterations,
        };
        kept[0].counted.comparisons =
            vec![comparison("HLS stage", 1049), comparison("module's rule", 0)];
        let text = comparisons(&modules, &kept);
        let title = &modules[0].title;
        let expected = [
            format!("| {title} | a page | 8000 (byte) | HLS stage | 1000 | 1049 | 1.049 | 1049 |"),
            format!("| {title} | a page | 8000 (byte) | module's rule | 1000 | 1049 | 1.049 | - |"),
        ];
        assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn replaces_what_is_between_the_markers() {
        let page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n";
        let expected = "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n";
        assert_eq!(replace(page, "x", "new\n").unwrap(), expected);
        assert_eq!(replace(expected, "x", "new\n").unwrap(), expected);
        assert!(replace("a", "x", "new\n").is_err());
        assert!(replace("<!-- begin x -->\n", "x", "new\n").is_err());
    }
}
