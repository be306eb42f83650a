// SPDX-License-Identifier: Apache-2.0
//! Defines the command format, the interface of host and drive, byte by byte.
//!
//! Two types carry the same work at two moments:
//!
//! - a [`Fragment`] is *plan time*: which columns, which predicate, which aggregates or rows. It
//!   has no addresses, so it can be hashed (quarantine), stored and shipped to another machine.
//! - a [`Command`] is a fragment *bound* to one unit of work (one row group of one file): where the
//!   column chunks lie, how they are encoded, how large the answer may be. [`Command::encode`]
//!   gives the bytes a kernel reads.
//!
//! A [`MergeCommand`] carries several commands whose results are sorted alike, and requests one
//! sorted result of all.
//!
//! The result is a [`ResultHeader`] followed by blocks of columns ([`result`]).
//!
//! ```
//! use nearscan_command::{
//!     Aggregate, Column, Fragment, Function, Op, Operand, Output, Program, Step, ValueKind, Width,
//! };
//!
//! // SELECT count(*), sum(l_quantity) FROM lineitem WHERE l_quantity < 24.00
//! let fragment = Fragment {
//!     columns: vec![Column::new("l_quantity", ValueKind::Integer)],
//!     predicate: Program::new([Step::compare(Op::Less, Operand::Column(0), Operand::Literal(0))]),
//!     projection: Program::default(),
//!     literals: vec![2400],
//!     tests: vec![],
//!     key_filters: vec![],
//!     output: Output::States {
//!         keys: vec![],
//!         aggregates: vec![
//!             Aggregate::count_rows(),
//!             Aggregate::new(Function::Sum, Operand::Column(0), Width::W128),
//!         ],
//!     },
//! };
//! fragment.check()?;
//! assert_eq!(Fragment::decode(&fragment.encode()?)?, fragment);
//! # Ok::<(), nearscan_command::Error>(())
//! ```
//!
//! # What this crate does not do
//!
//! No I/O, no clock, no `unsafe`, no Arrow, no DataFusion, no kernel. What a command *means* is
//! stated by the row-at-a-time evaluator of the conformance crate.
//!
//! # Invariants
//!
//! - [`layout`] is the one definition of every byte: encoding, decoding, the C++ header
//!   ([`cpp_header`]) and the tables of the page of documentation ([`doc`]) come from it.
//! - Decoding never panics and never allocates more than the bytes it was given can justify: any
//!   byte string ends in a value or an [`Error`].
//! - What decodes has passed [`Fragment::check`]: operands point backwards, counts are within
//!   [`limits`], kinds fit.
#![forbid(unsafe_code)]

pub mod columnar;
pub mod command;
mod compact;
pub mod cpp_header;
pub mod doc;
mod envelope;
pub mod error;
pub mod fragment;
mod frame;
pub mod input;
pub mod key_filter;
pub mod layout;
pub mod limits;
pub mod merge;
pub mod parts;
pub mod program;
mod reference;
pub mod requests;
pub mod result;
pub mod status;
pub mod types;
pub mod unit;
mod wire;

pub use columnar::{CellColumn, Cells, ColumnarWriter};
pub use command::{Command, Envelope};
pub use error::Error;
pub use fragment::{
    Aggregate, Column, Fragment, Function, Key, KeyRange, Output, RowColumn, StringTest, TestOp,
    Top, pattern,
};
pub use input::{Extent, InputRef, OutputRef, Version};
pub use key_filter::{KeyBits, KeyFilter, KeySetKind};
pub use merge::{Merge, MergeCommand, SortKey};
pub use parts::{MergeCut, MergePart, join_parts};
pub use program::{Op, Operand, Program, Step};
pub use requests::{MediaPlan, Span};
pub use result::{
    Block, BlockColumn, Counters, Detail, ResultHeader, ResultView, ResultWriter, Row, Value,
};
pub use status::Status;
pub use types::{
    BlockForm, Codec, Encoding, Encodings, Packing, PhysicalType, ReadAs, Reading, ValueKind,
    Width, float_at, float_order, widened_float,
};
pub use unit::{Chunk, Unit};
