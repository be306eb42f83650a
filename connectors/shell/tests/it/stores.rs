// SPDX-License-Identifier: Apache-2.0
//! Files in object stores of each service, read from emulators that run on this machine: the same
//! rows as from the local file, and errors that say what is wrong. The environment of the program
//! says where the store is, as it does for users.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use rstest::rstest;

use crate::program::{command, finished};

/// Makes a file of several row groups.
const MAKE: &str = "COPY (SELECT value AS k, value % 10 AS v, 'text ' || value AS s \
                    FROM generate_series(1, 5000)) TO 't.parquet' STORED AS PARQUET \
                    OPTIONS ('format.max_row_group_size' '1000')";

/// An object store with the file, and how the program finds it. It ends with this process, which
/// holds its standard input.
struct Store {
    _server: Child,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

/// The emulator of a service, which all tests share; nothing if it is not installed.
fn store(service: &str, test: &str) -> Option<&'static Store> {
    static STORES: [OnceLock<Store>; 3] = [const { OnceLock::new() }; 3];
    let test = format!("stores::{test}::{service}");
    let python = nearscan_skip::python(&test)?;
    let (index, azurite) = match service {
        "s3" => (0, None),
        "gs" => (1, None),
        _ => (2, Some(nearscan_skip::azurite(&test)?)),
    };
    Some(STORES[index].get_or_init(|| Store::start(service, &python, azurite)))
}

impl Store {
    fn start(service: &str, python: &OsStr, azurite: Option<OsString>) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stores_{service}"));
        fs::create_dir_all(&folder).unwrap();
        let made = finished(command(&folder).args(["-c", MAKE]).output().unwrap());
        assert_eq!(made, ("count\n5000\n".to_owned(), String::new(), 0));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/serve.py");
        let mut server = Command::new(python)
            .args([script, PathBuf::from(service), folder.join("t.parquet")])
            .args(azurite)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let lines = lines.map(Result::unwrap).take_while(|line| !line.is_empty());
        let variable = |line: String| {
            let (name, value) = line.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        };
        let environment: Vec<(String, String)> = lines.map(variable).collect();
        if environment.is_empty() {
            panic!("it does not start: {}", fs::read_to_string(folder.join("log")).unwrap());
        }
        Self { _server: server, folder, environment }
    }

    /// Runs statements with variables of the environment besides those that lead to the store.
    fn run(&self, sql: &str, others: &[(&str, &str)]) -> (String, String, i32) {
        let environment = self.environment.iter().map(|(name, value)| (&**name, &**value));
        let environment = environment.chain(others.iter().copied());
        run(&self.folder, sql, environment)
    }

    fn rows(&self, sql: &str) -> String {
        let (rows, error, status) = self.run(sql, &[]);
        assert_eq!((error.as_str(), status), ("", 0));
        rows
    }

    fn error(&self, sql: &str, others: &[(&str, &str)]) -> String {
        let (rows, error, status) = self.run(sql, others);
        assert_eq!((rows.as_str(), status), ("", 1), "{error}");
        error
    }
}

/// Runs statements with the given variables, and no others of a store.
fn run<'a>(
    folder: &Path,
    sql: &str,
    environment: impl Iterator<Item = (&'a str, &'a str)>,
) -> (String, String, i32) {
    let mut program = command(folder);
    for (name, _) in std::env::vars_os() {
        let of_store = ["AWS_", "GOOGLE_", "AZURE_"];
        if name.to_str().is_some_and(|name| of_store.iter().any(|start| name.starts_with(start))) {
            program.env_remove(name);
        }
    }
    program.env("NO_PROXY", "127.0.0.1").env("HOME", folder).envs(environment);
    finished(program.args(["-c", sql]).output().unwrap())
}

#[rstest]
#[case("s3")]
#[case("gs")]
#[case("az")]
fn rows_are_those_of_the_local_file(#[case] service: &str) {
    let Some(store) = store(service, "rows_are_those_of_the_local_file") else { return };
    for sql in [
        "SELECT count(*) AS n, sum(k) AS k, min(s) AS s FROM FILE WHERE v < 5",
        "SELECT v, count(*) AS n, max(s) AS s FROM FILE WHERE k > 2500 GROUP BY v ORDER BY v",
        "SELECT * FROM FILE WHERE k BETWEEN 990 AND 1010 OR k = 4999 ORDER BY k DESC",
        "CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION FILE; SELECT sum(k) AS k FROM e",
    ] {
        let local = store.rows(&sql.replace("FILE", "'t.parquet'"));
        assert!(local.lines().count() > 1, "{local}");
        let url = format!("'{service}://bucket/data/t.parquet'");
        assert_eq!(store.rows(&sql.replace("FILE", &url)), local, "{sql}");
    }
}

