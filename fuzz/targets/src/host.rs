// SPDX-License-Identifier: Apache-2.0
//! Runs the CPU drive on the input of a kernel: device memory becomes a file.

use std::{cell::RefCell, fs::File, os::unix::fs::FileExt, sync::Arc, time::Duration};

use nearscan_command::{Command, InputRef};
use nearscan_cpu::{CpuDrive, Options};
use nearscan_drive::{
    Completion, Drive, Failure, FileRef, Lease, Outcome, Placement, Session, SessionSpec,
    Submission, Unlimited, file_version,
};
use tempfile::TempDir;

/// Time after which a command counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A CPU drive with one file.
struct Host {
    // Before the folder, which holds its file.
    session: Arc<dyn Session>,
    _drive: CpuDrive,
    file: File,
    file_id: u64,
    _folder: TempDir,
}

thread_local! {
    static HOST: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// Runs the command on the CPU drive, `memory` being the device's; `None` when its inputs are not
/// ranges of it.
pub(crate) fn run(command: &Command, memory: &[u8]) -> Option<Completion> {
    HOST.with_borrow_mut(|host| host.get_or_insert_with(Host::start).run(command, memory))
}

impl Host {
    fn start() -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        let path = folder.path().join("memory");
        let file = File::create(&path).expect("a temporary file");
        let drive = CpuDrive::start(Options { threads: 1, in_flight_max: 1 }).expect("a thread");
        let located = drive.locate(&FileRef::of(&path).expect("a temporary file"));
        let Placement::Here { file_id } = located else { panic!("{located:?}") };
        let spec = SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
        let session = drive.open_session(spec).expect("a session");
        Self { session, _drive: drive, file, file_id, _folder: folder }
    }

    fn run(&mut self, command: &Command, memory: &[u8]) -> Option<Completion> {
        self.file.set_len(memory.len() as u64).expect("a temporary file");
        self.file.write_all_at(memory, 0).expect("a temporary file");
        let version = file_version(&self.file.metadata().expect("a temporary file"));
        let mut command = command.clone();
        for input in &mut command.unit.inputs {
            let InputRef::DeviceRange { offset, length, .. } = *input else { return None };
            *input = InputRef::FileRange { file_id: self.file_id, version, offset, length };
        }
        command.envelope.epoch = self.session.epoch();
        command.envelope.deadline_ns = u64::MAX;
        // A drive is sent bytes, which are checked once more.
        let command = Command::decode(&command.encode().ok()?).ok()?;
        let lease = Lease::new(0, |_| ());
        let submission = Submission { work: command.into(), lease, timeout: PATIENCE };
        let ticket = self.session.submit(submission).expect("the drive takes one command");
        let completion = futures::executor::block_on(ticket);
        match &completion.outcome {
            Outcome::Finished(_) | Outcome::Failed(Failure::Read { .. }) => Some(completion),
            Outcome::Failed(failure) => panic!("the CPU drive failed: {failure}"),
        }
    }
}
