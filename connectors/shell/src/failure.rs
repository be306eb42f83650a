// SPDX-License-Identifier: Apache-2.0
//! Defines the ways in which the program ends early, and the exit status of each.

use std::{
    fmt,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use tokio::task::JoinError;

/// Result of a part of the program.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The reason why the program, or one statement, ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The program cannot do what it was asked to; the text is rendered.
    Usage(String),
    /// A statement failed; the text is rendered.
    Statement(String),
    /// A statement failed and its text has been printed already.
    Reported,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// The reader of the output has closed it, as in `nearscan ... | head`.
    OutputClosed,
}

impl Failure {
    /// An input that cannot be read.
    pub(crate) fn input(path: &str, error: &io::Error) -> Self {
        Self::Usage(format!("error: cannot read '{path}'\n  detail: {error}"))
    }

    /// A file that cannot be written.
    pub(crate) fn output(path: &Path, error: &io::Error) -> Self {
        Self::Usage(format!("error: cannot write '{}'\n  detail: {error}", path.display()))
    }

    /// An engine that cannot be made, or data that cannot be used.
    pub(crate) fn usage(error: &nearscan::Error) -> Self {
        Self::Usage(error.render())
    }

    /// A statement that failed.
    pub(crate) fn statement(error: &nearscan::Error) -> Self {
        Self::Statement(error.render())
    }

    /// The same failure as that of a statement, which does not end the program.
    pub(crate) fn into_statement(self) -> Self {
        match self {
            Self::Usage(text) => Self::Statement(text),
            other => other,
        }
    }

    /// An error of work that is no statement, with what led to it.
    pub(crate) fn work(error: &dyn std::error::Error) -> Self {
        let mut text = format!("error: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&format!("\n  detail: {cause}"));
            source = cause.source();
        }
        Self::Statement(text)
    }

    /// The system gives no threads.
    pub(crate) fn threads(error: &io::Error) -> Self {
        Self::Usage(format!("error: cannot start threads\n  detail: {error}"))
    }

    /// A task of the program that ended by a panic, which has been printed already.
    pub(crate) fn panicked(error: &JoinError) -> Self {
        Self::Statement(format!(
            "error: internal error\n  detail: {error}\n  \
               hint: this is a defect: please report it together with the statement"
        ))
    }

    /// Says on standard error what went wrong, if that has not been said.
    pub(crate) fn print(&self) {
        match self {
            Self::Usage(text) | Self::Statement(text) => say(text),
            Self::Reported | Self::Interrupted | Self::OutputClosed => {}
        }
    }

    /// The exit status.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::OutputClosed => ExitCode::SUCCESS,
            Self::Statement(_) | Self::Reported => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::Interrupted => ExitCode::from(INTERRUPTED),
        }
    }
}

/// The text of an error in three parts.
pub(crate) fn in_parts(
    primary: &dyn fmt::Display,
    detail: Option<String>,
    hint: Option<&str>,
) -> String {
    let mut text = format!("error: {primary}");
    for (label, part) in [("detail", detail.as_deref()), ("hint", hint)] {
        text.extend(part.map(|part| format!("\n  {label}: {part}")));
    }
    text
}

/// Exit status after Ctrl-C: 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// Writes a line to standard error; if that is closed, the line is dropped.
pub(crate) fn say(text: &str) {
    let _nobody_reads = writeln!(io::stderr(), "{text}");
}

/// Writes a prompt to standard error.
pub(crate) fn show(text: &str) {
    let mut stderr = io::stderr();
    let _nobody_reads = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Writes a line to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(format!("{text}\n").as_bytes())
}

/// Writes bytes to standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::output(Path::new("-"), &error),
    })
}
