//! Submits whose outcome is unknown, and what settles it.

use serde_json::Value;
use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY};

use crate::test_env::{
    CommandOutput, FakeServer, TestEnv, Words, interrupt, sleep, start, wait_until,
};

const GATEWAY_TIMEOUT: &str =
    r#"{"error":{"code":"gateway_timeout","message":"The upstream did not respond."}}"#;

/// Runs `svc` against a server that answers both surfaces.
fn run(env: &TestEnv, service: &FakeServer, words: impl Words) -> CommandOutput {
    let mut command = env.unconfigured("--retries 0 -o json");
    command
        .env("SVC_BASE_URL", &service.url)
        .env("SVC_DEVELOPER_BASE_URL", &service.url)
        .env("SVC_OPEN_API_KEY", OPEN_API_KEY)
        .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY);
    CommandOutput::of(command.args(words.words()))
}

fn envelope(code: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","message":"No."}}}}"#)
}

/// Returns the entries of `svc history`, newest first.
fn history(env: &TestEnv) -> Vec<Value> {
    let listed = env.run("history -o json").assert_exit(0).json();
    listed.as_array().unwrap().clone()
}

#[test]
fn a_server_error_of_a_submit_with_a_key_is_resent_with_that_key() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt 'a fox'";
    for status in ["500 Internal Server Error", "504 Gateway Timeout"] {
        let service = FakeServer::answering(status, GATEWAY_TIMEOUT);
        for _ in 0..2 {
            let error = run(&env, &service, words).assert_exit(11).error();
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
        run(&env, &service, words).assert_exit(11);
        assert_eq!(env.open_intents().len(), 1, "the key belongs to another request");
        run(&env, &service, format!("{words} --new")).assert_exit(1);
        assert!(env.open_intents().is_empty());
    }
}

#[test]
fn a_rejection_does_not_settle_an_earlier_attempt() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt 'a fox'";
    let service = FakeServer::answering("504 Gateway Timeout", GATEWAY_TIMEOUT);
    run(&env, &service, words).assert_exit(11);
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
        let error = run(&env, &service, words).assert_exit(exit).error();
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
    run(&env, &service, words).assert_exit(1);
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_server_error_of_a_submit_without_a_key_is_not_resent() {
    let env = TestEnv::new();
    let words = "music generate --prompt 'a waltz'";
    let service = FakeServer::answering("504 Gateway Timeout", GATEWAY_TIMEOUT);
    for _ in 0..2 {
        let error = run(&env, &service, words).assert_exit(11).error();
        let next = error["next"].to_string();
        assert!(next.contains("svc job list --surface developer"), "{next}");
        assert!(next.contains("--new"), "{next}");
        assert!(error["idempotency_key"].is_string());
    }
    assert_eq!(service.heads.lock().unwrap().len(), 1);
    assert_eq!(env.open_intents().len(), 1);
    run(&env, &service, format!("{words} --new")).assert_exit(11);
    assert_eq!(service.heads.lock().unwrap().len(), 2);
    let outcomes: Vec<_> = history(&env).iter().map(|entry| entry["outcome"].clone()).collect();
    assert_eq!(outcomes, [Value::Null, "abandoned".into()]);
}

