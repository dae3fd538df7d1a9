//! Output formats, and control characters in text of the service.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::test_env::{CommandOutput, TestEnv, start};

#[test]
fn a_closed_stdout_is_not_an_error() {
    let env = TestEnv::new();
    let mut child = start(&mut env.open_surface("operations -o json"));
    let mut first = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let run = child.end();
    assert_eq!(run.code, Some(0));
    assert_eq!(run.err, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_error_on_stdout_is_an_error_and_the_job_can_be_resumed() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt [mock:seconds=0.1]";
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run: CommandOutput =
        env.open_surface(words).stdout(full).stderr(Stdio::piped()).output().unwrap().into();
    run.assert_exit(1).assert_stderr("standard output");
    env.run(words).assert_exit(0).assert_stderr("Resuming job_");
    assert_eq!(env.charge_count(), 1);
}
