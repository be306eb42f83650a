# SPDX-License-Identifier: Apache-2.0
# A menu only: every line calls cargo or `cargo xtask`, so that
# a machine without `just` loses nothing.

# list the recipes
default:
    @just --list

# the inner loop: formatting, lints, and the tests of what changed
check *options:
    cargo xtask check {{options}}

# unit, integration and doc tests of every crate, and the other suites
test *options:
    cargo xtask test {{options}}

# other people's SQL tests, on the emulated drive
slt *options:
    cargo xtask slt {{options}}

# exactly what CI runs
ci:
    cargo xtask ci

# random queries over random files, against DuckDB
fuzz *options:
    cargo xtask fuzz sql {{options}}

# format, and apply the fixes that clippy is sure of
fix:
    cargo fmt --all
    cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged

# write the generated files anew
codegen:
    cargo xtask codegen

# the API documentation, warnings refused
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# licences, advisories and duplicate versions (needs cargo-deny)
deny:
    cargo deny check