#[test]
fn a_server_error_that_says_that_nothing_ran_closes_the_intent() {
    let env = TestEnv::new();
    let body = r#"{"error":{"code":"internal_error","message":"No.","retryable":true}}"#;
    let service = FakeServer::answering("500 Internal Server Error", body);
    let words = "video generate --prompt 'a fox'";
    run(&env, &service, words).assert_exit(1);
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_run_that_is_rejected_because_another_is_active_is_not_retried() {
    let env = TestEnv::new();
    let words = "format run fmt_demo --instruction";
    let active = format!("{words} [mock:stuck] --no-wait");
    env.developer(&active).assert_exit(0);
    let rejected = format!("{words} x --on-active-run reject");
    env.developer(&rejected).assert_exit(1).assert_stderr("format_run_in_progress");
    assert_eq!(env.requests("formats_runs_create").len(), 2);
    assert!(env.open_intents().is_empty());
    assert_eq!(history(&env)[0]["outcome"], "refused");
}

#[test]
fn a_receipt_without_an_id_is_not_said_to_be_sent_again() {
    let env = TestEnv::new();
    let service = FakeServer::answering("202 Accepted", r#"{"data":{"job":{}}}"#);
    for words in
        ["image generate --model image-i --prompt 'a fox'", "top-up create --amount-usd-cents 500"]
    {
        let sent = service.heads.lock().unwrap().len();
        for _ in 0..2 {
            let error = run(&env, &service, words).assert_exit(11).error();
            let next = error["next"].to_string();
            assert!(!next.contains("run the same command"), "{next}");
            assert!(next.contains("--new"), "{next}");
        }
        assert_eq!(service.heads.lock().unwrap().len(), sent + 1, "{words}");
    }
    assert_eq!(env.open_intents().len(), 2);
}

const TOP_UP: &str = "top-up create --amount-usd-cents 500";

#[test]
fn a_top_up_is_recorded_and_each_command_creates_a_new_one() {
    let env = TestEnv::new();
    let first = env.run(TOP_UP).assert_exit(0).json();
    let second = env.run(TOP_UP).assert_exit(0).json();
    assert_ne!(first["id"], second["id"]);
    let entries = history(&env);
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["top_up_id"], second["id"]);
    assert_eq!(entries[0]["outcome"], "submitted");
    assert_eq!(entries[0]["operation"], "top_ups_create");
    let keys: Vec<_> = env
        .requests("top_ups_create")
        .iter()
        .map(|request| request["idempotency_key"].clone())
        .collect();
    assert_eq!(entries[0]["idempotency_key"], keys[1]);
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_top_up_with_an_unknown_outcome_is_resent_with_its_key() {
    let env = TestEnv::new();
    let once = format!("{TOP_UP} --retries 0");
    let create = |flags: &[&str]| CommandOutput::of(env.open_surface(&once).args(flags));
    env.add_fault("top_ups_create", "drop_after", 1);
    create(&[]).assert_exit(11).assert_stderr("run the same command again");
    assert_eq!(env.open_intents().len(), 1);
    let found = create(&[]).assert_exit(0).assert_stderr("with the same idempotency key");
    let entries = history(&env);
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["top_up_id"], found.json()["id"]);
    assert_eq!(entries[0]["outcome"], "submitted");
    let requests = env.requests("top_ups_create");
    assert_eq!(requests[0]["idempotency_key"], requests[1]["idempotency_key"]);

    // `--new` creates another one, and `--no-journal` records nothing.
    env.add_fault("top_ups_create", "drop_after", 1);
    create(&[]).assert_exit(11);
    create(&["--new"]).assert_exit(0);
    let entries = history(&env);
    assert_eq!(entries.len(), 3);
    assert_eq!(entries[1]["outcome"], "abandoned");
    create(&["--no-journal"]).assert_exit(0);
    assert_eq!(history(&env).len(), 3);
    env.run("top-up create --amount-usd-cents 1").assert_exit(1);
    assert_eq!(history(&env)[0]["outcome"], "refused");
}

#[test]
fn a_top_up_whose_command_was_killed_is_found_again() {
    let env = TestEnv::new();
    env.add_delay("top_ups_create", 400);
    let mut child = start(&mut env.open_surface(TOP_UP));
    wait_until("the request is received", || env.mock.faults().is_empty());
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    env.run(TOP_UP).assert_exit(0).assert_stderr("with the same idempotency key");
    assert!(env.open_intents().is_empty());

    // The receipt was recorded, but not printed.
    env.leave_to_an_earlier_version(history(&env).remove(0));
    let before = env.requests("top_ups_create").len();
    let found = env.run(TOP_UP).assert_exit(0).assert_stderr("Resuming");
    assert_eq!(env.requests("top_ups_create").len(), before);
    assert_eq!(history(&env)[0]["top_up_id"], found.json()["id"]);
    assert!(env.open_intents().is_empty());
}

#[test]
fn the_error_of_a_wait_names_what_was_waited_for() {
    let env = TestEnv::new();
    let id = env.run(TOP_UP).assert_exit(0).json()["id"].as_str().unwrap().to_owned();
    let wait = ["top-up", "wait", &id, "--timeout", "1", "-o", "json"];
    let error = env.run(wait).assert_exit(9).error();
    assert_eq!(error["top_up_id"], id.as_str());
    assert!(error["message"].as_str().unwrap().contains(&id), "{error}");
    assert_eq!(error["resume"], format!("svc top-up wait {id}"));
    let child = start(&mut env.open_surface(["top-up", "wait", &id, "-o", "json"]));
    wait_until("the top-up is polled", || env.requests("top_ups_get").len() >= 2);
    sleep(std::time::Duration::from_millis(100));
    interrupt(&child);
    let error = child.end().assert_exit(130).error();
    assert_eq!(error["top_up_id"], id.as_str());
    env.add_fault("top_ups_get", "status_502_html", 99);
    let error = CommandOutput::of(env.open_surface(wait).args(["--retries", "0"])).error();
    assert_eq!(error["top_up_id"], id.as_str(), "{error}");
    env.mock.clear_faults();
    env.mock.settle_top_up(&id, "expired".into()).unwrap();
    let error = env.run(wait).assert_exit(8).error();
    assert_eq!(error["top_up_id"], id.as_str());
    let missing = "top-up wait top_none -o json";
    let error = env.run(missing).assert_exit(4).error();
    assert_eq!(error["top_up_id"], "top_none");

    for (command, field, id) in [
        ("run wait --kind format", "run_id", "run_none"),
        ("queue wait --timeout 1", "queue_id", "frq_none"),
    ] {
        let words = format!("{command} {id} -o json");
        let error = env.developer(words).assert_exit(4).error();
        assert_eq!(error[field], id, "{error}");
    }
}
