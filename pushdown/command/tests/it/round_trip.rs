// SPDX-License-Identifier: Apache-2.0
//! Tests that encoding and decoding round-trips.

use nearscan_command::{Command, Fragment, Output};
use proptest::prelude::*;

use crate::any;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn fragment_survives_a_round_trip(fragment in any::fragment()) {
        fragment.check().unwrap();
        let bytes = fragment.encode().unwrap();
        let back = Fragment::decode(&bytes).unwrap();
        prop_assert_eq!(back.hash(), fragment.hash());
        prop_assert_eq!(back, fragment);
    }

    #[test]
    fn command_survives_a_round_trip(command in any::command()) {
        let bytes = command.encode().unwrap();
        prop_assert_eq!(bytes.len() % 64, 0);
        prop_assert_eq!(Command::decode(&bytes).unwrap(), command);
    }

    #[test]
    fn bytes_after_a_command_are_ignored(command in any::command()) {
        let mut bytes = command.encode().unwrap();
        bytes.extend_from_slice(&[0xa5; 100]);
        prop_assert_eq!(Command::decode(&bytes).unwrap(), command);
    }

    #[test]
    fn different_fragments_have_different_hashes(a in any::fragment(), b in any::fragment()) {
        prop_assert_eq!(a == b, a.hash() == b.hash());
    }

    #[test]
    fn output_bytes_of_a_unit_are_bounded_and_not_zero(command in any::command()) {
        let room = command.unit.output_bytes(&command.fragment);
        prop_assert!((256..=nearscan_command::unit::OUTPUT_BYTES_MAX).contains(&room));
        prop_assert!(command.scratch_bytes() % 64 == 0);
    }

    #[test]
    fn there_is_a_width_for_each_output_column(fragment in any::fragment()) {
        let count = match &fragment.output {
            Output::States { keys, aggregates } => keys.len() + aggregates.len(),
            Output::Rows { columns, .. } => columns.len(),
        };
        prop_assert_eq!(fragment.output_widths().len(), count);
    }
}
