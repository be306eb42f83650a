// SPDX-License-Identifier: Apache-2.0
//! Reads one object to its end, the same way from either server.

use futures::TryStreamExt;
use object_store::{ObjectStoreExt, path::Path};
use xxhash_rust::xxh3::Xxh3;

use super::{
    files::{COLLECTION, Object},
    servers::Served,
};
use crate::error::Error;

/// Reads an object, and checks its bytes.
pub(crate) async fn checked(server: &Served, object: &Object) -> Result<(), Error> {
    let failed =
        |error: object_store::Error| Error::Read { server: server.name, reason: error.to_string() };
    let path = Path::from_iter([COLLECTION, &object.name]);
    let mut stream = server.store.get(&path).await.map_err(failed)?.into_stream();
    let (mut checksum, mut received) = (Xxh3::new(), 0);
    while let Some(bytes) = stream.try_next().await.map_err(failed)? {
        received += bytes.len() as u64;
        checksum.update(&bytes);
    }
    if (received, checksum.digest()) != (object.bytes, object.checksum) {
        return Err(Error::Bytes { server: server.name, expected: object.bytes, received });
    }
    Ok(())
}
