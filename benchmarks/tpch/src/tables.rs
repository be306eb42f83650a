// SPDX-License-Identifier: Apache-2.0
//! Lists the eight tables: names, sizes, and the generators of their rows.

use nearscan::arrow::{datatypes::SchemaRef, record_batch::RecordBatchReader};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

/// Mean number of line items of an order: one to seven, each as likely.
const LINE_ITEMS_PER_ORDER: i64 = 4;

/// Parts of a supplier that are in stock: rows of `partsupp` for a row of `part`.
const SUPPLIERS_PER_PART: i64 = 4;

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupp,
    Orders,
    LineItem,
}

/// Rows of a table, in batches.
pub(crate) type Rows = Box<dyn RecordBatchReader + Send>;

/// One of several parts of equal size that a table is made in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// From 1.
    pub(crate) number: i32,
    /// Number of parts.
    pub(crate) count: i32,
}

impl Table {
    /// All tables, the small ones first.
    pub const ALL: [Self; 8] = [
        Self::Region,
        Self::Nation,
        Self::Supplier,
        Self::Customer,
        Self::Part,
        Self::PartSupp,
        Self::Orders,
        Self::LineItem,
    ];

    /// Name of the table, and of its file without the extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Customer => "customer",
            Self::Part => "part",
            Self::PartSupp => "partsupp",
            Self::Orders => "orders",
            Self::LineItem => "lineitem",
        }
    }

    /// Number of rows at a scale factor; within a percent for `lineitem`, exact for the others.
    pub(crate) fn rows_expected(self, scale: f64) -> i64 {
        match self {
            Self::Region => 5,
            Self::Nation => 25,
            Self::Supplier => SupplierGenerator::calculate_row_count(scale, 1, 1),
            Self::Customer => CustomerGenerator::calculate_row_count(scale, 1, 1),
            Self::Part => PartGenerator::calculate_row_count(scale, 1, 1),
            Self::PartSupp => PartGenerator::calculate_row_count(scale, 1, 1) * SUPPLIERS_PER_PART,
            Self::Orders => OrderGenerator::calculate_row_count(scale, 1, 1),
            Self::LineItem => {
                OrderGenerator::calculate_row_count(scale, 1, 1) * LINE_ITEMS_PER_ORDER
            }
        }
    }

    /// Columns of the table.
    pub(crate) fn schema(self) -> SchemaRef {
        match self {
            Self::Region => RegionArrow::schema_ref(),
            Self::Nation => NationArrow::schema_ref(),
            Self::Supplier => SupplierArrow::schema_ref(),
            Self::Customer => CustomerArrow::schema_ref(),
            Self::Part => PartArrow::schema_ref(),
            Self::PartSupp => PartSuppArrow::schema_ref(),
            Self::Orders => OrderArrow::schema_ref(),
            Self::LineItem => LineItemArrow::schema_ref(),
        }
    }

    /// Makes the rows of one part; `region` and `nation` have one part only.
    pub(crate) fn rows(self, scale: f64, share: Share) -> Rows {
        let Share { number, count } = share;
        match self {
            Self::Region => Box::new(RegionArrow::new(RegionGenerator::new(scale, number, count))),
            Self::Nation => Box::new(NationArrow::new(NationGenerator::new(scale, number, count))),
            Self::Supplier => {
                Box::new(SupplierArrow::new(SupplierGenerator::new(scale, number, count)))
            }
            Self::Customer => {
                Box::new(CustomerArrow::new(CustomerGenerator::new(scale, number, count)))
            }
            Self::Part => Box::new(PartArrow::new(PartGenerator::new(scale, number, count))),
            Self::PartSupp => {
                Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, number, count)))
            }
            Self::Orders => Box::new(OrderArrow::new(OrderGenerator::new(scale, number, count))),
            Self::LineItem => {
                Box::new(LineItemArrow::new(LineItemGenerator::new(scale, number, count)))
            }
        }
    }
}
