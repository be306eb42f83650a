// SPDX-License-Identifier: Apache-2.0
//! The programs of the folder `examples` run to their end; each checks what it gets.

use rstest::rstest;

#[path = "../../examples/custom_table.rs"]
mod custom_table;
#[path = "../../examples/embed.rs"]
mod embed;
#[path = "../../examples/object_store.rs"]
mod object_store;
#[path = "../../examples/parameters.rs"]
mod parameters;
#[path = "../../examples/progress.rs"]
mod progress;
#[path = "../../examples/service.rs"]
mod service;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[rstest]
#[case::custom_table(custom_table::main)]
#[case::embed(embed::main)]
#[case::object_store(object_store::main)]
#[case::parameters(parameters::main)]
#[case::progress(progress::main)]
#[case::service(service::main)]
fn example_ends_with_success(#[case] main: fn() -> Outcome) {
    main().unwrap();
}
