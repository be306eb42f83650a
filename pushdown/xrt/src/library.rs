// SPDX-License-Identifier: Apache-2.0
//! Loads XRT's C interface at run time, without linking.
//!
//! # Invariants
//!
//! - A library that was opened stays open: its threads and handlers outlive the code that opened
//!   it.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use nearscan_link::Target;

use crate::error::OpenError;

/// A handle of the runtime for a device, kernel, buffer or run.
pub(crate) type Handle = *mut c_void;

/// Called by the runtime when a run changes its state: run, state, what was given with it.
pub(crate) type Callback = unsafe extern "C" fn(Handle, c_int, *mut c_void);

/// The library of the C interface.
pub(crate) const CORE: &str = "libxrt_coreutil.so.2";

/// The library that emulates the device.
pub(crate) const fn device_library(target: Target) -> &'static str {
    match target {
        Target::Card => "libxrt_core.so.2",
        Target::SoftwareEmulation => "libxrt_swemu.so.2",
    }
}

/// An open library.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Library(Handle);

// SAFETY: a library belongs to no thread.
unsafe impl Send for Library {}
// SAFETY: looking for a symbol changes nothing.
unsafe impl Sync for Library {}

impl Library {
    /// Opens a library, by the system's search or in a folder.
    ///
    /// # Errors
    /// [`OpenError::NoRuntime`] with what the loader says.
    pub(crate) fn open(name: &str, folder: Option<&Path>) -> Result<Self, OpenError> {
        let path = folder.map_or_else(|| name.into(), |folder| folder.join(name));
        let failed = |reason: String| {
            let library = path.display().to_string();
            OpenError::NoRuntime { library, reason }
        };
        let name = CString::new(path.as_os_str().as_bytes());
        let name = name.map_err(|error| failed(error.to_string()))?;
        // SAFETY: the runtime's libraries do in their initialisers what this crate expects of them;
        // the environment that they read was set before.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() { Err(failed(last_error())) } else { Ok(Self(handle)) }
    }

    /// The address of a symbol.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<Handle> {
        // SAFETY: the library is open, and the name a string of C.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    }
}

/// The loader's message about its last failure on this thread.
fn last_error() -> String {
    // SAFETY: the text is this thread's until it calls the loader again.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: the loader gives a string of C.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

macro_rules! interface {
    ($(
        $name:ident = $symbol:literal: fn($($argument:ty),* $(; $rest:tt)?) $(-> $result:ty)?;
    )*) => {
        /// The functions that are used.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),* $(, $rest)?) $(-> $result)?,)*
        }

        impl Api {
            /// Finds all functions.
            ///
            /// # Errors
            /// The first one that is not there.
            pub(crate) fn of(library: &Library) -> Result<Self, OpenError> {
                Ok(Self {
                    $($name: {
                        let symbol = $symbol;
                        let found = library.symbol(symbol).ok_or_else(|| OpenError::Symbol {
                            library: CORE.to_owned(),
                            symbol: symbol.to_string_lossy().into_owned(),
                        })?;
                        // SAFETY: the type is that of the function in XRT's headers.
                        unsafe {
                            std::mem::transmute::<
                                Handle,
                                unsafe extern "C" fn($($argument),* $(, $rest)?) $(-> $result)?,
                            >(found)
                        }
                    },)*
                })
            }
        }
    };
}

interface! {
    ini_string_set = c"xrtIniStringSet": fn(*const c_char, *const c_char) -> c_int;
    device_open = c"xrtDeviceOpen": fn(c_uint) -> Handle;
    device_open_by_bdf = c"xrtDeviceOpenByBDF": fn(*const c_char) -> Handle;
    device_close = c"xrtDeviceClose": fn(Handle) -> c_int;
    device_to_xcl = c"xrtDeviceToXclDevice": fn(Handle) -> Handle;
    device_load_xclbin_file = c"xrtDeviceLoadXclbinFile": fn(Handle, *const c_char) -> c_int;
    kernel_open = c"xrtPLKernelOpen": fn(Handle, *const u8, *const c_char) -> Handle;
    kernel_close = c"xrtKernelClose": fn(Handle) -> c_int;
    kernel_group = c"xrtKernelArgGroupId": fn(Handle, c_int) -> c_int;
    buffer_alloc = c"xrtBOAlloc": fn(Handle, usize, u64, c_uint) -> Handle;
    buffer_sub = c"xrtBOSubAlloc": fn(Handle, usize, usize) -> Handle;
    buffer_free = c"xrtBOFree": fn(Handle) -> c_int;
    buffer_map = c"xrtBOMap": fn(Handle) -> *mut c_void;
    buffer_sync = c"xrtBOSync": fn(Handle, c_int, usize, usize) -> c_int;
    run_open = c"xrtRunOpen": fn(Handle) -> Handle;
    run_set_arg = c"xrtRunSetArg": fn(Handle, c_int; ...) -> c_int;
    run_set_callback = c"xrtRunSetCallback": fn(Handle, c_int, Callback, *mut c_void) -> c_int;
    run_start = c"xrtRunStart": fn(Handle) -> c_int;
    run_wait_for = c"xrtRunWaitFor": fn(Handle, c_uint) -> c_int;
    run_close = c"xrtRunClose": fn(Handle) -> c_int;
}
