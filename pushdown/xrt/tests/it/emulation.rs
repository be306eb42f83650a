// SPDX-License-Identifier: Apache-2.0
//! Tests the drive on XRT's own software emulation.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use nearscan_command::{
    ResultHeader, Status,
    layout::{FORMAT_MAJOR, FORMAT_MINOR},
};
use nearscan_conformance::{
    Options, check, check_with,
    sample::{PATIENCE, Sample, envelope, merge, modelled, run, run_within, session, submit},
};
use nearscan_drive::{CancelOutcome, CardModel, Completion, Drive, Failure, Outcome, Refusal};
use nearscan_emulator::{Config as CardConfig, EmulatedCard, Emulator, Profile};
use nearscan_link::{ImageDescription, Target, metadata::Format, xclbin};
use nearscan_xrt::{
    Config, Environment, OpenError, PeerToPeer, Preparation, XrtDrive, prepare, read_image,
};

use crate::{
    child,
    proxy::{Link, Proxy},
    trial::{Runtime, Trial},
};

pub(crate) fn trials() -> Vec<Trial> {
    let xrt = |name, body| Trial::new(name, Runtime::Xrt, body);
    vec![
        xrt("the_emulated_card_passes_the_suite", passes_the_suite),
        xrt("suite_passes_from_several_threads_at_once", passes_from_threads),
        xrt("the_suite_passes_without_peer_to_peer", passes_by_copies),
        xrt("merges_in_parts_are_the_same_merges", merges_in_parts),
        xrt("times_are_those_of_the_in_process_drive", times_are_equal),
        xrt("faults_strike_as_they_do_in_process", faults_are_equal),
        xrt("a_thousand_commands_leave_no_descriptor", no_descriptors_leak),
        xrt("a_card_can_be_opened_again", opens_again),
        xrt("what_a_process_used_is_gone_afterwards", cleans_up),
        xrt("one_process_opens_a_card_once", opens_once),
        xrt("an_invented_card_is_refused", no_invented_card),
        xrt("threads_before_the_environment_are_refused", threads_first),
        Trial {
            prepare: |command| {
                command.envs(Environment::make().unwrap().variables());
            },
            ..xrt("a_process_that_was_started_right_may_have_threads", threads_are_fine)
        },
        xrt("signal_handlers_stay_as_they_were", handlers_stay),
        xrt("children_of_the_process_are_left_alone", children_stay),
        xrt("a_kernel_that_hangs_ends_at_its_deadline", hang_ends),
        xrt("a_kernel_that_hangs_ends_when_it_is_cancelled", hang_is_cancelled),
        xrt("a_card_that_falls_silent_is_lost_and_said_to_be", || loses_the_card(Link::Silent)),
        xrt("a_card_that_vanishes_is_lost_and_said_to_be", || loses_the_card(Link::Cut)),
        xrt("a_card_has_only_so_much_memory", memory_is_bounded),
        xrt("without_peer_to_peer_the_host_copies", copies_are_counted),
        xrt("several_processes_have_a_card_each", several_processes),
        Trial {
            prepare: |command| {
                command.env_remove("USER");
            },
            ..xrt("a_process_without_a_user_has_its_own_socket", opens_again)
        },
        Trial {
            prepare: |command| {
                command.env("USER", "u".repeat(100));
            },
            ..xrt("a_user_with_a_long_name_has_a_socket", opens_again)
        },
        Trial {
            prepare: |command| {
                // A folder of sockets of that user cannot be made.
                let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
                command.env("USER", file.path().file_name().unwrap());
                drop(file.keep());
            },
            ..xrt("a_user_whose_name_is_that_of_a_file_has_a_socket", with_a_file_of_the_user)
        },
        Trial {
            prepare: |command| {
                command.env("XILINX_XRT", "/nowhere").env("XCL_EMULATION_MODE", "rubbish");
            },
            ..xrt("what_the_environment_says_of_xrt_does_not_matter", opens_again)
        },
        xrt("what_somebody_else_has_set_up_stays", foreign_folder),
        xrt("without_a_card_xrt_says_so", no_card),
        xrt("an_image_of_something_else_is_refused", wrong_images),
    ]
}

/// The image of that name, in a folder.
pub(crate) fn image(folder: &Path, name: &str) -> PathBuf {
    let description = ImageDescription::of_name(name).unwrap();
    let format = Format { major: FORMAT_MAJOR, minor: FORMAT_MINOR };
    let path = folder.join(format!("{name}.xclbin"));
    std::fs::write(&path, xclbin::emulation(description, format)).unwrap();
    path
}

