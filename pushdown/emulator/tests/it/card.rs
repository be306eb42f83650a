// SPDX-License-Identifier: Apache-2.0
//! Tests the emulated card with hand-made calls in the protocol of XRT's software emulation.

use std::{
    fs::File,
    io::{Read, Write},
    os::unix::{
        fs::FileExt,
        net::{UnixListener, UnixStream},
    },
    sync::Arc,
};

use nearscan_command::{Command, Envelope, InputRef, OutputRef, ResultHeader, Status};
use nearscan_conformance::{Random, sample::Sample};
use nearscan_drive::CardModel;
use nearscan_emulator::{Config, EmulatedCard};
use nearscan_link::{
    IMAGES, Image, KERNELS_HASH,
    metadata::{Format, xml},
    xclbin,
};

use crate::scan::open;

/// The runtime's side of a session.
struct Runtime {
    stream: UnixStream,
    folder: tempfile::TempDir,
}

/// A field of a message.
enum Field<'a> {
    Number(u8, u64),
    Bytes(u8, &'a [u8]),
}

use Field::{Bytes, Number};

/// The address of the registers of the first unit.
const UNIT: u64 = 0x180_0000;

fn make_memory(bytes: u64) -> std::io::Result<File> {
    let file = tempfile::tempfile()?;
    file.set_len(bytes)?;
    Ok(file)
}

impl Runtime {
    fn start(faults: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("card");
        let listener = UnixListener::bind(&socket).unwrap();
        let format = Format { major: 1, minor: 3 };
        let image = Image::read(&xclbin::emulation(&IMAGES[0], format), format).unwrap();
        let config = Config::from_parameters([("faults", faults)]).unwrap();
        Arc::new(EmulatedCard::new(&image, None, config)).serve(listener, make_memory).unwrap();
        Self { stream: UnixStream::connect(socket).unwrap(), folder }
    }

    /// Sends a call; gives the body of its answer.
    fn call(&mut self, number: u32, fields: &[Field<'_>]) -> Vec<u8> {
        let mut body = Vec::new();
        for field in fields {
            match field {
                Number(field, value) => {
                    body.push(field << 3 | 1);
                    body.extend(value.to_le_bytes());
                }
                Bytes(field, bytes) => {
                    body.extend([field << 3 | 2, 0x80, 0x80, 0x80, 0x80, 0]);
                    let length = u32::try_from(bytes.len()).unwrap();
                    let at = body.len() - 5;
                    for (place, shift) in (0..5).map(|place| (place, 7 * place)) {
                        let more = if place < 4 { 0x80 } else { 0 };
                        body[at + place] = u8::try_from(length >> shift & 0x7f).unwrap() | more;
                    }
                    body.extend_from_slice(bytes);
                }
            }
        }
        self.call_with(number, &body)
    }

    fn call_with(&mut self, number: u32, body: &[u8]) -> Vec<u8> {
        let mut message = vec![0x09];
        message.extend((body.len() as u64).to_le_bytes());
        message.push(0x15);
        message.extend(number.to_le_bytes());
        message.extend_from_slice(body);
        self.stream.write_all(&message).unwrap();
        let mut header = [0; 9];
        self.stream.read_exact(&mut header).unwrap();
        assert_eq!(header[0], 0x09);
        let length = u64::from_le_bytes(header[1..].try_into().unwrap());
        let mut body = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut body).unwrap();
        body
    }

    fn load(&mut self, marker: &str) -> bool {
        let [metadata, bitstream] = ["xml", "marker"].map(|name| self.folder.path().join(name));
        std::fs::write(&metadata, xml(&IMAGES[0])).unwrap();
        std::fs::write(&bitstream, marker).unwrap();
        let [metadata, bitstream] = [&metadata, &bitstream].map(|path| path.to_str().unwrap());
        let answer = self.call(3, &[Bytes(1, metadata.as_bytes()), Bytes(2, bitstream.as_bytes())]);
        answer == [0x08, 1]
    }

    fn allocate(&mut self, address: u64, bytes: u64) -> String {
        let answer = self.call(4, &[Number(1, address), Number(2, bytes), Number(3, 1)]);
        assert_eq!(answer[..3], [0x08, 1, 0x12]);
        String::from_utf8(answer[4..].to_vec()).unwrap()
    }

    fn copy_in(&mut self, address: u64, bytes: &[u8]) {
        let length = bytes.len() as u64;
        self.call(6, &[Number(3, address), Bytes(4, bytes), Number(5, length)]);
    }

    /// Starts the first unit. Its loaders have the memories of input and scratch too, and its lanes
    /// write scratch through a port of their own.
    fn start_unit(&mut self, arguments: [u64; 5]) {
        let mut registers = vec![0; 0x70];
        let again = [arguments[1], arguments[3], arguments[3]];
        for (index, argument) in arguments.into_iter().chain(again).enumerate() {
            let at = 0x10 + 12 * index;
            registers[at..at + 8].copy_from_slice(&argument.to_le_bytes());
        }
        for control in [0, 1] {
            registers[0] = control;
            let answer = self.call(9, &[Number(2, UNIT), Bytes(4, &registers)]);
            assert_eq!(answer, [0x08, 1]);
        }
    }

