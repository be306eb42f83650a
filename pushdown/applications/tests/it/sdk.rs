// SPDX-License-Identifier: Apache-2.0
//! Tests that a module becomes a component only if it is an application. The examples test the
//! rest.

use nearscan_applications::{Error, pack};
use rstest::rstest;

#[rstest]
#[case::without_an_entry("(module (memory (export \"memory\") 1))", "no entry")]
#[case::that_imports_more(
    "(module (import \"env\" \"system\" (func (param i32) (result i32)))
       (memory (export \"memory\") 1)
       (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) (i32.const 0))
       (func (export \"nearscan:drive/command@0.1.0#run\")
         (param i32 i32 i32 i32) (result i32) (i32.const 0)))",
    "env"
)]
#[case::with_another_type(
    "(module (memory (export \"memory\") 1)
       (func (export \"nearscan:drive/command@0.1.0#run\")))",
    "type mismatch"
)]
fn other_modules_are_no_applications(#[case] text: &str, #[case] reason: &str) {
    let error = pack(&wat::parse_str(text).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Component { .. }), "{error}");
    assert!(error.to_string().contains(reason), "{error}");
}

#[test]
fn what_is_no_module_is_an_error() {
    let error = pack(b"nearscan:drive/command@0.1.0#run").unwrap_err();
    assert!(matches!(error, Error::Component { .. }), "{error}");
}
