// SPDX-License-Identifier: Apache-2.0
//! Serialises our operators, and those of corrections, so that a plan can be sent to another
//! machine.
//!
//! A drive is serialised as its name: on the other machine, `execute` looks the name up among the
//! attached drives, and runs units on the host if the drive or the file is missing. Dynamic filters
//! are serialised by the converter in use, which keeps a filter shared between a join and its scan
//! if it can. A fused scan is serialised as the plan that it replaces: which row groups it reads,
//! and how, follows from the footers of files, which the other machine does not have at hand. No
//! scan uses the keys of a join there, so the operator that collects them is left out, and its
//! input is decoded in its place. An aggregate of ours is serialised as the operators that it
//! replaces, and so are a join that can spill, and windows with all that runs in them.

mod merge;

use std::{path::PathBuf, sync::Arc};

use arrow::datatypes::Schema;
use datafusion::{
    common::{DataFusionError, internal_datafusion_err, internal_err},
    error::Result,
    execution::TaskContext,
    logical_expr::ScalarUDF,
    physical_expr::PhysicalExpr,
    physical_plan::{ExecutionPlan, empty::EmptyExec, replace_children_if_necessary},
};
use datafusion_proto::{
    bytes::{
        physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
    },
    physical_plan::{
        PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
    },
    protobuf,
};
use nearscan_command::{Chunk, Codec, Encodings, Fragment, PhysicalType, ReadAs, Reading, Version};
use nearscan_corrections::{
    codec::{CorrectionsCodec, MAGIC},
    pass_through::only_child,
};
use nearscan_drive::FileRef;
use prost::Message;

use crate::{
    aggregate::{DirectAggregateExec, PartitionedAggregateExec, replaced_over},
    clustered::WindowsExec,
    cost::{Encoded, UnitEstimate},
    decision::{Costs, KeepReason},
    exec::{PushdownExec, PushdownMergeExec, Pushed, Replaced, RowsShape},
    fused::{FusedScanExec, input_of_collector},
    grace::GraceHashJoinExec,
    lower::aggregate::{Meaning, Source},
    units::PlannedUnit,
};

/// Reads and writes [`PushdownExec`], [`PushdownMergeExec`], [`FusedScanExec`],
/// [`PartitionedAggregateExec`], [`GraceHashJoinExec`], [`WindowsExec`], the operator that collects
/// join keys, and the operators of corrections.
#[derive(Debug, Clone, Copy, Default)]
pub struct PushdownCodec;

#[derive(Clone, PartialEq, Message)]
struct ChunkNode {
    #[prost(uint64, tag = "1")]
    offset: u64,
    #[prost(uint64, tag = "2")]
    length: u64,
    #[prost(uint64, tag = "3")]
    uncompressed_bytes: u64,
    #[prost(uint32, tag = "4")]
    physical_type: u32,
    #[prost(uint32, tag = "5")]
    definition_level_max: u32,
    #[prost(uint32, tag = "6")]
    codec: u32,
    #[prost(uint32, tag = "7")]
    encodings: u32,
    #[prost(uint32, tag = "8")]
    read_as: u32,
    #[prost(uint32, tag = "9")]
    bits: u32,
    #[prost(uint32, tag = "10")]
    value_bytes: u32,
    /// Of a plan of an older version 0, as where it is not known.
    #[prost(uint32, tag = "11")]
    dictionary_bytes: u32,
}

