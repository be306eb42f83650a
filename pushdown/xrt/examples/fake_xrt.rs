// SPDX-License-Identifier: Apache-2.0
//! Implements the part of XRT's C interface that the drive uses, for tests of failures: no card, an
//! image in use, kernels that hang, a device that vanishes.
//!
//! It simulates a card: kernels run on its own memory, and the host sees only what it has copied.
//! `FAKE_XRT` in the environment lists what goes wrong. It writes a line to standard error for each
//! rule of the interface that its caller breaks, and one at the end. If a card would write to
//! memory that was freed, it ends the process.
#![expect(clippy::unwrap_used, reason = "a tool of tests: a panic shows where")]
#![expect(clippy::print_stderr, reason = "its findings are its output")]
#![expect(unsafe_op_in_unsafe_fn, reason = "every function is the other side of a C interface")]
#![expect(clippy::missing_safety_doc, reason = "the same")]
#![expect(missing_docs, reason = "the functions are XRT's")]

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use nearscan_models::{Depths, Line, Memories};

type Callback = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void);

static OPEN: AtomicUsize = AtomicUsize::new(0);
static BUFFER_BYTES: AtomicUsize = AtomicUsize::new(0);
static STARTS: AtomicUsize = AtomicUsize::new(0);
/// Addresses of the buffers that kernels may still touch.
static TOUCHED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Bytes of the fake's bank where it has too few.
const SMALL_BANK_BYTES: usize = 16 << 20;

fn goes_wrong(what: &str) -> bool {
    let list = std::env::var_os("FAKE_XRT").unwrap_or_default();
    list.to_string_lossy().split(',').any(|word| word == what)
}

/// Device memory, and the host's side of it.
struct Buffer {
    device: Arc<Memory>,
    host: Option<Vec<Line>>,
    offset: usize,
    bytes: usize,
}

struct Memory(Mutex<Vec<Page>>);

/// A disk writes to memory that is aligned to blocks.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(4096))]
struct Page([Line; 64]);

struct Run {
    is_scan: bool,
    arguments: Mutex<[usize; 8]>,
    callback: Mutex<Option<(Callback, usize)>>,
}

fn opened<T>(value: T) -> *mut c_void {
    OPEN.fetch_add(1, Ordering::SeqCst);
    Box::into_raw(Box::new(value)).cast()
}

