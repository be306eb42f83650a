// SPDX-License-Identifier: Apache-2.0
//! Defines the side of a read that owns its buffer, as a driver sees it: the buffer's type is gone.

use crate::error::Error;

/// The side of a read that owns its buffer.
pub(crate) trait Job: Send {
    /// The read has ended; the buffer goes to whoever waits.
    fn end(self: Box<Self>, result: Result<(), Error>);

    /// The read will never end: whoever waits gets the error, the buffer stays here.
    fn lose(&self, error: Error);
}
