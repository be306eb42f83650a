// SPDX-License-Identifier: Apache-2.0
//! Gives the profile of a query to Python, as a `dict` of the shape of `nearscan explain-json`:
//! `decisions`, `plan`, `planning_seconds` and `run`.

use nearscan::{Candidate, Decision, Kept, OperatorProfile, QueryProfile};
use pyo3::{
    prelude::*,
    types::{IntoPyDict, PyDict, PyList},
};

pub(crate) fn profile<'py>(
    py: Python<'py>,
    profile: &QueryProfile,
) -> PyResult<Bound<'py, PyDict>> {
    let decisions = profile.decisions.iter().map(|candidate| decision(py, candidate));
    let whole = PyDict::new(py);
    whole.set_item("decisions", PyList::new(py, decisions.collect::<PyResult<Vec<_>>>()?)?)?;
    whole.set_item("plan", operator(py, &profile.root)?)?;
    whole.set_item("planning_seconds", profile.planning.as_secs_f64())?;
    whole.set_item("run", run(py, profile)?)?;
    Ok(whole)
}

fn decision<'py>(py: Python<'py>, candidate: &Candidate) -> PyResult<Bound<'py, PyDict>> {
    let (drive, kept) = match &candidate.decision {
        Decision::Offload { drives } => (Some(drives.join(", ")), None),
        Decision::Keep(kept) => (None, Some(reason(py, kept)?)),
    };
    let decided = PyDict::new(py);
    decided.set_item("table", &candidate.table)?;
    decided.set_item("drive", drive)?;
    decided.set_item("kept", kept)?;
    let costs = candidate
        .costs
        .map(|costs| [("drive_ns", costs.drive_ns), ("host_ns", costs.host_ns)].into_py_dict(py));
    decided.set_item("costs", costs.transpose()?)?;
    Ok(decided)
}

fn reason<'py>(py: Python<'py>, kept: &Kept) -> PyResult<Bound<'py, PyDict>> {
    [("reason", kept.reason.word()), ("detail", kept.detail.as_str())].into_py_dict(py)
}

fn operator<'py>(py: Python<'py>, profile: &OperatorProfile) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("name", &profile.name)?;
    shown.set_item("line", &profile.line)?;
    let metrics = profile.metrics.iter().map(|(name, metric)| (name, metric.value));
    shown.set_item("metrics", metrics.into_py_dict(py)?)?;
    let children = profile.children.iter().map(|child| operator(py, child));
    shown.set_item("children", PyList::new(py, children.collect::<PyResult<Vec<_>>>()?)?)?;
    Ok(shown)
}

/// What was measured, with what an emulated drive's model says apart.
fn run<'py>(py: Python<'py>, profile: &QueryProfile) -> PyResult<Bound<'py, PyDict>> {
    let work = profile.pushdown();
    let run = PyDict::new(py);
    run.set_item("seconds", profile.elapsed.as_secs_f64())?;
    run.set_item("rows", profile.rows)?;
    run.set_item("units_drive", work.units_drive)?;
    run.set_item("units_cpu", work.units_cpu)?;
    run.set_item("media_bytes", work.media_bytes)?;
    run.set_item("link_bytes", work.link_bytes)?;
    run.set_item("host_bytes", work.host_bytes)?;
    run.set_item("bytes_scanned", profile.total("bytes_scanned").unwrap_or(0))?;
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64());
    run.set_item("drive_seconds_measured", seconds(work.drive_time_measured))?;
    run.set_item("drive_seconds_modelled", seconds(work.drive_time_modelled))?;
    let limit = work.modelled.map(|modelled| modelled.limit().to_string());
    run.set_item("drive_limit_modelled", limit)?;
    let schedule = work.modelled.and_then(|modelled| modelled.limit_schedule());
    run.set_item("drive_schedule_modelled", schedule.map(|schedule| schedule.name()))?;
    let pushback = work.pushback.into_iter().filter(|(_, units)| *units > 0);
    run.set_item("pushback", pushback.into_py_dict(py)?)?;
    Ok(run)
}
