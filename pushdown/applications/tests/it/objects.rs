// SPDX-License-Identifier: Apache-2.0
//! Tests what an application can do with the objects that it has a right to.

use nearscan_applications::{Level, What};

use crate::server::{Server, from_c, manifest, object};

const EXPECTED: &str = "\
before the commit: not-found
commit: default/raw made 8
commit again: invalid
create again: exists
append to another version: conflict
info: default/raw made 8
reader: default/raw made 8
read: 67
read behind the end: too-large
next: 01234
next: 567
next: 
list: default/raw a 1
list: default/raw made 8
list the next: default/raw made 8
set: done
get: blue
name: color
name: sky
remove: done
get: not-found
set: done
get: blue
name: sky
remove: done
get: not-found
sink: done
commit: default/raw table 8
write after the commit: invalid
output without a query: unavailable
clocks: 1
";

#[tokio::test(flavor = "multi_thread")]
async fn each_function_on_objects_does_what_it_says() {
    let test = "each_function_on_objects_does_what_it_says";
    let file = "tests/it/guests/objects.c";
    let Some(component) = from_c(test, "command", file) else { return };
    let server = Server::new();
    server.put("raw/a", b"x");
    server.add(&manifest("a", "command", ""), &component);
    let answer = String::from_utf8(server.run("a", &[]).await.unwrap()).unwrap();
    assert_eq!(answer, EXPECTED);
    assert_eq!(server.get("raw/made").unwrap(), b"01234567");
    assert_eq!(server.get("raw/table").unwrap(), b"PAR1rows");
    let attributes = server.store.attributes(&object("raw/made")).unwrap();
    assert_eq!(attributes["color"], &b"red"[..]);
    let line = What::Logged(Level::Warn, "a line".to_owned());
    assert!(server.notices().contains(&("a".to_owned(), line)));
}
