// SPDX-License-Identifier: Apache-2.0
//! Sends bytes of an object: its description, then parts of the ranges in their order.

use std::ops::Range;

use arrow_flight::FlightData;
use nearscan_store::Reader;
use prost::Message;
use tokio::sync::mpsc;
use tonic::Status;

use super::{Objects, blocking};
use crate::{
    protocol::objects::{ObjectInfo, RANGES_MAX, Read},
    results::{self, PART_BYTES_MAX},
};

/// Parts that wait for the connection.
const WAITING_PARTS: usize = 4;

/// The messages of a stream.
pub(in crate::server) type Parts = mpsc::Receiver<Result<FlightData, Status>>;

impl Objects {
    /// Begins to send what a ticket asks for.
    pub(in crate::server) async fn get(&self, ticket: Read) -> Result<Parts, Status> {
        let Read { name, version, ranges, .. } = ticket;
        if ranges.len() > RANGES_MAX {
            let text = format!("{} ranges, the limit is {RANGES_MAX}", ranges.len());
            return Err(Status::invalid_argument(text));
        }
        let store = self.store.clone();
        let reader = blocking(move || store.reader(&name.object_path()?)).await?;
        let info = reader.info();
        if let Some(expected) = version
            && expected != info.version
        {
            let text = format!("object {} has version {}, not {expected}", info.path, info.version);
            return Err(Status::aborted(text));
        }
        let ranges: Vec<Range<u64>> = match ranges.is_empty() {
            true => std::iter::once(0..info.length).collect(),
            false => ranges.iter().map(|range| range.start..range.end).collect(),
        };
        for range in &ranges {
            if range.start > range.end || range.end > info.length {
                let (start, end) = (range.start, range.end);
                let text = format!("object {} has {} bytes", info.path, info.length);
                return Err(Status::out_of_range(format!("{text}, not {start} to {end}")));
            }
        }
        let head = ObjectInfo::from(info).encode_to_vec();
        let (outgoing, parts) = mpsc::channel(WAITING_PARTS);
        let first = results::schema_message().with_app_metadata(head);
        drop(outgoing.try_send(Ok(first)));
        drop(tokio::spawn(send(reader, ranges, outgoing)));
        Ok(parts)
    }
}

/// Sends ranges until all are sent or the client has left. A thread is taken for each part that is
/// read, and none while the client is slow.
async fn send(
    reader: Reader,
    ranges: Vec<Range<u64>>,
    outgoing: mpsc::Sender<Result<FlightData, Status>>,
) {
    for range in ranges {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + PART_BYTES_MAX as u64);
            let reader = reader.clone();
            let part = blocking(move || reader.read(start..end)).await.and_then(|bytes| {
                results::part(bytes).map_err(|error| Status::internal(error.to_string()))
            });
            let is_last = part.is_err();
            if outgoing.send(part).await.is_err() || is_last {
                return;
            }
            start = end;
        }
    }
}