pub(crate) fn card(path: &Path, config: CardConfig) -> EmulatedCard {
    EmulatedCard::new(&read_image(path).unwrap(), None, config)
}

/// A drive with the whole image, on a card like this.
fn open_with(card_config: CardConfig, change: impl FnOnce(&mut Config)) -> XrtDrive {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "emulation");
    let mut config = Config::new("0", &path);
    change(&mut config);
    XrtDrive::open(&config, Some(Arc::new(card(&path, card_config)))).unwrap()
}

fn open() -> XrtDrive {
    open_with(CardConfig::default(), |_| {})
}

fn open_error(target: &str, xclbin: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let card = card(&image(folder.path(), "emulation"), CardConfig::default());
    XrtDrive::open(&Config::new(target, xclbin), Some(Arc::new(card))).unwrap_err().to_string()
}

fn passes_the_suite() {
    let drive = open();
    assert!(drive.copies_because().is_none(), "{:?}", drive.copies_because());
    let report = check(&drive);
    assert!(report.is_clean(), "{report}");
    assert!(report.skipped.is_empty(), "{report}");
    assert_eq!(drive.in_flight(), 0);
    assert!(drive.memory_is_whole());
}

fn passes_from_threads() {
    let drive = open();
    std::thread::scope(|scope| {
        for seed in 1..=3 {
            let drive = &drive;
            scope.spawn(move || {
                for prefix in ["random", "merged", "lifecycle", "keys"] {
                    let options = Options {
                        seed: seed * 1000,
                        random_cases: 100,
                        prefix: prefix.to_owned(),
                        folder: None,
                    };
                    let report = check_with(drive, &options);
                    assert!(report.is_clean() && report.cases > 0, "{report}");
                }
            });
        }
    });
    assert!(drive.memory_is_whole());
}

fn passes_by_copies() {
    let drive = open_with(CardConfig::default(), |config| config.peer_to_peer = PeerToPeer::Off);
    assert_eq!(drive.copies_because(), Some("it was turned off".to_owned()));
    for prefix in ["random", "merged", "lifecycle"] {
        let options =
            Options { random_cases: 100, prefix: prefix.to_owned(), ..Options::default() };
        let report = check_with(&drive, &options);
        assert!(report.is_clean() && report.cases > 0, "{report}");
    }
}

fn merges_in_parts() {
    let drive = open_with(CardConfig { merge_part_rows: 1, ..CardConfig::default() }, |_| {});
    let options = Options { prefix: "merged".to_owned(), ..Options::default() };
    let report = check_with(&drive, &options);
    assert!(report.is_clean(), "{report}");
    assert!(report.cases > 100, "{report}");
    assert!(drive.memory_is_whole());
}

fn times_are_equal() {
    let card_config = || CardConfig { seed: 7, merge_part_rows: 1000, ..CardConfig::default() };
    let drive = open_with(card_config(), |_| {});
    let twin = Emulator::open(CardConfig { builds: Profile::Unlimited.builds(), ..card_config() });
    let scans = [10, 3000, 100_000].map(Sample::plain);
    let both: [&dyn Drive; 2] = [&drive, &twin];
    for (id, scan) in (1..).zip(&scans) {
        let [found, expected] = both.map(|drive| {
            let session = session(drive);
            let command = scan.count_and_sum(drive, 2000, envelope(session.as_ref(), id));
            run(session.as_ref(), command).unwrap()
        });
        assert_eq!(modelled(&found), modelled(&expected));
        assert_eq!(found.outcome, expected.outcome);
        assert_eq!(found.traffic, expected.traffic);
    }
    let [found, expected] = both.map(|drive| {
        let session = session(drive);
        run(session.as_ref(), merge(&scans, drive, envelope(session.as_ref(), 9))).unwrap()
    });
    assert!(modelled(&found).merge_ns > 0);
    assert_eq!(modelled(&found), modelled(&expected));
    assert_eq!(found.outcome, expected.outcome);
    let [found, expected] = both.map(|drive| {
        let snapshot = drive.snapshot();
        (snapshot.lanes, snapshot.scan, snapshot.merge, snapshot.link_bytes_per_s)
    });
    assert_eq!(found, expected);
}

