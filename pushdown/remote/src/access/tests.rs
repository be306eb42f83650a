// SPDX-License-Identifier: Apache-2.0
//! Tests who is let in, what changes when the file does, and that a token is shown once only.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    thread,
};

use rstest::rstest;
use tempfile::TempDir;

use super::*;

/// An access file.
struct AccessFile {
    folder: TempDir,
    path: PathBuf,
}

impl AccessFile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.toml");
        Self { folder, path }
    }

    fn grant(&self, name: &str, scopes: &[Scope]) -> String {
        let scopes = scopes.iter().copied().collect();
        Access::grant(&self.path, name, scopes).unwrap().reveal()
    }

    fn write(&self, text: &str) {
        fs::write(&self.path, text).unwrap();
        fs::set_permissions(&self.path, Permissions::from_mode(0o600)).unwrap();
    }

    fn access(&self) -> Access {
        Access::read(&self.path).unwrap()
    }
}

/// The client that is let in.
fn who(
    access: &Access,
    bearer: Option<&str>,
    certificate: Option<&[u8]>,
) -> Result<String, Denied> {
    access.authenticate(bearer, certificate).map(|client| client.name().to_owned())
}

#[test]
fn granted_token_lets_its_client_in() {
    let file = AccessFile::new();
    let first = file.grant("first", &[Scope::Read]);
    let second = file.grant("second", &[Scope::Read, Scope::Admin]);
    let access = file.access();
    assert_eq!(who(&access, Some(&first), None), Ok("first".to_owned()));
    assert_eq!(who(&access, Some(&second), Some(b"any")), Ok("second".to_owned()));
    let client = access.authenticate(Some(&second), None).unwrap();
    assert_eq!(client.require(Scope::Admin), Ok(()));
    assert!(client.require(Scope::Write).is_err());
}

#[test]
fn wrong_token_is_denied_however_much_of_it_is_right() {
    let file = AccessFile::new();
    file.grant("other", &[Scope::Read]);
    let token = file.grant("etl", &[Scope::Read]);
    let access = file.access();
    for length in 0..token.len() {
        let (start, rest) = token.split_at(length);
        let wrong = if rest.starts_with('0') { "1" } else { "0" };
        for text in [start.to_owned(), format!("{start}{wrong}{}", &rest[1..])] {
            assert_eq!(who(&access, Some(&text), None), Err(Denied::Unknown), "{length}");
        }
    }
    let longer = format!("{token}0");
    let long = token.repeat(100);
    for text in [&longer, &long, &format!("{token} "), &format!(" {token}"), &token.to_uppercase()]
    {
        assert_eq!(who(&access, Some(text), None), Err(Denied::Unknown));
    }
    assert_eq!(who(&access, Some(&token), None), Ok("etl".to_owned()));
}

#[rstest]
#[case(None, None, Err(Denied::Anonymous))]
#[case(Some("t"), None, Ok("token"))]
#[case(Some("t"), Some("anything"), Ok("token"))]
#[case(None, Some("c"), Ok("certificate"))]
#[case(None, Some("d"), Err(Denied::Unknown))]
#[case(Some("c"), None, Err(Denied::Unknown))]
#[case(None, Some("t"), Err(Denied::Unknown))]
#[case(Some("wrong"), Some("c"), Err(Denied::Unknown))]
#[case(Some(""), Some("c"), Err(Denied::Unknown))]
#[case(Some("both"), Some("both"), Ok("both"))]
#[case(Some("both"), None, Err(Denied::Unknown))]
#[case(None, Some("both"), Err(Denied::Unknown))]
#[case(Some("both"), Some("c"), Err(Denied::Unknown))]
#[case(Some("t"), Some("both"), Ok("token"))]
fn client_has_to_present_what_it_is_known_by(
    #[case] bearer: Option<&str>,
    #[case] certificate: Option<&str>,
    #[case] expected: Result<&str, Denied>,
) {
    let [t, c, both] = ["t", "c", "both"].map(|text| Digest::of(text.as_bytes()));
    let file = AccessFile::new();
    file.write(&format!(
        "[[client]]\nname = \"token\"\ntoken_sha256 = \"{t}\"\nscopes = [\"read\"]\n\
         [[client]]\nname = \"certificate\"\ncertificate_sha256 = \"{c}\"\nscopes = [\"read\"]\n\
         [[client]]\nname = \"both\"\ntoken_sha256 = \"{both}\"\ncertificate_sha256 = \"{both}\"\n\
         scopes = [\"read\"]\n"
    ));
    let found = who(&file.access(), bearer, certificate.map(str::as_bytes));
    assert_eq!(found, expected.map(str::to_owned));
}

