// SPDX-License-Identifier: Apache-2.0
//! Lowers the output columns of rows.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::physical_expr::{PhysicalExpr, expressions::Column};
use nearscan_command::{Operand, RowColumn, Width};

use crate::lower::{
    FragmentBuilder, Lowered,
    aggregate::{Meaning, Source},
    builder::Target,
    expr::refuse,
    types::{Number, is_binary, is_string},
};

/// Lowers the output expressions of a scan, filter or projection: the columns of the result, and
/// the source of each output.
pub(crate) fn lower_rows(
    builder: &mut FragmentBuilder<'_>,
    outputs: &[Arc<dyn PhysicalExpr>],
) -> Lowered<(Vec<RowColumn>, Vec<Source>)> {
    let mut columns = Vec::with_capacity(outputs.len());
    let mut sources = Vec::with_capacity(outputs.len());
    for expr in outputs {
        if let Some(source) = Source::folder_value(builder, expr.as_ref()) {
            sources.push(source);
            continue;
        }
        sources.push(Source { column: columns.len(), meaning: Meaning::FloatOrder });
        columns.push(lower_output(builder, expr.as_ref())?);
    }
    Ok((columns, sources))
}

fn lower_output(builder: &mut FragmentBuilder<'_>, expr: &dyn PhysicalExpr) -> Lowered<RowColumn> {
    let data_type = match expr.data_type(builder.schema()) {
        Ok(data_type) => data_type,
        Err(_) => return refuse(expr),
    };
    if let Some(column) = expr.downcast_ref::<Column>() {
        let operand = Operand::Column(builder.column(column.index())?);
        let width = match &data_type {
            bytes if is_string(bytes) || is_binary(bytes) => Width::Bytes,
            // A value that is stored in 8 bytes also crosses the link in 8 bytes.
            DataType::Decimal128(_, _) => Width::W64,
            other => Number::of(other)?.width(),
        };
        return Ok(RowColumn { operand, width });
    }
    if data_type == DataType::Boolean {
        let operand = builder.lower_truth(Target::Projection, expr)?;
        return Ok(RowColumn { operand, width: Width::Bool });
    }
    let value = builder.lower_number(Target::Projection, expr)?;
    Ok(RowColumn { operand: value.operand, width: value.number.width() })
}
