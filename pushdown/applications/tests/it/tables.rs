// SPDX-License-Identifier: Apache-2.0
//! Implements the operations on tables for tests: rows are lines of objects, a filter is a text
//! that they have, and a Parquet object is one that says so.

use async_trait::async_trait;
use bytes::Bytes;
use nearscan_applications::{
    Access, Batches, Query, Refusal, Rights, Selection, Sink, Source, Tables, Target,
};
use nearscan_store::{ObjectInfo, Store, Writer};

#[derive(Debug)]
pub(crate) struct LineTables(pub(crate) Store);

/// Lines that are left.
#[derive(Debug)]
struct Lines(Vec<Bytes>);

#[derive(Debug)]
struct Pieces(Writer);

#[async_trait]
impl Tables for LineTables {
    async fn scan(&self, query: Query, rights: &Rights) -> Result<Box<dyn Batches>, Refusal> {
        rights.check(&query.collection, Access::Read)?;
        let filter = query.filter.clone().unwrap_or_default();
        if filter == "wait" {
            std::future::pending::<()>().await;
        }
        let prefix = match &query.objects {
            Selection::Prefix(prefix) => prefix.clone(),
            Selection::Names(_) => return Err(Refusal::Unavailable("names".to_owned())),
        };
        let mut lines = Vec::new();
        for info in self.0.list(&query.collection, &prefix, None, 100)? {
            let bytes = self.0.reader(&info.path)?.read_all()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let kept = text.lines().filter(|line| line.contains(&filter));
            lines.extend(kept.map(|line| Bytes::from(format!("{line}\n"))));
        }
        if !query.aggregates.is_empty() {
            let count = format!("{{\"rows\":{}}}\n", lines.len());
            lines = vec![Bytes::from(count)];
        }
        lines.reverse();
        Ok(Box::new(Lines(lines)))
    }

    async fn sink(&self, target: Target, rights: &Rights) -> Result<Box<dyn Sink>, Refusal> {
        rights.check(target.path.collection(), Access::Write)?;
        let mut writer = self.0.writer(&target.path, target.condition)?;
        writer.write(b"PAR1")?;
        Ok(Box::new(Pieces(writer)))
    }

    async fn convert(
        &self,
        source: Source,
        target: Target,
        rights: &Rights,
    ) -> Result<ObjectInfo, Refusal> {
        rights.check(source.path.collection(), Access::Read)?;
        let bytes = self.0.reader(&source.path)?.read_all()?;
        if bytes.starts_with(b"bad") {
            return Err(Refusal::Invalid("the rows cannot be read".to_owned()));
        }
        let mut sink = self.sink(target, rights).await?;
        sink.write(bytes).await?;
        sink.commit().await
    }
}

#[async_trait]
impl Batches for Lines {
    async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        Ok(self.0.pop())
    }
}

#[async_trait]
impl Sink for Pieces {
    async fn write(&mut self, piece: Bytes) -> Result<(), Refusal> {
        Ok(self.0.write(&piece)?)
    }

    async fn commit(self: Box<Self>) -> Result<ObjectInfo, Refusal> {
        Ok(self.0.commit()?)
    }
}
