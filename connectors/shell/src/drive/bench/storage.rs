// SPDX-License-Identifier: Apache-2.0
//! What the benchmarks of a storage server have in common: this program as the server, the progress
//! of a measurement, and its errors.

use std::{env, fs, ops::ControlFlow, path::Path, sync::Arc};

use indicatif::ProgressStyle;
use nearscan_storage::{Error, Program, Progress};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::{
    engine_args::ProgressWhen,
    failure::{Failure, Result, in_parts},
    progress::bar,
};

/// This program as a server.
pub(super) fn server() -> Result<Program> {
    let path = env::current_exe().map_err(|error| Failure::work(&error))?;
    Ok(Program { path, arguments: vec!["drive".into(), "serve".into()] })
}

/// Measures away from this thread, which waits for signals, and shows how far it is. Dropping the
/// future ends the measurement with its next step.
pub(super) async fn measure<R: Send + 'static>(
    steps: &'static str,
    when: ProgressWhen,
    queries: &Handle,
    run: impl FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> std::result::Result<R, Error>
    + Send
    + 'static,
) -> Result<R> {
    // Dropped with this future at Ctrl-C.
    let is_wanted = Arc::new(());
    let watched = Arc::downgrade(&is_wanted);
    let measured = queries.spawn_blocking(move || {
        let bar = bar(when, 0);
        let template = format!("[{{bar:30}}] {{pos}}/{{len}} {steps}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("=> "));
        }
        let result = run(&mut |Progress { done, all }| {
            bar.set_length(all);
            bar.set_position(done);
            match watched.strong_count() {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        bar.finish_and_clear();
        result
    });
    let measured = measured.await;
    drop(is_wanted);
    measured.map_err(|error| Failure::panicked(&error))?.map_err(|error| failed(&error))
}

/// Writes the figures to a file, if there is to be one.
pub(super) fn save_json(path: Option<&Path>, figures: &Value) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, format!("{figures:#}\n")).map_err(|error| Failure::output(path, &error))
}

/// What is missing on this machine is bad usage; anything else is a failure of the work.
fn failed(error: &Error) -> Failure {
    let text = in_parts(error, error.detail(), error.hint());
    match error {
        Error::NoNginx { .. } | Error::Binding { .. } => Failure::Usage(text),
        _ => Failure::Statement(text),
    }
}
