// SPDX-License-Identifier: Apache-2.0
//! Tells the dialect what it has to know of a session: columns of queries, names of aggregates.
//!
//! Queries are planned with the corrections of the session, and do not run.

use std::sync::Arc;

use datafusion::{
    common::{DFSchemaRef, Result},
    execution::SessionState,
    sql::parser::Statement as Parsed,
};
use nearscan_corrections::{CorrectionSet, plan_statement};
use nearscan_dialect::{Catalog, Planning};

use crate::access::Access;

/// The session in which a statement is planned.
pub(crate) struct SessionCatalog<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) corrections: CorrectionSet,
    pub(crate) access: &'a Access,
}

impl SessionCatalog<'_> {
    async fn columns(&self, statement: Parsed) -> Result<DFSchemaRef> {
        let plan = Box::pin(plan_statement(self.state, statement, self.corrections)).await?;
        self.access.check_plan(&plan)?;
        Ok(Arc::clone(plan.schema()))
    }
}

impl Catalog for SessionCatalog<'_> {
    fn plan(&self, statement: Parsed) -> Planning<'_> {
        Box::pin(self.columns(statement))
    }

    fn is_aggregate(&self, function: &str) -> bool {
        self.state.aggregate_functions().contains_key(function)
    }

    fn folds_names(&self) -> bool {
        self.state.config_options().sql_parser.enable_ident_normalization
    }
}
