// SPDX-License-Identifier: Apache-2.0
//! Tests that seeds are commands that run: a corpus of refusals would be useless.

use std::sync::atomic::AtomicU32;

use nearscan_command::{Command, ResultHeader, Status};
use nearscan_models::zeroed_lines;
use nearscan_targets::{TARGETS, call::Call, seeds};

#[test]
fn seeds_of_the_suite_are_calls_of_valid_commands() {
    let seeds = seeds::of_suite("arithmetic", 0);
    let scans: Vec<_> = seeds.iter().filter(|seed| seed.target == "scan").collect();
    assert!(scans.len() > 10, "{}", scans.len());
    for seed in scans {
        let call = Call::parse(&seed.bytes).unwrap();
        assert!(Command::decode(&call.command).is_ok());
        assert_eq!(call.to_bytes().unwrap(), seed.bytes);
    }
}

#[test]
fn seeds_of_the_protocol_are_messages_and_are_answered() {
    let seeds = seeds::of_protocol();
    let refused = seeds.iter().filter(|seed| !nearscan_targets::messages(&seed.bytes)).count();
    // What is said to a server that has none of the objects is refused, if it is understood.
    assert!(seeds.len() > 45 && refused < 15, "{refused} of {} are refused", seeds.len());
}

#[test]
fn seeds_of_the_server_are_mostly_not_refused() {
    let seeds = seeds::of_server();
    for target in ["packages", "handlers", "commands", "heads"] {
        let (_, run) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
        let of_target = seeds.iter().filter(|seed| seed.target == target);
        let (far, refused): (Vec<_>, Vec<_>) = of_target.partition(|seed| run(&seed.bytes));
        assert!(far.len() >= 4 && refused.len() <= 2, "{target}: {} refused", refused.len());
    }
}

#[test]
fn most_seeds_of_merges_succeed() {
    let seeds = seeds::of_suite("merged", 0);
    let mut ends = Vec::new();
    for seed in seeds.iter().filter(|seed| seed.target == "merge") {
        let call = Call::parse(&seed.bytes).unwrap();
        let mut lines = zeroed_lines(call.memory.len());
        bytemuck::cast_slice_mut::<_, u8>(&mut lines).copy_from_slice(&call.memory);
        let mut output = vec![0; 1 << 14];
        let ended = nearscan_models::merge(&call.command, &lines, &mut output, &AtomicU32::new(0));
        ended.unwrap();
        ends.push(ResultHeader::decode(bytemuck::cast_slice(&output)).unwrap().status);
    }
    let good = ends.iter().filter(|status| **status == Status::Ok).count();
    assert!(good > 10 && 2 * good > ends.len(), "{ends:?}");
}

#[test]
fn target_takes_any_bytes() {
    for (_, run) in TARGETS {
        for length in [0, 1, 2, 3, 100] {
            run(&vec![0; length]);
            run(&vec![0xff; length]);
        }
    }
}