#[derive(Clone, PartialEq, Message)]
struct UnitNode {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(uint64, tag = "2")]
    size_bytes: u64,
    #[prost(uint64, tag = "3")]
    stamp: u64,
    #[prost(uint32, tag = "4")]
    row_group: u32,
    #[prost(uint32, tag = "5")]
    row_group_count: u32,
    #[prost(uint64, tag = "6")]
    rows: u64,
    #[prost(message, repeated, tag = "7")]
    chunks: Vec<ChunkNode>,
    /// The word of the reason why it is planned for the host.
    #[prost(string, optional, tag = "8")]
    kept: Option<String>,
    #[prost(message, repeated, tag = "9")]
    folder_values: Vec<protobuf::ScalarValue>,
    #[prost(message, optional, tag = "10")]
    estimate: Option<UnitEstimateNode>,
    #[prost(uint64, tag = "11")]
    dictionary_bytes: u64,
    #[prost(uint64, tag = "12")]
    look_ups: u64,
    #[prost(uint64, tag = "13")]
    string_bytes: u64,
    #[prost(string, optional, tag = "14")]
    server: Option<String>,
    /// Which of the drives it is for.
    #[prost(uint64, tag = "15")]
    drive: u64,
    #[prost(uint64, tag = "16")]
    late_look_ups: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct UnitEstimateNode {
    #[prost(uint64, tag = "1")]
    drive_ns: u64,
    #[prost(uint64, tag = "2")]
    host_ns: u64,
    #[prost(uint64, tag = "3")]
    snapshot: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct CostsNode {
    #[prost(double, tag = "1")]
    drive_ns: f64,
    #[prost(double, tag = "2")]
    host_ns: f64,
    #[prost(uint64, tag = "3")]
    snapshot: u64,
}

#[derive(Clone, PartialEq, Message)]
struct PartitionNode {
    #[prost(message, repeated, tag = "1")]
    units: Vec<UnitNode>,
}

#[derive(Clone, PartialEq, Message)]
struct RowsNode {
    #[prost(message, repeated, tag = "1")]
    outputs: Vec<protobuf::PhysicalExprNode>,
    #[prost(message, optional, tag = "2")]
    table_schema: Option<protobuf::Schema>,
    #[prost(uint64, tag = "3")]
    file_columns: u64,
    #[prost(message, repeated, tag = "4")]
    dynamic_filters: Vec<protobuf::PhysicalExprNode>,
    /// Absent in plans of older versions, whose rows are in order.
    #[prost(bool, tag = "5")]
    any_order: bool,
}

#[derive(Clone, PartialEq, Message)]
struct PushdownNode {
    #[prost(string, repeated, tag = "1")]
    drives: Vec<String>,
    #[prost(string, tag = "2")]
    table: String,
    #[prost(bytes = "vec", tag = "3")]
    query_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    fragment: Vec<u8>,
    #[prost(string, tag = "5")]
    filter: String,
    #[prost(uint64, optional, tag = "6")]
    fetch: Option<u64>,
    #[prost(message, repeated, tag = "7")]
    partitions: Vec<PartitionNode>,
    #[prost(uint64, repeated, tag = "8")]
    sources: Vec<u64>,
    /// Of rows; states have none.
    #[prost(message, optional, tag = "9")]
    rows: Option<RowsNode>,
    /// The replaced plan.
    #[prost(bytes = "vec", tag = "10")]
    plan: Vec<u8>,
    /// The meaning of each source's numbers.
    #[prost(uint32, repeated, tag = "11")]
    meanings: Vec<u32>,
    #[prost(message, optional, tag = "12")]
    costs: Option<CostsNode>,
}

/// One of our operators.
#[derive(Clone, PartialEq, Message)]
struct OperatorNode {
    #[prost(message, optional, tag = "1")]
    pushdown: Option<PushdownNode>,
    #[prost(message, optional, tag = "2")]
    merge: Option<merge::MergeNode>,
    /// The plan that a fused scan replaces.
    #[prost(bytes = "vec", optional, tag = "3")]
    scan: Option<Vec<u8>>,
    /// The plan that an aggregate replaces, over an empty input.
    #[prost(bytes = "vec", optional, tag = "5")]
    aggregate: Option<Vec<u8>>,
    /// The join that one that can spill replaces, over empty inputs.
    #[prost(bytes = "vec", optional, tag = "6")]
    join: Option<Vec<u8>>,
    /// The plan that windows, or an aggregate in them, replace.
    #[prost(bytes = "vec", optional, tag = "7")]
    windows: Option<Vec<u8>>,
    /// Whether it is left out, so that its input is decoded in its place.
    #[prost(bool, tag = "4")]
    is_left_out: bool,
}

impl PhysicalExtensionCodec for PushdownCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if buf.starts_with(MAGIC) {
            return CorrectionsCodec.try_decode(buf, inputs, ctx, proto_converter);
        }
        let node = OperatorNode::decode(buf)
            .map_err(|error| internal_datafusion_err!("not a pushdown operator: {error}"))?;
        match node {
            OperatorNode { pushdown: Some(node), .. } => self.read(node, ctx, proto_converter),
            OperatorNode { merge: Some(node), .. } => {
                let decode = PhysicalPlanDecodeContext::new(ctx, self);
                Ok(Arc::new(merge::read(&node, inputs, &decode, proto_converter)?))
            }
            OperatorNode { scan: Some(plan), .. } | OperatorNode { windows: Some(plan), .. } => {
                physical_plan_from_bytes_with_proto_converter(&plan, ctx, self, proto_converter)
            }
            OperatorNode { is_left_out: true, .. } => only_child(inputs.to_vec()),
            OperatorNode { aggregate: Some(plan), .. } => {
                let plan = physical_plan_from_bytes_with_proto_converter(
                    &plan,
                    ctx,
                    self,
                    proto_converter,
                )?;
                replaced_over(&plan, &only_child(inputs.to_vec())?)
            }
            OperatorNode { join: Some(plan), .. } => {
                let join = physical_plan_from_bytes_with_proto_converter(
                    &plan,
                    ctx,
                    self,
                    proto_converter,
                )?;
                replace_children_if_necessary(join, inputs.to_vec())
            }
            OperatorNode { .. } => internal_err!("no pushdown operator"),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if CorrectionsCodec::encodes(&node) {
            return CorrectionsCodec.try_encode(node, buf, proto_converter);
        }
        let mut operator = OperatorNode::default();
        if let Some(exec) = node.downcast_ref::<PushdownExec>() {
            operator.pushdown = Some(self.write(exec, proto_converter)?);
        } else if let Some(exec) = node.downcast_ref::<PushdownMergeExec>() {
            operator.merge = Some(merge::write(exec, self, proto_converter)?);
        } else if let Some(exec) = node.downcast_ref::<FusedScanExec>() {
            let plan = Arc::clone(exec.replaced());
            let plan = physical_plan_to_bytes_with_proto_converter(plan, self, proto_converter)?;
            operator.scan = Some(plan.to_vec());
        } else if let Some(exec) = node.downcast_ref::<WindowsExec>() {
            // The input, which the codec writes as well, is of no use: scans are written as what
            // they replace, which has no windows.
            let plan = Arc::clone(exec.replaced());
            let plan = physical_plan_to_bytes_with_proto_converter(plan, self, proto_converter)?;
            operator.windows = Some(plan.to_vec());
        } else if let Some(exec) = node.downcast_ref::<DirectAggregateExec>() {
            // It is in windows, so that it is not decoded in the end, but those above it are.
            let plan = Arc::clone(exec.replaced());
            let plan = physical_plan_to_bytes_with_proto_converter(plan, self, proto_converter)?;
            operator.windows = Some(plan.to_vec());
        } else if let Some(exec) = node.downcast_ref::<PartitionedAggregateExec>() {
            // The codec writes the input beside the operator, and gives it to whoever decodes.
            let input = only_child(exec.children().into_iter().cloned().collect())?;
            let empty: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(input.schema()));
            let plan = replaced_over(exec.replaced(), &empty)?;
            let plan = physical_plan_to_bytes_with_proto_converter(plan, self, proto_converter)?;
            operator.aggregate = Some(plan.to_vec());
        } else if let Some(exec) = node.downcast_ref::<GraceHashJoinExec>() {
            let empty = |child: &Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> {
                Arc::new(EmptyExec::new(child.schema()))
            };
            let inputs = exec.children().into_iter().map(empty).collect();
            let join = Arc::clone(exec.replaced()) as Arc<dyn ExecutionPlan>;
            let join = replace_children_if_necessary(join, inputs)?;
            let join = physical_plan_to_bytes_with_proto_converter(join, self, proto_converter)?;
            operator.join = Some(join.to_vec());
        } else if input_of_collector(&node).is_some() {
            operator.is_left_out = true;
        } else {
            return internal_err!("{} is not an operator of this codec", node.name());
        }
        operator.encode(buf).map_err(external)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        CorrectionsCodec.try_decode_udf(name, buf)
    }
}

