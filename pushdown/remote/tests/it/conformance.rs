// SPDX-License-Identifier: Apache-2.0
//! Runs the conformance suite on remote drives.

use std::{path::Path, sync::Arc};

use nearscan_conformance::{Options, check, check_with};
use nearscan_drive::Drive;
use nearscan_emulator::{Config, Emulator, Profile};
use nearscan_remote::{
    Options as ClientOptions, RemoteDrive, Security, ServerOptions, Tls, TlsOptions,
    access::{Access, Scope},
};
use nearscan_store::{CollectionPath, Quota, Store};
use rstest::rstest;
use sha2::{Digest, Sha256};

use crate::{
    bench::{Peer, Place, Served, Way, eventually, is_empty, options},
    certificates::Certificates,
    in_store::{Counted, InStore},
    security::{tls_of, trusting},
};

#[rstest]
#[case::over_tcp(Way::Tcp)]
#[case::over_a_unix_socket(Way::Unix)]
fn emulated_drive_that_is_served_passes_suite(#[case] way: Way) {
    let emulator = Arc::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
    let served = Served::start(Arc::<Emulator>::clone(&emulator), way);
    let drive = served.connect();
    let report = check(&drive);
    assert!(report.is_clean(), "{report}");
    assert_eq!(drive.in_flight(), 0);
    eventually("all memory is back", || emulator.memory_is_whole());
}

#[test]
fn suite_passes_from_several_threads_at_once() {
    let emulator = Arc::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
    let served = Served::start(Arc::<Emulator>::clone(&emulator), Way::Unix);
    let drive = served.connect();
    std::thread::scope(|scope| {
        for seed in 1..=2 {
            let drive = &drive;
            scope.spawn(move || {
                let options = Options { seed, random_cases: 100, ..Options::default() };
                let report = check_with(drive, &options);
                assert!(report.is_clean(), "{report}");
            });
        }
    });
    eventually("all memory is back", || emulator.memory_is_whole());
}

#[rstest]
#[case::over_tcp(Way::Tcp)]
#[case::over_a_unix_socket(Way::Unix)]
fn suite_passes_from_two_processes_at_once(#[case] way: Way) {
    let emulator = Arc::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
    let served = Served::start(Arc::<Emulator>::clone(&emulator), way);
    let address = served.address.to_string();
    let peers = ["3", "4"].map(|seed| Peer::start(&["check", &address, seed]));
    for mut peer in peers {
        let status = peer.child.wait().unwrap();
        assert!(status.success(), "{}", peer.line());
    }
    eventually("all memory is back", || emulator.memory_is_whole());
}

/// Clients of the tests over TLS; every other one is known by a certificate, the rest by tokens.
const CLIENTS: u64 = 4;

/// Host memory of the server of those tests.
const HOST_BYTES: u64 = 1 << 30;

/// What each of these clients shows, all of which an access file knows.
fn known_clients(file: &Path, certificates: &Certificates) -> Vec<Security> {
    let grant = |number: u64| {
        let scopes = [Scope::Read, Scope::Write].into_iter().collect();
        Access::grant(file, &format!("client-{number}"), scopes).unwrap().reveal()
    };
    let tokens: Vec<String> = (0..CLIENTS).step_by(2).map(grant).collect();
    let digest = Sha256::digest(certificates.client.der());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = std::fs::read_to_string(file).unwrap();
    let scopes = "scopes = [\"read\", \"write\"]";
    let by_certificate =
        format!("[[client]]\nname = \"certified\"\ncertificate_sha256 = \"{hash}\"\n{scopes}\n");
    std::fs::write(file, format!("{text}\n{by_certificate}")).unwrap();
    let client = &certificates.client;
    let identity = (client.certificate.clone().into(), client.key.clone().into());
    let certified = TlsOptions { identity: Some(identity), ..trusting(certificates) };
    let with_token = |token| Security { token: Some(token), tls: Tls::On(trusting(certificates)) };
    let certified = || Security { token: None, tls: Tls::On(certified.clone()) };
    tokens.into_iter().flat_map(|token| [with_token(token), certified()]).collect()
}

/// What the drive of the tests over TLS reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Files,
    Objects,
}

impl Holds {
    /// The cases that a client runs: one of them all, the others those that are random, each other
    /// ones. Each file of an object's case is put first, which takes its time.
    fn prefixes(self, client: u64) -> &'static [&'static str] {
        match (self, client) {
            (Self::Files, 0) => &[""],
            (Self::Files | Self::Objects, _) => &["random", "merged random", "lifecycle"],
        }
    }
}

#[rstest]
#[case::of_files(Holds::Files)]
#[case::of_objects(Holds::Objects)]
fn suite_passes_over_tls_from_four_clients_at_once_and_leaves_nothing(#[case] holds: Holds) {
    let place = Place::new(Way::Tcp);
    let folder = place.folder.path().to_owned();
    let (file, certificates) = (folder.join("access.toml"), Certificates::make());
    let clients = known_clients(&file, &certificates);
    let access = Arc::new(Access::read(&file).unwrap());
    let drive = Counted::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
    let store = (holds == Holds::Objects).then(|| Store::open(&folder.join("store")).unwrap());
    if let Some(store) = &store {
        for number in 0..CLIENTS {
            let collection = CollectionPath::in_default(&format!("c{number}")).unwrap();
            store.create_collection(&collection, Quota::default()).unwrap();
        }
    }
    let server_options = ServerOptions {
        host_bytes_max: HOST_BYTES,
        access: Arc::clone(&access),
        tls: Some(tls_of(&certificates)),
        store,
        ..ServerOptions::default()
    };
    let served = Served::with(Arc::<Counted>::clone(&drive), place, server_options);
    std::thread::scope(|scope| {
        for (number, security) in (0..).zip(clients.clone()) {
            let address = &served.address;
            scope.spawn(move || {
                let suite = Options { seed: 1000 * number, random_cases: 40, ..Options::default() };
                let of_client = ClientOptions { security, ..options() };
                let client = RemoteDrive::connect(address, of_client).unwrap();
                let in_store = InStore::new(client, address, &format!("c{number}"));
                for prefix in holds.prefixes(number) {
                    let suite = Options { prefix: (*prefix).to_owned(), ..suite.clone() };
                    let report = match holds {
                        Holds::Files => check_with(&in_store.drive, &suite),
                        Holds::Objects => check_with(&in_store, &suite),
                    };
                    assert!(report.is_clean(), "{report}");
                }
                assert_eq!(in_store.in_flight(), 0);
                in_store.remove_all();
            });
        }
    });
    eventually("no session and no command is left", || drive.is_idle());
    assert!(drive.has_host_memory(HOST_BYTES));
    let certificate = certificates.client.der();
    for Security { token, .. } in clients {
        let shown = token.is_none().then_some(certificate.as_ref());
        let client = access.authenticate(token.as_deref(), shown).unwrap();
        // There is room for as much as there is only if nothing is in flight.
        eventually("its places are free", || client.enter(u64::MAX).is_ok());
    }
    if holds == Holds::Objects {
        let data = folder.join("store/data");
        let folders: Vec<_> =
            std::fs::read_dir(data).unwrap().map(|it| it.unwrap().path()).collect();
        eventually("no file of the store is left", || folders.iter().all(|it| is_empty(it)));
    }
}
