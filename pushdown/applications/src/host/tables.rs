// SPDX-License-Identifier: Apache-2.0
//! Implements the interface `tables`: checks rights and sizes, and passes on.

use wasmtime::component::Resource;

use super::guest::Guest;
use crate::{
    bindings::{
        Stop,
        nearscan::drive::{
            tables::{self as wit, Host, HostBatches, HostSink},
            types,
        },
    },
    limits::{MESSAGE_BYTES_MAX, QUERY_PARTS_MAX},
    refusal::Refusal,
    resources::{BatchesState, SinkState},
    rights::Access,
    tables::{Encoding, Format, Layout, Query, Selection, Source, Target},
};

impl Guest {
    fn target(
        &self,
        name: &types::ObjectName,
        condition: types::Condition,
        layout: wit::Layout,
    ) -> Result<Target, Stop> {
        let path = self.object(&name.collection, &name.name, Access::Write)?;
        if layout.sort_by.len() > QUERY_PARTS_MAX {
            return Err(too_many().into());
        }
        let layout = Layout { sort_by: layout.sort_by, row_group_rows: layout.row_group_rows };
        Ok(Target { path, condition: condition.into(), layout })
    }

    fn query(&self, query: wit::Query) -> Result<Query, Stop> {
        let collection = self.collection(&query.collection, Access::Read)?;
        let objects: Selection = query.objects.into();
        let names = match &objects {
            Selection::Names(names) => names.len(),
            Selection::Prefix(_) => 0,
        };
        let parts = [names, query.columns.len(), query.aggregates.len(), query.group_by.len()];
        if parts.iter().any(|count| *count > QUERY_PARTS_MAX) {
            return Err(too_many().into());
        }
        Ok(Query {
            collection,
            objects,
            format: query.format.map(Into::into),
            columns: query.columns,
            filter: query.filter,
            aggregates: query.aggregates,
            group_by: query.group_by,
            limit: query.limit,
            encoding: query.encoding.into(),
        })
    }
}

fn too_many() -> Refusal {
    Refusal::TooLarge(format!("at most {QUERY_PARTS_MAX} names or expressions are taken"))
}

impl Host for Guest {
    async fn scan(&mut self, query: wit::Query) -> Result<Resource<BatchesState>, Stop> {
        let query = self.query(query)?;
        let batches = self.drive.tables.scan(query, &self.call.rights).await?;
        Ok(self.resources.push(BatchesState(batches))?)
    }

    async fn convert(
        &mut self,
        source: types::ObjectName,
        format: Option<wit::Format>,
        target: types::ObjectName,
        condition: types::Condition,
        layout: wit::Layout,
    ) -> Result<types::ObjectInfo, Stop> {
        let path = self.object(&source.collection, &source.name, Access::Read)?;
        let source = Source { path, format: format.map(Into::into) };
        let target = self.target(&target, condition, layout)?;
        let _cause = self.cause(&target.path)?;
        let made = self.drive.tables.convert(source, target, &self.call.rights).await?;
        Ok((&made).into())
    }
}

impl HostBatches for Guest {
    async fn next(&mut self, batches: Resource<BatchesState>) -> Result<Option<Vec<u8>>, Stop> {
        let piece = self.resources.get_mut(&batches)?.0.next().await?;
        match piece {
            Some(piece) if piece.len() > MESSAGE_BYTES_MAX => {
                let text = format!("a piece of the result has {} bytes", piece.len());
                Err(Refusal::TooLarge(text).into())
            }
            piece => Ok(piece.map(Into::into)),
        }
    }

    async fn drop(&mut self, batches: Resource<BatchesState>) -> wasmtime::Result<()> {
        self.resources.delete(batches)?;
        Ok(())
    }
}

impl HostSink for Guest {
    async fn create(
        &mut self,
        target: types::ObjectName,
        condition: types::Condition,
        layout: wit::Layout,
    ) -> Result<Resource<SinkState>, Stop> {
        let target = self.target(&target, condition, layout)?;
        let path = target.path.clone();
        let sink = self.drive.tables.sink(target, &self.call.rights).await?;
        Ok(self.resources.push(SinkState::new(sink, path))?)
    }

    async fn write(&mut self, sink: Resource<SinkState>, piece: Vec<u8>) -> Result<(), Stop> {
        Ok(self.resources.get_mut(&sink)?.open()?.write(piece.into()).await?)
    }

    async fn commit(&mut self, sink: Resource<SinkState>) -> Result<types::ObjectInfo, Stop> {
        let (sink, path) = self.resources.get_mut(&sink)?.take()?;
        let _cause = self.cause(&path)?;
        Ok((&sink.commit().await?).into())
    }

    async fn drop(&mut self, sink: Resource<SinkState>) -> wasmtime::Result<()> {
        self.resources.delete(sink)?;
        Ok(())
    }
}

impl From<wit::Format> for Format {
    fn from(format: wit::Format) -> Self {
        match format {
            wit::Format::Parquet => Self::Parquet,
            wit::Format::Csv => Self::Csv,
            wit::Format::Json => Self::Json,
        }
    }
}

impl From<wit::Encoding> for Encoding {
    fn from(encoding: wit::Encoding) -> Self {
        match encoding {
            wit::Encoding::ArrowStream => Self::ArrowStream,
            wit::Encoding::JsonLines => Self::JsonLines,
        }
    }
}

impl From<wit::Selection> for Selection {
    fn from(selection: wit::Selection) -> Self {
        match selection {
            wit::Selection::Names(names) => Self::Names(names),
            wit::Selection::Prefix(prefix) => Self::Prefix(prefix),
        }
    }
}