#[test]
fn anyone_may_do_everything_where_nobody_is_asked() {
    let access = Access::anyone();
    for (bearer, certificate) in [(None, None), (Some("x"), None), (None, Some(&b"x"[..]))] {
        let client = access.authenticate(bearer, certificate).unwrap();
        assert!(Scope::ALL.into_iter().all(|scope| client.require(scope).is_ok()));
        drop(client.enter(u64::MAX).unwrap());
    }
    access.reload().unwrap();
    assert_eq!(who(&access, None, None), Ok("(anyone)".to_owned()));
}

#[test]
fn client_that_is_gone_is_denied_at_its_next_request() {
    let file = AccessFile::new();
    let gone = file.grant("gone", &[Scope::Read]);
    let before = fs::read_to_string(&file.path).unwrap();
    let access = file.access();
    let client = access.authenticate(Some(&gone), None).unwrap();
    file.write("");
    let stays = file.grant("stays", &[Scope::Read]);
    // Until it is read again nothing changes.
    assert_eq!(client.require(Scope::Read), Ok(()));
    access.reload().unwrap();
    let removed = Denied::Removed { client: "gone".to_owned() };
    assert_eq!(client.require(Scope::Read), Err(removed.clone()));
    assert_eq!(client.enter(0).unwrap_err(), removed);
    assert_eq!(who(&access, Some(&gone), None), Err(Denied::Unknown));
    assert_eq!(who(&access, Some(&stays), None), Ok("stays".to_owned()));
    // When it comes back it is let in, but what was removed stays so.
    file.write(&before);
    access.reload().unwrap();
    assert_eq!(who(&access, Some(&gone), None), Ok("gone".to_owned()));
    assert_eq!(client.require(Scope::Read), Err(removed));
}

#[test]
fn changed_terms_hold_for_clients_that_are_there() {
    let file = AccessFile::new();
    let token = file.grant("etl", &[Scope::Read]);
    let access = file.access();
    let client = access.authenticate(Some(&token), None).unwrap();
    let _place = client.enter(10).unwrap();
    let text = fs::read_to_string(&file.path).unwrap();
    let changed = text.replace("[\"read\"]", "[\"write\"]\nrequests_in_flight = 1");
    file.write(&changed);
    access.reload().unwrap();
    assert_eq!(client.require(Scope::Write), Ok(()));
    assert!(client.require(Scope::Read).is_err());
    // What is in flight counts.
    let again = access.authenticate(Some(&token), None).unwrap();
    let denied = Denied::Requests { client: "etl".to_owned(), max: 1 };
    assert_eq!(again.enter(0).unwrap_err(), denied);
    // With another token it is another client.
    let other = Digest::of(b"other").to_string();
    file.write(&changed.replace(&Digest::of(token.as_bytes()).to_string(), &other));
    access.reload().unwrap();
    assert!(matches!(client.require(Scope::Write), Err(Denied::Removed { .. })));
    assert_eq!(who(&access, Some("other"), None), Ok("etl".to_owned()));
}

