//! The sandbox, the mock server, completions, manual pages, and the list of operations.

use std::fs;

use crate::test_env::{CommandOutput, TestEnv};

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let env = TestEnv::new();
    CommandOutput::of(env.unconfigured("--help").stdout(full)).assert_exit(1);
}

#[test]
fn every_operation_is_listed_with_its_command() {
    let env = TestEnv::new();
    let rows = env.run_unconfigured("operations -o json").assert_exit(0).json();
    assert_eq!(rows.as_array().unwrap().len(), svc_sdk::contract::Operation::ALL.len());
    let names =
        ["name", "method", "path", "surface", "auth", "scope", "budget", "retry", "cli", "summary"];
    for row in rows.as_array().unwrap() {
        assert!(names.iter().all(|name| row.get(name).is_some()), "{row}");
    }
}
