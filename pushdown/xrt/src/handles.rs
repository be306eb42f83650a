// SPDX-License-Identifier: Apache-2.0
//! Wraps XRT's objects: devices, kernels, buffers, runs.
//!
//! # Invariants
//!
//! - No object closes itself: the order matters, and the objects of a lost card must not be used.
//!   The owner of an object closes it, or leaks it on purpose.
//! - An object is used by one thread at a time, or through `&self` where the runtime allows it.

use std::{
    ffi::{CString, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nearscan_link::Argument;

use crate::library::{Api, Handle};

/// A call that the runtime did not do, with its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("XRT could not {what} (code {code})")]
pub(crate) struct CallFailed {
    pub(crate) what: &'static str,
    pub(crate) code: c_int,
}

fn done(what: &'static str, code: c_int) -> Result<(), CallFailed> {
    if code == 0 { Ok(()) } else { Err(CallFailed { what, code }) }
}

fn made(what: &'static str, handle: Handle) -> Result<Handle, CallFailed> {
    if handle.is_null() { Err(CallFailed { what, code: 0 }) } else { Ok(handle) }
}

/// An open device.
#[derive(Debug)]
pub(crate) struct Device {
    api: Api,
    handle: Handle,
    is_closed: AtomicBool,
}

// SAFETY: threads may share a device; the runtime locks it.
unsafe impl Send for Device {}
// SAFETY: as before.
unsafe impl Sync for Device {}

impl Device {
    /// Opens the device with an index.
    pub(crate) fn open(api: Api, index: u32) -> Result<Self, CallFailed> {
        // SAFETY: the process was prepared, so that a device that is not there gives none.
        let handle = unsafe { (api.device_open)(index) };
        Ok(Self { api, handle: made("open it", handle)?, is_closed: AtomicBool::new(false) })
    }

    /// Opens the device with an address on the bus.
    pub(crate) fn open_by_address(api: Api, address: &str) -> Result<Self, CallFailed> {
        let what = "open it";
        let address = CString::new(address).map_err(|_| CallFailed { what, code: 0 })?;
        // SAFETY: as above, and the address is a string of C.
        let handle = unsafe { (api.device_open_by_bdf)(address.as_ptr()) };
        Ok(Self { api, handle: made(what, handle)?, is_closed: AtomicBool::new(false) })
    }

    /// The object behind it.
    pub(crate) fn shim(&self) -> *mut c_void {
        // SAFETY: the device is open.
        unsafe { (self.api.device_to_xcl)(self.handle) }
    }

    /// Loads an image.
    pub(crate) fn load(&self, image: &Path) -> Result<(), CallFailed> {
        let what = "load the image";
        let path = CString::new(image.as_os_str().as_bytes());
        let path = path.map_err(|_| CallFailed { what, code: 0 })?;
        // SAFETY: the device is open, and the path a string of C.
        done(what, unsafe { (self.api.device_load_xclbin_file)(self.handle, path.as_ptr()) })
    }

    /// Opens a unit of a kernel of the loaded image.
    pub(crate) fn kernel(&self, uuid: &[u8; 16], name: &str) -> Result<Kernel, CallFailed> {
        let what = "open a kernel";
        let name = CString::new(name).map_err(|_| CallFailed { what, code: 0 })?;
        // SAFETY: the device is open, the identity has 16 bytes, the name is a string of C.
        let handle = unsafe { (self.api.kernel_open)(self.handle, uuid.as_ptr(), name.as_ptr()) };
        Ok(Kernel { api: self.api, handle: made(what, handle)? })
    }

    /// Makes a buffer.
    pub(crate) fn buffer(&self, place: BufferPlace, bytes: usize) -> Result<Buffer, CallFailed> {
        let BufferPlace { kind, group } = place;
        // SAFETY: the device is open.
        let handle = unsafe { (self.api.buffer_alloc)(self.handle, bytes, kind.flags(), group) };
        let handle = made("make a buffer", handle)?;
        let map = match kind {
            BufferKind::Device => std::ptr::null_mut(),
            BufferKind::Host | BufferKind::PeerToPeer => {
                // SAFETY: the buffer was just made.
                let map = unsafe { (self.api.buffer_map)(handle) }.cast::<u8>();
                if map.is_null() {
                    // SAFETY: no other code has the buffer.
                    unsafe { (self.api.buffer_free)(handle) };
                    return Err(CallFailed { what: "map a buffer", code: 0 });
                }
                map
            }
        };
        Ok(Buffer { api: self.api, handle, map, bytes, place })
    }

    /// Closes it, once; its kernels, buffers and runs must be closed already.
    pub(crate) fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            // SAFETY: the device is open, and the caller ensures that it is not used afterwards.
            unsafe { (self.api.device_close)(self.handle) };
        }
    }
}

