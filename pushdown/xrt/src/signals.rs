// SPDX-License-Identifier: Apache-2.0
//! Keeps the process's signal handlers where XRT would put its own.
//!
//! With the first image that a device loads in emulation, the runtime installs handlers which kill
//! the whole process group.

use std::{ffi::c_int, mem::MaybeUninit};

/// The signals that it takes.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGFPE, libc::SIGABRT, libc::SIGUSR1, libc::SIGCHLD];

/// Runs `work`; afterwards the handlers are what they were before.
pub(crate) fn kept<T>(work: impl FnOnce() -> T) -> T {
    let before = SIGNALS.map(|signal| (signal, handler(signal)));
    let result = work();
    for (signal, handler) in before {
        if let Some(handler) = handler {
            // SAFETY: the action is one that the system gave out for this signal.
            unsafe { libc::sigaction(signal, &raw const handler, std::ptr::null_mut()) };
        }
    }
    result
}

/// The handler of a signal.
pub(crate) fn handler(signal: c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the pointer is to memory for one action; nothing is changed.
    let failed = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: an action of zeros is one, and the system has written another over it.
    (failed == 0).then(|| unsafe { action.assume_init() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_put_back() {
        let address = || handler(libc::SIGUSR1).unwrap().sa_sigaction;
        let before = address();
        kept(|| {
            // SAFETY: ignoring a signal that is never sent is harmless.
            unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
            assert_eq!(address(), libc::SIG_IGN);
        });
        assert_eq!(address(), before);
    }
}