/// The outcome of work: which refusal or failure, if any, and its text.
fn fate(end: &Result<Completion, Refusal>) -> (&'static str, String) {
    match end {
        Err(refusal @ Refusal::Busy) => ("busy", refusal.to_string()),
        Err(refusal @ Refusal::LowMemory { .. }) => ("low memory", refusal.to_string()),
        Err(refusal) => ("refused", refusal.to_string()),
        Ok(Completion { outcome: Outcome::Failed(failure), .. }) => match failure {
            Failure::Read { .. } => ("read", failure.to_string()),
            Failure::Timeout => ("timeout", failure.to_string()),
            // A damaged header is found out where it is read.
            Failure::Kernel { .. } => ("finished", String::new()),
            other => ("failed", other.to_string()),
        },
        Ok(Completion { outcome: Outcome::Finished(_), .. }) => ("finished", String::new()),
    }
}

fn faults_are_equal() {
    let plan = "queue_full:0.1,low_memory:0.1,read_error:0.1,timeout:0.1,corrupt:0.3,\
                short_read:0.1,corrupt_page:0.1,kernel_error:0.1,slow:0.1,reset:0.1,corrupt@7";
    let card_config = || CardConfig::from_parameters([("faults", plan), ("seed", "7")]).unwrap();
    let drive = open_with(card_config(), |_| {});
    let twin = Emulator::open(CardConfig { builds: Profile::Unlimited.builds(), ..card_config() });
    let both: [&dyn Drive; 2] = [&drive, &twin];
    let mut fates = BTreeSet::new();
    let mut damaged = 0;
    for rows in 1..=60 {
        let scan = Sample::plain(rows);
        let [found, expected] = both.map(|drive| {
            let session = session(drive);
            let command =
                scan.count_and_sum(drive, 5, envelope(session.as_ref(), u128::from(rows)));
            let end = run(session.as_ref(), command.clone());
            let is_wrong = end.as_ref().is_ok_and(|done| done.check(&command).is_err());
            (fate(&end), is_wrong)
        });
        assert_eq!(found, expected, "{rows} rows");
        let ((kind, _), is_wrong) = found;
        damaged += u32::from(kind == "finished" && is_wrong);
        fates.insert(kind);
    }
    // Each kind has struck, and some work went well.
    let kinds = ["busy", "failed", "finished", "low memory", "read", "timeout"];
    assert_eq!(Vec::from_iter(fates), kinds);
    assert!(damaged > 0);
    assert!(drive.memory_is_whole());
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn no_descriptors_leak() {
    let drive = open();
    let session = session(&drive);
    let scans = [100, 5000, 50_000].map(Sample::plain);
    let mut id = 0;
    let mut round = || {
        for scan in &scans {
            id += 1;
            let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), id));
            run(session.as_ref(), command.clone()).unwrap().check(&command).unwrap();
        }
    };
    // Units take turns, and each makes its buffers when it first needs them.
    (0..20).for_each(|_| round());
    let before = descriptors();
    (0..340).for_each(|_| round());
    let after = descriptors();
    assert!(id > 1000 && after <= before + 4, "{before} descriptors, then {after}");
}

/// Runs one scan.
pub(crate) fn works(drive: &dyn Drive) {
    let scan = Sample::plain(1000);
    let session = session(drive);
    let command = scan.count_and_sum(drive, 10, envelope(session.as_ref(), 1));
    let completion = run(session.as_ref(), command.clone()).unwrap();
    let view = completion.check(&command).unwrap();
    assert_eq!(view.blocks[0].columns[1].number(0), Some(45));
}

fn opens_again() {
    for _ in 0..3 {
        works(&open());
    }
}

fn with_a_file_of_the_user() {
    let file = Path::new("/tmp").join(std::env::var_os("USER").unwrap());
    assert!(file.is_file());
    opens_again();
    std::fs::remove_file(file).unwrap();
}

/// Files that this process left in the folders for shared data.
fn leftovers() -> Vec<String> {
    let mine = format!("nearscan-xrt-{}-", std::process::id());
    let folders = BTreeSet::from([std::env::temp_dir(), PathBuf::from("/tmp")]);
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&mine)).collect()
}

fn cleans_up() {
    let drive = open();
    works(&drive);
    assert_ne!(leftovers(), Vec::<String>::new());
    drop(drive);
    assert_eq!(leftovers(), Vec::<String>::new());
    let folder = tempfile::tempdir().unwrap();
    open_error("7", &image(folder.path(), "emulation"));
    assert_eq!(leftovers(), Vec::<String>::new());
}

