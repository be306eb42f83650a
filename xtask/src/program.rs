// SPDX-License-Identifier: Apache-2.0
//! Builds and runs optimised programs of the workspace for tasks.

use std::path::PathBuf;

use anyhow::Result;

use crate::project::{self, Project};

/// A program of a package.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// Those that it needs, each with its package.
    pub(crate) features: Option<&'static str>,
}

impl Program {
    /// Builds it and says where it is.
    ///
    /// # Errors
    /// If it cannot be built.
    pub(crate) fn build(&self, project: &Project) -> Result<PathBuf> {
        project::run(&mut project.cargo(&self.arguments()))?;
        Ok(project.target_folder().join("release").join(self.name))
    }

    /// Returns the arguments of cargo. The shell is named so that DataFusion is built with the
    /// features that it has there: so it is not built again after the shell.
    fn arguments(&self) -> Vec<&'static str> {
        let own = ["-p", self.package, "--bin", self.name];
        let mut arguments = vec!["build", "--release", "--locked", "-p", "nearscan-shell"];
        arguments.extend(own);
        arguments.extend(self.features.into_iter().flat_map(|features| ["--features", features]));
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fuzz, peers, slt};

    #[test]
    fn each_program_is_in_an_existing_package() {
        let metadata = Project::open()
            .unwrap()
            .cargo(&["metadata", "--no-deps", "--offline"])
            .args(["--format-version", "1"])
            .output()
            .unwrap();
        let metadata = String::from_utf8(metadata.stdout).unwrap();
        for program in [
            fuzz::QUERIES,
            fuzz::FAULTS,
            fuzz::CORRUPTION,
            slt::PROGRAM,
            peers::WORKER,
            peers::SHELL,
        ] {
            let arguments = program.arguments();
            let package = arguments.iter().rposition(|it| *it == "-p").unwrap() + 1;
            assert_eq!(arguments[package..=package + 2], [program.package, "--bin", program.name]);
            for name in [program.package, program.name] {
                assert!(metadata.contains(&format!("\"name\":\"{name}\"")), "{name}");
            }
        }
    }
}
