// SPDX-License-Identifier: Apache-2.0
//! Tests how local files are read where the kernel refuses a ring: the program runs behind a filter
//! of system calls, as in a container, and says so.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::program::finished;

/// Forbids `io_uring_setup`, then becomes the program.
const FILTER: &str = "\
import ctypes, os, struct, sys
ops = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *op) for op in ops))
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
program = Program(len(ops), ctypes.addressof(code))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
";

/// Runs the program behind the filter; nothing if the test cannot be done here.
fn filtered(test: &str, folder: &Path, arguments: &[&str]) -> Option<(String, String, i32)> {
    let python = nearscan_skip::python(test)?;
    let mut command = Command::new(python);
    command.current_dir(folder).args(["-c", FILTER, env!("CARGO_BIN_EXE_nearscan")]);
    let finished = finished(command.args(arguments).stdin(Stdio::null()).output().unwrap());
    if finished.2 == 77 {
        nearscan_skip::skip(test, "this process may not filter its system calls");
        return None;
    }
    Some(finished)
}

#[test]
fn table_says_why_there_is_no_ring_and_files_are_read_all_the_same() {
    let test = "reads::table_says_why_there_is_no_ring_and_files_are_read_all_the_same";
    let folder = tempfile::tempdir().unwrap();
    let sql = "COPY (SELECT value AS k FROM generate_series(1, 1000)) TO 't.parquet'; \
               SET nearscan.scan = 'datafusion'; SELECT sum(k) AS s FROM 't.parquet'; \
               SELECT engine, reason FROM nearscan.io";
    let Some((out, err, status)) = filtered(test, folder.path(), &["-c", sql]) else { return };
    assert_eq!((err.as_str(), status), ("", 0), "{out}");
    assert!(out.contains("s\n500500\nengine,reason\npread,"), "{out}");
    assert!(out.contains("it is forbidden, by a filter of system calls or"), "{out}");
}

#[test]
fn ring_that_was_asked_for_by_name_is_refused() {
    let test = "reads::ring_that_was_asked_for_by_name_is_refused";
    let folder = tempfile::tempdir().unwrap();
    let sql = "SELECT 1 AS a; SET nearscan.io.engine = io_uring; SELECT 2 AS b";
    let Some((out, err, status)) = filtered(test, folder.path(), &["-c", sql]) else { return };
    assert_eq!((out.as_str(), status), ("a\n1\n", 1), "{err}");
    let expected = "error: setting 'nearscan.io.engine' cannot be 'io_uring' here\n  \
                    detail: it is forbidden, by a filter of system calls or \
                    kernel.io_uring_disabled (Operation not permitted (os error 1))\n  \
                    hint: with auto, files are read with pread where there is no io_uring\n";
    assert_eq!(err, expected);
}
