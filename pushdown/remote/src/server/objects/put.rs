// SPDX-License-Identifier: Apache-2.0
//! Takes the bytes of an object: its name, then parts, then the word that these were all.
//!
//! # Invariants
//!
//! - A stream that was cut off puts nothing.
//! - A thread is taken while a part is written, and none while the client is slow.

use nearscan_store::{Error, Store, Writer};
use tonic::Status;

use super::{Objects, blocking};
use crate::{
    convert::objects::condition_of,
    protocol::objects::{ObjectInfo as InfoMessage, Put},
    server::upload::Upload,
};

impl Objects {
    /// Takes an object, and answers what is known of it.
    pub(in crate::server) async fn put(
        &self,
        put: Put,
        mut parts: Upload,
    ) -> Result<InfoMessage, Status> {
        let store = self.store.clone();
        let mut writer = blocking(move || begin(&store, &put)).await?;
        while let Some(part) = parts.next().await? {
            writer = blocking(move || writer.write(&part).map(|()| writer)).await?;
        }
        let info = blocking(move || writer.commit()).await?;
        Ok(InfoMessage::from(&info))
    }
}

fn begin(store: &Store, put: &Put) -> Result<Writer, Error> {
    let path = put.name.object_path()?;
    if put.makes_collection {
        store.ensure_collection(path.collection())?;
    }
    let mut writer = store.writer(&path, condition_of(put.expected))?;
    for (name, value) in &put.attributes {
        writer.attribute(name, value)?;
    }
    Ok(writer)
}
