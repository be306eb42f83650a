// SPDX-License-Identifier: Apache-2.0
//! Decompresses the bodies of pages. Every codec but Snappy has its library; none trusts a page.

use std::{
    fmt,
    io::{self, Read},
};

use nearscan_command::{Codec, Status};

use crate::snappy;

/// Decompresses pages of one chunk; keeps what a codec needs from page to page.
#[derive(Default)]
pub(crate) struct Decompressor {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

/// Bytes that one byte of a codec can become at most; 0 for those that do not say how many.
const fn expansion_max(codec: Codec) -> usize {
    match codec {
        Codec::Uncompressed => 1,
        // The shortest copy that says most: 64 bytes in 3.
        Codec::Snappy => 22,
        // A match of 258 bytes in two bits.
        Codec::Gzip => 1032,
        // A byte lengthens a copy by 255 at most.
        Codec::Lz4Raw => 255,
        // A block of 128 KiB of one byte takes four bytes.
        Codec::Zstd => 1 << 15,
        // A metablock of 16 MiB takes a few bytes.
        Codec::Brotli => 1 << 22,
    }
}

/// The length of a page of `declared` bytes by its header: Snappy has one of its own, which counts.
///
/// # Errors
/// [`Status::Corrupt`] if `body`, or the chunk with `chunk_bytes` in all, cannot become so long.
pub(crate) fn length_of(
    codec: Codec,
    body: &[u8],
    declared: usize,
    chunk_bytes: u64,
) -> Result<usize, Status> {
    let length = match codec {
        Codec::Snappy => snappy::length(body)?,
        Codec::Uncompressed | Codec::Gzip | Codec::Brotli | Codec::Lz4Raw | Codec::Zstd => declared,
    };
    let is_possible = length as u64 <= chunk_bytes && length / expansion_max(codec) <= body.len();
    if is_possible { Ok(length) } else { Err(Status::Corrupt) }
}

impl Decompressor {
    /// Decompresses `body` into `out`, which it must fill.
    ///
    /// # Errors
    /// [`Status::Corrupt`] if it does not.
    pub(crate) fn decompress(
        &mut self,
        codec: Codec,
        body: &[u8],
        out: &mut [u8],
    ) -> Result<(), Status> {
        let length = out.len();
        let written = match codec {
            Codec::Uncompressed => {
                out.get_mut(..body.len()).ok_or(Status::Corrupt)?.copy_from_slice(body);
                Some(body.len())
            }
            Codec::Snappy => snappy::decompress(body, out).ok().map(|()| length),
            Codec::Lz4Raw => lz4_flex::block::decompress_into(body, out).ok(),
            Codec::Zstd => self.zstd(body, out).ok(),
            Codec::Gzip => whole(flate2::bufread::MultiGzDecoder::new(body), out).ok(),
            Codec::Brotli => whole(brotli::Decompressor::new(body, BROTLI_BUFFER_BYTES), out).ok(),
        };
        if written == Some(length) { Ok(()) } else { Err(Status::Corrupt) }
    }

    fn zstd(&mut self, body: &[u8], out: &mut [u8]) -> io::Result<usize> {
        let context = match &mut self.zstd {
            Some(context) => context,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        context.decompress_to_buffer(body, out)
    }
}

/// Bytes of input that Brotli's reader buffers.
const BROTLI_BUFFER_BYTES: usize = 4096;

/// Reads until `out` is full; an error if there is more.
fn whole(mut reader: impl Read, out: &mut [u8]) -> io::Result<usize> {
    reader.read_exact(out)?;
    match reader.read(&mut [0])? {
        0 => Ok(out.len()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn packed(codec: Codec, bytes: &[u8]) -> Vec<u8> {
        match codec {
            Codec::Uncompressed => bytes.to_vec(),
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
            Codec::Lz4Raw => lz4_flex::block::compress(bytes),
            Codec::Zstd => zstd::bulk::compress(bytes, 1).unwrap(),
            Codec::Gzip => {
                let mut writer =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                writer.write_all(bytes).unwrap();
                writer.finish().unwrap()
            }
            Codec::Brotli => {
                let mut out = Vec::new();
                brotli::CompressorWriter::new(&mut out, 4096, 5, 20).write_all(bytes).unwrap();
                out
            }
        }
    }

    #[test]
    fn every_codec_fills_the_page_or_is_corrupt() {
        let bytes: Vec<u8> = (0..5000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for (codec, name) in Codec::ALL {
            let body = packed(*codec, &bytes);
            let mut decompressor = Decompressor::default();
            let mut of = |body: &[u8], length: usize| {
                let mut out = vec![0; length];
                decompressor.decompress(*codec, body, &mut out).map(|()| out)
            };
            for _ in 0..2 {
                assert!(of(&body, bytes.len()) == Ok(bytes.clone()), "{name}");
            }
            for length in [bytes.len() - 1, bytes.len() + 1, 0] {
                assert!(of(&body, length) == Err(Status::Corrupt), "{name}, {length}");
            }
            assert!(of(&body[..body.len() - 1], bytes.len()) == Err(Status::Corrupt), "{name}");
            assert!(of(&[0xff; 9], bytes.len()) == Err(Status::Corrupt), "{name}");
        }
    }

    #[test]
    fn length_beyond_the_expansion_of_the_codec_is_corrupt() {
        let of =
            |codec, body: usize, length: usize| length_of(codec, &vec![0; body], length, 1 << 30);
        assert_eq!(of(Codec::Lz4Raw, 2, 300), Ok(300));
        assert_eq!(of(Codec::Lz4Raw, 0, 300), Err(Status::Corrupt));
        assert_eq!(of(Codec::Gzip, 1, 2 * 1032), Err(Status::Corrupt));
        assert_eq!(of(Codec::Zstd, 4, 1 << 17), Ok(1 << 17));
        assert_eq!(length_of(Codec::Lz4Raw, &[0; 300], 301, 300), Err(Status::Corrupt));
    }
}
