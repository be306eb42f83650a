// SPDX-License-Identifier: Apache-2.0
//! Defines the SQL dialect: statements and clauses that users of DuckDB type without thinking,
//! rewritten as SQL that DataFusion plans.
//!
//! Nothing here makes a plan or runs. A statement passes three steps, and is plain SQL after them:
//!
//! ```text
//! tokens -- prepare --> tokens -- NearscanDialect --> syntax -- rewrite --> syntax
//!                                                       -- expand, with schemas --> plain SQL
//! ```
//!
//! - [`prepare`] moves, adds and removes tokens where the parser has no hook: commas at the end of
//!   a list, FROM without SELECT, `USING SAMPLE`, options of `COPY`.
//! - [`NearscanDialect`] parses `SUMMARIZE`, `PIVOT` and `UNPIVOT` as statements.
//! - [`rewrite`] replaces what needs no schema: samples.
//! - [`expand`] replaces what needs the columns of a table: `COLUMNS`, options of `*`, `PIVOT`,
//!   `UNPIVOT`, `SUMMARIZE`, `ORDER BY ALL`. Its caller plans the queries that tell them.
//!
//! [`table_calls`] finds the calls of a table function. [`display_names`] says how the columns of a
//! result are shown. `docs/sql.md` lists the extensions, and a test runs each of its examples.
//!
//! Statements that use none of this pass unchanged, and words of the dialect stay usable as names.

#![forbid(unsafe_code)]

mod calls;
mod dialect;
mod error;
mod expand;
mod names;
mod sample;
mod statements;
mod syntax;
mod tokens;
mod types;

pub use calls::table_calls;
pub use dialect::NearscanDialect;
pub use error::DialectError;
pub use expand::{Catalog, Planning, expand};
pub use names::{DisplayNames, display_names};
pub use sample::rewrite;
pub use tokens::prepare;
pub use types::type_name;
