// SPDX-License-Identifier: Apache-2.0
//! Runs one side of a connection in a separate process, for tests that kill it, and for
//! experiments:
//!
//! ```text
//! peer serve [KEY=VALUE ...] --listen ADDRESS [--end-with-stdin]   an emulated drive
//! peer check ADDRESS SEED                                          the suite of all drives
//! peer hold FOLDER ADDRESS                                         a command that never ends
//! peer host [KEY=VALUE ...]                                        a hosted emulated drive
//! ```
//!
//! Each says in a line on standard output how far it has come; `hold` and `host` then wait until
//! standard input ends.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a panic shows where")]
#![expect(clippy::print_stdout, reason = "tests wait for what is printed")]

use std::{future::pending, io, path::Path, sync::Arc, time::Duration};

use nearscan_conformance::{
    ColumnData, Options as Suite, Values, check_with,
    pages::ChunkLayout,
    sample::{Sample, envelope, session, submit},
};
use nearscan_emulator::{Config, Emulator};
use nearscan_remote::{
    Address, HostOptions, HostedDrive, Listener, Options, Program as HostProgram, RemoteDrive,
    ServerOptions, serve, serve_hosted,
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", rest @ ..] => serve_emulated(rest),
        ["check", address, seed] => check(address, seed),
        ["hold", folder, address] => hold(Path::new(folder), address),
        ["host", rest @ ..] => host(rest),
        _ => panic!("peer serve | check | hold | host"),
    }
}

fn serve_emulated(words: &[&str]) {
    let listen = words.iter().position(|word| *word == "--listen").unwrap();
    let address: Address = words[listen + 1].parse().unwrap();
    let parameters = words[..listen].iter().map(|word| word.split_once('=').unwrap());
    let drive = Arc::new(Emulator::open(Config::from_parameters(parameters).unwrap()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = Listener::bind(&address).await.unwrap();
        println!("listening on {}", listener.address());
        let options = ServerOptions { grace: Duration::from_secs(1), ..ServerOptions::default() };
        match words.contains(&"--end-with-stdin") {
            true => serve_hosted(drive, listener, options, pending()).await.unwrap(),
            false => serve(drive, listener, options, pending()).await.unwrap(),
        }
    });
}

fn check(address: &str, seed: &str) {
    let drive = RemoteDrive::connect(&address.parse().unwrap(), Options::default()).unwrap();
    let options = Suite { seed: seed.parse().unwrap(), random_cases: 100, ..Suite::default() };
    let report = check_with(&drive, &options);
    println!("{report}");
    assert!(report.is_clean());
}

fn hold(folder: &Path, address: &str) {
    let column = ColumnData { values: Values::integers(0..10), layout: ChunkLayout::common() };
    let sample = Sample::new(Some(folder), &column);
    let drive = RemoteDrive::connect(&address.parse().unwrap(), Options::default()).unwrap();
    let session = session(&drive);
    let command = sample.sum(&drive, envelope(&*session, 1));
    let ticket = submit(&*session, command, Duration::MAX).unwrap();
    println!("holding");
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
    drop(ticket);
}

fn host(words: &[&str]) {
    let arguments = std::iter::once(&"serve").chain(words).map(Into::into).collect();
    let program = HostProgram { path: std::env::current_exe().unwrap(), arguments };
    let drive = HostedDrive::start(program, HostOptions::default()).unwrap();
    println!("hosting {}", drive.process_id().unwrap());
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
}