#[test]
fn file_that_cannot_be_read_again_changes_nothing() {
    let file = AccessFile::new();
    let token = file.grant("etl", &[Scope::Read]);
    let access = file.access();
    for text in ["[[client]]\n", "name = 3\n", "nonsense"] {
        file.write(text);
        assert!(access.reload().is_err());
        assert_eq!(who(&access, Some(&token), None), Ok("etl".to_owned()));
    }
    fs::set_permissions(&file.path, Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(access.reload(), Err(AccessError::Writable { .. })));
    fs::remove_file(&file.path).unwrap();
    assert!(matches!(access.reload(), Err(AccessError::Read { .. })));
    let client = access.authenticate(Some(&token), None).unwrap();
    assert_eq!(client.require(Scope::Read), Ok(()));
}

#[test]
fn grant_keeps_what_is_in_the_file_and_who_may_read_it() {
    let file = AccessFile::new();
    file.write("# Mine.");
    file.grant("etl", &[Scope::Write, Scope::Read]);
    let text = fs::read_to_string(&file.path).unwrap();
    assert!(text.starts_with("# Mine.\n\n[[client]]\nname = \"etl\"\n"), "{text}");
    assert!(text.ends_with("scopes = [\"read\", \"write\"]\n"), "{text}");
    let mode = fs::metadata(&file.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names = fs::read_dir(file.folder.path()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["access.toml"]);
}

#[test]
fn grant_of_what_cannot_be_is_refused_and_changes_nothing() {
    let file = AccessFile::new();
    file.grant("etl", &[Scope::Read]);
    let before = fs::read_to_string(&file.path).unwrap();
    let grant = |name: &str, scopes: Scopes| Access::grant(&file.path, name, scopes).unwrap_err();
    let twice = grant("etl", Scopes::all()).to_string();
    assert!(twice.ends_with(": name: the client of line 4 has it too"), "{twice}");
    for name in ["", "a\"", "a\nb", &"x".repeat(65)] {
        let error = grant(name, Scopes::all());
        let AccessError::Grant { field: "name", problem: Problem::Name, .. } = error else {
            panic!("{error}")
        };
    }
    let error = grant("new", Scopes::default());
    assert!(matches!(error, AccessError::Grant { problem: Problem::Empty, .. }), "{error}");
    assert_eq!(fs::read_to_string(&file.path).unwrap(), before);
    let nowhere = file.folder.path().join("missing/access.toml");
    let error = Access::grant(&nowhere, "etl", Scopes::all()).unwrap_err();
    assert!(matches!(error, AccessError::Write { .. }), "{error}");
    file.write("nonsense");
    assert!(matches!(grant("new", Scopes::all()), AccessError::Syntax { .. }));
    assert_eq!(fs::read_to_string(&file.path).unwrap(), "nonsense");
}

#[test]
fn clients_that_are_granted_at_once_are_all_there() {
    let file = AccessFile::new();
    thread::scope(|scope| {
        for index in 0..8 {
            let file = &file;
            scope.spawn(move || file.grant(&format!("client{index}"), &[Scope::Read]));
        }
    });
    let text = fs::read_to_string(&file.path).unwrap();
    assert_eq!(file::parse(&file.path, &text).unwrap().len(), 8);
}

#[test]
fn no_text_but_the_revealed_one_has_a_token() {
    let file = AccessFile::new();
    let token = Access::grant(&file.path, "etl", Scopes::from_iter([Scope::Read])).unwrap();
    let shown = format!("{token:?}");
    let token = token.reveal();
    let access = file.access();
    let client = access.authenticate(Some(&token), None).unwrap();
    let wrong = access.authenticate(Some(&token[1..]), None).unwrap_err();
    let lacks = client.require(Scope::Admin).unwrap_err();
    let place = client.enter(1).unwrap();
    let texts = [
        shown,
        fs::read_to_string(&file.path).unwrap(),
        format!("{access:?} {client:?} {place:?}"),
        format!("{wrong} {wrong:?} {lacks} {lacks:?}"),
    ];
    for text in texts {
        let has_part = token.as_bytes()[4..].windows(8).any(|part| {
            let part = std::str::from_utf8(part).unwrap();
            text.contains(part)
        });
        assert!(!has_part, "{text}");
    }
}
