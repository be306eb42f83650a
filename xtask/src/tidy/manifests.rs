// SPDX-License-Identifier: Apache-2.0
//! Checks that manifests of crates inherit versions and lints from the root.

use toml::{Table, Value};

use super::{Finding, Source};

/// Every dependency of a member, and its lint table, come from the workspace.
pub(super) fn inherit(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        if source.file_name() != "Cargo.toml" || source.folder().is_empty() {
            continue;
        }
        match source.text.parse::<Table>() {
            Ok(manifest) => findings.extend(check(source, &manifest)),
            Err(error) => {
                findings
                    .push(Finding::in_file(source, format!("is not TOML: {}", error.message())));
            }
        }
    }
    findings
}

fn check(source: &Source, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, value) in dependencies(manifest) {
        if !is_inherited(value) {
            let message = format!("{name} is not `workspace = true`: versions stand in the root");
            findings.push(Finding::in_file(source, message));
        }
    }
    if !manifest.get("lints").is_some_and(is_inherited) {
        findings.push(Finding::in_file(source, "lacks `[lints] workspace = true`"));
    }
    for key in ["version", "edition", "rust-version", "license"] {
        if !manifest.get("package").and_then(|p| p.get(key)).is_some_and(is_inherited) {
            findings.push(Finding::in_file(source, format!("lacks `{key}.workspace = true`")));
        }
    }
    findings
}

/// Every dependency of every kind, also those of one platform.
fn dependencies(manifest: &Table) -> Vec<(&str, &Value)> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let platforms = platforms.filter_map(|(_, platform)| platform.as_table());
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(platforms) {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let entries = table.get(kind).and_then(Value::as_table).into_iter().flatten();
            found.extend(entries.map(|(name, value)| (name.as_str(), value)));
        }
    }
    found
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    const GOOD: &str = "[package]\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\n[lints]\nworkspace = true\n\
        [dependencies]\na.workspace = true\nb = { workspace = true, features = [\"x\"] }\n";

    #[test]
    fn accepts_a_manifest_that_inherits_and_the_root() {
        assert!(findings(inherit, &[("engine/Cargo.toml", GOOD)]).is_empty());
        assert!(findings(inherit, &[("Cargo.toml", "[workspace]\n")]).is_empty());
    }

    #[test]
    fn refuses_what_is_not_inherited() {
        let check = |text: String| findings(inherit, &[("engine/Cargo.toml", text.as_str())]);
        let versions = "c is not `workspace = true`: versions stand in the root";
        let expected = [format!("engine/Cargo.toml: {versions}")];
        assert_eq!(check(format!("{GOOD}c = \"1\"\n")), expected);
        assert_eq!(check(format!("{GOOD}[dev-dependencies]\nc = {{ path = \"c\" }}\n")), expected);
        assert_eq!(
            check(format!("{GOOD}[target.'cfg(unix)'.dependencies]\nc = \"1\"\n")),
            expected
        );
        let lints = ["engine/Cargo.toml: lacks `[lints] workspace = true`"];
        assert_eq!(check(GOOD.replace("[lints]\nworkspace = true", "")), lints);
        let edition = ["engine/Cargo.toml: lacks `edition.workspace = true`"];
        assert_eq!(check(GOOD.replace("edition.workspace = true", "edition = \"2024\"")), edition);
        assert_eq!(check("not toml".to_owned()).len(), 1);
    }
}
