// SPDX-License-Identifier: Apache-2.0
//! Writes the commands of the conformance suite, the messages of the protocol of remote drives, and
//! what else a server reads, as inputs of targets, to begin a corpus with:
//! `seeds FOLDER` makes `FOLDER/TARGET/NUMBER`.
#![forbid(unsafe_code)]

use std::{io, path::Path};

use nearscan_targets::seeds;

/// Random cases beside all the others.
const RANDOM_CASES: u32 = 400;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let of_suite = seeds::of_suite("", RANDOM_CASES);
    let said = [seeds::of_protocol(), seeds::of_server()].concat();
    for (number, seed) in said.iter().chain(&of_suite).enumerate() {
        let targets: &[&str] = match seed.target {
            // Both take calls of the scan kernel.
            "scan" => &["scan", "drives"],
            _ => &[seed.target],
        };
        for target in targets {
            let folder = Path::new(&folder).join(target);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(number.to_string()), &seed.bytes)?;
        }
    }
    Ok(())
}
