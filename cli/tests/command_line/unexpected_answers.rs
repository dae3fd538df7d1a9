//! Answers with missing fields, and with fields of other types than expected.

use std::process::Command;

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

/// Commands that read one thing.
const ITEMS: [&str; 25] = [
    "job get x",
    "job status x",
    "model get x --type video",
    "pricing get x",
    "estimate fox",
    "top-up get x",
    "health",
    "catalog",
    "me",
    "balance",
    "bgm pick",
    "avatar get x",
    "avatar get x --any",
    "avatar-video get x",
    "preview get x",
    "caption get x",
    "action get x",
    "action run-get x y",
    "format get x",
    "queue get x",
    "run get x --kind action",
    "run get x --kind format",
    "run status x --kind format",
    "run status x --kind agent",
    "webhook secret show",
];

/// Commands that read a list.
const LISTS: [&str; 17] = [
    "job list",
    "job events x",
    "model list --type image",
    "pricing list",
    "usage --entries",
    "bgm list",
    "bgm categories",
    "avatar list",
    "avatar list --any",
    "avatar search fox",
    "avatar-video list",
    "trending search fox",
    "action list",
    "action runs x",
    "format list",
    "agent runs",
    "run events x",
];

fn command(env: &TestEnv, server: &FakeServer, words: &str, format: &str) -> Command {
    let mut command = env.unconfigured([]);
    command
        .args(words.split(' '))
        .args(["-o", format])
        .env("SVC_BASE_URL", &server.url)
        .env("SVC_OPEN_API_KEY", "svc_open")
        .env("SVC_DEVELOPER_BASE_URL", &server.url)
        .env("SVC_DEVELOPER_API_KEY", "svc_dev");
    command
}

/// Checks that every command shows the answer, in JSON with the given text.
fn assert_shown(words: &[&str], body: &str, shown: &str) {
    let env = TestEnv::new();
    let server = FakeServer::answering("200 OK", body);
    for words in words {
        let run = CommandOutput::of(&mut command(&env, &server, words, "json"));
        assert_eq!(run.code, Some(0), "svc {words} with {body}: {run:?}");
        run.json();
        assert!(run.out.ends_with('\n'), "svc {words}: {run:?}");
        assert!(run.out.contains(shown), "svc {words} with {body}: {run:?}");
        let run = CommandOutput::of(&mut command(&env, &server, words, "table"));
        assert_eq!(run.code, Some(0), "svc {words} with {body}: {run:?}");
    }
}

#[test]
fn items_without_fields_are_shown() {
    for body in ["{}", r#"{"data": {}}"#] {
        assert_shown(&ITEMS, body, "{");
    }
}

#[test]
fn items_with_fields_of_other_types_are_shown() {
    let body = r#"{"data": {"id": 7, "status": ["odd-status"], "price_usd": {"odd": 1}}}"#;
    assert_shown(&ITEMS, body, "odd-status");
}

#[test]
fn lists_without_items_are_shown() {
    for body in ["{}", r#"{"data": {}}"#, r#"{"data": []}"#] {
        assert_shown(&LISTS, body, "");
    }
}

#[test]
fn amounts_are_shown_as_received() {
    let env = TestEnv::new();
    for amount in ["123456789012.345678", "99999999999999999999999.99", "0.00000000001"] {
        let body = format!(r#"{{"data": {{"available_usd": "{amount}"}}}}"#);
        let server = FakeServer::answering("200 OK", &body);
        for format in ["json", "table"] {
            let run = CommandOutput::of(&mut command(&env, &server, "balance", format));
            assert_eq!(run.code, Some(0), "{run:?}");
            assert!(run.out.contains(amount), "{run:?}");
        }
    }
}

#[test]
fn raw_answers_end_with_a_line_break() {
    let env = TestEnv::new();
    let server = FakeServer::answering("200 OK", r#"{"data": {}}"#);
    for words in ["api get /v1/health --surface developer", "schema fetch"] {
        let run = CommandOutput::of(&mut command(&env, &server, words, "json")).assert_exit(0);
        assert!(run.out.ends_with('\n'), "{run:?}");
        let mut command = env.developer_surface(words);
        let run = CommandOutput::of(command.env("SVC_DEVELOPER_BASE_URL", &server.url));
        assert_eq!(run.out, "{\"data\": {}}\n");
    }
    server.answer("200 OK", "<html>");
    let words = "api get /v1/health --surface developer";
    let run = CommandOutput::of(&mut command(&env, &server, words, "json"));
    assert_eq!(run.out, "<html>\n");
}
