// SPDX-License-Identifier: Apache-2.0
//! Works around one defect of Debian's build of XRT's software emulation (202210.2.13.466+dfsg-8).
//!
//! The object behind a device has a buffer for messages. When one is too long for it, this build
//! enlarges the buffer and forgets where it is then: the heap is damaged by the first image that is
//! loaded. So the buffer is made as large as it will ever have to be, before the first message.
//!
//! # Invariants
//!
//! - Done only in software emulation, and only where the function has the bytes of this build;
//!   every other build is left alone.
//! - Done before the first message: the object has no buffer yet, which is checked.

use std::ffi::c_void;

use crate::{error::OpenError, library::Library};

/// The function that enlarges the buffer.
const FUNCTION: &std::ffi::CStr = c"_ZN12xclcpuemhal29CpuemShim10alloc_voidEm";

/// The first bytes of the function, up to the offset of the size in the object.
const BEGIN: [u8; 15] =
    [0x55, 0x48, 0x89, 0xf5, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x87];

/// The bytes at [`STORE_AT`], before the offset of the buffer in the object.
const STORE: [u8; 3] = [0x48, 0x89, 0x83];
const STORE_AT: usize = 0x30;

/// Bytes of the function that are looked at.
const CODE_BYTES: usize = STORE_AT + STORE.len() + 4;

/// Bytes of a message's data, at most: the runtime cuts copies into so many (`SW_EMU_PACKET_SIZE`,
/// which is not set here).
const PACKET_BYTES: usize = 8 << 20;

/// Bytes of a message beside its data, with much to spare.
const MESSAGE_BYTES: usize = 64 << 10;

/// The outcome of the correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// The buffer is as large as it will have to be.
    Primed,
    /// It was, since the device was opened before.
    Before,
    /// The library is another build.
    OtherBuild,
}

/// Makes the buffer of `shim`, the object behind a device of `library`.
///
/// # Errors
/// [`OpenError::Shim`] when it is not as it should be; then the device must not be used.
pub(crate) fn prime(library: &Library, shim: *mut c_void) -> Result<Done, OpenError> {
    let Some(function) = library.symbol(FUNCTION) else { return Ok(Done::OtherBuild) };
    // SAFETY: a function of any build is followed by others: so many bytes can be read.
    let code = unsafe { function.cast::<[u8; CODE_BYTES]>().read() };
    let Some(Members { size, buffer }) = members(&code) else {
        return Ok(Done::OtherBuild);
    };
    if shim.is_null() {
        return Err(OpenError::Shim { reason: "the device has no object behind it" });
    }
    // SAFETY: the code of this build says that the object has its size there.
    let size = unsafe { shim.byte_add(size) }.cast::<usize>();
    // SAFETY: and its buffer there.
    let buffer = unsafe { shim.byte_add(buffer) }.cast::<*mut c_void>();
    // SAFETY: no other code uses the object before the first message.
    let bytes_now = unsafe { size.read() };
    // SAFETY: as before.
    let buffer_now = unsafe { buffer.read() };
    match (bytes_now, buffer_now.is_null()) {
        (0, true) => {}
        (PRIMED_BYTES, false) => return Ok(Done::Before),
        _ => return Err(OpenError::Shim { reason: "a message was sent too soon" }),
    }
    // SAFETY: the runtime frees it with the allocator of C.
    let memory = unsafe { libc::malloc(PRIMED_BYTES) };
    if memory.is_null() {
        return Err(OpenError::Shim { reason: "there is no memory for its messages" });
    }
    // SAFETY: the place is that of the buffer, and there was none.
    unsafe { buffer.write(memory) };
    // SAFETY: the place is that of its size.
    unsafe { size.write(PRIMED_BYTES) };
    Ok(Done::Primed)
}

const PRIMED_BYTES: usize = PACKET_BYTES + MESSAGE_BYTES;

/// Offsets of the members of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Members {
    size: usize,
    buffer: usize,
}

/// Reads the places off the code; none where it is that of another build.
fn members(code: &[u8; CODE_BYTES]) -> Option<Members> {
    let (begin, rest) = code.split_first_chunk::<15>()?;
    let store = code.get(STORE_AT..STORE_AT + STORE.len())?;
    if *begin != BEGIN || store != STORE {
        return None;
    }
    let size = usize::try_from(u32::from_le_bytes(*rest.first_chunk()?)).ok()?;
    let buffer = usize::try_from(u32::from_le_bytes(*code.last_chunk()?)).ok()?;
    (size == buffer + 8).then_some(Members { size, buffer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(size: u32, buffer: u32) -> [u8; CODE_BYTES] {
        let mut code = [0x90; CODE_BYTES];
        code[..15].copy_from_slice(&BEGIN);
        code[15..19].copy_from_slice(&size.to_le_bytes());
        code[0x30..0x33].copy_from_slice(&STORE);
        code[0x33..].copy_from_slice(&buffer.to_le_bytes());
        code
    }

    #[test]
    fn only_the_build_with_the_defect_is_changed() {
        assert_eq!(members(&code(0x678, 0x670)), Some(Members { size: 0x678, buffer: 0x670 }));
        assert_eq!(members(&code(0x670, 0x678)), None);
        for at in [0, 14, 0x30, 0x32] {
            let mut other = code(0x678, 0x670);
            other[at] ^= 1;
            assert_eq!(members(&other), None, "{at}");
        }
    }
}