fn opens_once() {
    let drive = open();
    let folder = tempfile::tempdir().unwrap();
    let error = open_error("0", &image(folder.path(), "smartssd_scan"));
    let expected = "the card 0 is open in this process already, with the image emulation";
    assert_eq!(error, expected);
    works(&drive);
}

fn no_invented_card() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "emulation");
    let error = open_error("7", &path);
    assert_eq!(error, "there is no card 7; software emulation has one card, 0");
    let error = open_error("0000:01:00.1", &path);
    assert_eq!(error, "there is no card 0000:01:00.1; software emulation has one card, 0");
    let error = open_error("first", &path);
    assert!(error.starts_with("\"first\" is neither an index nor an address"), "{error}");
}

fn preparation() -> Preparation {
    Preparation { target: Target::SoftwareEmulation, libraries: None }
}

fn threads_first() {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || receiver.recv());
    let error = prepare(&preparation()).unwrap_err();
    assert!(matches!(error, OpenError::Threads { threads: 2 }), "{error}");
    drop(sender);
    thread.join().unwrap().unwrap_err();
    // Nothing was done, so it can be made good.
    prepare(&preparation()).unwrap();
    let other = prepare(&Preparation { target: Target::Card, libraries: None }).unwrap_err();
    let expected =
        "this process was prepared for software emulation, and one process has one of both";
    assert_eq!(other.to_string(), expected);
    std::thread::scope(|scope| {
        scope.spawn(|| works(&open()));
    });
}

fn threads_are_fine() {
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || receiver.recv());
    works(&open());
}

/// The signals of this process that are caught, but for those that the C library has for itself.
fn caught() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
    u32::try_from(mask & u64::from(u32::MAX >> 1)).unwrap()
}

fn handlers_stay() {
    let before = caught();
    for _ in 0..2 {
        let drive = open();
        assert_eq!(caught(), before);
        works(&drive);
        assert_eq!(caught(), before);
    }
}

fn children_stay() {
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    works(&open());
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A drive on which each first attempt hangs.
fn hanging() -> XrtDrive {
    open_with(CardConfig::from_parameters([("faults", "hang:1")]).unwrap(), |_| {})
}

fn hang_ends() {
    let drive = hanging();
    let scan = Sample::plain(1000);
    let session = session(&drive);
    for id in 1..=3 {
        let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), id));
        let timeout = Duration::from_millis(100);
        let completion = run_within(session.as_ref(), command, timeout).unwrap();
        assert_eq!(completion.outcome, Outcome::Failed(Failure::Timeout));
    }
    // The kernel has ended each time, so the card is as good as before.
    assert_eq!(drive.lost(), None);
    assert!(drive.memory_is_whole());
}

fn hang_is_cancelled() {
    let drive = hanging();
    let scan = Sample::plain(1000);
    let session = session(&drive);
    let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 5));
    let ticket = submit(session.as_ref(), command, PATIENCE).unwrap();
    // Long enough for the kernel to have started, on a machine that is not busy.
    nearscan_drive::clock::pause(Duration::from_millis(50));
    assert_eq!(session.cancel(5), CancelOutcome::Acknowledged);
    let completion = futures::executor::block_on(ticket);
    match &completion.outcome {
        Outcome::Finished(bytes) => {
            assert_eq!(ResultHeader::decode(bytes).unwrap().status, Status::Cancelled);
        }
        Outcome::Failed(failure) => assert_eq!(*failure, Failure::Cancelled),
    }
    assert_eq!(drive.lost(), None);
    assert!(drive.memory_is_whole());
}

fn loses_the_card(link: Link) {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "emulation");
    let proxy = Arc::new(Proxy::new(card(&path, CardConfig::default())));
    let grace = Duration::from_millis(200);
    let config = Config { grace, ..Config::new("0", &path) };
    let model: Arc<dyn CardModel> = Arc::<Proxy>::clone(&proxy);
    let drive = XrtDrive::open(&config, Some(model)).unwrap();
    works(&drive);
    let scan = Sample::plain(1000);
    let session = session(&drive);
    proxy.set(link);
    let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 5));
    let timeout = Duration::from_millis(100);
    let completion = run_within(session.as_ref(), command.clone(), timeout).unwrap();
    assert_eq!(completion.outcome, Outcome::Failed(Failure::Timeout));
    let reason = drive.lost().unwrap();
    assert_eq!(reason, "a kernel did not end, not even when it was cancelled");
    let refusal = run(session.as_ref(), command).unwrap_err();
    assert_eq!(refusal, Refusal::Gone { reason: reason.clone() });
    assert_eq!(session.cancel(5), CancelOutcome::Lost);
    assert!(drive.reset().is_err());
    drive.shutdown();
    // The runtime waits for ever in its own threads.
    nearscan_xrt::leave(0);
}

