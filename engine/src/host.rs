// SPDX-License-Identifier: Apache-2.0
//! How fast a core of this machine is, for the cost model: measured once, when a drive is attached
//! and the model is first asked, and kept for later runs.
//!
//! The figures are those of a core that has nothing else to do, as the fastest of a few passes
//! shows it; how many cores are free is another matter. See [`measure`] for what is run, [`cache`]
//! for where the figures are kept. Without both the optimizer goes by those of a typical server.

mod cache;
mod measure;

use std::sync::LazyLock;

use datafusion::{catalog::Session, common::runtime::SpawnedTask, prelude::SessionConfig};
use futures::lock::Mutex;
use nearscan_drive::clock::Stopwatch;
use nearscan_optimizer::{
    NearscanOptions, PushdownContext, core_rates,
    cost::{CoreRates, HostRates},
    settings::{HostOptions, PushdownMode},
};

/// What was measured in this process or read from the cache: engines share it.
static RATES: LazyLock<Mutex<Option<CoreRates>>> = LazyLock::new(|| Mutex::new(None));

/// Sees to it that the session knows how fast its host is, if the cost model will ask.
pub(crate) async fn calibrate(session: &dyn Session, context: &PushdownContext) {
    let options = session.config_options().extensions.get::<NearscanOptions>();
    let NearscanOptions { pushdown, host, .. } = options.cloned().unwrap_or_default();
    if pushdown.mode != PushdownMode::Auto || is_set(&host) || context.core_rates().is_some() {
        return;
    }
    if let Some(rates) = measured().await {
        context.set_core_rates(rates);
    }
}

/// How fast the host is with the cores that a session uses: as its settings say, else as it was
/// measured.
pub(crate) async fn rates(config: &SessionConfig) -> HostRates {
    let options = config.options().extensions.get::<NearscanOptions>();
    let options = options.map(|options| options.host).unwrap_or_default();
    let measured = if is_set(&options) { None } else { measured().await };
    HostRates::new(config.target_partitions(), core_rates(measured, &options))
}

/// What was measured of a core, now or before.
async fn measured() -> Option<CoreRates> {
    let mut known = RATES.lock().await;
    if known.is_none() {
        *known = SpawnedTask::spawn_blocking(cached_or_measured).await.ok().flatten();
    }
    *known
}

/// Whether the settings leave nothing to measure.
fn is_set(options: &HostOptions) -> bool {
    let HostOptions {
        decode_bytes_per_s,
        decode_values_per_s,
        merge_rows_per_s,
        result_bytes_per_s,
    } = options;
    [decode_bytes_per_s, decode_values_per_s, merge_rows_per_s, result_bytes_per_s]
        .iter()
        .all(|rate| rate.is_some())
}

/// The rates in the cache, else those that are measured now, which are then put there.
fn cached_or_measured() -> Option<CoreRates> {
    let file = cache::file();
    let machine = cache::machine();
    if let Some(rates) = file.as_deref().and_then(|file| cache::read(file, &machine)) {
        return Some(rates);
    }
    let watch = Stopwatch::start();
    let rates = measure::core_rates()?;
    tracing::debug!(?rates, elapsed = ?watch.elapsed(), "the host was measured");
    if let Some(file) = file {
        cache::write(&file, &machine, &rates);
    }
    Some(rates)
}
