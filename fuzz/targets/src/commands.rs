// SPDX-License-Identifier: Apache-2.0
//! Implements the target `commands`: the command object and the response object of a server.

use nearscan_applications::fuzz;

/// Command objects.
const COMMANDS: [&str; 4] = [
    "{\"id\":\"17\",\"application\":\"a\",\"arguments\":[\"raw\",\"b\"],\"body\":\"text\"}\n",
    "{\"id\":\"1\",\"application\":\"a\",\"body_base64\":\"/wA=\"}\n\n garbage\n{\"id\":\"2\"",
    "{\"id\":\"\\u0000\\n\",\"application\":\"\",\"body\":\"\",\"body_base64\":\"\"}\r\n",
    "{\"id\":\"?1\",\"application\":\"a\"}\n{\"id\":\"1\",\"application\":\"a\",\"x\":1}\n",
];

/// Response objects and lists of ids.
const RESPONSES: [&str; 2] = [
    "{\"id\":\"17\",\"status\":\"done\",\"body\":\"{\\\"rows\\\":2}\\n\"}\ngarbage\n{\"id\":\"?1\"}",
    "\"17\"\n\"\\n\"\nnull\n",
];

/// Reads an object: the first byte says which. Whether there is a request or an answer.
///
/// # Panics
/// When what must hold of requests and answers does not.
pub fn commands(bytes: &[u8]) -> bool {
    let Some((object, bytes)) = bytes.split_first() else { return false };
    match object % 2 {
        0 => fuzz::commands(bytes),
        _ => fuzz::response(bytes),
    }
}

/// Inputs to begin a corpus with.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let with = |object: u8| move |text: &&str| [&[object], text.as_bytes()].concat();
    COMMANDS.iter().map(with(0)).chain(RESPONSES.iter().map(with(1))).collect()
}
