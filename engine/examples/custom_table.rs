// SPDX-License-Identifier: Apache-2.0
//! Registers a custom table, any `TableProvider` of DataFusion, and a function for SQL.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{any::Any, sync::Arc};

use nearscan::{
    Engine,
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch},
        datatypes::{DataType, Field, Schema, SchemaRef},
    },
    datafusion::{
        catalog::{Session, TableProvider},
        common::Result as DataFusionResult,
        datasource::{TableType, memory::MemorySourceConfig},
        logical_expr::{ColumnarValue, Expr, Volatility, create_udf},
        physical_plan::ExecutionPlan,
    },
};

/// The squares of the first numbers, computed when they are scanned.
#[derive(Debug)]
struct Squares {
    count: i64,
}

impl Squares {
    fn columns(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("square", DataType::Int64, false)]))
    }
}

#[async_trait::async_trait]
impl TableProvider for Squares {
    fn schema(&self) -> SchemaRef {
        self.columns()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let squares: Int64Array = (0..self.count).map(|n| n * n).collect();
        let column: ArrayRef = Arc::new(squares);
        let batch = RecordBatch::try_new(self.columns(), vec![column])?;
        let rows =
            MemorySourceConfig::try_new_exec(&[vec![batch]], self.columns(), projection.cloned())?;
        Ok(rows)
    }
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().build().await?;
    engine.register_table("squares", Arc::new(Squares { count: 10 }))?;
    engine.register_function(create_udf(
        "half",
        vec![DataType::Int64],
        DataType::Int64,
        Volatility::Immutable,
        Arc::new(|arguments: &[ColumnarValue]| {
            let numbers = ColumnarValue::values_to_arrays(arguments)?;
            let numbers: &dyn Any = numbers[0].as_any();
            let numbers = numbers.downcast_ref::<Int64Array>().expect("the declared type");
            let halves: Int64Array = numbers.iter().map(|n| n.map(|n| n / 2)).collect();
            Ok(ColumnarValue::Array(Arc::new(halves)))
        }),
    ));
    let result = engine.sql("SELECT sum(half(square)) FROM squares").await?.collect().await?;
    let sum =
        result.batches[0].column(0).as_any().downcast_ref::<Int64Array>().map(|it| it.value(0));
    println!("half of the squares: {sum:?}");
    assert_eq!(sum, Some(140));
    Ok(())
}
