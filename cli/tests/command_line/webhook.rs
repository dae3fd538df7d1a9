//! `svc webhook`: what scripts cannot say.

use std::fs;

use crate::test_env::{CommandOutput, TestEnv};

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
