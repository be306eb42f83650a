// SPDX-License-Identifier: Apache-2.0
//! Makes guests from the text format, which needs no tools. The tests of servers include this file.

use nearscan_applications::pack;

/// A manifest with the right to read and write `raw`.
pub(crate) fn manifest(name: &str, entry: &str, limits: &str) -> String {
    format!(
        "name = \"{name}\"\nversion = \"1\"\nentries = [\"{entry}\"]\n\
         [[rights]]\ncollection = \"raw\"\naccess = [\"read\", \"write\"]\n[limits]\n{limits}\n"
    )
}

/// A component whose function is given in the text format, with others beside it. A table has the
/// schema that is at 32: a result of a list.
pub(crate) fn guest(entry: &str, body: &str, others: &str) -> Vec<u8> {
    let (function, parameters) = match entry {
        "command" => ("command@0.1.0#run", "i32 i32 i32 i32"),
        "handler" => ("event-handler@0.1.0#handle", "i64 i64 i32 i32 i32 i32 i32 i64 i32 i32 i64"),
        "table" => ("table-function@0.1.0#produce", "i32 i32"),
        other => panic!("no entry {other}"),
    };
    let schema = match entry {
        "table" => {
            "(func (export \"nearscan:drive/table-function@0.1.0#schema\") (param i32 i32)
               (result i32) (i32.const 32))"
        }
        _ => "",
    };
    let text = format!(
        "(module {others}
           (memory (export \"memory\") 1)
           (global $next (mut i32) (i32.const 4096))
           (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32)
             (local $at i32)
             (local.set $at (global.get $next))
             (global.set $next (i32.and (i32.add (i32.add (local.get $at) (local.get 3))
               (i32.const 15)) (i32.const -16)))
             (if (i32.gt_u (global.get $next) (i32.shl (memory.size) (i32.const 16)))
               (then (drop (memory.grow (i32.sub
                 (i32.add (i32.shr_u (global.get $next) (i32.const 16)) (i32.const 1))
                 (memory.size))))))
             (local.get $at))
           {schema}
           (func (export \"nearscan:drive/{function}\") (param {parameters}) (result i32) {body}))"
    );
    pack(&wat::parse_str(&text).unwrap()).unwrap()
}
