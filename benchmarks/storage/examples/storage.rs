// SPDX-License-Identifier: Apache-2.0
//! Measures without the program `nearscan`, which takes long to build, and serves for it:
//!
//! ```text
//! storage measure [ROUNDS [BYTES,...]] [tls]
//! storage serve --store DIR --listen HOST:PORT [--tls CERTIFICATE KEY | --link-rate RATE]
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a panic shows where")]
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::{future::pending, ops::ControlFlow, path::Path, sync::Arc};

use nearscan_cpu::{CpuDrive, Options as CpuOptions};
use nearscan_remote::{LinkLimit, Listener, ServerOptions, ServerTls, serve as serve_drive};
use nearscan_storage::{
    Program,
    objects::{Encryption, Plan, run},
};
use nearscan_store::Store;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["measure", rest @ ..] => measure(rest),
        ["serve", "--store", store, "--listen", address, rest @ ..] => serve(store, address, rest),
        _ => panic!("storage measure | serve"),
    }
}

fn measure(words: &[&str]) {
    let sizes = words.get(1).unwrap_or(&"1073741824,67108864,8388608,65536");
    let tls = words.contains(&"tls").then_some(Encryption::Tls);
    let plan = Plan {
        sizes: sizes.split(',').map(|size| size.parse().unwrap()).collect(),
        rounds: words.first().map_or(15, |rounds| rounds.parse().unwrap()),
        turn_bytes: 512 << 20,
        encryptions: [Encryption::None].into_iter().chain(tls).collect(),
        server: Program { path: std::env::current_exe().unwrap(), arguments: vec!["serve".into()] },
        nginx: "/usr/sbin/nginx".into(),
        folder: std::env::temp_dir(),
    };
    match run(&plan, &mut |_| ControlFlow::Continue(())) {
        Ok(report) => println!("{}", report.to_text()),
        Err(error) => println!("{error}\n{:?}\n{:?}", error.detail(), error.hint()),
    }
}

fn serve(store: &str, address: &str, rest: &[&str]) {
    let tls = match rest {
        ["--tls", certificate, key] => Some(ServerTls {
            certificate: std::fs::read(certificate).unwrap(),
            key: std::fs::read(key).unwrap(),
            client_authorities: None,
        }),
        _ => None,
    };
    let bytes_per_s = match rest {
        ["--link-rate", rate] => Some(LinkLimit::parse_rate(rate).unwrap()),
        _ => None,
    };
    let link = LinkLimit { bytes_per_s, ..LinkLimit::NONE };
    let store = Some(Store::open(Path::new(store)).unwrap());
    let drive = Arc::new(CpuDrive::start(CpuOptions::default()).unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = Listener::bind(&address.parse().unwrap()).await.unwrap();
        println!("listening on {}", listener.address());
        let options = ServerOptions { store, tls, link, ..ServerOptions::default() };
        serve_drive(drive, listener, options, pending()).await.unwrap();
    });
}