unsafe fn closed<T>(handle: *mut c_void) -> c_int {
    OPEN.fetch_sub(1, Ordering::SeqCst);
    drop(Box::from_raw(handle.cast::<T>()));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtIniStringSet(_key: *const c_char, _value: *const c_char) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtDeviceOpen(index: c_uint) -> *mut c_void {
    if index > 0 || goes_wrong("no_card") { std::ptr::null_mut() } else { opened(0u8) }
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtDeviceOpenByBDF(_bdf: *const c_char) -> *mut c_void {
    xrtDeviceOpen(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtDeviceClose(device: *mut c_void) -> c_int {
    match OPEN.load(Ordering::SeqCst) {
        1 => eprintln!("fake: closed in order"),
        open => eprintln!("fake: {} objects outlive the device", open - 1),
    }
    closed::<u8>(device)
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtDeviceToXclDevice(_device: *mut c_void) -> *mut c_void {
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtDeviceLoadXclbinFile(_device: *mut c_void, _path: *const c_char) -> c_int {
    if goes_wrong("in_use") {
        -16
    } else if goes_wrong("load") {
        -22
    } else {
        0
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtPLKernelOpen(
    _device: *mut c_void,
    _uuid: *const u8,
    name: *const c_char,
) -> *mut c_void {
    if goes_wrong("no_kernel") {
        return std::ptr::null_mut();
    }
    opened(CStr::from_ptr(name).to_str().unwrap().starts_with("ns_scan:"))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtKernelClose(kernel: *mut c_void) -> c_int {
    closed::<bool>(kernel)
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtKernelArgGroupId(_kernel: *mut c_void, _index: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtBOAlloc(
    _device: *mut c_void,
    bytes: usize,
    flags: u64,
    _group: c_uint,
) -> *mut c_void {
    let is_peer_to_peer = flags & 1 << 30 != 0;
    if is_peer_to_peer && goes_wrong("no_p2p") {
        return std::ptr::null_mut();
    }
    let used = BUFFER_BYTES.fetch_add(bytes, Ordering::SeqCst);
    if goes_wrong("small_bank") && used + bytes > SMALL_BANK_BYTES {
        BUFFER_BYTES.fetch_sub(bytes, Ordering::SeqCst);
        return std::ptr::null_mut();
    }
    let pages = bytemuck::zeroed_vec(bytes.div_ceil(size_of::<Page>()));
    let host = (!is_peer_to_peer).then(|| nearscan_models::zeroed_lines(bytes));
    opened(Buffer { device: Arc::new(Memory(Mutex::new(pages))), host, offset: 0, bytes })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtBOSubAlloc(
    parent: *mut c_void,
    bytes: usize,
    offset: usize,
) -> *mut c_void {
    let parent = &*parent.cast::<Buffer>();
    if offset + bytes > parent.bytes {
        return std::ptr::null_mut();
    }
    let device = Arc::clone(&parent.device);
    opened(Buffer { device, host: None, offset: parent.offset + offset, bytes: 0 })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtBOFree(buffer: *mut c_void) -> c_int {
    if TOUCHED.lock().unwrap().contains(&buffer.addr()) {
        eprintln!("fake: a buffer is freed that a kernel may still touch");
        std::process::abort();
    }
    BUFFER_BYTES.fetch_sub((*buffer.cast::<Buffer>()).bytes, Ordering::SeqCst);
    closed::<Buffer>(buffer)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtBOMap(buffer: *mut c_void) -> *mut c_void {
    let buffer = &mut *buffer.cast::<Buffer>();
    match &mut buffer.host {
        Some(host) => host.as_mut_ptr().cast(),
        None => buffer.device.0.lock().unwrap().as_mut_ptr().cast(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtBOSync(
    buffer: *mut c_void,
    direction: c_int,
    bytes: usize,
    offset: usize,
) -> c_int {
    let buffer = &mut *buffer.cast::<Buffer>();
    if offset + bytes > buffer.bytes {
        eprintln!("fake: a copy outside of its buffer");
        return -22;
    }
    let mut device = buffer.device.0.lock().unwrap();
    let Some(host) = &mut buffer.host else { return 0 };
    let host: &mut [u8] = bytemuck::cast_slice_mut(host);
    let device: &mut [u8] = bytemuck::cast_slice_mut(&mut device);
    let range = offset..offset + bytes;
    match direction {
        0 => device[range.clone()].copy_from_slice(&host[range]),
        _ => host[range.clone()].copy_from_slice(&device[range]),
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtRunOpen(kernel: *mut c_void) -> *mut c_void {
    let is_scan = *kernel.cast::<bool>();
    opened(Run { is_scan, arguments: Mutex::default(), callback: Mutex::default() })
}

/// The drive passes a buffer's handle, which goes where a variadic argument goes on this machine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtRunSetArg(
    run: *mut c_void,
    index: c_int,
    buffer: *mut c_void,
) -> c_int {
    let run = &*run.cast::<Run>();
    run.arguments.lock().unwrap()[usize::try_from(index).unwrap()] = buffer.addr();
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtRunSetCallback(
    run: *mut c_void,
    _state: c_int,
    callback: Callback,
    data: *mut c_void,
) -> c_int {
    *(*run.cast::<Run>()).callback.lock().unwrap() = Some((callback, data.addr()));
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtRunStart(run: *mut c_void) -> c_int {
    let start = STARTS.fetch_add(1, Ordering::SeqCst);
    if goes_wrong("start") {
        return -5;
    }
    let (address, later) = (run.addr(), start > 0);
    let arguments = *(*run.cast::<Run>()).arguments.lock().unwrap();
    TOUCHED.lock().unwrap().extend(arguments);
    if goes_wrong("hang") || (goes_wrong("hang_later") && later) {
        return 0;
    }
    std::thread::spawn(move || {
        let run = &*std::ptr::with_exposed_provenance::<Run>(address);
        let mut state = 4;
        if goes_wrong("error") {
            state = 5;
        } else if goes_wrong("abort") {
            state = 6;
        } else if !(goes_wrong("no_result") || (goes_wrong("no_result_later") && later)) {
            execute(run);
        }
        if state != 6 {
            let mut touched = TOUCHED.lock().unwrap();
            for argument in arguments {
                let place = touched.iter().position(|address| *address == argument).unwrap();
                touched.swap_remove(place);
            }
        }
        let (callback, data) = run.callback.lock().unwrap().unwrap();
        callback(std::ptr::with_exposed_provenance_mut(address), state, data as *mut c_void);
    });
    0
}

/// Runs the kernel on copies of its memories.
unsafe fn execute(run: &Run) {
    let arguments = *run.arguments.lock().unwrap();
    let [command, input, output, scratch, cancel, ..] = arguments;
    let [command, input, output, scratch, cancel] = [command, input, output, scratch, cancel]
        .map(|address| &*std::ptr::with_exposed_provenance::<Buffer>(address));
    let copy = |buffer: &Buffer| -> Vec<Line> {
        let device = buffer.device.0.lock().unwrap();
        bytemuck::cast_slice(&device)[buffer.offset / 64..].to_vec()
    };
    let (words, lines, word) = (copy(command), copy(input), copy(cancel));
    let mut result = vec![0u64; copy(output).len() * 8];
    let cancel = AtomicU32::new(bytemuck::cast_slice::<Line, u32>(&word)[0]);
    let words: &[u8] = bytemuck::cast_slice(&words);
    if run.is_scan {
        let mut scratch = vec![0u64; copy(scratch).len() * 8];
        let mut memories = Memories { input: &lines, output: &mut result, scratch: &mut scratch };
        nearscan_models::scan(words, &mut memories, &cancel, Depths::Roomy).unwrap();
    } else {
        nearscan_models::merge(words, &lines, &mut result, &cancel).unwrap();
    }
    let mut device = output.device.0.lock().unwrap();
    let place = &mut bytemuck::cast_slice_mut::<Page, u64>(&mut device)[output.offset / 8..];
    // A kernel writes what it has to say, and leaves the rest as it was.
    let payload_words = usize::try_from(result[11].div_ceil(8)).unwrap();
    let length = (32 + payload_words).min(result.len());
    place[..length].copy_from_slice(&result[..length]);
}

#[unsafe(no_mangle)]
pub extern "C" fn xrtRunWaitFor(_run: *mut c_void, _ms: c_uint) -> c_int {
    4
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn xrtRunClose(run: *mut c_void) -> c_int {
    closed::<Run>(run)
}
