// SPDX-License-Identifier: Apache-2.0
//! Tests that what was recorded is in the file, whole, and that what is not is reported.

use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    io::Read,
    os::unix::fs::PermissionsExt,
    process::Command,
    sync::Arc,
    time::Duration,
};

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::*;

fn change(object: &str) -> Event<'_> {
    Event {
        kind: Kind::Change,
        client: "etl",
        peer: "unix",
        action: "put",
        object,
        outcome: Outcome::Done,
        bytes: 1,
    }
}

/// A folder, and a log in it.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    (folder, path)
}

/// The objects of a log, whose lines are all whole.
fn objects(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let object = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["object"].as_str().unwrap().to_owned()
    };
    text.lines().map(object).collect()
}

#[tokio::test]
async fn line_is_in_the_file_once_it_is_recorded() {
    let (_folder, path) = place();
    let audit = Audit::open(&path).unwrap();
    for count in 1..=3_usize {
        audit.record(&change("a")).await.unwrap();
        assert_eq!(objects(&path).len(), count);
    }
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let line: Value =
        serde_json::from_str(fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
    let time = line["time"].as_str().unwrap();
    assert!(time > "2026-01-01T00:00:00.000Z" && time.ends_with('Z'), "{time}");
    assert_eq!(audit.unrecorded(), 0);
}

#[tokio::test]
async fn log_is_appended_to() {
    let (_folder, path) = place();
    Audit::open(&path).unwrap().record(&change("before")).await.unwrap();
    Audit::open(&path).unwrap().record(&change("after")).await.unwrap();
    assert_eq!(objects(&path), ["before", "after"]);
}

#[tokio::test]
async fn reads_are_not_recorded_unless_denied() {
    let (_folder, path) = place();
    let audit = Audit::open(&path).unwrap();
    let read = |object, outcome| Event { kind: Kind::Read, outcome, ..change(object) };
    audit.record(&read("done", Outcome::Done)).await.unwrap();
    audit.record(&read("denied", Outcome::Denied("scope"))).await.unwrap();
    assert_eq!(objects(&path), ["denied"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_once_do_not_mix_their_lines() {
    let (_folder, path) = place();
    // Two logs over one file, as two processes have.
    let audits = [Audit::open(&path).unwrap(), Audit::open(&path).unwrap()].map(Arc::new);
    let mut tasks = JoinSet::new();
    for writer in 0..16_usize {
        let audit = Arc::clone(&audits[writer % 2]);
        tasks.spawn(async move {
            for round in 0..50 {
                let object = format!("{writer}-{round}-{}", "x\n".repeat(10 * writer));
                audit.record(&change(&object)).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let found: BTreeSet<String> = objects(&path).into_iter().collect();
    assert_eq!(found.len(), 16 * 50);
    assert_eq!(objects(&path).len(), 16 * 50);
}

#[tokio::test]
async fn full_disk_is_reported_and_counted() {
    let audit = Audit::open(Path::new("/dev/full")).unwrap();
    for count in 1..=3 {
        let error = audit.record(&change("a")).await.unwrap_err();
        assert!(
            matches!(&error, AuditError::Write { reason } if reason.contains("space")),
            "{error}"
        );
        assert_eq!(audit.unrecorded(), count);
    }
    let read = Event { kind: Kind::Read, ..change("a") };
    assert_eq!(audit.record(&read).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rotation_loses_nothing() {
    let (folder, path) = place();
    let audit = Arc::new(Audit::open(&path).unwrap());
    let mut tasks = JoinSet::new();
    for writer in 0..4 {
        let audit = Arc::clone(&audit);
        tasks.spawn(async move {
            for round in 0..100 {
                audit.record(&change(&format!("{writer}-{round}"))).await.unwrap();
            }
        });
    }
    let mut paths = vec![path.clone()];
    for rotation in 0..5 {
        let old = folder.path().join(format!("audit.{rotation}"));
        tokio::time::sleep(Duration::from_millis(5)).await;
        fs::rename(&path, &old).unwrap();
        audit.reopen().await.unwrap();
        let before = objects(&old).len();
        audit.record(&change(&format!("rotated-{rotation}"))).await.unwrap();
        // The old file is left alone, and the new one has what came after.
        assert_eq!(objects(&old).len(), before);
        assert!(objects(&path).contains(&format!("rotated-{rotation}")));
        paths.push(old);
    }
    tasks.join_all().await;
    let all: Vec<String> = paths.iter().flat_map(|path| objects(path)).collect();
    assert_eq!(all.len(), 4 * 100 + 5);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 4 * 100 + 5);
}

#[tokio::test]
async fn file_that_cannot_be_opened_anew_leaves_the_old_one_in_use() {
    let (folder, path) = place();
    let audit = Audit::open(&path).unwrap();
    let old = folder.path().join("old");
    fs::rename(&path, &old).unwrap();
    fs::create_dir(&path).unwrap();
    let error = audit.reopen().await.unwrap_err();
    assert!(matches!(error, AuditError::Open { .. }), "{error}");
    audit.record(&change("still")).await.unwrap();
    assert_eq!(objects(&old), ["still"]);
}

#[tokio::test]
async fn line_after_a_torn_one_is_whole() {
    let (_folder, path) = place();
    fs::write(&path, "{\"time\":\"20").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    Audit::open(&path).unwrap().record(&change("next")).await.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    let whole: Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(whole["object"], "next");
}

#[rstest]
#[case(0o600, true)]
#[case(0o640, true)]
#[case(0o620, false)]
#[case(0o602, false)]
fn log_that_others_may_write_is_refused(#[case] mode: u32, #[case] is_fine: bool) {
    let (_folder, path) = place();
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    match Audit::open(&path) {
        Ok(_) => assert!(is_fine),
        Err(error) => {
            assert!(!is_fine);
            assert_eq!(error, AuditError::Writable { path, mode });
        }
    }
}

#[test]
fn log_without_a_folder_is_refused() {
    let (folder, _) = place();
    let error = Audit::open(&folder.path().join("none/audit")).unwrap_err();
    assert!(matches!(error, AuditError::Open { .. }), "{error}");
}

/// Reads a pipe that holds its writer up: none of the lines may wait for ever or be lost.
#[tokio::test]
async fn log_that_is_behind_refuses_more_and_writes_what_it_took() {
    let (_folder, path) = place();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut pipe = File::options().read(true).write(true).open(&path).unwrap();
    let audit = Arc::new(Audit::open(&path).unwrap());
    let long = "x".repeat(900);
    let mut tasks = JoinSet::new();
    // More than the queue, one batch and the pipe hold.
    for _ in 0..3 * WAITING_MAX {
        let (audit, long) = (Arc::clone(&audit), long.clone());
        tasks.spawn(async move { audit.record(&change(&long)).await });
    }
    let mut refused = 0;
    while refused < WAITING_MAX as u64 {
        let ended = tokio::time::timeout(Duration::from_secs(30), tasks.join_next()).await;
        match ended.expect("some are refused while the pipe is full").unwrap().unwrap() {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error, AuditError::Behind);
                refused += 1;
            }
        }
    }
    let reader = std::thread::spawn(move || {
        let (mut count, mut buffer) = (0, vec![0; 1 << 16]);
        loop {
            let read = pipe.read(&mut buffer).unwrap();
            count += buffer[..read].iter().filter(|byte| **byte == b'\n').count();
            if buffer[..read].ends_with(b"\"last\",\"outcome\":\"done\",\"bytes\":1}\n") {
                return count;
            }
        }
    });
    let mut recorded = 3 * WAITING_MAX - WAITING_MAX - tasks.len();
    while let Some(ended) = tasks.join_next().await {
        match ended.unwrap() {
            Ok(()) => recorded += 1,
            Err(error) => {
                assert_eq!(error, AuditError::Behind);
                refused += 1;
            }
        }
    }
    audit.record(&change("last")).await.unwrap();
    assert_eq!(audit.unrecorded(), refused);
    assert_eq!(reader.join().unwrap(), recorded + 1);
}

#[tokio::test]
async fn dropped_log_has_written_what_was_on_its_way() {
    let (_folder, path) = place();
    let audit = Audit::open(&path).unwrap();
    {
        let event = change("given up");
        let mut record = Box::pin(audit.record(&event));
        // Begun, and given up.
        let begun = std::future::poll_fn(|cx| {
            std::task::Poll::Ready(record.as_mut().poll(cx).is_pending())
        });
        begun.await;
    }
    drop(audit);
    assert_eq!(objects(&path), ["given up"]);
}