/// An open unit of a kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    api: Api,
    handle: Handle,
}

// SAFETY: a kernel belongs to no thread.
unsafe impl Send for Kernel {}

impl Kernel {
    /// The bank group that a buffer for this argument has to be in.
    pub(crate) fn group(&self, argument: Argument) -> Result<u32, CallFailed> {
        let index = c_int::try_from(argument.index()).unwrap_or(c_int::MAX);
        // SAFETY: the kernel is open.
        let group = unsafe { (self.api.kernel_group)(self.handle, index) };
        u32::try_from(group)
            .map_err(|_| CallFailed { what: "say where an argument goes", code: group })
    }

    /// A run of it.
    pub(crate) fn run(&self) -> Result<Run, CallFailed> {
        // SAFETY: the kernel is open.
        let handle = made("make a run", unsafe { (self.api.run_open)(self.handle) })?;
        let run = Run { api: self.api, handle, signal: Box::default() };
        let data = std::ptr::from_ref::<Signal>(&run.signal).cast_mut().cast();
        // SAFETY: the signal stays where it is for as long as the run is open; of a run that is
        // leaked, the signal is leaked with it.
        let code = unsafe { (self.api.run_set_callback)(handle, state::COMPLETED, on_end, data) };
        match done("be asked for an end", code) {
            Ok(()) => Ok(run),
            Err(failed) => {
                run.close();
                Err(failed)
            }
        }
    }

    /// Closes it; its runs must be closed already.
    pub(crate) fn close(self) {
        // SAFETY: the kernel is open, and is not used afterwards.
        unsafe { (self.api.kernel_close)(self.handle) };
    }
}

/// The purpose of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BufferKind {
    /// Copied to and from by the host. In emulation this kind has its own copy on the host's side,
    /// so that a copy which was forgotten shows; on a card it is an ordinary buffer.
    Host,
    /// Device memory that a disk writes into.
    PeerToPeer,
    /// Device memory that the host never sees.
    Device,
}

impl BufferKind {
    const fn flags(self) -> u64 {
        match self {
            Self::Host => 1 << 24,
            Self::PeerToPeer => 1 << 30,
            Self::Device => 1 << 28,
        }
    }
}

/// Kind and bank group of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BufferPlace {
    pub(crate) kind: BufferKind,
    pub(crate) group: u32,
}

/// Device memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    api: Api,
    handle: Handle,
    map: *mut u8,
    bytes: usize,
    pub(crate) place: BufferPlace,
}

// SAFETY: a buffer belongs to no thread.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// Its size.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// The host's side of it; nothing of one that the host never sees.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.map.is_null() {
            return &[];
        }
        // SAFETY: the mapping has so many bytes for as long as the buffer is open; no kernel runs
        // on it meanwhile.
        unsafe { std::slice::from_raw_parts(self.map, self.bytes) }
    }

    /// The same, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        if self.map.is_null() {
            return &mut [];
        }
        // SAFETY: as before, and there is no other reference to it.
        unsafe { std::slice::from_raw_parts_mut(self.map, self.bytes) }
    }

    /// Sends bytes of the host's side to the device's.
    pub(crate) fn send(&self, range: std::ops::Range<usize>) -> Result<(), CallFailed> {
        self.sync(0, range.start, range.len())
    }

    /// Brings bytes of the device's side to the host's.
    pub(crate) fn bring(&self, range: std::ops::Range<usize>) -> Result<(), CallFailed> {
        self.sync(1, range.start, range.len())
    }

    fn sync(&self, direction: c_int, offset: usize, bytes: usize) -> Result<(), CallFailed> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the buffer is open; the runtime checks the range.
        let code = unsafe { (self.api.buffer_sync)(self.handle, direction, bytes, offset) };
        done("copy a buffer", code)
    }

    /// A part of it, by which a kernel is shown that part alone. To be closed before the buffer.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Result<Part, CallFailed> {
        // SAFETY: the buffer is open; the runtime checks the range.
        let handle = unsafe { (self.api.buffer_sub)(self.handle, range.len(), range.start) };
        Ok(Part { api: self.api, handle: made("take a part of a buffer", handle)? })
    }

    /// Frees it.
    pub(crate) fn close(self) {
        // SAFETY: the buffer is open, and is not used afterwards.
        unsafe { (self.api.buffer_free)(self.handle) };
    }
}

