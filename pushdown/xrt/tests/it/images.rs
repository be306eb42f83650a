// SPDX-License-Identifier: Apache-2.0
//! Tests drives whose images are narrow, or that have two of them, on XRT's own software emulation.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nearscan_conformance::{
    Options, check_with,
    sample::{Sample, envelope, merge, modelled, run, run_within, session},
};
use nearscan_drive::{Drive, Failure, Outcome, Work, clock::pause};
use nearscan_emulator::{Config as CardConfig, EmulatedCard, Emulator};
use nearscan_xrt::{Config, XrtDrive, read_image};
use tempfile::TempDir;

use crate::{
    emulation::{card, image, works},
    proxy::Proxy,
    trial::{Runtime, Trial},
};

pub(crate) fn trials() -> Vec<Trial> {
    let xrt = |name, body| Trial::new(name, Runtime::Xrt, body);
    vec![
        xrt("a_narrow_image_makes_a_narrow_drive", narrow_images),
        xrt("a_drive_of_two_images_loads_the_one_that_a_command_needs", two_images),
        xrt("an_image_that_cannot_be_loaded_fails_its_command_alone", image_that_cannot_be_loaded),
        xrt("a_command_that_waits_for_an_image_does_not_lose_the_card", slow_exchange),
        xrt("images_that_cannot_replace_each_other_are_refused", unequal_images),
    ]
}

/// A drive with the images of the default emulated one; the second stands in that file.
fn drive_of_two_images() -> (TempDir, PathBuf, XrtDrive) {
    let folder = tempfile::tempdir().unwrap();
    let first = image(folder.path(), "smartssd_scan");
    let merging = image(folder.path(), "smartssd_scan_merge");
    let config = Config { merge_xclbin: Some(merging.clone()), ..Config::new("0", first.clone()) };
    let images = [&first, &merging].map(|path| read_image(path).unwrap());
    let model = EmulatedCard::new(&images[0], Some(&images[1]), CardConfig::default());
    let drive = XrtDrive::open(&config, Some(Arc::new(model))).unwrap();
    (folder, merging, drive)
}

/// A drive that exchanges images behaves like the default emulated one, which does, too.
fn two_images() {
    let (_folder, _merging, drive) = drive_of_two_images();
    let twin = Emulator::open(CardConfig::default());
    let merge_limits = |drive: &dyn Drive| {
        let can = drive.capabilities();
        (can.columns_max, can.merge_columns_max, can.merge_inputs_max)
    };
    assert_eq!(merge_limits(&drive), merge_limits(&twin));
    let samples = [500, 700].map(Sample::plain);
    let times = |drive: &dyn Drive| {
        let session = session(drive);
        let wide = |id| Work::from(samples[0].columns(drive, 6, envelope(session.as_ref(), id)));
        let merge = |id| Work::from(merge(&samples, drive, envelope(session.as_ref(), id)));
        [wide(1), merge(20), merge(30), wide(2)].map(|work| {
            let completion = run(session.as_ref(), work).unwrap();
            assert!(matches!(completion.outcome, Outcome::Finished(_)), "{completion:?}");
            let time = modelled(&completion);
            (time.exchange_ns, time.serial_ns(), drive.snapshot().image)
        })
    };
    let found = times(&drive);
    assert_eq!(found, times(&twin));
    assert_eq!(found.map(|(exchange_ns, ..)| exchange_ns > 0), [false, true, false, true]);
    let options = Options { prefix: "merged".to_owned(), ..Options::default() };
    let report = check_with(&drive, &options);
    assert!(report.is_clean() && report.cases > 0, "{report}");
    assert!(drive.memory_is_whole());
}

fn image_that_cannot_be_loaded() {
    let (_folder, merging, drive) = drive_of_two_images();
    let session = session(&drive);
    let samples = [500, 700].map(Sample::plain);
    let command = |id| merge(&samples, &drive, envelope(session.as_ref(), id));
    let bytes = std::fs::read(&merging).unwrap();
    std::fs::remove_file(&merging).unwrap();
    let failed = run(session.as_ref(), command(20)).unwrap();
    let Outcome::Failed(Failure::Kernel { reason }) = &failed.outcome else { panic!("{failed:?}") };
    assert!(reason.contains("another image cannot be loaded"), "{reason}");
    // A scan finds the card without an image, and loads its own; so does a merge, once it is there.
    works(&drive);
    std::fs::write(&merging, bytes).unwrap();
    let merged = run(session.as_ref(), command(30)).unwrap();
    assert!(matches!(merged.outcome, Outcome::Finished(_)), "{merged:?}");
}

fn slow_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["smartssd_scan", "smartssd_scan_merge"].map(|name| image(folder.path(), name));
    let images = [0, 1].map(|at| read_image(&paths[at]).unwrap());
    let model = EmulatedCard::new(&images[0], Some(&images[1]), CardConfig::default());
    let proxy = Arc::new(Proxy::new(model));
    let [first, merging] = paths;
    let grace = Duration::from_millis(100);
    let config = Config { merge_xclbin: Some(merging), grace, ..Config::new("0", first) };
    let drive = XrtDrive::open(&config, Some(Arc::<Proxy>::clone(&proxy))).unwrap();
    let session = session(&drive);
    let samples = [500, 700].map(Sample::plain);
    let merge = |id| merge(&samples, &drive, envelope(session.as_ref(), id));
    let scan = |id| samples[0].columns(&drive, 6, envelope(session.as_ref(), id));
    proxy.set_load_time(Duration::from_secs(1));
    let timeout = Duration::from_millis(200);
    let loads = proxy.loads();
    std::thread::scope(|scope| {
        let begun = scope.spawn(|| run_within(session.as_ref(), merge(20), timeout).unwrap());
        while proxy.loads() == loads && !begun.is_finished() {
            pause(Duration::from_millis(1));
        }
        // One waits for the card while the other loads it.
        let waits = scope.spawn(|| run_within(session.as_ref(), scan(1), timeout).unwrap());
        for ended in [begun.join().unwrap(), waits.join().unwrap()] {
            assert_eq!(ended.outcome, Outcome::Failed(Failure::Timeout));
        }
    });
    assert_eq!(drive.lost(), None);
    proxy.set_load_time(Duration::ZERO);
    works(&drive);
    let merged = run(session.as_ref(), merge(30)).unwrap();
    assert!(matches!(merged.outcome, Outcome::Finished(_)), "{merged:?}");
}

fn unequal_images() {
    let folder = tempfile::tempdir().unwrap();
    let [first, merging] = ["smartssd_scan", "emulation"].map(|name| image(folder.path(), name));
    let config = Config { merge_xclbin: Some(merging), ..Config::new("0", first) };
    let error = XrtDrive::open(&config, None).unwrap_err().to_string();
    assert!(error.contains("different numbers of units that scan"), "{error}");
}

fn narrow_images() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "smartssd_scan");
    let model = Arc::new(card(&path, CardConfig::default()));
    let drive = XrtDrive::open(&Config::new("0", &path), Some(model)).unwrap();
    let capabilities = drive.capabilities();
    assert_eq!((capabilities.columns_max, capabilities.merge_inputs_max), (7, 0));
    assert!(capabilities.emulated);
    works(&drive);
    let options = Options { random_cases: 60, prefix: "random".to_owned(), ..Options::default() };
    let report = check_with(&drive, &options);
    assert!(report.is_clean() && report.cases > 0, "{report}");
}
