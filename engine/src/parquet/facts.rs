// SPDX-License-Identifier: Apache-2.0
//! Attaches [`FileFacts`] to the files of a scan: footers from the session's metadata cache, the
//! drive that stores each file, and counts of different values ([`distinct`]). The optimizer does
//! no I/O and reads no clock, so this module does both for it, and also starts the measurement of
//! the host.

use std::{path::PathBuf, sync::Arc};

use datafusion::{
    catalog::Session,
    common::{
        Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    datasource::{
        listing::PartitionedFile,
        object_store::ObjectStoreUrl,
        physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder},
        source::DataSourceExec,
    },
    object_store::ObjectStore,
    parquet::file::metadata::{PageIndexPolicy, ParquetMetaData},
    physical_plan::ExecutionPlan,
};
use futures::{StreamExt, stream};
use nearscan_corrections::Correction;
use nearscan_drive::{FileRef, Placement};
use nearscan_optimizer::{
    ColumnEstimates, FileFacts, NearscanOptions, PushdownContext,
    settings::{JoinOrder, PushdownMode, ScanReader, StatisticsSource},
};

use super::{
    distinct::{self, DistinctCounts, Wanted},
    metadata::FooterCache,
    scan::parquet_scan_of,
};
use crate::{
    host,
    object_stores::PinnedStore,
    servers::{is_of_servers, server_and_path},
};

/// Returns `plan` with facts attached to every Parquet file that it scans and that is local or an
/// object of a drive's server; unchanged if
/// neither a drive nor the fused scan nor the order of joins could use them.
pub(crate) async fn attach(
    plan: Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(context) = session.config().get_extension::<PushdownContext>() else {
        return Ok(plan);
    };
    let options = session.config_options().extensions.get::<NearscanOptions>();
    let off = options.is_some_and(|options| options.pushdown.mode == PushdownMode::Off);
    let is_fused = options.is_none_or(|options| options.scan == ScanReader::Fused);
    let has_drives = !off && !context.drives.is_empty();
    if has_drives {
        host::calibrate(session, &context).await;
    } else if !is_fused && Counting::of(session).is_none() {
        return Ok(plan);
    }
    let mut scans = Vec::new();
    plan.apply(|node| {
        scans.extend(scan_of(node).cloned());
        Ok(TreeNodeRecursion::Continue)
    })?;
    let mut with_facts = Vec::with_capacity(scans.len());
    for scan in scans {
        with_facts.push(Box::pin(attach_to_scan(scan, session, &context)).await?);
    }
    let mut with_facts = with_facts.into_iter();
    let plan = plan.transform_down(|node| match scan_of(&node) {
        Some(_) => match with_facts.next() {
            Some(scan) => Ok(Transformed::yes(DataSourceExec::from_data_source(scan) as _)),
            None => Ok(Transformed::no(node)),
        },
        None => Ok(Transformed::no(node)),
    })?;
    Ok(plan.data)
}

/// Returns the scan in a node, if it reads Parquet files that are local or objects of a server.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let is_known = |scan: &&FileScanConfig| {
        scan.object_store_url == ObjectStoreUrl::local_filesystem()
            || is_of_servers(scan.object_store_url.as_str())
    };
    parquet_scan_of(plan).filter(is_known)
}

/// The counts that a plan needs.
#[derive(Clone)]
struct Counting {
    counts: Arc<DistinctCounts>,
    wanted: Arc<Wanted>,
}

impl Counting {
    /// Returns the counts that the statement of this task needs, if its joins are to be ordered by
    /// them.
    fn of(session: &dyn Session) -> Option<Self> {
        let options = session.config_options().extensions.get::<NearscanOptions>();
        let is_used = options.is_none_or(|options| {
            options.statistics == StatisticsSource::Sampled && options.join_order == JoinOrder::Cost
        });
        let wanted = Wanted::of_task().filter(|_| is_used)?;
        Some(Self { counts: session.config().get_extension()?, wanted })
    }
}

