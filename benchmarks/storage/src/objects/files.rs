// SPDX-License-Identifier: Apache-2.0
//! Makes the objects: in a store, and under the same names in a folder for nginx, whose files are
//! those of the store (hard links). So both servers read the same pages of the page cache.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nearscan_store::{CollectionPath, Condition, Quota, Store};
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;

/// The collection of the objects, and the folder of the files.
pub(crate) const COLLECTION: &str = "bench";

/// Bytes that are made and written at once.
const PIECE_BYTES: usize = 1 << 20;

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
}

/// The objects, and where they are.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) store: PathBuf,
    pub(crate) files: PathBuf,
    pub(crate) all: Vec<Object>,
}

impl Objects {
    /// Makes objects of these sizes.
    pub(crate) fn make(folder: &Path, sizes: &[u64]) -> Result<Self, Error> {
        let (store_folder, files) = (folder.join("store"), folder.join("files"));
        let linked = files.join(COLLECTION);
        fs::create_dir_all(&linked).map_err(|error| Error::file("make", &linked, &error))?;
        let store = Store::open(&store_folder).map_err(Error::prepare)?;
        let collection = CollectionPath::in_default(COLLECTION).map_err(Error::prepare)?;
        store.create_collection(&collection, Quota::default()).map_err(Error::prepare)?;
        let mut all = Vec::with_capacity(sizes.len());
        for (number, bytes) in (0..).zip(sizes) {
            let name = format!("object-{number}");
            let path = collection.object(&name).map_err(Error::prepare)?;
            let mut writer = store.writer(&path, Condition::Absent).map_err(Error::prepare)?;
            let mut made = Noise(number);
            let (mut checksum, mut missing) = (Xxh3::new(), *bytes);
            while missing > 0 {
                let count = usize::try_from(missing).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
                let piece = made.piece(count);
                checksum.update(&piece);
                writer.write(&piece).map_err(Error::prepare)?;
                missing -= count as u64;
            }
            writer.commit().map_err(Error::prepare)?;
            let file = store.local_file(&path).map_err(Error::prepare)?;
            let link = linked.join(&name);
            fs::hard_link(&file.path, &link).map_err(|error| Error::file("make", &link, &error))?;
            all.push(Object { name, bytes: *bytes, checksum: checksum.digest() });
        }
        Ok(Self { store: store_folder, files, all })
    }
}

/// Bytes without a pattern (splitmix64).
struct Noise(u64);

impl Noise {
    fn piece(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bytes.extend_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
