//! Answers that lack what a command needs: receipts without a status, results without a reason, and
//! files that cannot be downloaded.

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::batch::write;
use crate::test_env::{CommandOutput, FakeServer, TestEnv};

const KEY: &str = "svc_open_canary_0123456789";

fn command(env: &TestEnv, server: &FakeServer, words: &str) -> Command {
    let mut command = env.unconfigured(words);
    command
        .env("SVC_BASE_URL", &server.url)
        .env("SVC_OPEN_API_KEY", KEY)
        .env("SVC_DEVELOPER_BASE_URL", &server.url)
        .env("SVC_DEVELOPER_API_KEY", KEY);
    command
}

fn run(env: &TestEnv, server: &FakeServer, words: &str) -> CommandOutput {
    CommandOutput::of(&mut command(env, server, words))
}

fn error(output: &CommandOutput) -> Value {
    let last = output.err.lines().last().unwrap();
    serde_json::from_str::<Value>(last).unwrap()["error"].take()
}

/// Answers submits with a receipt, and polls with a status. Results have the status and the fields.
fn service(receipt: &Value, status: &'static str, fields: &Value) -> FakeServer {
    let receipt = json!({ "data": receipt }).to_string();
    let poll = json!({"data": {"status": status, "terminal": true}}).to_string();
    let mut result = json!({"id": "job_7", "job_id": "job_7", "run_id": "run_7", "status": status});
    for (name, value) in fields.as_object().unwrap() {
        result[name] = value.clone();
    }
    let result = json!({ "data": result }).to_string();
    FakeServer::answering_requests(move |request| {
        let line = request.lines().next().unwrap();
        let path = line.split(' ').nth(1).unwrap();
        match line {
            _ if path.starts_with("/gone") => ("404 Not Found", "no".to_owned()),
            line if line.starts_with("POST") => ("202 Accepted", receipt.clone()),
            _ if path.ends_with("/status") => ("200 OK", poll.clone()),
            _ => {
                let host = request
                    .lines()
                    .find_map(|line| line.to_lowercase().strip_prefix("host: ").map(str::to_owned));
                ("200 OK", result.replace("HOST", &host.unwrap_or_default()))
            }
        }
    })
}

#[test]
fn a_receipt_needs_no_more_than_an_id() {
    for receipt in [
        json!({"job": {"id": "job_7"}}),
        json!({"job": {"id": "job_7", "status": 5}}),
        json!({"id": "job_7"}),
        json!({"job_id": "job_7"}),
    ] {
        let env = TestEnv::new();
        let server = service(&receipt, "completed", &json!({"artifacts": []}));
        for (words, id) in [
            ("music generate fox --yes -o json", "/job_id"),
            ("music generate fox --yes --no-wait --new -o json", "/job/id"),
        ] {
            let output = run(&env, &server, words).assert_exit(0);
            assert_eq!(output.json().pointer(id).unwrap(), "job_7", "{output:?}");
        }
        let history = run(&env, &server, "history -o json").assert_exit(0).json();
        assert_eq!(history[0]["job_id"], "job_7");
        assert_eq!(history[1]["outcome"], "completed");
    }
    let env = TestEnv::new();
    let server = service(&json!({"run_id": "run_7"}), "completed", &json!({"output": 7}));
    let output = run(&env, &server, "agent run fox --cap 1 --yes").assert_exit(0);
    assert_eq!(output.json(), 7);
    let server = service(&json!({"id": "top_7"}), "paid", &json!({}));
    let words = "top-up create --amount-usd-cents 1000 -o json";
    let output = run(&env, &server, words).assert_exit(0);
    assert_eq!(output.json()["id"], "top_7");
    let server = service(&json!({"job": {"status": "queued"}}), "completed", &json!({}));
    run(&env, &server, "music generate fox --yes").assert_exit(11);
}