#[rstest]
#[case("s3")]
#[case("az")]
fn folder_of_a_store_is_a_table(#[case] service: &str) {
    let Some(store) = store(service, "folder_of_a_store_is_a_table") else { return };
    let folder = format!("{service}://bucket/written/");
    for part in 1..=2 {
        let copy = format!("COPY (SELECT {part} AS k) TO '{folder}{part}.parquet'");
        assert_eq!(store.rows(&copy), "count\n1\n");
        let sum = format!("SELECT sum(k) AS s FROM '{folder}'");
        assert_eq!(store.rows(&sum), format!("s\n{}\n", part * (part + 1) / 2));
    }
}

#[rstest]
#[case("s3", &[("AWS_SECRET_ACCESS_KEY", "wrong")], "AWS_ACCESS_KEY_ID")]
#[case("az", &[("AZURE_STORAGE_ACCOUNT_KEY", "d3Jvbmc=")], "AZURE_STORAGE_ACCOUNT_KEY")]
#[case("gs", &[], "GOOGLE_SERVICE_ACCOUNT")]
fn wrong_credentials_are_refused(
    #[case] service: &str,
    #[case] wrong: &[(&str, &str)],
    #[case] hint: &str,
) {
    let Some(store) = store(service, "wrong_credentials_are_refused") else { return };
    let name = if service == "gs" { "private" } else { "t" };
    let url = format!("{service}://bucket/data/{name}.parquet");
    let error = store.error(&format!("SELECT * FROM '{url}'"), wrong);
    assert!(error.starts_with(&format!("error: access to '{url}' was refused\n")), "{error}");
    assert!(error.lines().last().unwrap().contains(hint), "{error}");
}

#[rstest]
#[case("s3")]
#[case("gs")]
#[case("az")]
fn what_is_not_there_is_named(#[case] service: &str) {
    let Some(store) = store(service, "what_is_not_there_is_named") else { return };
    for path in ["bucket/data/no.parquet", "no-bucket/data/t.parquet"] {
        let url = format!("{service}://{path}");
        let error = store.error(&format!("SELECT * FROM '{url}'"), &[]);
        assert!(error.starts_with(&format!("error: file '{url}' not found\n")), "{error}");
    }
    let empty = format!("{service}://bucket/none/");
    let error = store.error(&format!("SELECT * FROM '{empty}'"), &[]);
    assert!(error.starts_with(&format!("error: no data files in '{empty}'\n")), "{error}");
}

#[test]
fn server_without_encryption_is_used_only_if_that_is_allowed() {
    let test = "server_without_encryption_is_used_only_if_that_is_allowed";
    let Some(store) = store("s3", test) else { return };
    let sql = "SELECT * FROM 's3://bucket/data/t.parquet'";
    let error = store.error(sql, &[("AWS_ALLOW_HTTP", "false")]);
    assert!(error.contains("does not use encryption\n"), "{error}");
    assert!(
        error.ends_with("hint: set AWS_ALLOW_HTTP=true to allow unencrypted connections\n"),
        "{error}"
    );
}

/// The way in which a server does not answer.
#[derive(Debug, Clone, Copy)]
enum Server {
    /// It is gone.
    Gone,
    /// It takes connections and never answers.
    Silent,
}

#[rstest]
#[case(Server::Gone, "AWS_ENDPOINT", "does not answer\n")]
#[case(Server::Silent, "AWS_ENDPOINT", "does not answer\n")]
#[case(Server::Gone, "AWS_METADATA_ENDPOINT", "there are no credentials for ")]
fn server_that_does_not_answer_is_an_error_in_time(
    #[case] server: Server,
    #[case] variable: &str,
    #[case] expected: &str,
) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let _listener = match server {
        Server::Gone => None,
        Server::Silent => Some(listener),
    };
    let mut environment =
        vec![(variable, url.as_str()), ("AWS_ALLOW_HTTP", "true"), ("AWS_TIMEOUT", "1 second")];
    if variable == "AWS_ENDPOINT" {
        environment.push(("AWS_SKIP_SIGNATURE", "true"));
    }
    let folder = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the time that users wait is what is tested")]
    let start = Instant::now();
    let sql = "SELECT * FROM 's3://bucket/t.parquet'";
    let (_, error, status) = run(folder.path(), sql, environment.into_iter());
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(status, 1);
    assert!(error.starts_with("error: ") && error.contains(expected), "{error}");
}

#[rstest]
#[case("s3:///t.parquet", "it names no bucket")]
#[case("https://user:word@127.0.0.1/t.parquet", "a password in a URL")]
#[case("https://127.0.0.1/t.parquet?signature=x", "behind '?' or '#'")]
#[case("az://container/t.parquet", "Account must be specified")]
fn url_that_leads_to_no_store_is_refused(#[case] url: &str, #[case] why: &str) {
    let folder = tempfile::tempdir().unwrap();
    for sql in [
        format!("SELECT * FROM '{url}'"),
        format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{url}'"),
    ] {
        let (_, error, status) = run(folder.path(), &sql, std::iter::empty());
        assert_eq!(status, 1, "{error}");
        assert!(error.starts_with("error: no object store can be made for '"), "{error}");
        assert!(error.contains(why) && !error.contains("word@"), "{error}");
    }
}
