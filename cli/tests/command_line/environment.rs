//! The sandbox, the mock server, completions, manual pages, and the list of operations.

use std::fs;
use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::test_env::{CommandOutput, TestEnv, interrupt, start};

#[test]
fn the_sandbox_prints_no_resume_command() {
    let env = TestEnv::new();
    let words = "--sandbox image generate --model image-i --prompt [mock:stuck] --timeout 1";
    let run = env.run_unconfigured(words).assert_exit(9);
    assert!(!run.err.contains("resume with"), "{}", run.err);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let env = TestEnv::new();
    CommandOutput::of(env.unconfigured("--help").stdout(full)).assert_exit(1);
}

#[test]
fn mock_serve_runs_until_it_is_interrupted() {
    let env = TestEnv::new();
    let mut child = start(&mut env.unconfigured("mock serve --port-base 0 --speed 50 -v"));
    let mut line = String::new();
    let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let addresses: Value = serde_json::from_str(&line).unwrap();
    let url = addresses["SVC_BASE_URL"].as_str().unwrap();
    let run = CommandOutput::of(
        env.unconfigured("image generate --model image-i --prompt [mock:seconds=0.1]")
            .env("SVC_BASE_URL", url)
            .env("SVC_OPEN_API_KEY", addresses["SVC_OPEN_API_KEY"].as_str().unwrap()),
    );
    run.assert_exit(0);
    let port = url.rsplit(':').next().unwrap();
    env.run_unconfigured(["mock", "serve", "--port-base", port]).assert_exit(1).assert_stderr(port);
    interrupt(&child);
    let submit = "svc mock: POST   /v1/image-router/generate  202\n";
    child.end().assert_exit(0).assert_stderr(submit);
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

#[test]
fn completions_and_manual_pages_are_generated() {
    let env = TestEnv::new();
    let script = env.run_unconfigured("completions zsh").assert_exit(0).out;
    assert!(script.contains("COMPLETE") && script.contains("svc"), "{script}");
    env.run_unconfigured("man pages").assert_exit(0);
    let page = fs::read_to_string(env.path("pages/svc-video-generate.1")).unwrap();
    assert!(page.contains("router/generate"), "{page}");
    fs::write(env.path("in-the-way"), "").unwrap();
    env.run_unconfigured("man in-the-way/pages").assert_exit(1).assert_stderr("in-the-way");
}

#[test]
fn help_and_version_are_printed_to_stdout() {
    let env = TestEnv::new();
    let run = env.run_unconfigured("--version").assert_exit(0);
    assert!(run.out.starts_with("svc ") && run.err.is_empty());
    let run = env.run_unconfigured("video generate --help").assert_exit(0);
    assert!(
        run.out.contains("POST /v1/video-router/generate (video_generate, --surface open)")
            && run.err.is_empty()
    );
    for words in [vec![], vec!["help"], vec!["help", "options"], vec!["help", "video"]] {
        let run = CommandOutput::of(env.unconfigured([]).args(words)).assert_exit(0);
        assert!(!run.out.is_empty() && run.err.is_empty(), "{run:?}");
    }
    let run = env.run_unconfigured([]).assert_exit(0);
    assert_eq!(run.out.matches("\n  svc ").count(), 3, "{}", run.out);
    env.run_unconfigured("help vidoe").assert_exit(2).assert_stderr("'video'");
    env.run_unconfigured("video").assert_exit(2).assert_stderr("generate");
}
