// SPDX-License-Identifier: Apache-2.0
//! Names what a user chooses about a session, and how a session goes on.

/// Whether a text goes on after a statement that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    Stop,
    Continue,
}

/// Whether the time of each statement is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    On,
    Off,
}

/// The keys that edit a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditKeys {
    Emacs,
    Vi,
}

/// What becomes of the rows of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// They are written in the form of the output.
    Rows,
    /// They are drawn as bars.
    Bars,
}

/// Whether a script or the interactive loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Continue,
    Leave,
}