/// A part of a buffer, as an argument of a kernel.
#[derive(Debug)]
pub(crate) struct Part {
    api: Api,
    handle: Handle,
}

impl Part {
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// Frees it.
    pub(crate) fn close(self) {
        // SAFETY: the part is open, and is not used afterwards.
        unsafe { (self.api.buffer_free)(self.handle) };
    }
}

/// States of a run.
pub(crate) mod state {
    use std::ffi::c_int;

    /// It has ended as it should.
    pub(crate) const COMPLETED: c_int = 4;
    /// The runtime or the kernel refused it.
    pub(crate) const ERROR: c_int = 5;
}

/// The signal that a run has ended.
#[derive(Debug, Default)]
struct Signal {
    state: Mutex<Option<c_int>>,
    changed: Condvar,
}

/// Told by the runtime, on its own thread.
unsafe extern "C" fn on_end(_run: Handle, state: c_int, data: *mut c_void) {
    // SAFETY: the data is the signal of the run, which lives for as long as the run.
    let signal = unsafe { &*data.cast::<Signal>() };
    *signal.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    signal.changed.notify_all();
}

/// A run of a kernel, which can be started again and again.
#[derive(Debug)]
pub(crate) struct Run {
    api: Api,
    handle: Handle,
    signal: Box<Signal>,
}

// SAFETY: a run belongs to no thread.
unsafe impl Send for Run {}

/// The time that the runtime may take from telling of an end to having ended, in ms.
const SETTLE_MS: u32 = 1000;

impl Run {
    /// Sets an argument, for all starts that follow.
    pub(crate) fn set(&self, argument: Argument, buffer: Handle) -> Result<(), CallFailed> {
        let index = c_int::try_from(argument.index()).unwrap_or(c_int::MAX);
        // SAFETY: the run is open, and the argument is a buffer, of which the handle is passed.
        done("set an argument", unsafe { (self.api.run_set_arg)(self.handle, index, buffer) })
    }

    /// Starts it; it must not be running.
    pub(crate) fn start(&self) -> Result<(), CallFailed> {
        *self.signal.state.lock().unwrap_or_else(PoisonError::into_inner) = None;
        // SAFETY: the run is open, and all its arguments are set.
        done("start a kernel", unsafe { (self.api.run_start)(self.handle) })
    }

    /// Waits a while for its end; gives the state in which it ended, if it did.
    pub(crate) fn wait(&self, patience: Duration) -> Option<c_int> {
        let state = self.signal.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.signal.changed.wait_timeout_while(state, patience, |s| s.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until the runtime is done with it, after it has told of its end; else the next start
    /// could meet the late end of this one.
    pub(crate) fn settle(&self) {
        // SAFETY: the run is open.
        unsafe { (self.api.run_wait_for)(self.handle, SETTLE_MS) };
    }

    /// Closes it; it must not be running.
    pub(crate) fn close(self) {
        // SAFETY: the run is open, and is not used afterwards.
        unsafe { (self.api.run_close)(self.handle) };
    }
}

/// Memory of so many bytes that two parties can map: a file without a name.
pub(crate) fn nameless_memory(bytes: u64) -> std::io::Result<std::fs::File> {
    use std::os::fd::FromRawFd;
    // SAFETY: the name is a string of C.
    let descriptor = unsafe { libc::memfd_create(c"nearscan".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made, and no other code has it.
    let file = unsafe { std::fs::File::from_raw_fd(descriptor) };
    file.set_len(bytes)?;
    Ok(file)
}
