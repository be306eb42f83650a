// SPDX-License-Identifier: Apache-2.0
//! Implements the interface `objects`.

use wasmtime::component::Resource;

use super::guest::Guest;
use crate::{
    bindings::{
        Stop,
        nearscan::drive::{
            objects::{Host, HostReader, HostWriter},
            types,
        },
    },
    limits::LIST_MAX,
    resources::{ReaderState, WriterState},
    rights::Access,
};

impl Host for Guest {
    fn info(&mut self, collection: String, name: String) -> Result<types::ObjectInfo, Stop> {
        let path = self.object(&collection, &name, Access::Read)?;
        Ok((&self.drive.store.info(&path)?).into())
    }

    fn list(
        &mut self,
        collection: String,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<types::ObjectInfo>, Stop> {
        let path = self.collection(&collection, Access::Read)?;
        let limit = limit.min(LIST_MAX) as usize;
        let found = self.drive.store.list(&path, &prefix, after.as_deref(), limit)?;
        Ok(found.iter().map(Into::into).collect())
    }

    fn remove(
        &mut self,
        collection: String,
        name: String,
        condition: types::Condition,
    ) -> Result<(), Stop> {
        let path = self.object(&collection, &name, Access::Write)?;
        let _cause = self.cause(&path)?;
        Ok(self.drive.store.remove(&path, condition.into())?)
    }

    fn append(
        &mut self,
        collection: String,
        name: String,
        bytes: Vec<u8>,
        condition: types::Condition,
    ) -> Result<types::ObjectInfo, Stop> {
        let path = self.object(&collection, &name, Access::Write)?;
        let _cause = self.cause(&path)?;
        Ok((&self.drive.store.append(&path, &bytes, condition.into())?).into())
    }
}

impl HostReader for Guest {
    fn open(&mut self, collection: String, name: String) -> Result<Resource<ReaderState>, Stop> {
        let path = self.object(&collection, &name, Access::Read)?;
        let reader = self.drive.store.reader(&path)?;
        Ok(self.resources.push(ReaderState::new(reader))?)
    }

    fn info(&mut self, reader: Resource<ReaderState>) -> wasmtime::Result<types::ObjectInfo> {
        Ok(self.resources.get(&reader)?.reader().info().into())
    }

    fn read(
        &mut self,
        reader: Resource<ReaderState>,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, Stop> {
        Ok(self.resources.get(&reader)?.read(offset, length)?)
    }

    fn next(&mut self, reader: Resource<ReaderState>, length: u32) -> Result<Vec<u8>, Stop> {
        Ok(self.resources.get_mut(&reader)?.next(length)?)
    }

    fn drop(&mut self, reader: Resource<ReaderState>) -> wasmtime::Result<()> {
        self.resources.delete(reader)?;
        Ok(())
    }
}

impl HostWriter for Guest {
    fn create(
        &mut self,
        collection: String,
        name: String,
        condition: types::Condition,
    ) -> Result<Resource<WriterState>, Stop> {
        let path = self.object(&collection, &name, Access::Write)?;
        let writer = self.drive.store.writer(&path, condition.into())?;
        Ok(self.resources.push(WriterState::new(writer, path))?)
    }

    fn write(&mut self, writer: Resource<WriterState>, bytes: Vec<u8>) -> Result<(), Stop> {
        Ok(self.resources.get_mut(&writer)?.open()?.write(&bytes)?)
    }

    fn attribute(
        &mut self,
        writer: Resource<WriterState>,
        name: String,
        value: Vec<u8>,
    ) -> Result<(), Stop> {
        Ok(self.resources.get_mut(&writer)?.open()?.attribute(&name, &value)?)
    }

    fn commit(&mut self, writer: Resource<WriterState>) -> Result<types::ObjectInfo, Stop> {
        let (writer, path) = self.resources.get_mut(&writer)?.take()?;
        let _cause = self.cause(&path)?;
        Ok((&writer.commit()?).into())
    }

    fn drop(&mut self, writer: Resource<WriterState>) -> wasmtime::Result<()> {
        self.resources.delete(writer)?;
        Ok(())
    }
}
