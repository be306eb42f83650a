// SPDX-License-Identifier: Apache-2.0
//! Frames messages as gRPC does: before each, whether it is compressed, and its length.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;

use crate::protocol::MESSAGE_HEAD_BYTES;

/// A message with what is before it.
pub(crate) fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut framed = BytesMut::with_capacity(MESSAGE_HEAD_BYTES + length);
    put_head(&mut framed, length);
    // It cannot fail: the buffer grows.
    message.encode(&mut framed).ok();
    framed.freeze()
}

/// What is before a message of so many bytes: that it is not compressed, and its length.
pub(crate) fn put_head(framed: &mut BytesMut, length: usize) {
    framed.put_u8(0);
    framed.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
}
