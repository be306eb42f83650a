// SPDX-License-Identifier: Apache-2.0
//! Holds what the tests share: a file of known bytes, the engines, and memory that notices a write
//! after it was given back.

use std::{
    fs::File as StdFile,
    io::Write,
    ops::Range,
    os::fd::AsRawFd,
    ptr::NonNull,
    sync::{Arc, Mutex},
};

use nearscan_io::{Engine, Options, Reader, Target, faults::Faults};
use tempfile::NamedTempFile;

/// A sequence of numbers that a seed determines.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound.max(1)
    }
}

/// A file of bytes that differ from place to place.
pub(crate) struct Sample {
    pub(crate) file: NamedTempFile,
    pub(crate) bytes: Vec<u8>,
}

impl Sample {
    pub(crate) fn new(length: usize) -> Self {
        let mut random = Random(0x5eed);
        let bytes: Vec<u8> =
            (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        file.as_file().sync_all().unwrap();
        Self { file, bytes }
    }

    /// Drops the file from the page cache.
    pub(crate) fn make_cold(&self) {
        let file = StdFile::open(self.file.path()).unwrap();
        // SAFETY: it has no effect on memory.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }

    /// Whether the file system can be asked for bytes that are cached (`RWF_NOWAIT`).
    pub(crate) fn tells_cached(&self) -> bool {
        let file = StdFile::open(self.file.path()).unwrap();
        let mut byte = 0_u8;
        let vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // SAFETY: the byte and the vector outlive the call.
        let bytes =
            unsafe { libc::preadv2(file.as_raw_fd(), &raw const vector, 1, 0, libc::RWF_NOWAIT) };
        let error = std::io::Error::last_os_error();
        bytes >= 0 || error.raw_os_error() != Some(libc::EOPNOTSUPP)
    }

    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// A list of one range.
pub(crate) fn one(range: Range<u64>) -> [Range<u64>; 1] {
    std::array::from_fn(|_| range.clone())
}

/// Memory that the rings of all tests together need, which run at once.
const RINGS_BYTES: u64 = 4 << 20;

/// Whether this process may pin the memory of as many rings as there are tests.
fn may_pin() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    // SAFETY: it takes no memory.
    let is_root = unsafe { libc::geteuid() } == 0;
    is_root || result == 0 && limit.rlim_cur >= RINGS_BYTES
}

/// Whether the kernel has rings, enough for all tests.
pub(crate) fn has_ring() -> bool {
    may_pin() && Reader::new(&Options { engine: Engine::IoUring, ..Options::default() }).is_ok()
}

/// The engines of this machine; says that `test` is skipped in part where there is no ring.
pub(crate) fn engines(test: &str) -> Vec<Engine> {
    if has_ring() {
        return vec![Engine::IoUring, Engine::Pread];
    }
    nearscan_skip::skip(test, "there is no io_uring, or RLIMIT_MEMLOCK is small: with pread only");
    vec![Engine::Pread]
}

/// Every fault that a read has to survive.
pub(crate) fn survivable(seed: u64) -> Faults {
    Faults { seed, slow: 80, short: 80, interrupted: 40, reordered: 100, ..Faults::default() }
}

/// A reader whose every request fails: it gives what is cached.
pub(crate) fn cache_only() -> Reader {
    let options = Options { engine: Engine::Pread, ..Options::default() };
    let faults = Faults { failing: 255, errno: libc::EIO, ..Faults::default() };
    Reader::builder(&options).wrap(faults.wrap()).start().unwrap()
}

/// The byte that memory is filled with when it is given back.
const GIVEN_BACK: u8 = 0xa5;

/// Memory that was given back, and is looked at once more at the end.
#[derive(Default)]
pub(crate) struct Graveyard(Mutex<Vec<(usize, usize)>>);

impl Graveyard {
    /// Number of buffers that were given back.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Fails if memory was written to after it was given back.
    pub(crate) fn check(&self) {
        for (address, length) in self.0.lock().unwrap().iter() {
            let pointer = std::ptr::with_exposed_provenance::<u8>(*address);
            // SAFETY: the memory is leaked, so it is there; all owners are gone.
            let bytes = unsafe { std::slice::from_raw_parts(pointer, *length) };
            assert!(bytes.iter().all(|byte| *byte == GIVEN_BACK), "a write after the end");
        }
    }
}

/// A buffer that is never freed; when it is dropped it is filled with a pattern.
pub(crate) struct Guarded {
    memory: NonNull<u8>,
    length: usize,
    graveyard: Arc<Graveyard>,
}

// SAFETY: it owns its memory.
unsafe impl Send for Guarded {}

impl Guarded {
    pub(crate) fn new(length: usize, graveyard: &Arc<Graveyard>) -> Self {
        let memory = vec![0_u8; length + 4096].leak();
        let shift = memory.as_ptr().align_offset(4096);
        let memory = NonNull::from(&mut memory[shift]);
        Self { memory, length, graveyard: Arc::clone(graveyard) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is initialised, and no read owns it.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: its own memory.
        unsafe { self.memory.write_bytes(GIVEN_BACK, self.length) };
        let address = self.memory.as_ptr().expose_provenance();
        self.graveyard.0.lock().unwrap().push((address, self.length));
    }
}

// SAFETY: the memory is leaked, and this value alone has it.
unsafe impl Target for Guarded {
    fn pointer(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    fn length(&self) -> usize {
        self.length
    }
}
