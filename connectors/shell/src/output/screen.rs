// SPDX-License-Identifier: Apache-2.0
//! Tells the size of the terminal.

use terminal_size::{Height, Width, terminal_size};

/// Columns and lines of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Size of a terminal that does not tell, and of what is no terminal: that of the VT100.
const DEFAULT: Screen = Screen { width: 80, height: 24 };

impl Screen {
    /// Returns the size that the terminal has now.
    pub(super) fn now() -> Self {
        terminal_size().map_or(DEFAULT, |(Width(width), Height(height))| Self {
            width: width.into(),
            height: height.into(),
        })
    }

    /// Returns the size for a result that is read elsewhere.
    pub(super) fn of_file() -> Self {
        DEFAULT
    }
}
