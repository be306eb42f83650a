// SPDX-License-Identifier: Apache-2.0
//! Attaches [`FileFacts`] to the files of a scan: footers through the session's metadata cache, and
//! which drive holds which file. The optimizer does no I/O and reads no clock; this is where it is
//! done for it, so the host is measured from here too.

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
        physical_plan::{
            FileGroup, FileScanConfig, FileScanConfigBuilder, ParquetSource,
            parquet::metadata::DFParquetMetadata,
        },
        source::DataSourceExec,
    },
    parquet::file::metadata::{PageIndexPolicy, ParquetMetaData},
    physical_plan::ExecutionPlan,
};
use nearscan_drive::{FileRef, Placement};
use nearscan_optimizer::{FileFacts, NearscanOptions, PushdownContext, settings::PushdownMode};

use super::reader::Footers;
use crate::host;

/// `plan` with facts attached to every local Parquet file that it scans; as it is when no drive
/// could use them.
pub(crate) async fn attach(
    plan: Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(context) = session.config().get_extension::<PushdownContext>() else {
        return Ok(plan);
    };
    let options = session.config_options().extensions.get::<NearscanOptions>();
    let off = options.is_some_and(|options| options.pushdown.mode == PushdownMode::Off);
    if off || context.drives.is_empty() {
        return Ok(plan);
    }
    host::calibrate(session, &context).await;
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

/// The scan in a node, if it is one of Parquet files.
pub(crate) fn parquet_scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let exec = plan.downcast_ref::<DataSourceExec>()?;
    exec.downcast_to_file_source::<ParquetSource>().map(|(config, _source)| config)
}

/// All scans of Parquet files, from the top.
pub(crate) fn parquet_scans_of(plan: &Arc<dyn ExecutionPlan>) -> Vec<FileScanConfig> {
    let mut scans = Vec::new();
    let walked = plan.apply(|node| {
        scans.extend(parquet_scan_of(node).cloned());
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(walked.is_ok(), "nothing on the way fails");
    scans
}

/// The scan in a node, if it is one of local Parquet files.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let is_local =
        |scan: &&FileScanConfig| scan.object_store_url == ObjectStoreUrl::local_filesystem();
    parquet_scan_of(plan).filter(is_local)
}

async fn attach_to_scan(
    scan: FileScanConfig,
    session: &dyn Session,
    context: &PushdownContext,
) -> Result<FileScanConfig> {
    let mut groups = Vec::with_capacity(scan.file_groups.len());
    for group in &scan.file_groups {
        let mut files = Vec::with_capacity(group.files().len());
        for file in group.files() {
            let mut file = file.clone();
            if let Some(facts) = read_facts(&file, &scan, session, context).await {
                file.extensions.insert(facts);
            }
            files.push(file);
        }
        groups.push(FileGroup::new(files));
    }
    Ok(FileScanConfigBuilder::from(scan).with_file_groups(groups).build())
}

/// The footer of a file; nothing when it cannot be read, which the scan itself will report.
pub(crate) async fn footer(
    file: &PartitionedFile,
    scan: &FileScanConfig,
    session: &dyn Session,
) -> Option<Arc<ParquetMetaData>> {
    let runtime = session.runtime_env();
    let store = runtime.object_store(&scan.object_store_url).ok()?;
    let cache = runtime.cache_manager.get_file_metadata_cache();
    let metadata = DFParquetMetadata::new(store.as_ref(), &file.object_meta)
        .with_metadata_size_hint(file.metadata_size_hint)
        .with_file_metadata_cache(Some(cache))
        .with_page_index_policy(Some(PageIndexPolicy::Skip))
        .fetch_metadata()
        .await
        .ok()?;
    Footers::of(session).believe(metadata, &file.object_meta).ok()
}

/// What is known of a file; nothing without its footer.
async fn read_facts(
    file: &PartitionedFile,
    scan: &FileScanConfig,
    session: &dyn Session,
    context: &PushdownContext,
) -> Option<FileFacts> {
    let metadata = footer(file, scan, session).await?;
    let path = PathBuf::from(format!("/{}", file.object_meta.location));
    let stamp = file.object_meta.last_modified.timestamp_nanos_opt().unwrap_or(0);
    let version = nearscan_command::Version {
        size_bytes: file.object_meta.size,
        stamp: u64::try_from(stamp).unwrap_or(0),
    };
    let file = FileRef { path, version };
    let locate = |(name, drive): (String, Arc<dyn nearscan_drive::Drive>)| -> (String, Placement) {
        let placement = drive.locate(&file);
        (name, placement)
    };
    let placements = context.drives.list().into_iter().map(locate).collect();
    Some(FileFacts { file, metadata, placements })
}