async fn attach_to_scan(
    scan: FileScanConfig,
    session: &dyn Session,
    context: &PushdownContext,
) -> Result<FileScanConfig> {
    let concurrency = session.config_options().execution.meta_fetch_concurrency.get();
    let footers = FooterCache::of(session);
    let store = session.runtime_env().object_store(&scan.object_store_url)?;
    let is_sound = NearscanOptions::corrections_of(session.config_options())
        .contains(Correction::RemoveUnsoundStatistics);
    let store_url = scan.object_store_url.as_str();
    let is_remote = is_of_servers(store_url);
    // What is counted would have to come over the link.
    let counting = Counting::of(session).filter(|_| !is_remote);
    let all = scan.file_groups.iter().map(FileGroup::len).sum();
    let mut counted = distinct::spread(all, distinct::FILES_MAX).peekable();
    let mut numbers = 0..all;
    let mut groups = Vec::with_capacity(scan.file_groups.len());
    for group in &scan.file_groups {
        let files = group.files().iter().cloned().map(|file| {
            let number = numbers.next();
            (
                counted.next_if(|counted| Some(*counted) == number).and_then(|_| counting.clone()),
                file,
            )
        });
        let files: Vec<_> = files.collect();
        let files = stream::iter(files).map(async |(counting, mut file)| {
            let size_hint = file.metadata_size_hint;
            let store = match &file.object_meta.e_tag {
                Some(tag) if is_remote => {
                    Arc::new(PinnedStore::new(Arc::clone(&store), tag.clone())) as _
                }
                _ => Arc::clone(&store),
            };
            let read = footers.read(&store, &file.object_meta, size_hint, PageIndexPolicy::Skip);
            // A file that cannot be read gets no facts; the scan will report the error.
            let read = read.await.ok().and_then(|stated| {
                let metadata = match is_sound {
                    true => footers.sound(&stated).ok()?,
                    false => Arc::clone(&stated),
                };
                Some((metadata, stated))
            });
            if let Some((metadata, stated)) = read {
                let estimates = estimates(counting, &store, &file, &stated).await;
                let file_ref = file_ref(&file, store_url);
                let placements = placements(&file_ref, context);
                let facts = FileFacts { file: file_ref, metadata, stated, placements, estimates };
                file.extensions.insert(facts);
            }
            file
        });
        groups.push(FileGroup::new(files.buffered(concurrency).collect().await));
    }
    Ok(FileScanConfigBuilder::from(scan).with_file_groups(groups).build())
}

/// Returns the estimates of a file's columns.
async fn estimates(
    counting: Option<Counting>,
    store: &Arc<dyn ObjectStore>,
    file: &PartitionedFile,
    footer: &Arc<ParquetMetaData>,
) -> Arc<ColumnEstimates> {
    let Some(Counting { counts, wanted }) = counting else { return Arc::default() };
    let file = distinct::File { store, object: &file.object_meta, footer };
    counts.of_file(file, &wanted).await
}

/// Names the version of a file that was planned.
fn file_ref(file: &PartitionedFile, store_url: &str) -> FileRef {
    let object = &file.object_meta;
    let (server, path) = match server_and_path(store_url, &object.location) {
        Some((server, path)) => (Some(server), path),
        None => (None, object.location.clone()),
    };
    let path = PathBuf::from(format!("/{path}"));
    let stamp = match &server {
        Some(_) => object.e_tag.as_deref().and_then(|tag| tag.parse().ok()),
        None => object.last_modified.timestamp_nanos_opt().and_then(|at| u64::try_from(at).ok()),
    };
    let version = nearscan_command::Version { size_bytes: object.size, stamp: stamp.unwrap_or(0) };
    FileRef { server, path, version }
}

/// Asks each drive whether it holds a file.
fn placements(file: &FileRef, context: &PushdownContext) -> Vec<(String, Placement)> {
    let place = |(name, drive): (String, Arc<dyn nearscan_drive::Drive>)| -> (String, Placement) {
        let placement = drive.locate(file);
        (name, placement)
    };
    context.drives.list().into_iter().map(place).collect()
}
