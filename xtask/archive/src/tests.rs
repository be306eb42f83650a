// SPDX-License-Identifier: Apache-2.0
//! Tests that packing round-trips, and the text of an archive.

use proptest::{
    collection::{btree_map, vec},
    prelude::{any, prop_assert_eq, proptest},
};
use rstest::rstest;

use super::*;

fn archive(files: &[(&str, &[u8])]) -> Archive {
    let files = files.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec()));
    Archive { files: files.collect() }
}

/// Paths below `folder`, what is being written among them.
fn paths(folder: &Path) -> Vec<String> {
    paths_below(folder).unwrap().into_iter().collect()
}

#[test]
fn file_is_a_line() {
    let text = "path\tbase64\na-b\tAP8=\na/b\nc.txt\taWQsdgoxLDIK\n";
    let files: [(&str, &[u8]); 3] = [("c.txt", b"id,v\n1,2\n"), ("a/b", b""), ("a-b", &[0, 255])];
    assert_eq!(archive(&files).to_text(), text);
    assert_eq!(Archive::parse(text), Ok(archive(&files)));
    assert_eq!(Archive::parse("path\tbase64\n"), Ok(Archive::default()));
}

/// One or two parts of printable signs.
const PATH: &str = r"[a-z0-9._-]{0,2}x(/[ -.0-\[\]-~]{0,3}y)?";

proptest! {
    #[test]
    fn what_is_packed_is_unpacked(
        files in btree_map(PATH, vec(any::<u8>(), 0..40), 0..9)
    ) {
        let archive = Archive { files };
        prop_assert_eq!(Archive::parse(&archive.to_text()), Ok(archive));
    }
}

#[rstest]
#[case("", TextError::Headings)]
#[case("a\tAP8=\n", TextError::Headings)]
#[case("path\tbase64\n\n", TextError::Path(2))]
#[case("path\tbase64\n\tAP8=\n", TextError::Path(2))]
#[case("path\tbase64\n/a\n", TextError::Path(2))]
#[case("path\tbase64\na\nb/../../c\n", TextError::Path(3))]
#[case("path\tbase64\n./a\n", TextError::Path(2))]
#[case("path\tbase64\na\\b\n", TextError::Path(2))]
#[case("path\tbase64\nb\na\n", TextError::Order(3))]
#[case("path\tbase64\na\na\tAP8=\n", TextError::Order(3))]
#[case("path\tbase64\na\tAP8\n", TextError::Content(2))]
#[case("path\tbase64\na\tAP9=\n", TextError::Content(2))]
#[case("path\tbase64\na\tAP8=\tAP8=\n", TextError::Content(2))]
fn another_text_is_refused(#[case] text: &str, #[case] expected: TextError) {
    assert_eq!(Archive::parse(text), Err(expected));
}

#[test]
fn folder_holds_what_was_unpacked_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("new");
    let first = archive(&[("a", b"1"), ("b/c/d", b""), ("b/e", b"2"), ("f/g/h", b"")]);
    first.unpack(&folder).unwrap();
    assert_eq!(Archive::pack(&folder).unwrap(), first);

    let untouched = fs::metadata(folder.join("a")).unwrap().modified().unwrap();
    fs::write(folder.join("b/e"), "changed").unwrap();
    fs::write(folder.join("stray"), "").unwrap();
    first.unpack(&folder).unwrap();
    assert_eq!(Archive::pack(&folder).unwrap(), first);
    assert_eq!(fs::metadata(folder.join("a")).unwrap().modified().unwrap(), untouched);

    let second = archive(&[("a", b"3")]);
    second.unpack(&folder).unwrap();
    assert_eq!(Archive::pack(&folder).unwrap(), second);
    assert!(["b", "f"].iter().all(|emptied| !folder.join(emptied).exists()));
}

#[test]
fn what_another_process_writes_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.draft"), "half").unwrap();
    archive(&[("a", b"1")]).unpack(folder.path()).unwrap();
    assert_eq!(paths(folder.path()), ["a", "x.draft"]);
}

#[test]
fn file_is_an_archive_or_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tsv");
    let written = archive(&[("a", b"1")]);
    written.write(&path).unwrap();
    assert_eq!(Archive::read(&path).unwrap(), written);
    fs::write(&path, "a\n").unwrap();
    let error = Archive::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("a.tsv' is no archive"), "{error}");
    fs::write(folder.path().join("b\tc"), "").unwrap();
    assert!(matches!(Archive::pack(folder.path()), Err(Error::Name(_))));
    assert!(matches!(Archive::read(folder.path()), Err(Error::File { .. })));
}
