//! `svc mock exec`: a command in the environment of a mock.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::test_env::{CommandOutput, RunningProcess, TestEnv, start, wait_until};

/// Runs a shell script against a mock. `$0` is the program.
fn exec(env: &TestEnv, flags: &[&str], script: &str) -> CommandOutput {
    CommandOutput::of(&mut command(env, flags, script))
}

fn command(env: &TestEnv, flags: &[&str], script: &str) -> Command {
    let mut command = env.unconfigured("mock exec");
    command.args(flags).args(["--", "/bin/sh", "-c", script, env!("CARGO_BIN_EXE_svc")]);
    command
}

#[test]
fn the_command_runs_in_the_environment_of_a_mock() {
    let env = TestEnv::new();
    let run =
        exec(&env, &["--balance-usd", "7"], "env; $0 balance --jq .available_usd").assert_exit(0);
    for name in [
        "SVC_BASE_URL=http://127.0.0.1:",
        "SVC_DEVELOPER_BASE_URL=http://127.0.0.1:",
        "SVC_MCP_URL=http://127.0.0.1:",
        "SVC_MEDIA_URL=http://127.0.0.1:",
        "SVC_CONTROL_URL=http://127.0.0.1:",
        "SVC_OPEN_API_KEY=svc_open_demo",
        "SVC_DEVELOPER_API_KEY=svc_dev_demo",
        "SVC_WEBHOOK_SECRET=whsec_",
    ] {
        assert!(run.out.contains(name), "{name}: {}", run.out);
    }
    assert!(run.out.contains("7.0"), "{}", run.out);
    assert!(run.err.is_empty(), "{}", run.err);
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let env = TestEnv::new();
    exec(&env, &[], "exit 0").assert_exit(0);
    exec(&env, &[], "exit 42").assert_exit(42).assert_stderr("sent no requests to the mock");
    exec(&env, &[], "kill -TERM $$").assert_exit(143);
    exec(&env, &[], "kill -KILL $$").assert_exit(137);
    let of = |program: &str| env.run_unconfigured(["mock", "exec", "--", program]);
    of("no-such-program").assert_exit(127).assert_stderr("no-such-program");
    let script = env.path("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    of(script.to_str().unwrap()).assert_exit(126);
    env.run_unconfigured("mock exec").assert_exit(2);
}

#[test]
fn the_last_requests_of_a_failed_command_are_listed() {
    let env = TestEnv::new();
    let loop_ = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do $0 job get job_$n 2>/dev/null; done; exit 1";
    let run = exec(&env, &[], loop_).assert_exit(1);
    let lines: Vec<_> = run.err.lines().filter(|line| line.contains("/v1/")).collect();
    assert_eq!(lines.len(), 20, "{}", run.err);
    assert_eq!(lines[0].trim(), "GET    /v1/jobs/job_2  404  job_not_found");
    assert!(run.err.contains("the last 20 of its 21 requests"), "{}", run.err);
    let run = exec(&env, &[], "$0 job get job_1 2>/dev/null; exit 0").assert_exit(0);
    assert!(run.err.is_empty(), "{}", run.err);
}

#[test]
fn the_flags_are_those_of_the_mock() {
    let env = TestEnv::new();
    let run =
        exec(&env, &["--plan", "scale", "--read-multiple", "3"], "$0 me --jq .workspace.plan")
            .assert_exit(0);
    assert_eq!(run.out.trim(), "scale");
    let help = env.run_unconfigured("mock exec --help").assert_exit(0);
    for flag in ["--clock", "--speed", "--seed", "--plan", "--webhook-route", "--read-multiple"] {
        assert!(help.out.contains(flag), "{flag}");
    }
    let invalid = "mock exec --read-multiple 0 -- true";
    env.run_unconfigured(invalid).assert_exit(2);
}

#[test]
fn signals_are_forwarded_to_the_command() {
    let env = TestEnv::new();
    for (signal, code) in [("INT", 7), ("TERM", 8)] {
        let script =
            "trap 'exit 7' INT; trap 'exit 8' TERM; echo ready; while :; do sleep 0.05; done";
        let mut child = start(&mut command(&env, &[], script));
        let mut line = String::new();
        let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        send(&child, signal);
        child.end().assert_exit(code);
    }
}

#[test]
fn the_mock_runs_until_the_command_has_ended() {
    let env = TestEnv::new();
    let script = "trap '' TERM; echo $SVC_BASE_URL > url; while [ ! -e stop ]; do sleep 0.05; done; $0 job list > /dev/null";
    let child = start(&mut command(&env, &[], script));
    wait_until("the command runs", || {
        fs::read_to_string(env.path("url")).is_ok_and(|url| url.ends_with('\n'))
    });
    send(&child, "TERM");
    fs::write(env.path("stop"), "").unwrap();
    child.end().assert_exit(0);
    let url = fs::read_to_string(env.path("url")).unwrap();
    let words = ["job", "list", "--retries", "0", "--base-url", url.trim()];
    CommandOutput::of(env.unconfigured(words).env("SVC_OPEN_API_KEY", "svc_open_demo"))
        .assert_exit(10);
}

fn send(child: &RunningProcess, signal: &str) {
    let status = Command::new("kill")
        .args([&format!("-{signal}"), &child.0.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}
