// SPDX-License-Identifier: Apache-2.0
//! Tests the measurement of whole objects.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nearscan_storage::{
    Error,
    objects::{Encryption, Plan, run},
};
use tempfile::TempDir;

use crate::server;

fn plan(folder: &TempDir, nginx: &Path) -> Plan {
    Plan {
        sizes: vec![3 << 20, 64 << 10, 5],
        rounds: 2,
        turn_bytes: 6 << 20,
        encryptions: vec![Encryption::None, Encryption::Tls],
        server: server(),
        nginx: nginx.to_owned(),
        folder: folder.path().to_owned(),
    }
}

/// nginx, where it is installed; Debian has it where only administrators look.
fn nginx() -> Option<PathBuf> {
    ["/usr/sbin/nginx", "/usr/bin/nginx"].map(PathBuf::from).into_iter().find(|path| path.exists())
}

#[test]
fn every_object_is_measured_over_every_kind_of_connection() {
    let test = "every_object_is_measured_over_every_kind_of_connection";
    let Some(nginx) = nginx() else { return nearscan_skip::skip(test, "needs nginx") };
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&folder, &nginx);
    let mut seen = Vec::new();
    let report = run(&plan, &mut |progress| {
        seen.push((progress.done, progress.all));
        ControlFlow::Continue(())
    });
    let report = match report {
        Err(error @ Error::Binding { .. }) => {
            return nearscan_skip::skip(test, &error.detail().unwrap_or_default());
        }
        report => report.unwrap(),
    };
    assert_eq!(seen, (1..=12).map(|done| (done, 12)).collect::<Vec<_>>());
    let rows = report.rows.iter().map(|row| (row.encryption, row.bytes, row.pairs.len()));
    let expected = plan
        .encryptions
        .iter()
        .flat_map(|encryption| plan.sizes.iter().map(|bytes| (*encryption, *bytes, 2)));
    assert!(rows.eq(expected), "{report:?}");
    assert!(report.rows[0].ratio().median > 0.0, "{report:?}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
    let cancelled = run(&plan, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(cancelled, Error::Cancelled), "{cancelled}");
}

#[test]
fn missing_nginx_is_reported_with_how_to_install_it() {
    let folder = tempfile::tempdir().unwrap();
    let error = run(&plan(&folder, Path::new("no-nginx")), &mut |_| ControlFlow::Continue(()));
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "nginx cannot be run");
    assert!(error.detail().unwrap().starts_with("no-nginx: "), "{error:?}");
    assert!(error.hint().unwrap().contains("apt-get install nginx-light"), "{error:?}");
}
