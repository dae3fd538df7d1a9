//! What scripts cannot say of a command that ends.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::test_env::{CommandOutput, TestEnv};

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let env = TestEnv::new();
    CommandOutput::of(env.unconfigured("--help").stdout(full)).assert_exit(1);
}

#[cfg(target_os = "linux")]
#[test]
fn bash_completes_with_the_script() {
    let env = TestEnv::new();
    let program = Path::new(env!("CARGO_BIN_EXE_svc"));
    let folder = program.parent().unwrap().display();
    let script = format!(
        "PATH={folder}:$PATH; source <(svc completions bash); \
         COMP_WORDS=(svc image generate --model im); COMP_CWORD=4; \
         _clap_complete_svc svc im --model; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let svc = env.open_surface("");
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &script]).current_dir(env.path(""));
    for (name, value) in svc.get_envs() {
        if let Some(value) = value {
            bash.env(name, value);
        }
    }
    let run = CommandOutput::of(&mut bash).assert_exit(0);
    assert_eq!(run.out.trim(), "image-i", "{}", run.err);
}

#[test]
fn a_binary_body_is_read_from_standard_input() {
    let env = TestEnv::new();
    fs::write(env.path("binary"), b"\x00\xff\xfe\x80").unwrap();
    let signature = "svc-v1=bfde5f017e153fd344ec2aeb27613ad1b488835497ac17947984857a77d5756d";
    let mut command = env.unconfigured(format!(
        "webhook verify --timestamp 1700000000 --signature '{signature}' --tolerance 0 -"
    ));
    let binary = fs::File::open(env.path("binary")).unwrap();
    command.stdin(binary).env("SVC_WEBHOOK_SECRET", "whsec_newest");
    let run = CommandOutput::of(&mut command).assert_exit(0);
    assert!(run.json()["event"].is_null());
}

#[test]
fn the_password_of_a_server_is_not_shown() {
    let env = TestEnv::new();
    let words = "webhook inbox list -o json --store postgres://user:canary@127.0.0.1:9/db";
    let (code, name) = match cfg!(feature = "postgres") {
        true => (1, "connection_failed"),
        false => (2, "configuration"),
    };
    let failed = env.run_unconfigured(words).assert_exit(code);
    assert_eq!(failed.error()["code"], name);
    assert!(cfg!(feature = "postgres") || failed.err.contains("--features postgres"));
    assert!(!failed.err.contains("canary"), "{}", failed.err);
}