impl PushdownCodec {
    fn read(
        &self,
        node: PushdownNode,
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan =
            physical_plan_from_bytes_with_proto_converter(&node.plan, ctx, self, proto_converter)?;
        let decode = PhysicalPlanDecodeContext::new(ctx, self);
        let expr = |schema: &Schema| {
            let schema = schema.clone();
            let decode = decode.clone();
            move |node: &protobuf::PhysicalExprNode| {
                proto_converter.proto_to_physical_expr(node, &schema, &decode)
            }
        };
        let sources = node.sources.iter().zip(&node.meanings).map(read_source);
        let sources = sources.collect::<Result<_>>()?;
        let (replaced, dynamic_filters) = match &node.rows {
            None => (Replaced::States { sources }, Vec::new()),
            Some(rows) => {
                let Some(schema) = &rows.table_schema else {
                    return internal_err!("a pushdown operator of rows without a table");
                };
                let table_schema: Schema = schema.try_into().map_err(|error| {
                    internal_datafusion_err!("the table of a pushdown operator: {error}")
                })?;
                let outputs = rows.outputs.iter().map(expr(&table_schema));
                let outputs = outputs.collect::<Result<Vec<_>>>()?;
                let filters = rows.dynamic_filters.iter().map(expr(&plan.schema()));
                let filters = filters.collect::<Result<Vec<_>>>()?;
                let shape = RowsShape {
                    sources,
                    outputs,
                    table_schema: Arc::new(table_schema),
                    file_columns: index(rows.file_columns)?,
                    in_order: !rows.any_order,
                };
                (Replaced::Rows(shape), filters)
            }
        };
        let partitions = node
            .partitions
            .iter()
            .map(|partition| partition.units.iter().map(read_unit).collect::<Result<Vec<_>>>());
        let query_id = <[u8; 16]>::try_from(node.query_id.as_slice()).unwrap_or_default();
        let pushed = Pushed {
            query_id: u128::from_le_bytes(query_id),
            fragment: Arc::new(Fragment::decode(&node.fragment).map_err(external)?),
            replaced,
            partitions: partitions.collect::<Result<_>>()?,
            fetch: node.fetch.map(index).transpose()?,
            drives: node.drives,
            table: node.table,
            filter: node.filter,
            costs: node.costs.map(read_costs),
        };
        Ok(Arc::new(PushdownExec::new(pushed, plan).with_dynamic_filters(dynamic_filters)))
    }

