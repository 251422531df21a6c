//! Commands that end by themselves.

#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn schema_prints_what_is_checked_in() {
    let output = Command::new(env!("CARGO_BIN_EXE_drift-poller")).arg("schema").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), include_str!("../../docs/target.schema.json"));
}
