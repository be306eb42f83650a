// SPDX-License-Identifier: Apache-2.0
//! Reads the metadata of the workspace from cargo: its members, and their imports.
//!
//! Only manifests are read (`--no-deps`), so it works offline and while a crate does not compile.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::project::{Project, output};

/// The members of the workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Folders, in the order in which the root manifest lists them.
    pub(crate) listed: Vec<String>,
    /// One entry a member, in no particular order.
    pub(crate) packages: Vec<Package>,
}

/// One member.
#[derive(Debug)]
pub(crate) struct Package {
    /// As in its manifest.
    pub(crate) name: String,
    /// Relative to the root, with `/` between its parts.
    pub(crate) folder: String,
    /// Everything its manifest imports.
    pub(crate) dependencies: Vec<Dependency>,
    /// Names of its programs.
    pub(crate) programs: Vec<String>,
}

/// One line of a manifest's dependencies.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// The name of the package, whatever it is renamed to.
    pub(crate) name: String,
    /// When it is needed.
    pub(crate) kind: Kind,
    /// Its folder relative to the root, for a package of the project.
    pub(crate) folder: Option<String>,
}

/// When a dependency is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Development,
}

/// Asks cargo and the root manifest.
pub(crate) fn read(project: &Project) -> Result<Workspace> {
    let mut command =
        project.cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata = output(&mut command)?;
    let manifest = std::fs::read_to_string(project.root().join("Cargo.toml"))
        .context("cannot read the root Cargo.toml")?;
    Ok(Workspace { listed: listed(&manifest)?, packages: packages(project.root(), &metadata)? })
}

/// The members in the order of the root manifest, which `cargo metadata` does not keep.
fn listed(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse().context("cannot parse the root Cargo.toml")?;
    let members = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("members"))
        .and_then(toml::Value::as_array)
        .context("the root Cargo.toml has no workspace.members")?;
    let folder = |member: &toml::Value| member.as_str().map(str::to_owned);
    members.iter().map(|member| folder(member).context("a member is not a string")).collect()
}

fn packages(root: &Path, metadata: &str) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(metadata).context("cannot parse cargo metadata")?;
    array(&metadata, "packages")?.iter().map(|value| package(root, value)).collect()
}

fn package(root: &Path, value: &Value) -> Result<Package> {
    let manifest = Path::new(string(value, "manifest_path")?);
    let folder = manifest.parent().context("a manifest without a folder")?;
    let dependencies = array(value, "dependencies")?;
    let mut programs = Vec::new();
    for target in array(value, "targets")? {
        if array(target, "kind")?.iter().any(|kind| kind == "bin") {
            programs.push(string(target, "name")?.to_owned());
        }
    }
    Ok(Package {
        name: string(value, "name")?.to_owned(),
        folder: relative(root, folder),
        dependencies: dependencies
            .iter()
            .map(|dependency| self::dependency(root, dependency))
            .collect::<Result<_>>()?,
        programs,
    })
}

fn dependency(root: &Path, value: &Value) -> Result<Dependency> {
    let folder = value.get("path").and_then(Value::as_str);
    Ok(Dependency {
        name: string(value, "name")?.to_owned(),
        kind: match value.get("kind").and_then(Value::as_str) {
            Some("dev") => Kind::Development,
            Some("build") => Kind::Build,
            Some(_) | None => Kind::Normal,
        },
        folder: folder.map(|folder| relative(root, Path::new(folder))),
    })
}

fn relative(root: &Path, folder: &Path) -> String {
    folder.strip_prefix(root).unwrap_or(folder).to_string_lossy().replace('\\', "/")
}

fn array<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    let found = value.get(key).and_then(Value::as_array);
    found.with_context(|| format!("cargo metadata lacks the list {key}"))
}

fn string<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    let found = value.get(key).and_then(Value::as_str);
    found.with_context(|| format!("cargo metadata lacks the text {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_the_root_manifest() {
        let members =
            listed("[workspace]\nmembers = [\n  # L0\n  \"b\",\n  \"a/c\",\n]\n").unwrap();
        assert_eq!(members, ["b", "a/c"]);
    }

    #[test]
    fn reads_kinds_folders_and_programs() {
        let metadata = r#"{"packages": [{
            "name": "p", "manifest_path": "/top/a/p/Cargo.toml",
            "dependencies": [
                {"name": "q", "kind": null, "path": "/top/a/q"},
                {"name": "r", "kind": "dev"},
                {"name": "s", "kind": "build"}
            ],
            "targets": [{"name": "p", "kind": ["lib"]}, {"name": "tool", "kind": ["bin"]}]
        }]}"#;
        let packages = packages(Path::new("/top"), metadata).unwrap();
        assert_eq!(packages.len(), 1);
        assert_eq!(packages[0].folder, "a/p");
        assert_eq!(packages[0].programs, ["tool"]);
        let kinds: Vec<_> = packages[0]
            .dependencies
            .iter()
            .map(|dependency| (dependency.name.as_str(), dependency.kind))
            .collect();
        assert_eq!(kinds, [("q", Kind::Normal), ("r", Kind::Development), ("s", Kind::Build)]);
        assert_eq!(packages[0].dependencies[0].folder.as_deref(), Some("a/q"));
        assert_eq!(packages[0].dependencies[1].folder, None);
    }
}