    fn write(
        &self,
        exec: &PushdownExec,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<PushdownNode> {
        let pushed = exec.pushed();
        let expr =
            |expr: &Arc<dyn PhysicalExpr>| proto_converter.physical_expr_to_proto(expr, self);
        let sources = pushed.replaced.sources();
        let rows = match &pushed.replaced {
            Replaced::States { .. } => None,
            Replaced::Rows(shape) => {
                let rows = RowsNode {
                    outputs: shape.outputs.iter().map(expr).collect::<Result<_>>()?,
                    table_schema: Some(shape.table_schema.as_ref().try_into().map_err(external)?),
                    file_columns: shape.file_columns as u64,
                    dynamic_filters: exec
                        .dynamic_filters()
                        .iter()
                        .map(expr)
                        .collect::<Result<_>>()?,
                    any_order: !shape.in_order,
                };
                Some(rows)
            }
        };
        let plan = Arc::clone(exec.replaced());
        let plan = physical_plan_to_bytes_with_proto_converter(plan, self, proto_converter)?;
        Ok(PushdownNode {
            drives: pushed.drives.clone(),
            table: pushed.table.clone(),
            query_id: pushed.query_id.to_le_bytes().to_vec(),
            fragment: pushed.fragment.encode().map_err(external)?,
            filter: pushed.filter.clone(),
            fetch: pushed.fetch.map(|rows| rows as u64),
            partitions: pushed
                .partitions
                .iter()
                .map(|units| {
                    let units = units.iter().map(write_unit).collect::<Result<_>>()?;
                    Ok(PartitionNode { units })
                })
                .collect::<Result<_>>()?,
            sources: sources.iter().map(|source| source.column as u64).collect(),
            meanings: sources.iter().map(write_meaning).collect(),
            rows,
            plan: plan.to_vec(),
            costs: pushed.costs.map(write_costs),
        })
    }
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn index(number: u64) -> Result<usize> {
    usize::try_from(number).map_err(external)
}

fn small<N: TryFrom<u32>>(number: u32) -> Result<N> {
    N::try_from(number).map_err(|_| internal_datafusion_err!("{number} is out of range"))
}

fn write_meaning(source: &Source) -> u32 {
    let found = Meaning::ALL.iter().find(|(meaning, _)| *meaning == source.meaning);
    found.map_or(0, |(_, number)| *number)
}

fn read_source((column, meaning): (&u64, &u32)) -> Result<Source> {
    let found = Meaning::ALL.iter().find(|(_, number)| number == meaning);
    let Some((meaning, _)) = found else {
        return internal_err!("{meaning} is not the number of a meaning");
    };
    Ok(Source { column: index(*column)?, meaning: *meaning })
}

fn write_costs(Costs { drive_ns, host_ns, snapshot }: Costs) -> CostsNode {
    CostsNode { drive_ns, host_ns, snapshot }
}

fn read_costs(CostsNode { drive_ns, host_ns, snapshot }: CostsNode) -> Costs {
    Costs { drive_ns, host_ns, snapshot }
}

fn write_unit(unit: &PlannedUnit) -> Result<UnitNode> {
    let chunk = |chunk: &Chunk| ChunkNode {
        offset: chunk.offset,
        length: chunk.length,
        uncompressed_bytes: chunk.uncompressed_bytes,
        physical_type: chunk.physical_type.code().into(),
        definition_level_max: chunk.definition_level_max.into(),
        codec: chunk.codec.code().into(),
        encodings: chunk.encodings.bits().into(),
        dictionary_bytes: chunk.dictionary_bytes,
        read_as: chunk.reading.rule.code().into(),
        bits: chunk.reading.bits.into(),
        value_bytes: chunk.reading.length.into(),
    };
    let folder_values = unit.folder_values.iter().map(TryInto::try_into);
    Ok(UnitNode {
        folder_values: folder_values.collect::<Result<_, _>>().map_err(external)?,
        path: unit.file.path.display().to_string(),
        size_bytes: unit.file.version.size_bytes,
        stamp: unit.file.version.stamp,
        row_group: unit.row_group,
        row_group_count: unit.row_group_count,
        rows: unit.rows,
        chunks: unit.chunks.iter().map(chunk).collect(),
        kept: unit.kept.map(|reason| reason.word().to_owned()),
        estimate: unit.estimate.map(|UnitEstimate { drive_ns, host_ns, snapshot }| {
            UnitEstimateNode { drive_ns, host_ns, snapshot }
        }),
        dictionary_bytes: unit.encoded.dictionary_bytes,
        look_ups: unit.encoded.look_ups,
        late_look_ups: unit.encoded.late_look_ups,
        string_bytes: unit.encoded.string_bytes,
        server: unit.file.server.as_deref().map(str::to_owned),
        drive: unit.drive as u64,
    })
}

fn read_reason(word: &str) -> Result<KeepReason> {
    let found = KeepReason::ALL.iter().find(|(_, other)| *other == word);
    match found {
        Some((reason, _)) => Ok(*reason),
        None => internal_err!("{word} is not a reason to keep a row group"),
    }
}

fn read_unit(unit: &UnitNode) -> Result<PlannedUnit> {
    let chunk = |chunk: &ChunkNode| -> Result<Chunk> {
        Ok(Chunk {
            input: 0,
            offset: chunk.offset,
            length: chunk.length,
            uncompressed_bytes: chunk.uncompressed_bytes,
            physical_type: PhysicalType::from_code(small(chunk.physical_type)?)
                .map_err(external)?,
            definition_level_max: small(chunk.definition_level_max)?,
            codec: Codec::from_code(small(chunk.codec)?).map_err(external)?,
            encodings: Encodings::from_bits(small(chunk.encodings)?).map_err(external)?,
            dictionary_bytes: chunk.dictionary_bytes,
            reading: Reading {
                rule: ReadAs::from_code(small(chunk.read_as)?).map_err(external)?,
                bits: small(chunk.bits)?,
                length: small(chunk.value_bytes)?,
            },
        })
    };
    let folder_values = unit.folder_values.iter().map(TryInto::try_into);
    let version = Version { size_bytes: unit.size_bytes, stamp: unit.stamp };
    Ok(PlannedUnit {
        folder_values: folder_values.collect::<Result<_, _>>().map_err(external)?,
        file: FileRef {
            server: unit.server.as_deref().map(Arc::from),
            path: PathBuf::from(&unit.path),
            version,
        },
        row_group: unit.row_group,
        row_group_count: unit.row_group_count,
        rows: unit.rows,
        drive: index(unit.drive)?,
        chunks: unit.chunks.iter().map(chunk).collect::<Result<_>>()?,
        kept: unit.kept.as_deref().map(read_reason).transpose()?,
        estimate: unit.estimate.map(|UnitEstimateNode { drive_ns, host_ns, snapshot }| {
            UnitEstimate { drive_ns, host_ns, snapshot }
        }),
        encoded: Encoded {
            dictionary_bytes: unit.dictionary_bytes,
            look_ups: unit.look_ups,
            late_look_ups: unit.late_look_ups,
            string_bytes: unit.string_bytes,
        },
    })
}
