// SPDX-License-Identifier: Apache-2.0
//! Keeps the statements of earlier sessions in a file, without the secrets that were in them.
//!
//! A secret is the value of a name such as `password` or `secret_access_key` in statements that
//! change settings or make tables and in commands of the shell, the value of such a parameter of a
//! URL anywhere, and what stands before the host of a URL. In its place stand asterisks. Conditions
//! of queries stay as they are, so that a statement of the history does what it did.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::PathBuf};

use reedline::{
    FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, Result, SearchQuery,
};

use super::lexer::{Kind, Lexeme, lexemes};

/// Statements that are kept.
const STATEMENTS_MAX: usize = 10_000;

/// What stands in place of a secret.
const MASK: &str = "***";

/// Parts of the names of what is secret, in lower case and without other signs than letters.
const SECRETS: [&str; 11] = [
    "accesskey",
    "accountkey",
    "apikey",
    "credential",
    "passphrase",
    "passw",
    "privatekey",
    "pwd",
    "secret",
    "signature",
    "token",
];

/// Whole names of what is secret.
const SECRET_NAMES: [&str; 2] = ["sas", "sig"];

/// The first words of statements that may give secrets away.
const STATEMENTS: [&str; 5] = ["ALTER", "ATTACH", "COPY", "CREATE", "SET"];

/// A history without secrets.
pub(super) struct SafeHistory {
    kept: FileBackedHistory,
}

impl SafeHistory {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub(super) fn open(file: PathBuf) -> Result<Self> {
        // Nobody else may read it; that it cannot be made is said below.
        drop(OpenOptions::new().create(true).append(true).mode(0o600).open(&file));
        Ok(Self { kept: FileBackedHistory::with_file(STATEMENTS_MAX, file)? })
    }

    /// A history of this session only.
    ///
    /// # Errors
    /// Never: its size is possible.
    pub(super) fn in_memory() -> Result<Self> {
        Ok(Self { kept: FileBackedHistory::new(STATEMENTS_MAX)? })
    }
}

impl History for SafeHistory {
    fn save(&mut self, mut item: HistoryItem) -> Result<HistoryItem> {
        item.command_line = masked(&item.command_line);
        self.kept.save(item)
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.kept.load(id)
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.kept.count(query)
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        self.kept.search(query)
    }

    fn update(
        &mut self,
        id: HistoryItemId,
        updater: &dyn Fn(HistoryItem) -> HistoryItem,
    ) -> Result<()> {
        self.kept.update(id, updater)
    }

    fn clear(&mut self) -> Result<()> {
        self.kept.clear()
    }

    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.kept.delete(id)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.kept.sync()
    }

    fn session(&self) -> Option<HistorySessionId> {
        self.kept.session()
    }
}

/// Returns a statement without its secrets.
fn masked(statement: &str) -> String {
    if statement.trim_start().starts_with('.') {
        return statement.split_inclusive(char::is_whitespace).map(masked_url).collect();
    }
    let all = lexemes(statement);
    let first = all.iter().find(|lexeme| lexeme.is_significant());
    let has_names = first.is_some_and(|first| STATEMENTS.iter().any(|word| first.is_word(word)));
    let mut text = String::with_capacity(statement.len());
    let mut pending = Pending::None;
    let mut is_behind_dot = false;
    for lexeme in &all {
        let is_name = is_behind_dot && lexeme.kind == Kind::Word;
        let is_value = match lexeme.kind {
            Kind::Text | Kind::QuotedName => pending != Pending::None,
            Kind::Word | Kind::Number => pending == Pending::Value && !is_name,
            Kind::Space | Kind::Comment | Kind::Symbol => false,
        };
        if is_value {
            text.push_str(&format!("'{MASK}'"));
        } else if matches!(lexeme.kind, Kind::Text | Kind::QuotedName) {
            text.push_str(&masked_url(lexeme.text));
        } else {
            text.push_str(lexeme.text);
        }
        pending = match (is_value, pending) {
            (true, _) => Pending::None,
            (false, _) if has_names && names_secret(lexeme) => Pending::Name,
            (false, pending) => pending.after(lexeme, is_name),
        };
        is_behind_dot = lexeme.is_symbol('.');
    }
    text
}

/// Whether a secret may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    None,
    /// Its name was read: a string that follows is one.
    Name,
    /// `=` or TO was read too: any value is one.
    Value,
}

impl Pending {
    /// The state behind a lexeme that is no value.
    fn after(self, lexeme: &Lexeme<'_>, is_of_name: bool) -> Self {
        match (self, lexeme.kind, lexeme.text) {
            (Self::None, _, _) => Self::None,
            (pending, Kind::Space | Kind::Comment, _) => pending,
            (pending, Kind::Word, _) if is_of_name => pending,
            (_, Kind::Word, _) if lexeme.is_word("TO") => Self::Value,
            (_, Kind::Symbol, "=" | ":") => Self::Value,
            (pending, Kind::Symbol, "." | ">" | "-") => pending,
            _ => Self::None,
        }
    }
}

