// SPDX-License-Identifier: Apache-2.0
//! Tests what an access file may hold, and that errors say where and never show a token.

use std::{fs::Permissions, os::unix::fs::PermissionsExt};

use rstest::rstest;

use super::{super::token::Token, *};

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A file of clients, each with these lines; `A` and `B` stand for hashes.
fn text(clients: &[&str]) -> String {
    let block = |lines: &&str| format!("[[client]]\n{}\n", lines.replace("; ", "\n"));
    let text: String = clients.iter().map(block).collect();
    text.replace("\"A\"", &format!("\"{A}\"")).replace("\"B\"", &format!("\"{B}\""))
}

fn parsed(clients: &[&str]) -> Result<Vec<Entry>, AccessError> {
    parse(Path::new("access.toml"), &text(clients))
}

#[test]
fn clients_are_read() {
    let first = r#"name = "etl"; token_sha256 = "A"; scopes = ["read", "write"]"#;
    let second = r#"name = "ops@b-1_c.d"; certificate_sha256 = "A"; token_sha256 = "B"
        scopes = ["admin"]; requests_in_flight = 3; bytes_in_flight = 5000000000"#;
    let clients = parsed(&[first, second]).unwrap();
    let [first, second] = clients.as_slice() else { panic!("{clients:?}") };
    assert_eq!(first.name, "etl");
    let token = Digest::from_hex(A);
    assert_eq!(first.secrets, Secrets { token, certificate: None });
    let scopes = Scopes::from_iter([Scope::Read, Scope::Write]);
    assert_eq!(first.terms, Terms { scopes, requests_max: None, bytes_max: None });
    assert_eq!(second.name, "ops@b-1_c.d");
    let secrets = Secrets { token: Digest::from_hex(B), certificate: Digest::from_hex(A) };
    assert_eq!(second.secrets, secrets);
    let (requests_max, bytes_max) = (Some(3), Some(5_000_000_000));
    let scopes = Scopes::from_iter([Scope::Admin]);
    assert_eq!(second.terms, Terms { scopes, requests_max, bytes_max });
    assert!(parsed(&[]).unwrap().is_empty());
}

#[rstest]
#[case(r#"name = ""; token_sha256 = "A"; scopes = ["read"]"#, 2, "name", Problem::Name)]
#[case(r#"name = "a b"; token_sha256 = "A"; scopes = ["read"]"#, 2, "name", Problem::Name)]
#[case(r#"name = "é"; token_sha256 = "A"; scopes = ["read"]"#, 2, "name", Problem::Name)]
#[case(r#"name = "(anyone)"; token_sha256 = "A"; scopes = ["read"]"#, 2, "name", Problem::Name)]
#[case(r#"name = "e"; token_sha256 = "xyz"; scopes = ["read"]"#, 3, "token_sha256", Problem::Hash)]
#[case(
    r#"name = "e"; scopes = ["read"]; certificate_sha256 = "AB""#,
    4,
    "certificate_sha256",
    Problem::Hash
)]
#[case(r#"name = "e"; scopes = []; token_sha256 = "A""#, 3, "scopes", Problem::Empty)]
#[case(r#"name = "e"; token_sha256 = "A"; scopes = ["red"]"#, 4, "scopes", Problem::Scope)]
#[case(r#"name = "e"; scopes = ["read"]"#, 1, "client", Problem::NoSecret)]
#[case(
    r#"name = "e"; token_sha256 = "A"; scopes = ["read"]; requests_in_flight = 0"#,
    5,
    "requests_in_flight",
    Problem::Zero
)]
#[case(
    r#"name = "e"; token_sha256 = "A"; scopes = ["read"]; bytes_in_flight = 0"#,
    5,
    "bytes_in_flight",
    Problem::Zero
)]
fn wrong_field_is_refused_with_its_line(
    #[case] client: &str,
    #[case] expected_line: usize,
    #[case] expected_field: &str,
    #[case] expected_problem: Problem,
) {
    match parsed(&[client]).unwrap_err() {
        AccessError::Field { line, field, problem, .. } => assert_eq!(
            (line, field, problem),
            (expected_line, expected_field, expected_problem),
            "{client}"
        ),
        other => panic!("{other}"),
    }
}

#[rstest]
#[case(r#"name = "e"; token_sha256 = "B"; scopes = ["read"]"#, "name", 6, 2)]
#[case(r#"name = "f"; token_sha256 = "A"; scopes = ["read"]"#, "token_sha256", 7, 3)]
fn what_two_clients_have_is_refused_with_both_lines(
    #[case] second: &str,
    #[case] field: &str,
    #[case] line: usize,
    #[case] first_line: usize,
) {
    let first = r#"name = "e"; token_sha256 = "A"; scopes = ["read"]"#;
    let error = parsed(&[first, second]).unwrap_err().to_string();
    let expected =
        format!("access.toml:{line}: {field}: the client of line {first_line} has it too");
    assert_eq!(error, expected);
}