fn memory_is_bounded() {
    let drive = open();
    let session = session(&drive);
    let needed_bytes = 5 << 30;
    let refusal = session.lease(needed_bytes).unwrap_err();
    assert_eq!(refusal, Refusal::LowMemory { needed_bytes });
    let all = session.lease(drive.capabilities().memory_bytes).unwrap();
    let command = Sample::plain(10).count_and_sum(&drive, 10, envelope(session.as_ref(), 1));
    assert!(matches!(run(session.as_ref(), command), Err(Refusal::LowMemory { .. })));
    drop(all);
    works(&drive);
}

fn copies_are_counted() {
    for (peer_to_peer, is_copied) in [(PeerToPeer::Auto, false), (PeerToPeer::Off, true)] {
        let drive = open_with(CardConfig::default(), |config| config.peer_to_peer = peer_to_peer);
        let session = session(&drive);
        let scan = Sample::plain(1000);
        let command = scan.rows(&drive, envelope(session.as_ref(), 1));
        let completion = run(session.as_ref(), command.clone()).unwrap();
        completion.check(&command).unwrap();
        let traffic = completion.traffic;
        assert!(traffic.media_bytes > 4000);
        assert_eq!(traffic.host_bytes, if is_copied { traffic.media_bytes } else { 0 });
    }
}

/// A process with surroundings of the user's own.
fn foreign_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("emconfig.json");
    std::fs::write(&file, "{}").unwrap();
    let mut command = child::command("a_card_can_be_opened_again");
    command.env("XCL_EMULATION_MODE", "sw_emu").env("EMULATION_SOCKETID", "mine");
    command.env("USER", "somebody");
    command.env("EMCONFIG_PATH", folder.path()).env("SDACCEL_EM_RUN_DIR", folder.path());
    let output = child::output(&mut command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{}");
}

/// XRT itself, asked for a card on a machine that has none.
fn no_card() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "emulation");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[332] = 0;
    std::fs::write(&path, bytes).unwrap();
    if Path::new("/sys/bus/pci/drivers/xocl").exists() {
        nearscan_skip::skip("without_a_card_xrt_says_so", "there is a card");
        return;
    }
    for target in ["0", "0000:01:00.1"] {
        let error = XrtDrive::open(&Config::new(target, &path), None).unwrap_err().to_string();
        let expected = format!("there is no card {target}: the driver xocl is not loaded");
        assert_eq!(error, expected);
    }
}

fn several_processes() {
    let children: Vec<_> = (0..2)
        .map(|_| {
            std::thread::spawn(|| child::output(&mut child::command("a_card_can_be_opened_again")))
        })
        .collect();
    for child in children {
        let output = child.join().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {said}", output.status);
    }
}

fn wrong_images() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(image(folder.path(), "emulation")).unwrap();
    let path = folder.path().join("wrong.xclbin");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = open_error("0", &path);
        // Its source says what is wrong with it.
        assert!(error.contains("wrong.xclbin cannot be used: "), "{error}");
        error.split_once("cannot be used: ").unwrap().1.to_owned()
    };
    assert_eq!(refused(b"PAR1"), "it is not an xclbin");
    assert!(refused(&whole[..1000]).starts_with("it is cut off"));
    let hash = nearscan_link::KERNELS_HASH.as_bytes();
    let mut other = whole.clone();
    for at in 0..other.len() - hash.len() {
        if other[at..].starts_with(hash) {
            other[at..at + hash.len()].fill(b'0');
        }
    }
    let reason = refused(&other);
    assert!(reason.starts_with("it was made for the kernels 0000000000000000"), "{reason}");
    let missing = open_error("0", &folder.path().join("none.xclbin"));
    assert!(missing.contains("none.xclbin: No such file"), "{missing}");
    let alone = XrtDrive::open(&Config::new("0", image(folder.path(), "emulation")), None);
    assert!(matches!(alone, Err(OpenError::NoModel)), "{alone:?}");
}
