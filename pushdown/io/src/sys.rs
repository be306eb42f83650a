// SPDX-License-Identifier: Apache-2.0
//! Wraps the system calls that the standard library does not have.

use std::{
    fs::File,
    io,
    mem::MaybeUninit,
    ops::Range,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

/// The number of `cachestat` (Linux 6.5), the same on every architecture; `libc` has no name yet.
const SYS_CACHESTAT: libc::c_long = 451;

/// The argument of `cachestat`.
#[repr(C)]
struct CacheRange {
    offset: u64,
    length: u64,
}

/// The answer of `cachestat`, in pages.
#[repr(C)]
#[derive(Debug, Default)]
struct CacheState {
    cached: u64,
    dirty: u64,
    written_back: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Bytes to which offset and memory of direct reads are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alignment {
    pub(crate) offset: usize,
    pub(crate) memory: usize,
}

fn check(result: impl Into<i64>) -> io::Result<u64> {
    u64::try_from(result.into()).map_err(|_| io::Error::last_os_error())
}

fn length_of(offset: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Reads once.
///
/// # Safety
/// The memory may be written to until this returns.
pub(crate) unsafe fn pread(
    file: &File,
    offset: u64,
    pointer: *mut u8,
    length: u32,
) -> io::Result<u32> {
    let offset = length_of(offset)?;
    let length = usize::try_from(length).unwrap_or(0);
    // SAFETY: the caller's.
    let bytes = unsafe { libc::pread(file.as_raw_fd(), pointer.cast(), length, offset) };
    let bytes = check(i64::try_from(bytes).unwrap_or(-1))?;
    Ok(u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// Reads what is in the page cache, up to the first byte that is not.
///
/// # Safety
/// As [`pread`].
pub(crate) unsafe fn pread_cached(
    file: &File,
    offset: u64,
    pointer: *mut u8,
    length: usize,
) -> io::Result<usize> {
    let offset = length_of(offset)?;
    let vector = libc::iovec { iov_base: pointer.cast(), iov_len: length };
    // SAFETY: the caller's; the vector outlives the call.
    let bytes =
        unsafe { libc::preadv2(file.as_raw_fd(), &raw const vector, 1, offset, libc::RWF_NOWAIT) };
    let bytes = check(i64::try_from(bytes).unwrap_or(-1))?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Reads from a file what is in the page cache, up to the first byte that is not, and waits for no
/// device. Returns the number of bytes: 0 also where the file system cannot tell.
pub fn read_cached(file: &File, offset: u64, buffer: &mut [u8]) -> usize {
    // SAFETY: nobody else has the memory until this returns.
    let read = unsafe { pread_cached(file, offset, buffer.as_mut_ptr(), buffer.len()) };
    // Whoever reads the rest gets to know what the matter is.
    read.unwrap_or(0)
}

/// Whether a range of a file is in the page cache as a whole, as far as the system tells.
#[must_use]
pub fn is_cached(file: &File, range: &Range<u64>) -> bool {
    let length = range.end.saturating_sub(range.start);
    let pages = range.end.div_ceil(page_bytes()).saturating_sub(range.start / page_bytes());
    cached_pages(file, range.start, length).is_ok_and(|cached| cached >= pages)
}

/// Sends bytes of a file to a socket out of the page cache, without a copy (`sendfile`), and
/// returns how many were sent: 0 at the end of the file. What is not in the page cache is waited
/// for; a socket that does not block is not.
///
/// # Errors
/// That of the system: [`io::ErrorKind::WouldBlock`] if the socket takes nothing now.
pub fn send_file(
    file: &File,
    offset: u64,
    length: usize,
    socket: BorrowedFd<'_>,
) -> io::Result<usize> {
    let mut offset = length_of(offset)?;
    // SAFETY: both are open, and the offset outlives the call.
    let sent =
        unsafe { libc::sendfile(socket.as_raw_fd(), file.as_raw_fd(), &raw mut offset, length) };
    let sent = check(i64::try_from(sent).unwrap_or(-1))?;
    Ok(usize::try_from(sent).unwrap_or(0))
}

/// Pages of a range that are in the page cache.
pub(crate) fn cached_pages(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    let range = CacheRange { offset, length };
    let mut state = CacheState::default();
    // SAFETY: the structures have the layout of the call and outlive it.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            &raw const range,
            &raw mut state,
            0 as libc::c_uint,
        )
    };
    check(result)?;
    Ok(state.cached)
}

/// Bytes of a page of the page cache.
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: it reads a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096).max(512)
}

/// Bytes of the machine's memory; 0 if the system does not say.
#[must_use]
pub fn memory_bytes() -> u64 {
    // SAFETY: it reads a number of the system.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(page_bytes())
}

/// The alignment that direct reads of a file need; none if it does not have them; `assumed` where
/// the system does not know it (before Linux 6.1).
pub(crate) fn direct_alignment(file: &File, assumed: Alignment) -> Option<Alignment> {
    let mut state = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is a string, the structure outlives the call.
    let result = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            state.as_mut_ptr(),
        )
    };
    if result != 0 {
        return Some(assumed);
    }
    // SAFETY: all zeros is a value of it, and the call wrote over that.
    let state = unsafe { state.assume_init() };
    if state.stx_mask & libc::STATX_DIOALIGN == 0 {
        return Some(assumed);
    }
    let offset = usize::try_from(state.stx_dio_offset_align).ok().filter(|bytes| *bytes > 0)?;
    let memory = usize::try_from(state.stx_dio_mem_align).ok().filter(|bytes| *bytes > 0)?;
    let are_powers = offset.is_power_of_two() && memory.is_power_of_two();
    are_powers.then_some(Alignment { offset, memory })
}

/// Tells the kernel not to read ahead of requests: this crate does, along the scan's plan.
pub(crate) fn expect_random(file: &File) {
    // SAFETY: it has no effect on memory. Advice that is refused changes nothing.
    let _ = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
}

/// Asks for large pages below `length` bytes: a request then has fewer pieces for the device.
pub(crate) fn expect_large_pages(pointer: *mut u8, length: usize) {
    // SAFETY: the caller owns whole pages there; advice does not change their contents.
    let _ = unsafe { libc::madvise(pointer.cast(), length, libc::MADV_HUGEPAGE) };
}

/// The most memory that this process may pin; none if there is no limit.
pub(crate) fn locked_memory_max() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    (result == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// A counter that a ring can wait for.
pub(crate) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: it takes no memory.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    check(fd)?;
    // SAFETY: it was just opened and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Raises the counter.
pub(crate) fn raise(event: BorrowedFd<'_>) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: the bytes outlive the call. It fails only if the counter is raised already.
    let _ = unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// Puts the counter back to zero.
pub(crate) fn clear(event: BorrowedFd<'_>) {
    let mut count = [0_u8; 8];
    // SAFETY: the bytes outlive the call. It fails only if the counter is zero already.
    let _ = unsafe { libc::read(event.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}
