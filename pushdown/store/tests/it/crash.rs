// SPDX-License-Identifier: Apache-2.0
//! Kills the store at every operation on its disk that changes something: what was acknowledged is
//! there afterwards, and what was not is there as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};

use nearscan_store::{ChangeKind, CollectionPath, Condition, Error, ObjectPath, Quota, Store};

use crate::fault_disk::{Fault, FaultDisk, Random};

/// Objects by name: bytes, and the value of their attribute.
type Objects = BTreeMap<String, (Vec<u8>, Option<Vec<u8>>)>;

/// Requests of a run.
const STEPS: usize = 24;

fn collection() -> CollectionPath {
    CollectionPath::in_default("c").unwrap()
}

fn object(name: &str) -> ObjectPath {
    collection().object(name).unwrap()
}

/// A request to the store.
#[derive(Debug, Clone)]
enum Step {
    Put(Vec<u8>, Option<Vec<u8>>),
    Append(Vec<u8>),
    WriteAt(usize, Vec<u8>),
    Truncate(usize),
    SetAttribute(Vec<u8>),
    Remove,
}

/// Draws a request that can be done.
fn step(random: &mut Random, objects: &Objects) -> (String, Step) {
    let name = format!("o{}", random.below(4));
    let length = usize::try_from(1 + random.below(40)).unwrap();
    let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
    let Some((old, _)) = objects.get(&name) else {
        return (name, Step::Put(bytes, None));
    };
    let place = usize::try_from(random.below(old.len() as u64 + 1)).unwrap();
    let step = match random.below(8) {
        0 => Step::Put(bytes, None),
        1 => Step::Put(bytes.clone(), Some(bytes)),
        2 | 3 => Step::Append(bytes),
        4 => Step::WriteAt(place, bytes),
        5 => Step::Truncate(place),
        6 => Step::SetAttribute(bytes),
        _ => Step::Remove,
    };
    (name, step)
}

/// What the objects are after a request.
fn expected(mut objects: Objects, name: &str, step: &Step) -> Objects {
    if let Step::Remove = step {
        objects.remove(name);
        return objects;
    }
    let (bytes, attribute) = objects.entry(name.to_owned()).or_default();
    match step {
        Step::Put(new, with) => {
            bytes.clone_from(new);
            *attribute = with.clone().or_else(|| attribute.take());
        }
        Step::Append(new) => bytes.extend_from_slice(new),
        Step::WriteAt(offset, new) => {
            bytes.resize(bytes.len().max(offset + new.len()), 0);
            bytes[*offset..offset + new.len()].copy_from_slice(new);
        }
        Step::Truncate(length) => bytes.truncate(*length),
        Step::SetAttribute(value) => *attribute = Some(value.clone()),
        Step::Remove => {}
    }
    objects
}

fn run(store: &Store, name: &str, step: &Step) -> Result<(), Error> {
    let path = object(name);
    match step {
        Step::Put(bytes, attribute) => {
            let mut writer = store.writer(&path, Condition::Always)?;
            let (first, rest) = bytes.split_at(bytes.len() / 2);
            writer.write(first)?;
            writer.write(rest)?;
            if let Some(value) = attribute {
                writer.attribute("a", value)?;
            }
            writer.commit().map(drop)
        }
        Step::Append(bytes) => store.append(&path, bytes, Condition::Always).map(drop),
        Step::WriteAt(offset, bytes) => {
            store.write_at(&path, *offset as u64, bytes, Condition::Always).map(drop)
        }
        Step::Truncate(length) => {
            store.truncate(&path, *length as u64, Condition::Always).map(drop)
        }
        Step::SetAttribute(value) => store.set_attribute(&path, "a", value),
        Step::Remove => store.remove(&path, Condition::Always),
    }
}

/// Reads all objects of a store.
fn found(store: &Store) -> Objects {
    let mut objects = Objects::new();
    for info in store.list(&collection(), "", None, usize::MAX).unwrap() {
        let bytes = store.reader(&info.path).unwrap().read_all().unwrap();
        let attribute = store.attributes(&info.path).unwrap().remove("a");
        let name = info.path.name().to_owned();
        objects.insert(name, (bytes.to_vec(), attribute.map(|value| value.to_vec())));
    }
    objects
}

/// What a run of requests has come to.
#[derive(Debug, Default)]
struct Run {
    /// The objects of all requests that were acknowledged; none if not even the collection was.
    acknowledged: Option<Objects>,
    /// The objects if the request whose end is uncertain is done.
    next: Objects,
    /// Requests that were acknowledged.
    done: usize,
}

