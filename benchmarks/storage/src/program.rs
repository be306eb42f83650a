// SPDX-License-Identifier: Apache-2.0
//! Starts the program that serves a store.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use nearscan_remote::Address;

use crate::{error::Error, processors::Processors};

/// The name of our server in reports and errors.
pub(crate) const OURS: &str = "nearscan";

/// A program that serves the objects of a store: it is started with these arguments, behind which
/// the store, the address and what an experiment needs are given as `nearscan drive serve` takes
/// them, and says `listening on ADDRESS` once it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The first arguments.
    pub arguments: Vec<OsString>,
}

/// A process that is killed on drop.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// Kills it (SIGKILL), and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        // Whoever has ended already cannot be ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Program {
    /// Starts it on the processor of servers, and waits until it listens.
    pub(crate) fn start(
        &self,
        store: &Path,
        listen: &str,
        arguments: &[OsString],
        processors: &Processors,
    ) -> Result<(Process, Address), Error> {
        let failed = |reason: String| Error::Server { server: OURS, reason };
        let mut command = processors.server(&self.path);
        command.args(&self.arguments).arg("--store").arg(store).args(["--listen", listen]);
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let mut process = Process(child);
        let mut line = String::new();
        if let Some(output) = process.0.stdout.take() {
            drop(BufReader::new(output).read_line(&mut line));
        }
        let Some(address) = line.trim_end().strip_prefix("listening on ") else {
            let mut said = String::new();
            if let Some(mut errors) = process.0.stderr.take() {
                drop(process.0.kill());
                drop(errors.read_to_string(&mut said));
            }
            return Err(failed(said.trim().to_owned()));
        };
        let address = address.parse().map_err(|_| failed(format!("it is at {address:?}")))?;
        Ok((process, address))
    }
}
