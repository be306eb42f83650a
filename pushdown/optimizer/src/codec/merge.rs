// SPDX-License-Identifier: Apache-2.0
//! Serialises [`PushdownMergeExec`]. Its scans are serialised as its children.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::{
    common::internal_err, error::Result, physical_expr::LexOrdering, physical_plan::ExecutionPlan,
};
use datafusion_proto::{
    physical_plan::{
        PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
        from_proto::parse_physical_sort_exprs, to_proto::serialize_physical_sort_exprs,
    },
    protobuf,
};
use nearscan_command::{Merge, SortKey};
use prost::Message;

use super::{CostsNode, external, index, read_costs, small, write_costs};
use crate::{
    exec::{MergeWindow, Merged, PushdownMergeExec, UnitPlace, WindowInput, sorted_properties},
    merge::windows::Span,
};

#[derive(Clone, PartialEq, Message)]
pub(super) struct MergeNode {
    #[prost(string, tag = "1")]
    drive: String,
    #[prost(message, repeated, tag = "2")]
    ordering: Vec<protobuf::PhysicalSortExprNode>,
    #[prost(message, repeated, tag = "3")]
    keys: Vec<KeyNode>,
    #[prost(bool, tag = "4")]
    distinct: bool,
    #[prost(uint64, optional, tag = "5")]
    fetch: Option<u64>,
    #[prost(message, repeated, tag = "6")]
    windows: Vec<WindowNode>,
    #[prost(message, optional, tag = "7")]
    schema: Option<protobuf::Schema>,
    #[prost(message, optional, tag = "8")]
    costs: Option<CostsNode>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyNode {
    #[prost(uint32, tag = "1")]
    column: u32,
    #[prost(bool, tag = "2")]
    descending: bool,
    #[prost(bool, tag = "3")]
    nulls_first: bool,
}

#[derive(Clone, PartialEq, Message)]
struct WindowNode {
    #[prost(message, repeated, tag = "1")]
    inputs: Vec<InputNode>,
}

#[derive(Clone, PartialEq, Message)]
struct InputNode {
    #[prost(uint64, tag = "1")]
    input: u64,
    #[prost(uint64, tag = "2")]
    partition: u64,
    #[prost(uint64, tag = "3")]
    unit: u64,
    /// First and last rank, 16 bytes each; nothing for all rows.
    #[prost(bytes = "vec", tag = "4")]
    part: Vec<u8>,
}

/// Converts the operator to a message.
pub(super) fn write(
    exec: &PushdownMergeExec,
    codec: &dyn PhysicalExtensionCodec,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<MergeNode> {
    let Merged { drive, merge, ordering, fetch, windows, costs } = &**exec.merged();
    let key = |key: &SortKey| KeyNode {
        column: key.column.into(),
        descending: key.descending,
        nulls_first: key.nulls_first,
    };
    let window = |window: &MergeWindow| WindowNode {
        inputs: window.inputs.iter().map(write_input).collect(),
    };
    Ok(MergeNode {
        drive: drive.clone(),
        ordering: serialize_physical_sort_exprs(ordering.iter().cloned(), codec, converter)?,
        keys: merge.keys.iter().map(key).collect(),
        distinct: merge.distinct,
        fetch: fetch.map(|rows| rows as u64),
        windows: windows.iter().map(window).collect(),
        schema: Some(exec.schema().as_ref().try_into().map_err(external)?),
        costs: costs.map(write_costs),
    })
}

/// Makes the operator of a message over `inputs`.
pub(super) fn read(
    node: &MergeNode,
    inputs: &[Arc<dyn ExecutionPlan>],
    decode: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<PushdownMergeExec> {
    let Some(schema) = &node.schema else {
        return internal_err!("a merge without a schema");
    };
    let schema: SchemaRef = Arc::new(Schema::try_from(schema).map_err(external)?);
    let ordering = parse_physical_sort_exprs(&node.ordering, decode, &schema, converter)?;
    let Some(ordering) = LexOrdering::new(ordering) else {
        return internal_err!("a merge without an order");
    };
    let key = |key: &KeyNode| -> Result<SortKey> {
        Ok(SortKey {
            column: small(key.column)?,
            descending: key.descending,
            nulls_first: key.nulls_first,
        })
    };
    let window = |window: &WindowNode| -> Result<MergeWindow> {
        let inputs = window.inputs.iter().map(read_input);
        Ok(MergeWindow { inputs: inputs.collect::<Result<_>>()? })
    };
    let properties = sorted_properties(schema, &ordering);
    let merged = Merged {
        drive: node.drive.clone(),
        merge: Merge {
            keys: node.keys.iter().map(key).collect::<Result<_>>()?,
            distinct: node.distinct,
        },
        ordering,
        fetch: node.fetch.map(index).transpose()?,
        windows: node.windows.iter().map(window).collect::<Result<_>>()?,
        costs: node.costs.map(read_costs),
    };
    Ok(PushdownMergeExec::new(merged, inputs.to_vec(), properties))
}

fn write_input(input: &WindowInput) -> InputNode {
    let part = |part: Span| [part.first.to_le_bytes(), part.last.to_le_bytes()].concat();
    InputNode {
        input: input.place.input as u64,
        partition: input.place.partition as u64,
        unit: input.place.unit as u64,
        part: input.part.map(part).unwrap_or_default(),
    }
}

fn read_input(node: &InputNode) -> Result<WindowInput> {
    let part = match node.part.as_slice() {
        [] => None,
        bytes => {
            let (ranks, rest) = bytes.as_chunks::<16>();
            let ([first, last], []) = (ranks, rest) else {
                return internal_err!("a part of a merge must have two ranks");
            };
            Some(Span { first: i128::from_le_bytes(*first), last: i128::from_le_bytes(*last) })
        }
    };
    let place = UnitPlace {
        input: index(node.input)?,
        partition: index(node.partition)?,
        unit: index(node.unit)?,
    };
    Ok(WindowInput { place, part })
}
