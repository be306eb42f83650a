// SPDX-License-Identifier: Apache-2.0
//! Serialises the operators and barriers of corrections, so that a corrected plan can be sent to
//! another machine.
//!
//! An operator has thirteen bytes: [`MAGIC`], its kind, and a number, little-endian.
//!
//! | kind | operator | number |
//! |---|---|---|
//! | 0 | `PropertyBarrierExec` | 0 |
//! | 1 | `RestartableExec` | 1 if it may be executed again, else 0 |
//! | 2 | `GrowStackExec` | bytes of stack |

use std::sync::Arc;

use datafusion::{
    common::{Result, internal_err, not_impl_err},
    execution::TaskContext,
    logical_expr::ScalarUDF,
    physical_plan::ExecutionPlan,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};

use crate::{
    barrier,
    depth::plan::Piece,
    pass_through::{PassThroughExec, only_child},
    physical::{
        nested_loop_restart::{Restartable, restartable},
        null_extension::{PropertyBarrier, barrier_above},
    },
};

/// The first bytes of each operator.
pub const MAGIC: &[u8; 4] = b"NSCR";

/// Encodes and decodes the operators and functions that corrections put into physical plans.
#[derive(Debug, Clone, Copy, Default)]
pub struct CorrectionsCodec;

impl CorrectionsCodec {
    /// Returns the kind and number of an operator; nothing if it is not of a correction.
    fn parts(node: &Arc<dyn ExecutionPlan>) -> Option<(u8, u64)> {
        if node.is::<PassThroughExec<PropertyBarrier>>() {
            return Some((0, 0));
        }
        if let Some(restartable) = node.downcast_ref::<PassThroughExec<Restartable>>() {
            return Some((1, u64::from(restartable.special().restarts)));
        }
        let piece = node.downcast_ref::<PassThroughExec<Piece>>()?;
        Some((2, u64::try_from(piece.special().bytes).unwrap_or(u64::MAX)))
    }

    /// Whether an operator is of a correction.
    #[must_use]
    pub fn encodes(node: &Arc<dyn ExecutionPlan>) -> bool {
        Self::parts(node).is_some()
    }
}

impl PhysicalExtensionCodec for CorrectionsCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _ctx: &TaskContext,
        _proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some((kind, number)) = buf.strip_prefix(MAGIC).and_then(<[u8]>::split_first) else {
            return internal_err!("the bytes are not an encoded operator of a correction");
        };
        let Ok(number) = number.try_into().map(u64::from_le_bytes) else {
            return internal_err!("the number of an encoded operator must have eight bytes");
        };
        let input = only_child(inputs.to_vec())?;
        match kind {
            0 => Ok(barrier_above(input)),
            1 => Ok(restartable(input, number != 0)),
            2 => Ok(Piece::of_bytes(number).above(input)),
            other => internal_err!("unknown kind {other} of an encoded operator"),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        _proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some((kind, number)) = Self::parts(&node) else {
            return not_impl_err!("{} is not an operator of a correction", node.name());
        };
        buf.extend_from_slice(MAGIC);
        buf.push(kind);
        buf.extend_from_slice(&number.to_le_bytes());
        Ok(())
    }

    fn try_decode_udf(&self, name: &str, _buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        match barrier::by_name(name) {
            Some(barrier) => Ok(barrier),
            None => not_impl_err!("function '{name}' not found"),
        }
    }
}
