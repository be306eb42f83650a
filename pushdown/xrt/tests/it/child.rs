// SPDX-License-Identifier: Apache-2.0
//! Starts this program as the separate process of a test.

use std::{
    process::{Command, Output, Stdio},
    time::Duration,
};

use nearscan_drive::clock::{Stopwatch, pause};

use crate::trial;

/// Says that the program is to be one test.
pub(crate) const FLAG: &str = "--child";

/// Time after which a process hangs.
const PATIENCE: Duration = Duration::from_secs(900);

/// Runs the test of that name in this process.
pub(crate) fn run(name: &str) {
    let trial = trial::all().iter().find(|trial| trial.name == name);
    (trial.expect("there is such a test").body)();
}

/// A process that will be that test.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([FLAG, name]).stdin(Stdio::null());
    for variable in ["XCL_EMULATION_MODE", "EMCONFIG_PATH", "SDACCEL_EM_RUN_DIR"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a process to its end, which has to come.
pub(crate) fn output(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let watch = Stopwatch::start();
    while child.try_wait().unwrap().is_none() {
        if watch.elapsed() > PATIENCE {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("the process hangs; it said: {}", String::from_utf8_lossy(&output.stderr));
        }
        pause(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}