#[test]
fn a_run_with_an_unknown_terminal_status_has_not_completed() {
    let env = TestEnv::new();
    let wait = "run wait run_7 --kind agent -o json";
    let server = service(&json!({}), "expired", &json!({}));
    let output = run(&env, &server, wait).assert_exit(7);
    assert!(output.err.contains("ended with status expired"), "{output:?}");
    let server = service(&json!({}), "completed", &json!({"status": null}));
    run(&env, &server, wait).assert_exit(0);
}

#[test]
fn a_job_that_ended_with_an_unknown_status_is_not_paid_for_again() {
    let env = TestEnv::new();
    let receipt = json!({"job": {"id": "job_7", "status": "queued"}});
    let server = service(&receipt, "halted", &json!({}));
    let line = json!({"operation": "music_1_generate", "body": {"prompt": "a waltz"}});
    write(&env, "m.jsonl", &[line]);
    let left_alone = "--retry-failed leaves that alone";
    for flags in ["", "--retry-failed"] {
        let words = format!("batch run m.jsonl --yes -o jsonl {flags}");
        let failed = error(&run(&env, &server, &words).assert_exit(7));
        assert!(failed["details"].to_string().contains(left_alone), "{failed}");
        assert!(failed.get("next").is_none(), "{failed}");
        let heads = server.heads.lock().unwrap();
        let submits = heads.iter().filter(|head| head.starts_with("POST"));
        assert_eq!(submits.count(), 1);
    }
    run(&env, &server, "batch status m.jsonl -o table").assert_exit(0).assert_stderr(left_alone);
}

#[test]
fn the_result_names_what_the_job_created() {
    let env = TestEnv::new();
    let receipt = json!({"job": {"id": "job_7", "status": "queued"}, "preview": {"id": "pre_7"}});
    let server = service(&receipt, "completed", &json!({"artifacts": []}));
    let words = r#"preview create --param avatar_handle='"a"' --param script='"s"' --yes"#;
    let output = run(&env, &server, &format!("{words} -o json")).assert_exit(0);
    assert_eq!(output.json()["preview"], json!({"id": "pre_7"}));
    let output = run(&env, &server, &format!("{words} -o table")).assert_exit(0);
    assert!(output.out.contains("preview  pre_7"), "{output:?}");
}

#[test]
fn a_file_that_is_missing_is_no_reason_to_pay_again() {
    let env = TestEnv::new();
    let receipt = json!({"request_id": "req_7", "job": {"id": "job_7", "status": "queued"}});
    // It accepts connections, and does not answer.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/slow", listener.local_addr().unwrap());
    for (url, exit) in [("http://HOST/gone", 4), (&*silent, 1)] {
        let artifacts = json!([{"id": "art_7", "url": url}]);
        let server = service(&receipt, "completed", &json!({ "artifacts": artifacts }));
        let words = "music generate fox --yes --new --download --download-timeout 1 \
            --allow-private-artifact-hosts -o json";
        let output = run(&env, &server, words).assert_exit(exit);
        let error = error(&output);
        assert_eq!(error["code"], "download_failed", "{error}");
        assert!(error["idempotency_key"].is_string(), "{error}");
        assert!(error["resume"].is_string(), "{error}");
        let next = error["next"].to_string();
        assert!(!next.contains("--new") && !next.contains("network"), "{error}");
    }
}

#[test]
fn the_reason_of_a_failure_is_shown_in_any_form() {
    let env = TestEnv::new();
    let receipt = json!({"request_id": "req_7", "job": {"id": "job_7", "status": "queued"}});
    for reason in [json!("boom"), json!({"code": 7, "message": "boom"})] {
        let server = service(&receipt, "failed", &json!({ "error": reason }));
        let output = run(&env, &server, "music generate fox --yes --new -o json").assert_exit(7);
        let failed = error(&output);
        assert_eq!((&failed["message"], &failed["code"]), (&json!("boom"), &json!("failed")));
        assert_eq!(failed["request_id"], "req_7");
        let output = run(&env, &server, "job wait job_7 job_8 -o json").assert_exit(7);
        assert_eq!(output.json()[1]["job_id"], "job_8");
        assert_eq!(output.json()[1]["error"]["message"], "boom");
        let output = run(&env, &server, "run wait run_7 --kind agent -o json").assert_exit(7);
        assert_eq!(output.json()["error"], reason);
        assert_eq!(error(&output)["message"], "the run failed: boom");
    }
    let body = r#"{"error": {"code": "database_busy", "message": "too busy"}}"#;
    let server = FakeServer::answering("503 Service Unavailable", body);
    let output = run(&env, &server, "job wait job_7 --timeout 1 -o json").assert_exit(9);
    assert!(error(&output)["message"].to_string().contains("too busy"), "{output:?}");
}

