// SPDX-License-Identifier: Apache-2.0
//! Opens a store with applications, and makes guests from C; those from the text format are in
//! `guest.rs`.

use std::{path::Path, process::Command, sync::Arc, time::Duration};

use nearscan_applications::{
    Applications, Beginning, Delivery, Error, Filter, Handler, Kind, Options, Package, Replace,
    Request, What, pack,
};
use nearscan_store::{CollectionPath, Condition, ObjectInfo, ObjectPath, Quota, Store};
use tempfile::TempDir;
use tokio::runtime::Handle;

pub(crate) use crate::guest::{guest, manifest};
use crate::tables::LineTables;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// A server in a folder of its own.
pub(crate) struct Server {
    pub(crate) applications: Applications,
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
}

pub(crate) fn quick() -> Options {
    Options {
        delivery: Delivery {
            attempts_max: 3,
            backoff_first: Duration::from_millis(1),
            backoff_max: Duration::from_millis(20),
            look: Duration::from_millis(10),
            ..Delivery::default()
        },
        ..Options::default()
    }
}

impl Server {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for name in ["raw", "tables", "secret"] {
            store.create_collection(&collection(name), Quota::default()).unwrap();
        }
        let applications = open(&store);
        Self { applications, store, folder }
    }

    /// Ends the applications and begins again, on the same store.
    pub(crate) async fn restarted(self) -> Self {
        let Self { applications, store, folder } = self;
        drop(applications);
        drop(store);
        // Tasks that were aborted let go of the store once the runtime has seen to them.
        let opening = async {
            loop {
                match Store::open(folder.path()) {
                    Ok(store) => break store,
                    Err(nearscan_store::Error::Locked) => pause().await,
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let opened = tokio::time::timeout(Duration::from_secs(10), opening).await;
        let store = opened.expect("no call holds the store");
        Self { applications: open(&store), store, folder }
    }

    /// Installs a component and starts it.
    pub(crate) fn add(&self, manifest: &str, component: &[u8]) {
        let package = package(manifest, component);
        let installed = self.applications.install(package, Replace::Never).unwrap();
        self.applications.start(&installed.manifest.name).unwrap();
    }

    pub(crate) async fn run(&self, name: &str, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        self.applications.run(name, Request { arguments, ..Request::default() }).await
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) -> ObjectInfo {
        let made = self.store.put(&object(path), bytes, Condition::Always).unwrap();
        self.applications.changed();
        made
    }

    pub(crate) fn get(&self, path: &str) -> Option<Vec<u8>> {
        Some(self.store.reader(&object(path)).ok()?.read_all().unwrap().to_vec())
    }

    /// Registers a handler for objects of `raw` that are made or written.
    pub(crate) fn handle(&self, name: &str, application: &str) {
        let filter = Filter {
            kinds: vec![Kind::Created, Kind::Written],
            collection: Some("raw".to_owned()),
            ..Filter::default()
        };
        self.register(name, application, filter);
    }

    pub(crate) fn register(&self, name: &str, application: &str, filter: Filter) {
        let (name, application) = (name.to_owned(), application.to_owned());
        let handler = Handler { name, application, filter };
        self.applications.register(handler, Beginning::Now).unwrap();
    }

    /// What was noted, without when.
    pub(crate) fn notices(&self) -> Vec<(String, What)> {
        let (notices, _) = self.applications.watch(0);
        notices.into_iter().map(|notice| (notice.name, notice.what)).collect()
    }
}

fn open(store: &Store) -> Applications {
    let tables = Arc::new(LineTables(store.clone()));
    Applications::open(store, tables, &Handle::current(), quick()).unwrap()
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        pause().await;
    }
    panic!("it takes too long: {what}");
}

pub(crate) fn collection(name: &str) -> CollectionPath {
    match name.split_once('/') {
        Some((partition, name)) => CollectionPath::new(partition, name).unwrap(),
        None => CollectionPath::in_default(name).unwrap(),
    }
}

/// `raw/a.csv`, or `_system:commands/command`.
pub(crate) fn object(path: &str) -> ObjectPath {
    let (of, name) = path.split_once('/').unwrap();
    collection(&of.replace(':', "/")).object(name).unwrap()
}

pub(crate) fn package(manifest: &str, component: &[u8]) -> Package {
    let component = component.to_vec().into();
    Package { manifest: manifest.to_owned(), component, signature: None }
}

/// A component made from a C file of this crate; none, and a skip, if there is no compiler.
pub(crate) fn from_c(test: &str, entry: &str, file: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (module, bindings) = (folder.path().join("a.wasm"), format!("{CRATE}/sdk/c/{entry}"));
    if !has_compiler(folder.path()) {
        nearscan_skip::skip(test, "needs wasi-libc (clang cannot link for wasm32-wasi)");
        return None;
    }
    let mut command = clang();
    command.args(["-Wall", "-Wextra", "-Werror", "-O1", "-I", &bindings]);
    command.arg(format!("{CRATE}/{file}")).arg(format!("{bindings}/application.c"));
    let output = command.arg("-o").arg(&module).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(pack(&std::fs::read(module).unwrap()).unwrap())
}

fn clang() -> Command {
    let mut command = Command::new("clang");
    command.args(["--target=wasm32-wasi", "-mexec-model=reactor"]);
    command
}

fn has_compiler(folder: &Path) -> bool {
    let source = folder.join("probe.c");
    let text = "#include <stdio.h>\nvoid probe(void) { printf(\"%f\", 1.0); }\n";
    std::fs::write(&source, text).unwrap();
    let mut command = clang();
    command.arg(&source).arg("-o").arg(folder.join("probe.wasm"));
    command.output().is_ok_and(|output| output.status.success())
}
