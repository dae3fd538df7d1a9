//! Submits whose outcome is unknown, and what settles it.

use serde_json::Value;
use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY};

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

const GATEWAY_TIMEOUT: &str =
    r#"{"error":{"code":"gateway_timeout","message":"The upstream did not respond."}}"#;

/// Runs `svc` against a server that answers both surfaces.
fn run(env: &TestEnv, service: &FakeServer, words: &[&str]) -> CommandOutput {
    let mut command = env.unconfigured(["--retries", "0", "-o", "json"]);
    command
        .env("SVC_BASE_URL", &service.url)
        .env("SVC_DEVELOPER_BASE_URL", &service.url)
        .env("SVC_OPEN_API_KEY", OPEN_API_KEY)
        .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY);
    CommandOutput::of(command.args(words))
}

fn envelope(code: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","message":"No."}}}}"#)
}

/// Returns the entries of `svc history`, newest first.
fn history(env: &TestEnv) -> Vec<Value> {
    let listed = env.run(["history", "-o", "json"]).assert_exit(0).json();
    listed.as_array().unwrap().clone()
}

#[test]
fn a_server_error_of_a_submit_with_a_key_is_resent_with_that_key() {
    let env = TestEnv::new();
    let words = [
        "image", "generate", "--model", "image-i", "--prompt", "a fox",
    ];
    for status in ["500 Internal Server Error", "504 Gateway Timeout"] {
        let service = FakeServer::answering(status, GATEWAY_TIMEOUT);
        for _ in 0..2 {
            let error = run(&env, &service, &words).assert_exit(11).error();
            let keys = service.idempotency_keys();
            assert_eq!(error["idempotency_key"], keys[0].as_str());
            assert_eq!(error["status"], status[..3].parse::<u16>().unwrap());
            let next = error["next"].to_string();
            assert!(next.contains("run the same command again"), "{next}");
            assert_eq!(env.open_intents().len(), 1);
        }
        let keys = service.idempotency_keys();
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[0], keys[1]);
        service.answer("409 Conflict", &envelope("idempotency_conflict"));
        run(&env, &service, &words).assert_exit(1);
        assert!(env.open_intents().is_empty(), "the conflict settles it");
    }
}

#[test]
fn a_rejection_does_not_settle_an_earlier_attempt() {
    let env = TestEnv::new();
    let words = [
        "image", "generate", "--model", "image-i", "--prompt", "a fox",
    ];
    let service = FakeServer::answering("504 Gateway Timeout", GATEWAY_TIMEOUT);
    run(&env, &service, &words).assert_exit(11);
    let rows = [
        ("401 Unauthorized", "unauthorized", 3),
        ("402 Payment Required", "insufficient_funds", 5),
        ("403 Forbidden", "forbidden", 3),
        ("404 Not Found", "model_not_found", 4),
        ("409 Conflict", "job_conflict", 1),
        ("429 Too Many Requests", "rate_limited", 6),
        ("503 Service Unavailable", "database_busy", 6),
    ];
    for (status, code, exit) in rows {
        service.answer(status, &envelope(code));
        let error = run(&env, &service, &words).assert_exit(exit).error();
        assert_eq!(error["code"], code);
        let next = error["next"].to_string();
        assert!(next.contains("earlier attempt"), "{code}: {next}");
        assert!(next.contains("--new"), "{code}: {next}");
        assert!(!next.contains("nothing was charged"), "{code}: {next}");
        assert_eq!(env.open_intents().len(), 1, "{code}");
    }
    let mut keys = service.idempotency_keys();
    assert_eq!(keys.len(), 1 + rows.len());
    keys.dedup();
    assert_eq!(keys.len(), 1, "{keys:?}");
    service.answer("400 Bad Request", &envelope("invalid_request"));
    run(&env, &service, &words).assert_exit(1);
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_server_error_of_a_submit_without_a_key_is_not_resent() {
    let env = TestEnv::new();
    let words = ["music", "generate", "--prompt", "a waltz"];
    let service = FakeServer::answering("504 Gateway Timeout", GATEWAY_TIMEOUT);
    for _ in 0..2 {
        let error = run(&env, &service, &words).assert_exit(11).error();
        let next = error["next"].to_string();
        assert!(next.contains("svc job list --surface developer"), "{next}");
        assert!(next.contains("--new"), "{next}");
        assert!(error["idempotency_key"].is_string());
    }
    assert_eq!(service.heads.lock().unwrap().len(), 1);
    assert_eq!(env.open_intents().len(), 1);
    run(&env, &service, &[&words[..], &["--new"]].concat()).assert_exit(11);
    assert_eq!(service.heads.lock().unwrap().len(), 2);
    let outcomes: Vec<_> = history(&env)
        .iter()
        .map(|entry| entry["outcome"].clone())
        .collect();
    assert_eq!(outcomes, [Value::Null, "abandoned".into()]);
}

#[test]
fn a_server_error_that_says_that_nothing_ran_closes_the_intent() {
    let env = TestEnv::new();
    let body = r#"{"error":{"code":"internal_error","message":"No.","retryable":true}}"#;
    let service = FakeServer::answering("500 Internal Server Error", body);
    let words = ["video", "generate", "--prompt", "a fox"];
    run(&env, &service, &words).assert_exit(1);
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_run_that_is_rejected_because_another_is_active_is_not_retried() {
    let env = TestEnv::new();
    let words = ["format", "run", "fmt_demo", "--instruction"];
    let active = [&words[..], &["[mock:stuck]", "--no-wait"]].concat();
    env.developer(&active).assert_exit(0);
    let rejected = [&words[..], &["x", "--on-active-run", "reject"]].concat();
    env.developer(&rejected)
        .assert_exit(1)
        .assert_stderr("format_run_in_progress");
    assert_eq!(env.requests("formats_runs_create").len(), 2);
    assert!(env.open_intents().is_empty());
    assert_eq!(history(&env)[0]["outcome"], "refused");
}
