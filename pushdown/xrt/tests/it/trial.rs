// SPDX-License-Identifier: Apache-2.0
//! Defines a test by its process: its work, its start, and its expected end.

use std::process::Command;

use crate::{child, emulation, fake, images};

/// Which runtime a test wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// XRT itself, emulating.
    Xrt,
    /// The library that simulates it.
    Fake,
}

/// A test.
pub(crate) struct Trial {
    pub(crate) name: &'static str,
    pub(crate) runtime: Runtime,
    /// The code that the process runs; a panic fails the test.
    pub(crate) body: fn(),
    /// Prepares the process: its environment and arguments beside its name.
    pub(crate) prepare: fn(&mut Command),
    /// The text that is expected on standard error; empty for nothing in particular.
    pub(crate) says: &'static str,
}

impl Trial {
    /// A test that is given nothing.
    pub(crate) const fn new(name: &'static str, runtime: Runtime, body: fn()) -> Self {
        Self { name, runtime, body, prepare: |_| {}, says: "" }
    }

    pub(crate) fn to_mimic(&'static self) -> libtest_mimic::Trial {
        libtest_mimic::Trial::test(self.name, move || {
            if self.runtime == Runtime::Xrt && !has_xrt() {
                nearscan_skip::skip(self.name, "needs xrt");
                return Ok(());
            }
            let mut command = child::command(self.name);
            (self.prepare)(&mut command);
            let output = child::output(&mut command);
            let [said, printed] = [&output.stderr, &output.stdout]
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            if !output.status.success() || !said.contains(self.says) || !printed.is_empty() {
                let text = format!("{}\nstdout: {printed}\nstderr: {said}", output.status);
                return Err(text.into());
            }
            Ok(())
        })
    }
}

/// Whether XRT is installed where the system looks for libraries.
fn has_xrt() -> bool {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/opt/xilinx/xrt/lib", "/usr/lib64"];
    folders.iter().any(|folder| std::path::Path::new(folder).join("libxrt_swemu.so.2").exists())
}

/// All tests.
pub(crate) fn all() -> &'static [Trial] {
    static ALL: std::sync::OnceLock<Vec<Trial>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let trials = [emulation::trials(), fake::trials(), images::trials()];
        trials.into_iter().flatten().collect()
    })
}