    /// The control register of the first unit.
    fn control(&mut self) -> u8 {
        let answer = self.call(11, &[Number(2, UNIT), Number(3, 4)]);
        assert_eq!((&answer[..4], &answer[5..]), (&[0x08, 1, 0x12, 4][..], &[0, 0, 0][..]));
        answer[4]
    }

    fn wait(&mut self) {
        let states: Vec<u8> =
            std::iter::repeat_with(|| self.control()).take_while(|state| *state != 6).collect();
        assert!(states.iter().all(|state| *state == 1), "{states:?}");
        assert_eq!(self.control(), 4);
    }
}

/// A scan as a kernel reads it, its input read into memory, and the bytes of its output.
fn bound(scan: &Sample) -> (Command, Vec<u8>, Vec<u8>) {
    let drive = open("");
    let envelope = Envelope { command_id: 3, ..Envelope::default() };
    let mut command = scan.count_and_sum(&drive, 10, envelope);
    let InputRef::FileRange { length, .. } = command.unit.inputs[0] else { panic!("a file") };
    command.unit.inputs = vec![InputRef::DeviceRange { lease: 0, offset: 0, length }];
    let bytes_max = command.output.bytes_max();
    command.output = OutputRef::DeviceRange { lease: 0, offset: 0, bytes_max };
    let words = command.encode().unwrap();
    (command, words, std::fs::read(scan.file().path).unwrap())
}

/// Addresses of the arguments.
const ARGUMENTS: [u64; 5] = [0, 0x10_0000, 0x20_0000, 0x30_0000, 0x40_0000];

/// A session with everything in place for a scan; also the file of its output.
fn prepared(faults: &str, scan: &Sample) -> (Runtime, Command, File) {
    let (command, words, input) = bound(scan);
    let mut runtime = Runtime::start(faults);
    assert!(runtime.load(KERNELS_HASH));
    let files: Vec<String> =
        ARGUMENTS.iter().map(|address| runtime.allocate(*address, 1 << 16)).collect();
    runtime.copy_in(ARGUMENTS[0], &words);
    runtime.copy_in(ARGUMENTS[1], &input);
    let output = File::open(&files[2]).unwrap();
    (runtime, command, output)
}

fn result_in(output: &File) -> ResultHeader {
    let mut bytes = vec![0; 1 << 12];
    output.read_exact_at(&mut bytes, 0).unwrap();
    ResultHeader::decode(&bytes).unwrap()
}

#[test]
fn kernel_runs_on_buffers_that_runtime_maps() {
    let (mut runtime, command, output) = prepared("", &Sample::plain(1000));
    assert_eq!(runtime.control(), 4);
    for _ in 0..3 {
        runtime.start_unit(ARGUMENTS);
        runtime.wait();
        let header = result_in(&output);
        assert_eq!((header.status, header.rows_in), (Status::Ok, 1000));
        assert_eq!(header.command_id, command.envelope.command_id);
    }
}

#[test]
fn kernel_with_an_invalid_address_ends_without_a_result() {
    let (mut runtime, _, output) = prepared("", &Sample::plain(10));
    runtime.start_unit([0, 0x10_0000, 0x20_0000, 0x30_0000, 0x77_0000]);
    runtime.wait();
    let mut bytes = [1; 256];
    output.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, [0; 256]);
}

#[test]
fn cancel_word_that_is_written_reaches_kernel() {
    let (mut runtime, _, output) = prepared("", &Sample::plain(10));
    // Before the start it is a word like any other, which the kernel finds set.
    runtime.copy_in(ARGUMENTS[4], &1u32.to_le_bytes());
    runtime.start_unit(ARGUMENTS);
    runtime.wait();
    assert_eq!(result_in(&output).status, Status::Cancelled);
    runtime.copy_in(ARGUMENTS[4], &0u32.to_le_bytes());
    runtime.start_unit(ARGUMENTS);
    runtime.wait();
    assert_eq!(result_in(&output).status, Status::Ok);
}

#[test]
fn image_for_other_kernels_does_not_load() {
    let mut runtime = Runtime::start("");
    assert!(!runtime.load("no bitstream: kernels 0000000000000000"));
    assert!(runtime.load(KERNELS_HASH));
}

#[test]
fn invalid_call_is_answered() {
    let mut runtime = Runtime::start("");
    assert!(runtime.load(KERNELS_HASH));
    let mut random = Random::new(7);
    for _ in 0..3000 {
        let length = random.below(64);
        let body: Vec<u8> = (0..length).map(|_| random.word().to_le_bytes()[0]).collect();
        let number = u32::try_from(random.below(60)).unwrap();
        // Closing the device is the one call that ends the session.
        if number != 1 && number != 4 {
            assert!(!runtime.call_with(number, &body).is_empty(), "{number} {body:?}");
        }
    }
    assert_eq!(runtime.call(1, &[Number(3, 0)]), [0x08, 1]);
    assert_eq!(runtime.call(1, &[Number(3, 1)]), [0x08, 1]);
    assert_eq!(runtime.stream.read(&mut [0]).unwrap(), 0);
}