/// Runs requests until the catalog fails: other failures change nothing, and later requests work.
fn run_until_fault(disk: &FaultDisk, seed: u64) -> Run {
    let mut random = Random(seed);
    let mut ended = Run::default();
    let Ok(store) = Store::open_on(disk.clone()) else { return ended };
    if store.create_collection(&collection(), Quota::default()).is_err() {
        return ended;
    }
    let mut objects = Objects::new();
    for _ in 0..STEPS {
        let (name, step) = step(&mut random, &objects);
        ended.next = expected(objects.clone(), &name, &step);
        match run(&store, &name, &step) {
            Ok(()) => {
                objects.clone_from(&ended.next);
                ended.done += 1;
            }
            Err(Error::Catalog(_) | Error::Uncertain(_)) => {
                // All changes are refused from now on, and leave nothing on the disk.
                let files = disk.files_below("data");
                for step in [Step::Put(vec![1], None), Step::Append(vec![1]), Step::Remove] {
                    assert!(matches!(run(&store, &name, &step), Err(Error::Catalog(_))));
                }
                assert_eq!(disk.files_below("data"), files);
                break;
            }
            Err(_) if disk.is_dead() => break,
            Err(_) => {
                assert_eq!(found(&store), objects);
                ended.next.clone_from(&objects);
            }
        }
    }
    ended.acknowledged = Some(objects);
    ended
}

/// Opens what a crash left, and compares it with what was acknowledged.
fn check(disk: &FaultDisk, run: &Run) {
    let Run { acknowledged, next, done } = run;
    let store = Store::open_on(disk.clone()).unwrap();
    assert_eq!(store.damaged(), []);
    let Some(acknowledged) = acknowledged else {
        // Not even the collection was acknowledged.
        let made = store.create_collection(&collection(), Quota::default());
        assert!(matches!(made, Ok(()) | Err(Error::Exists { .. })), "{made:?}");
        assert_eq!(found(&store), Objects::new());
        return;
    };
    let objects = found(&store);

    // Each acknowledged request has its entry in the log, which tells what objects there are.
    let changes = store.changes(0, usize::MAX).unwrap();
    let is_next = changes.len() == done + 1;
    assert!(changes.len() == *done || is_next, "{} of {done}", changes.len());
    assert_eq!(&objects, if is_next { next } else { acknowledged });
    let mut names = BTreeSet::new();
    for change in &changes {
        match change.kind {
            ChangeKind::Created => assert!(names.insert(change.path.name().to_owned())),
            ChangeKind::Removed => assert!(names.remove(change.path.name())),
            _ => assert!(names.contains(change.path.name())),
        }
    }
    assert!(names.iter().eq(objects.keys()));

    // Nothing else is on the disk, and usage is counted right.
    let files = disk.files_below("data");
    let (_, _, usage) = store.collections("default").unwrap().remove(0);
    let bytes: usize = objects.values().map(|(bytes, _)| bytes.len()).sum();
    assert_eq!((usage.objects, usage.bytes), (objects.len() as u64, bytes as u64));
    assert_eq!((files.len(), files.values().sum()), (objects.len(), bytes));

    // It goes on working.
    store.put(&object("last"), b"after", Condition::Absent).unwrap();
    assert_eq!(store.reader(&object("last")).unwrap().read_all().unwrap(), &b"after"[..]);
}

#[test]
fn crash_at_any_write_loses_nothing_that_was_acknowledged() {
    for seed in 1..=2 {
        let disk = FaultDisk::new(None);
        assert_eq!(run_until_fault(&disk, seed).done, STEPS);
        let operations = disk.operations();
        assert!(operations > 200, "{operations}");
        for crash_at in 0..=operations {
            let disk = FaultDisk::new(Some((Fault::Crash, crash_at)));
            let run = run_until_fault(&disk, seed);
            let mut random = Random(seed << 32 | crash_at as u64);
            check(&disk.after_crash(&mut random, None), &run);
        }
    }
}

#[test]
fn crash_while_a_store_recovers_loses_nothing() {
    let disk = FaultDisk::new(None);
    run_until_fault(&disk, 4);
    let operations = disk.operations();
    let mut removed_or_cut = 0;
    for crash_at in (operations / 2..operations).step_by(23) {
        let disk = FaultDisk::new(Some((Fault::Crash, crash_at)));
        let run = run_until_fault(&disk, 4);
        let random = Random(crash_at as u64);
        let crashed = disk.after_crash(&mut random.clone(), None);
        let files = crashed.files_below("data");
        drop(Store::open_on(crashed.clone()).unwrap());
        removed_or_cut += usize::from(crashed.files_below("data") != files);
        for again_at in 0..crashed.operations() {
            let fault = Some((Fault::Crash, again_at));
            let mut random = random.clone();
            let crashed = disk.after_crash(&mut random, fault);
            drop(Store::open_on(crashed.clone()));
            assert!(crashed.is_dead());
            check(&crashed.after_crash(&mut random, None), &run);
        }
    }
    assert!(removed_or_cut > 0, "no crash left anything behind");
}

#[test]
fn operation_that_fails_loses_nothing_that_was_acknowledged() {
    let disk = FaultDisk::new(None);
    run_until_fault(&disk, 5);
    for fail_at in 0..disk.operations() {
        let disk = FaultDisk::new(Some((Fault::Error, fail_at)));
        let run = run_until_fault(&disk, 5);
        let mut random = Random(fail_at as u64);
        for _ in 0..3 {
            check(&disk.after_crash(&mut random, None), &run);
        }
    }
}