#[test]
fn two_clients_of_one_line_are_told_apart() {
    let client = format!("{{ name = \"e\", token_sha256 = \"{A}\", scopes = [\"read\"] }}");
    let text = format!("client = [{client}, {client}]");
    let error = parse(Path::new("a"), &text).unwrap_err().to_string();
    assert_eq!(error, "a:1: name: the client of line 1 has it too");
}

#[test]
fn one_hash_may_be_of_a_token_and_of_a_certificate() {
    let first = r#"name = "e"; token_sha256 = "A"; scopes = ["read"]"#;
    let second = r#"name = "f"; certificate_sha256 = "A"; scopes = ["read"]"#;
    assert_eq!(parsed(&[first, second]).unwrap().len(), 2);
    let third = r#"name = "g"; certificate_sha256 = "A"; scopes = ["read"]"#;
    assert!(parsed(&[first, second, third]).is_err());
}

#[rstest]
#[case("[[client]]\nname = \"e\"\nscope = [\"read\"]\n", 3)]
#[case("\n[[clients]]\nname = \"e\"\n", 2)]
#[case("version = 1\n", 1)]
#[case("[[client]]\nname = \"e\"\nscopes = \"read\"\n", 3)]
#[case("[[client]]\nname = \"e\"\nrequests_in_flight = -1\nscopes = []\n", 3)]
#[case("[[client]]\nname = \n", 2)]
#[case("[[client]]\nname = \"e\"\nname = \"f\"\n", 3)]
fn unknown_key_or_type_is_refused_with_its_line(#[case] text: &str, #[case] expected: usize) {
    match parse(Path::new("a"), text).unwrap_err() {
        AccessError::Syntax { line, reason, .. } => assert_eq!(line, expected, "{reason}"),
        other => panic!("{other}"),
    }
}

#[rstest]
#[case::as_hash(r#"name = "e"; scopes = ["read"]; token_sha256 = "TOKEN""#)]
#[case::as_name(r#"name = "TOKEN"; scopes = ["read"]; token_sha256 = "A""#)]
#[case::as_scope(r#"name = "e"; scopes = ["TOKEN"]; token_sha256 = "A""#)]
#[case::as_number(r#"name = "e"; scopes = ["read"]; requests_in_flight = "TOKEN""#)]
#[case::as_key(r#"name = "e"; TOKEN = "A""#)]
#[case::as_scopes(r#"name = "e"; scopes = "TOKEN""#)]
#[case::bare(r#"name = "e"; token_sha256 = TOKEN"#)]
#[case::alone(r#"TOKEN"#)]
fn token_in_the_wrong_place_is_not_shown(#[case] client: &str) {
    let token = Token::random().unwrap().reveal();
    let error = parsed(&[&client.replace("TOKEN", &token)]).unwrap_err();
    for text in [error.to_string(), format!("{error:?}")] {
        assert!(!text.contains(&token[..12]), "{text}");
    }
}

#[test]
fn more_clients_than_are_compared_are_refused() {
    let client = |index: usize| {
        let head = format!("[[client]]\nname = \"c{index}\"\nscopes = [\"read\"]\n");
        head + &format!("token_sha256 = \"{index:064x}\"\n")
    };
    let text: String = (0..CLIENTS_MAX).map(client).collect();
    assert_eq!(parse(Path::new("a"), &text).unwrap().len(), CLIENTS_MAX);
    let error = parse(Path::new("a"), &(text + &client(CLIENTS_MAX))).unwrap_err().to_string();
    assert_eq!(error, "a:4097: client: there are more than 1024 clients");
}

#[rstest]
#[case(0o600, true)]
#[case(0o644, true)]
#[case(0o400, true)]
#[case(0o620, false)]
#[case(0o602, false)]
#[case(0o666, false)]
fn file_that_others_may_write_is_refused(#[case] mode: u32, #[case] is_fine: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.toml");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    match read_text(&path) {
        Ok(_) => assert!(is_fine),
        Err(AccessError::Writable { mode: found, .. }) => {
            assert!(!is_fine);
            assert_eq!(found, mode);
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_is_no_file_or_too_long_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read_text(folder.path()), Err(AccessError::Kind { .. })));
    assert!(matches!(read_text(Path::new("/dev/null")), Err(AccessError::Kind { .. })));
    let path = folder.path().join("access.toml");
    assert!(matches!(read_text(&path), Err(AccessError::Read { .. })));
    let full = "#".repeat(usize::try_from(FILE_BYTES_MAX).unwrap());
    fs::write(&path, &full).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(read_text(&path).unwrap().len(), full.len());
    fs::write(&path, full + "#").unwrap();
    assert!(matches!(read_text(&path), Err(AccessError::TooLong { .. })));
}
