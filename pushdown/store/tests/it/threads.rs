// SPDX-License-Identifier: Apache-2.0
//! Tests a store that several threads use.

use std::thread;

use nearscan_store::{CollectionPath, Condition, Quota, Store};

/// Requests of each thread.
const ROUNDS: usize = 50;

#[test]
fn threads_append_replace_and_read_without_losing_or_mixing_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let collection = CollectionPath::in_default("c").unwrap();
    store.create_collection(&collection, Quota::default()).unwrap();
    let [log, whole] = ["log", "whole"].map(|name| collection.object(name).unwrap());
    store.put(&log, b"", Condition::Always).unwrap();
    store.put(&whole, &[0; 100], Condition::Always).unwrap();
    thread::scope(|scope| {
        for thread in 0..3_u8 {
            let (store, log, whole) = (&store, &log, &whole);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    store.append(log, &[thread; 7], Condition::Always).unwrap();
                    store.put(whole, &[thread; 100], Condition::Always).unwrap();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..10 * ROUNDS {
                let bytes = store.reader(&whole).unwrap().read_all().unwrap();
                assert_eq!(bytes, vec![bytes[0]; 100]);
                let bytes = store.reader(&log).unwrap().read_all().unwrap();
                assert!(bytes.chunks(7).all(|chunk| chunk == [chunk[0]; 7]));
            }
        });
    });
    let bytes = store.reader(&log).unwrap().read_all().unwrap();
    for thread in 0..3 {
        let count = bytes.iter().filter(|byte| **byte == thread).count();
        assert_eq!(count, 7 * ROUNDS);
    }
}
