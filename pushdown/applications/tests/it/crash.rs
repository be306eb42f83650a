// SPDX-License-Identifier: Apache-2.0
//! Tests what is left after the disk dies in the middle of something.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use nearscan_applications::{Applications, Filter, Handler, Kind, Options, Replace, Request};
use nearscan_store::{Condition, Quota, Store};
use tokio::runtime::Handle;

use crate::{
    failing_disk::{FailingDisk, Left},
    server::{collection, from_c, guest, manifest, object, package, quick, until},
    tables::LineTables,
};

/// Opens the store of a folder, once nobody has it open any more.
async fn open(folder: &Path, left: &Left, options: Options) -> (Store, Applications) {
    let disk = loop {
        match FailingDisk::open(folder, left) {
            Ok(disk) => break disk,
            Err(nearscan_store::Error::Locked) => {
                tokio::time::sleep(Duration::from_millis(1)).await
            }
            Err(error) => panic!("{error}"),
        }
    };
    let store = Store::open_on(disk).unwrap();
    let tables = Arc::new(LineTables(store.clone()));
    let applications = Applications::open(&store, tables, &Handle::current(), options).unwrap();
    (store, applications)
}

#[tokio::test(flavor = "multi_thread")]
async fn application_is_replaced_as_a_whole_whenever_the_disk_dies() {
    let first = guest("command", "(i32.const 16)", "");
    let second = guest("command", "(unreachable)", "");
    let (mut olds, mut news) = (0, 0);
    for count in (0..).step_by(2) {
        let (folder, left) = (tempfile::tempdir().unwrap(), Left::new());
        let options = Options { delivery: quick().delivery, ..Options::default() };
        let (store, applications) = open(folder.path(), &left, options.clone()).await;
        let text = manifest("a", "command", "");
        applications.install(package(&text, &first), Replace::Never).unwrap();
        applications.start("a").unwrap();
        left.set(count);
        let other = text.replace("version = \"1\"", "version = \"2\"");
        let installed = applications.install(package(&other, &second), Replace::Same);
        let is_dead = left.is_dead();
        drop((store, applications));
        left.set(i64::MAX);
        let (_store, applications) = open(folder.path(), &left, options).await;
        let found = applications.application("a").unwrap();
        let answer = applications.run("a", Request::default()).await;
        match found.manifest.version.as_str() {
            "1" => {
                assert!(installed.is_err(), "{count}: it was acknowledged");
                assert_eq!(answer.unwrap(), b"", "{count}");
                olds += 1;
            }
            _ => {
                assert!(answer.unwrap_err().to_string().contains("unreachable"), "{count}");
                news += 1;
            }
        }
        if !is_dead {
            break;
        }
    }
    assert!(olds > 3 && news > 0, "{olds} {news}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_event_is_lost_whenever_the_disk_dies() {
    let test = "no_event_is_lost_whenever_the_disk_dies";
    let Some(component) = from_c(test, "handler", "tests/it/guests/recorder.c") else { return };
    for count in (0..240).step_by(12) {
        let (folder, left) = (tempfile::tempdir().unwrap(), Left::new());
        let (store, applications) = open(folder.path(), &left, quick()).await;
        store.create_collection(&collection("raw"), Quota::default()).unwrap();
        store.put(&object("raw/log"), b"", Condition::Always).unwrap();
        let text = manifest("recorder", "handler", "");
        applications.install(package(&text, &component), Replace::Never).unwrap();
        applications.start("recorder").unwrap();
        let (kinds, prefix) = (vec![Kind::Created, Kind::Written], "in-".to_owned());
        let filter = Filter { kinds, prefix, ..Filter::default() };
        let (name, application) = ("h".to_owned(), "recorder".to_owned());
        let handler = Handler { name, application, filter };
        applications.register(handler, Default::default()).unwrap();
        left.set(count);
        let mut versions = BTreeSet::new();
        for number in 0..6 {
            let path = object(&format!("raw/in-{}", number % 2));
            match store.put(&path, b"x", Condition::Always) {
                Ok(info) => versions.insert(info.version),
                Err(_) => break,
            };
            applications.changed();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop((store, applications));
        left.set(i64::MAX);
        let (store, applications) = open(folder.path(), &left, quick()).await;
        let lines = || {
            let bytes = store.reader(&object("raw/log")).unwrap().read_all().unwrap();
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let numbers: Vec<u64> =
                text.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect();
            (text, numbers)
        };
        until("all events are handled", || {
            versions.iter().all(|version| lines().1.contains(version))
        })
        .await;
        // The first deliveries of an object's events are in order; later ones repeat some.
        for name in ["in-0", "in-1"] {
            let (text, _) = lines();
            let mut firsts: Vec<u64> = Vec::new();
            for line in text.lines().filter(|line| line.contains(name)) {
                let version = line.split(' ').nth(2).unwrap().parse().unwrap();
                if !firsts.contains(&version) {
                    firsts.push(version);
                }
            }
            assert!(firsts.is_sorted(), "{count}: {text}");
        }
        assert!(applications.dead_letters("h").unwrap().is_empty());
    }
}
