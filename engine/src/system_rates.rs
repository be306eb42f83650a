// SPDX-License-Identifier: Apache-2.0
//! Provides the system tables about speed: the rates that the cost model uses now.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::{
        array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array},
        datatypes::{DataType, SchemaRef},
    },
    catalog::Session,
    common::Result,
};
use nearscan_drive::{CostSnapshot, Kernel, KernelRates, RequestClass};
use nearscan_optimizer::{NearscanOptions, core_rates, cost::HostRates};

use crate::{
    system::SystemTable,
    system_drives::{context, schema_of, strings},
};

/// `nearscan.drive_rates`: the use of a drive's lanes by commands, by kernel and size of requests.
#[derive(Debug)]
pub(crate) struct RatesTable;

static RATES_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("drive", DataType::Utf8, false),
        ("kernel", DataType::Utf8, false),
        ("request_size", DataType::Utf8, false),
        ("setup_ns", DataType::Float64, false),
        ("ns_per_media_byte", DataType::Float64, false),
        ("ns_per_dictionary_byte", DataType::Float64, false),
        ("ns_per_row", DataType::Float64, false),
        ("ns_per_look_up", DataType::Float64, false),
        ("ns_per_string_byte", DataType::Float64, false),
        ("ns_per_link_byte", DataType::Float64, false),
        ("source", DataType::Utf8, false),
        ("observations", DataType::UInt64, true),
        ("residual", DataType::Float64, true),
    ])
});

/// A row of the table.
struct Known {
    drive: String,
    kernel: &'static str,
    class: &'static str,
    rates: KernelRates,
}

/// Returns the known rates of a drive.
fn known(drive: &str, snapshot: &CostSnapshot) -> Vec<Known> {
    let mut found = Vec::new();
    for (kernel, kernel_word) in Kernel::ALL {
        for (class, class_word) in RequestClass::ALL {
            if let Some(rates) = snapshot.rates(kernel).get(class) {
                let (kernel, class) = (kernel_word, class_word);
                found.push(Known { drive: drive.to_owned(), kernel, class, rates: *rates });
            }
        }
    }
    found
}

impl SystemTable for RatesTable {
    fn name(&self) -> &'static str {
        "drive_rates"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&RATES_SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let rows: Vec<Known> = context(session)
            .map(|context| {
                let drives = context.drives.list().into_iter();
                let rates = |(name, drive): (String, Arc<dyn nearscan_drive::Drive>)| {
                    known(&name, &context.snapshot(&name, drive.as_ref()))
                };
                drives.flat_map(rates).collect()
            })
            .unwrap_or_default();
        let rate = |cell: fn(&KernelRates) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| cell(&row.rates))))
        };
        let fits = || rows.iter().map(|row| row.rates.fit);
        let columns: Vec<ArrayRef> = vec![
            strings(rows.iter().map(|row| row.drive.as_str())),
            strings(rows.iter().map(|row| row.kernel)),
            strings(rows.iter().map(|row| row.class)),
            rate(|rates| rates.setup_ns),
            rate(|rates| rates.ns_per_media_byte),
            rate(|rates| rates.ns_per_dictionary_byte),
            rate(|rates| rates.ns_per_row),
            rate(|rates| rates.ns_per_look_up),
            rate(|rates| rates.ns_per_string_byte),
            rate(|rates| rates.ns_per_link_byte),
            strings(rows.iter().map(|row| row.rates.source.word())),
            Arc::new(fits().map(|fit| fit.map(|fit| fit.observations)).collect::<UInt64Array>()),
            Arc::new(fits().map(|fit| fit.map(|fit| fit.residual)).collect::<Float64Array>()),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

/// `nearscan.host`: the rates of this machine, and the source of each.
#[derive(Debug)]
pub(crate) struct HostTable;

static HOST_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema_of(&[
        ("name", DataType::Utf8, false),
        ("value", DataType::Float64, false),
        ("source", DataType::Utf8, false),
    ])
});

impl SystemTable for HostTable {
    fn name(&self) -> &'static str {
        "host"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&HOST_SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let context = context(session);
        let config = session.config_options();
        let options = config.extensions.get::<NearscanOptions>().cloned().unwrap_or_default().host;
        let measured = context.as_ref().and_then(|context| context.core_rates());
        let core = core_rates(measured, &options);
        let host = HostRates {
            queries: context.map_or(0, |context| context.running_queries()),
            ..HostRates::new(config.execution.target_partitions, core)
        };
        let source = |set: Option<u64>| match (set, measured) {
            (Some(_), _) => "set",
            (None, Some(_)) => "measured",
            (None, None) => "assumed",
        };
        let rows = [
            ("cores", host.cores, "set"),
            ("running_queries", f64::from(host.queries), "counted"),
            ("media_bytes_per_s", host.media_bytes_per_s, "assumed"),
            ("decode_bytes_per_s", core.decode_bytes_per_s, source(options.decode_bytes_per_s)),
            ("decode_values_per_s", core.decode_values_per_s, source(options.decode_values_per_s)),
            ("merge_rows_per_s", core.merge_rows_per_s, source(options.merge_rows_per_s)),
            ("result_bytes_per_s", core.result_bytes_per_s, source(options.result_bytes_per_s)),
        ];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|(name, ..)| name))),
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, value, _)| *value))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|(.., source)| source))),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}