#[test]
fn a_queue_without_its_runs_has_not_completed() {
    let env = TestEnv::new();
    let server = FakeServer::answering("200 OK", r#"{"data": {"status": "completed"}}"#);
    let output = run(&env, &server, "queue wait q -o json").assert_exit(1);
    assert_eq!(error(&output)["code"], "unreadable_response");
    let output = run(&env, &server, "queue get q -o table").assert_exit(0);
    assert!(!output.out.contains("runs"), "{output:?}");
}

#[test]
fn an_unknown_status_of_a_queue_does_not_hide_its_runs() {
    let env = TestEnv::new();
    let body = r#"{"data": {"queue_id": "q", "status": "halted", "run_id": "run_7",
        "items": [{"index": 0, "run_id": "run_7", "status": "completed"}]}}"#;
    let server = FakeServer::answering("200 OK", &body.replace('\n', " "));
    let output = run(&env, &server, "queue wait q -o json").assert_exit(7);
    assert_eq!(output.json()[0]["run_id"], "run_7");
    let failed = error(&output);
    assert_eq!(failed["code"], "unknown_status");
    assert!(failed["message"].to_string().contains("halted"), "{failed}");
}

#[test]
fn tables_show_what_they_have_no_column_for() {
    let env = TestEnv::new();
    let large = "123456789012345678.0001";
    for (words, data, expected) in [
        (
            "job list",
            json!([{"id": "job_7", "model": "m"}, {"id": 7}]),
            vec!["job_7", r#"{"id":7}"#],
        ),
        ("job get x", json!({"id": "job_7", "price_usd": large}), vec!["job_7", large]),
        ("job status x", json!({"odd": "value"}), vec!["odd  value"]),
        ("run status x --kind agent", json!({"odd": "value"}), vec!["odd  value"]),
        ("balance", json!({}), vec!["{}"]),
        ("agent runs", json!([{"run_id": "run_7"}]), vec!["run_7"]),
    ] {
        let server = FakeServer::answering("200 OK", &json!({ "data": data }).to_string());
        let output = run(&env, &server, &format!("{words} -o table")).assert_exit(0);
        for text in expected {
            assert!(output.out.contains(text), "{words}: {output:?}");
        }
    }
    let entries = json!([{"kind": "capture", "amount_usd": "abc"}, {"kind": "capture", "amount_usd": "1.0000"}]);
    let server = FakeServer::answering("200 OK", &json!({ "data": entries }).to_string());
    let output = run(&env, &server, "usage -o json").assert_exit(0);
    assert_eq!(output.json()["entries"], entries);
    assert!(output.err.contains("1 of 2 entries"), "{output:?}");
}

#[test]
fn an_answer_that_repeats_the_key_does_not_show_it() {
    let env = TestEnv::new();
    let server = FakeServer::answering_requests(|request| {
        let line = request.lines().find(|line| line.contains("Bearer "));
        ("200 OK", format!("{}{}", "x".repeat(40), line.unwrap_or_default()))
    });
    for words in ["job get x", "music generate fox --yes", "doctor", "job get x -o json"] {
        let output = run(&env, &server, &format!("{words} --retries 0"));
        let shown = format!("{}{}", output.out, output.err);
        assert!(!shown.contains("svc_open_canary"), "{shown}");
    }
}
