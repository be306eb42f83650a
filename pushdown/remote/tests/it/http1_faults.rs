// SPDX-License-Identifier: Apache-2.0
//! Walks the faults of connections over HTTP/1.1: at each head and each part of a body they close,
//! fall silent or are late, while a client puts an object and reads it.
//!
//! As long as the connection of gRPC is there, the client reads on over it, and the bytes are those
//! that were put; otherwise it says that the server is gone. Nothing is left of it in the server.

use std::time::Duration;

use nearscan_drive::clock::Stopwatch;
use nearscan_links::{After, Direction, Fault, Link, Place, Strike, Wire};
use nearscan_remote::{Address, RemoteDrive};
use rstest::rstest;

use crate::{
    link_faults::{Bench, End, OBJECT_BYTES, PLACES_MAX, RUN_MAX, behind, options, put_and_read},
    objects::noise,
};

/// Puts and reads an object over a link; gives whether its fault struck.
fn run(bench: &Bench, strike: Strike, bytes: &[u8]) -> bool {
    let link = Link::open_for(bench.address(), Wire::Http1).unwrap();
    link.strike(strike);
    let address: Address = link.address().to_string().parse().unwrap();
    let watch = Stopwatch::start();
    let drive = RemoteDrive::connect(&address, options(strike.fault)).unwrap();
    let end = put_and_read(&drive, bench, bytes);
    drop(drive);
    assert!(watch.elapsed() < RUN_MAX, "{strike:?}: {:?}", watch.elapsed());
    let has_struck = link.has_struck();
    let keeps_grpc = strike.after == After::Recovers || matches!(strike.fault, Fault::IsLate(_));
    if !has_struck || keeps_grpc {
        assert_eq!(end, End::Right, "{strike:?}");
    }
    bench.clear();
    drop(link);
    has_struck
}

#[rstest]
fn every_part_of_an_answer_may_be_the_last_or_late_and_grpc_goes_on(
    #[values(Fault::Closes, Fault::FallsSilent, Fault::IsLate(Duration::from_millis(150)))]
    fault: Fault,
    #[values(After::Recovers, After::StaysDown)] after: After,
) {
    let (bench, bytes) = (Bench::new(), noise(OBJECT_BYTES));
    let strike = |direction, number| Strike { fault, place: Place { direction, number }, after };
    assert!(run(&bench, strike(Direction::ToServer, 0), &bytes), "there was no request");
    let mut struck = 0;
    let mut number = 0;
    while run(&bench, strike(Direction::ToClient, number), &bytes) {
        assert!(number < PLACES_MAX, "the walk does not end");
        struck += 1;
        number = behind(number);
    }
    // The head, and parts of 256 KiB.
    assert!(struck > 25 && number > 36, "only {struck} parts were struck, up to {number}");
}
