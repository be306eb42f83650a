// SPDX-License-Identifier: Apache-2.0
//! Answers how long an object is. Arguments: a collection and the name of an object.

wit_bindgen::generate!({ world: "command-application", path: "wit" });

use exports::nearscan::drive::command::Guest;
use nearscan::drive::objects;

struct Application;

impl Guest for Application {
    fn run(arguments: Vec<String>, _body: Vec<u8>) -> Result<Vec<u8>, String> {
        let [collection, name] = arguments.as_slice() else {
            return Err("give a collection and the name of an object".to_owned());
        };
        match objects::info(collection, name) {
            Ok(info) => Ok(info.length.to_string().into_bytes()),
            Err(error) => Err(format!("{error:?}")),
        }
    }
}

export!(Application);