/// Whether a name says that a secret follows.
fn names_secret(lexeme: &Lexeme<'_>) -> bool {
    match lexeme.kind {
        Kind::Word | Kind::QuotedName => is_secret_name(lexeme.text),
        // The name of an option; a URL or a sentence is none.
        Kind::Text => !lexeme.text.contains([' ', '/', '?']) && is_secret_name(lexeme.text),
        _ => false,
    }
}

fn is_secret_name(name: &str) -> bool {
    let letters = name.chars().filter(|sign| sign.is_alphanumeric());
    let name = letters.collect::<String>().to_lowercase();
    SECRET_NAMES.contains(&name.as_str()) || SECRETS.iter().any(|secret| name.contains(secret))
}

/// Masks the secret parameters of a URL or a connection string, and what stands before a host.
fn masked_url(text: &str) -> String {
    let text = masked_parameters(text);
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let path = rest.find('?').unwrap_or(rest.len());
    let host = rest.find('/').unwrap_or(path).min(path);
    // A password may hold a slash.
    let end = match rest[..host].contains(':') && !rest[..host].contains('@') {
        true => path,
        false => host,
    };
    match rest[..end].rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(String::new(), |(user, _)| format!("{user}:"));
            format!("{scheme}://{user}{MASK}@{host}{}", &rest[end..])
        }
        None => text,
    }
}

fn masked_parameters(text: &str) -> String {
    let masked = |part: &str| {
        let is_end = |sign: char| sign.is_whitespace() || "&;?'\"".contains(sign);
        let end = part.trim_end_matches(is_end);
        match end.split_once('=') {
            Some((name, _)) if is_secret_name(name) => {
                format!("{name}={MASK}{}", &part[end.len()..])
            }
            _ => part.to_owned(),
        }
    };
    text.split_inclusive(['&', ';', '?']).map(masked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::PermissionsExt;

    #[rstest]
    #[case("SET a.secret_access_key = 'abc'", "SET a.secret_access_key = '***'")]
    #[case("SET x.session_token TO 'abc", "SET x.session_token TO '***'")]
    #[case("SET x_password = abc", "SET x_password = '***'")]
    #[case("SET x_password = \"abc\"", "SET x_password = '***'")]
    #[case("SET x_password = 123", "SET x_password = '***'")]
    #[case("SET x_password = E'a\\'bc'", "SET x_password = '***'")]
    #[case("SET x_password = $$abc$$", "SET x_password = '***'")]
    #[case("SET a.secret.value = 'abc'", "SET a.secret.value = '***'")]
    #[case(
        "CREATE EXTERNAL TABLE t OPTIONS ('aws.secret_access_key' 'abc', 'format.x' 'y')",
        "CREATE EXTERNAL TABLE t OPTIONS ('aws.secret_access_key' '***', 'format.x' 'y')"
    )]
    #[case(
        "COPY t TO 'f' OPTIONS ('AccountKey' 'abc')",
        "COPY t TO 'f' OPTIONS ('AccountKey' '***')"
    )]
    #[case("SET a = 'x=1;AccountKey=abc;y=2'", "SET a = 'x=1;AccountKey=***;y=2'")]
    #[case("FROM 'https://h/a?sig=abc&b=1'", "FROM 'https://h/a?sig=***&b=1'")]
    #[case("FROM 'remote://h:1?token=abc'", "FROM 'remote://h:1?token=***'")]
    #[case("FROM 'https://me:abc@h/a'", "FROM 'https://me:***@h/a'")]
    #[case("FROM \"https://me:a/bc@h/a\"", "FROM \"https://me:***@h/a\"")]
    #[case("FROM 'https://abc@h/a'", "FROM 'https://***@h/a'")]
    #[case(".open https://h/a?X-Amz-Signature=abc b", ".open https://h/a?X-Amz-Signature=*** b")]
    #[case("FROM 'http://h?token=abc' WHERE b = 'c'", "FROM 'http://h?token=***' WHERE b = 'c'")]
    fn secrets_are_not_kept(#[case] statement: &str, #[case] expected: &str) {
        assert_eq!(masked(statement), expected);
    }

    #[rstest]
    #[case("SELECT a FROM t WHERE b = 'c'")]
    #[case("SELECT token, 'x' FROM t WHERE token = 'c'")]
    #[case("CREATE TABLE t (password VARCHAR, a INT)")]
    #[case("FROM 's3://bucket/a@b.csv'")]
    #[case("FROM 'a.csv?b=1'")]
    fn statement_without_secrets_is_kept_as_it_is(#[case] statement: &str) {
        assert_eq!(masked(statement), statement);
    }

    #[test]
    fn statements_are_there_in_the_next_session_on_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let mut first = SafeHistory::open(file.clone()).unwrap();
        first.save(HistoryItem::from_command_line("SELECT\n1;")).unwrap();
        first.save(HistoryItem::from_command_line("SET password = 'abc';")).unwrap();
        first.sync().unwrap();
        assert!(!std::fs::read_to_string(&file).unwrap().contains("abc"));
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = SafeHistory::open(file).unwrap();
        let query = SearchQuery::all_that_contain_rev("1".to_owned());
        assert_eq!(second.search(query).unwrap()[0].command_line, "SELECT\n1;");
    }
}
