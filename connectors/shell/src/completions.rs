// SPDX-License-Identifier: Apache-2.0
//! Prints what a shell and `man` need to know about the command line.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::{
    args::Cli,
    failure::{self, Failure, Result},
};

/// Prints the script that completes arguments in a shell.
pub(crate) fn print_script(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "nearscan", &mut script);
    failure::print(String::from_utf8_lossy(&script).trim_end())
}

/// Prints the manual page, as roff.
pub(crate) fn print_manual() -> Result<()> {
    let mut page = Vec::new();
    Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| Failure::output("-".as_ref(), &error))?;
    failure::print(String::from_utf8_lossy(&page).trim_end())
}
