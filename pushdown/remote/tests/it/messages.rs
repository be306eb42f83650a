// SPDX-License-Identifier: Apache-2.0
//! Tests a server with foreign messages: of other versions, too long, or invalid.

use std::sync::Arc;

use arrow_flight::{
    Action, Empty, FlightData, FlightDescriptor, SchemaAsIpc,
    flight_service_client::FlightServiceClient,
};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::{DataType, Field, Schema};
use nearscan_conformance::sample::{Sample, session};
use nearscan_drive::Drive;
use nearscan_emulator::Emulator;
use rstest::rstest;
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};

use crate::bench::{Served, Way, emulated, numbered, run, sums_up, wait};

fn served() -> (Served, String) {
    let served = Served::start(Arc::<Emulator>::clone(&emulated("")), Way::Tcp);
    let uri = format!("http://{}", served.address);
    (served, uri)
}

async fn connect(uri: &str) -> FlightServiceClient<Channel> {
    let channel = Endpoint::from_shared(uri.to_owned()).unwrap().connect().await.unwrap();
    FlightServiceClient::new(channel).max_encoding_message_size(64 << 20)
}

/// The answer to an action.
async fn act(uri: &str, name: &str, body: Vec<u8>) -> Result<Vec<u8>, Status> {
    let answers = connect(uri).await.do_action(Action::new(name, body)).await?;
    Ok(answers.into_inner().message().await?.unwrap().body.to_vec())
}

/// `Hello` as protobuf has it: protocol 1.0 and format 1 are 08 01 18 01.
#[rstest]
#[case::newer_protocol(vec![8, 2, 24, 1], "version 1.9 of the protocol, the client 2.0")]
#[case::no_version(vec![24, 1], "version 1.9 of the protocol, the client 0.0")]
#[case::newer_minor_and_format(vec![8, 1, 16, 9, 24, 3], "the client writes 3")]
fn another_version_is_refused_with_both_versions(#[case] hello: Vec<u8>, #[case] text: &str) {
    let (_served, uri) = served();
    let status = wait(act(&uri, "nearscan.connect", hello)).unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains(text), "{}", status.message());
}

#[test]
fn unknown_fields_of_a_newer_client_are_skipped() {
    let (_served, uri) = served();
    // Field 99 with three bytes.
    let hello = vec![8, 1, 16, 9, 24, 1, 0x9a, 0x06, 3, b'n', b'e', b'w'];
    assert!(!wait(act(&uri, "nearscan.connect", hello)).unwrap().is_empty());
}

/// The fields 4 and 5 are those in which clients of version 1.3 told of the run that they knew.
#[test]
fn client_that_tells_of_another_run_resets_nothing() {
    let (served, uri) = served();
    let drive = served.connect();
    let session = session(&drive);
    let hello = vec![8, 1, 24, 1, 34, 2, b'n', b'o', 40, 100];
    for _ in 0..3 {
        assert!(!wait(act(&uri, "nearscan.connect", hello.clone())).unwrap().is_empty());
    }
    let fresh = served.connect();
    assert_eq!(Drive::epoch(&fresh), Some(session.epoch()));
    let sample = Sample::common(10);
    let command = sample.sum(&drive, numbered(&*session));
    assert!(run(&*session, &command).check(&command).is_ok());
}

#[rstest]
#[case::no_action("nearscan.dance", vec![], Code::Unimplemented)]
#[case::no_message("nearscan.connect", vec![0xff; 9], Code::InvalidArgument)]
#[case::another_run("nearscan.health", vec![10, 2, b'n', b'o'], Code::FailedPrecondition)]
#[case::nobody("nearscan.reset", vec![], Code::FailedPrecondition)]
fn invalid_message_is_refused(#[case] name: &str, #[case] body: Vec<u8>, #[case] code: Code) {
    let (_served, uri) = served();
    assert_eq!(wait(act(&uri, name, body)).unwrap_err().code(), code);
}

#[test]
fn actions_are_listed() {
    let (_served, uri) = served();
    let names = wait(async {
        let mut listed = connect(&uri).await.list_actions(Empty {}).await.unwrap().into_inner();
        let mut names = Vec::new();
        while let Some(action) = listed.message().await.unwrap() {
            names.push(action.r#type);
        }
        names
    });
    assert!(names.contains(&"nearscan.connect".to_owned()), "{names:?}");
    assert_eq!(names.len(), 5);
}

/// The end of an exchange that begins with these messages.
pub(crate) async fn exchange(uri: &str, first: Vec<FlightData>) -> Status {
    let messages = futures::stream::iter(first);
    match connect(uri).await.do_exchange(messages).await {
        Err(status) => status,
        Ok(answers) => match answers.into_inner().message().await {
            Err(status) => status,
            Ok(message) => panic!("{message:?}"),
        },
    }
}

#[test]
fn exchange_without_a_session_is_refused_and_others_continue() {
    let (served, uri) = served();
    let drive = served.connect();
    let descriptor = || FlightDescriptor::new_cmd("nearscan.session");
    let nothing = wait(exchange(&uri, vec![FlightData::new()]));
    assert_eq!(nothing.code(), Code::InvalidArgument);
    let no_terms = FlightData::new().with_descriptor(descriptor());
    assert_eq!(wait(exchange(&uri, vec![no_terms])).code(), Code::InvalidArgument);
    let noise = FlightData::new().with_descriptor(descriptor()).with_app_metadata(vec![0xff; 40]);
    assert_eq!(wait(exchange(&uri, vec![noise])).code(), Code::InvalidArgument);
    assert!(sums_up(&drive));
}

#[test]
fn session_may_begin_with_schema_and_says_what_its_batches_are() {
    let (_served, uri) = served();
    wait(async {
        // Protobuf: the third field is the run of the server.
        let hello = vec![8, 1, 24, 1];
        let welcome = act(&uri, "nearscan.connect", hello).await.unwrap();
        let at = welcome.windows(2).position(|pair| pair == [0x1a, 16]).unwrap() + 2;
        let open = [&[0x0a, 16], &welcome[at..at + 16]].concat();
        let said = [&[0x0a, u8::try_from(open.len()).unwrap()], &open[..]].concat();
        let schema = Schema::new(Vec::<Field>::new());
        let schema: FlightData = SchemaAsIpc::new(&schema, &IpcWriteOptions::default()).into();
        let descriptor = FlightDescriptor::new_cmd("nearscan.session");
        let messages =
            [schema.with_descriptor(descriptor), FlightData::new().with_app_metadata(said)];
        let answers = connect(&uri).await.do_exchange(futures::stream::iter(messages)).await;
        let mut answers = answers.unwrap().into_inner();
        let first = answers.message().await.unwrap().unwrap();
        let schema = Schema::try_from(&first).unwrap();
        assert_eq!(schema.fields().len(), 1);
        assert_eq!(schema.field(0).data_type(), &DataType::Binary);
        // Opened, in epoch 1.
        let second = answers.message().await.unwrap().unwrap();
        assert_eq!(&second.app_metadata[..], [0x0a, 2, 8, 1]);
        assert!(answers.message().await.unwrap().is_none());
    });
}

#[test]
fn too_long_message_is_refused_and_others_continue() {
    let (served, uri) = served();
    let drive = served.connect();
    let descriptor = FlightDescriptor::new_cmd("nearscan.session");
    let long = FlightData::new().with_descriptor(descriptor).with_data_body(vec![0; 5 << 20]);
    let status = wait(exchange(&uri, vec![long]));
    assert_eq!(status.code(), Code::OutOfRange, "{status}");
    assert!(sums_up(&drive));
}
