// SPDX-License-Identifier: Apache-2.0
//! Tests `nearscan drive replicate` between two servers.

use std::{fs, path::Path};

use rstest::rstest;

use crate::{
    program::{command, finished, run},
    serve::{ANSWER, folder, serve_with},
};

fn program(folder: &Path, arguments: &[&str]) -> (String, String, i32) {
    finished(command(folder).args(arguments).output().unwrap())
}

#[test]
fn collection_is_copied_once_and_the_copy_is_a_table() {
    let folder = folder();
    let folder = folder.path();
    let (_one, one) = serve_with(folder, &["--store", "one"], "127.0.0.1:0");
    let (_other, other) = serve_with(folder, &["--store", "other"], "127.0.0.1:0");
    let copy = format!("COPY (FROM 'n.parquet') TO 'drive://{one}/c/n.parquet'");
    assert_eq!(program(folder, &["-c", &copy]).2, 0);
    let (from, to) = (format!("drive://{one}/c"), format!("drive://{other}/d/"));
    let replicate = ["drive", "replicate", &from, &to];
    let (out, err, status) = program(folder, &replicate);
    assert_eq!((err.as_str(), status), ("", 0));
    assert!(out.starts_with("objects copied: 1 (") && out.ends_with(", unchanged: 0\n"), "{out}");
    let again = "objects copied: 0 (0 bytes), unchanged: 1\n";
    assert_eq!(program(folder, &replicate), (again.to_owned(), String::new(), 0));
    let sum = format!("SELECT count(*) AS n, sum(k) AS s FROM '{to}n.parquet' WHERE k > 10");
    assert_eq!(program(folder, &["-c", &sum]), (ANSWER.to_owned(), String::new(), 0));
}

#[test]
fn server_is_reached_with_the_token_of_its_drive() {
    let folder = folder();
    let folder = folder.path();
    let grant = |name: &str, scopes: &str| {
        let grant = ["drive", "grant", "access.toml", name, "--scope", scopes];
        fs::write(folder.join(name), program(folder, &grant).0).unwrap();
    };
    grant("reader", "read");
    grant("writer", "read,write");
    let access = |store| ["--store", store, "--access", "access.toml"];
    let (_one, one) = serve_with(folder, &access("one"), "127.0.0.1:0");
    let (_other, other) = serve_with(folder, &["--store", "other"], "127.0.0.1:0");
    let writer = format!("remote://{one}?token_file=writer");
    let copy = format!("COPY (FROM 'n.parquet') TO 'drive://{one}/c/n.parquet'");
    assert_eq!(program(folder, &["--drive", &writer, "-c", &copy]).2, 0);
    let (from, to) = (format!("drive://{one}/c"), format!("drive://{other}/c"));
    let replicate =
        |drive: &str| program(folder, &["--drive", drive, "drive", "replicate", &from, &to]);
    let (_, err, status) = replicate(&format!("remote://{one}?token_file=reader"));
    assert_eq!(status, 1);
    assert!(err.starts_with(&format!("error: cannot replicate {from}/ to {to}/\n")), "{err}");
    assert!(err.contains("lacks the scope write"), "{err}");
    assert!(err.contains("hint: it takes the scope read at the first server"), "{err}");
    assert_eq!(replicate(&writer).2, 0);
}

#[rstest]
#[case("drive://127.0.0.1:1", "'drive://127.0.0.1:1' is not drive://HOST:PORT/COLLECTION")]
#[case("s3://bucket/c", "is not drive://HOST:PORT/COLLECTION")]
#[case("drive://127.0.0.1:1/c", "cannot be opened")]
fn collection_that_cannot_be_reached_is_an_error(#[case] url: &str, #[case] text: &str) {
    let (_, err, status) = run(&["drive", "replicate", url, "drive://127.0.0.1:1/d"]);
    assert_eq!(status, 2);
    assert!(err.contains(text), "{err}");
}
