// SPDX-License-Identifier: Apache-2.0
//! Checks that reading ahead keeps to the scan's order and to its bound of memory.

use std::sync::Arc;

use nearscan_io::{AheadRequest, Charge, Error, LocalReadAhead, Options, ReadAhead, Reader};

use crate::{
    helpers::{Sample, engines, survivable},
    pool::Limited,
};

const LENGTH: usize = 2 << 20;
const REQUEST: u64 = 128 << 10;

fn requests(sample: &Sample, reader: &Reader) -> Vec<AheadRequest> {
    let file = reader.open(sample.file.path()).unwrap();
    // Backwards: the order is the scan's, not the file's.
    let starts = (0..16).rev().map(|at| at * REQUEST);
    starts.map(|start| AheadRequest { file: file.clone(), range: start..start + REQUEST }).collect()
}

fn expected<'a>(sample: &'a Sample, request: &AheadRequest) -> &'a [u8] {
    let from = usize::try_from(request.range.start).unwrap();
    &sample.bytes[from..from + usize::try_from(REQUEST).unwrap()]
}

#[test]
fn requests_come_in_the_order_of_the_scan_within_the_bound() {
    let sample = Sample::new(LENGTH);
    for engine in engines("ahead::requests_come_in_the_order_of_the_scan_within_the_bound") {
        sample.make_cold();
        let options = Options { engine, request_bytes: 32 << 10, ..Options::default() };
        let reader = Reader::builder(&options).wrap(survivable(5).wrap()).start().unwrap();
        let requests = requests(&sample, &reader);
        let limited = Limited::new(u64::MAX);
        let charge: Arc<dyn Charge> = Arc::<Limited>::clone(&limited);
        let mut ahead = ReadAhead::new(&reader, requests.clone(), 4 * REQUEST, charge);
        assert_eq!(ahead.bytes_ahead(), 0);
        ahead.fill().unwrap();
        assert_eq!(ahead.bytes_ahead(), 4 * REQUEST);
        for request in &requests {
            let bytes = ahead.next_blocking().unwrap().unwrap();
            assert!(bytes == expected(&sample, request));
            assert!(ahead.bytes_ahead() <= 4 * REQUEST);
            // What the scan holds and what is ahead of it.
            assert!(u64::MAX - limited.left() <= 5 * REQUEST);
        }
        assert!(ahead.next_blocking().is_none());
        assert_eq!(limited.left(), u64::MAX);
    }
}

#[test]
fn little_memory_shortens_the_lead_and_none_is_an_error() {
    let sample = Sample::new(LENGTH);
    let reader = Reader::new(&Options::default()).unwrap();
    let mut local = reader.local().unwrap();
    let requests = requests(&sample, &reader);
    let limited = Limited::new(2 * REQUEST);
    let charge: Arc<dyn Charge> = Arc::<Limited>::clone(&limited);
    let mut ahead = ReadAhead::new(&reader, requests.clone(), u64::MAX, Arc::clone(&charge));
    for request in &requests {
        assert!(ahead.next_blocking().unwrap().unwrap() == expected(&sample, request));
    }
    let mut beside = LocalReadAhead::new(requests.clone(), u64::MAX, Arc::clone(&charge));
    for request in &requests {
        assert!(beside.next(&mut local).unwrap().unwrap() == expected(&sample, request));
    }
    assert_eq!(limited.left(), 2 * REQUEST);

    let mut ahead = ReadAhead::new(&reader, requests, u64::MAX, charge);
    let held = [ahead.next_blocking().unwrap().unwrap(), ahead.next_blocking().unwrap().unwrap()];
    let refused = ahead.next_blocking();
    assert!(matches!(refused, Some(Err(Error::Memory { .. }))), "{refused:?}");
    assert!(ahead.next_blocking().is_none(), "it is over after an error");
    drop(held);
    assert_eq!(limited.left(), 2 * REQUEST);
}

#[test]
fn long_request_is_read_beyond_the_bound() {
    let sample = Sample::new(LENGTH);
    let reader = Reader::new(&Options::default()).unwrap();
    let file = reader.open(sample.file.path()).unwrap();
    let requests = vec![AheadRequest { file, range: 5..LENGTH as u64 - 5 }];
    let charge = Limited::new(u64::MAX);
    let mut ahead = ReadAhead::new(&reader, requests, 1, charge);
    assert!(ahead.next_blocking().unwrap().unwrap() == sample.bytes[5..LENGTH - 5]);
}
