//! Runs, by their ids.

use std::fs;

use crate::test_env::{CommandOutput, FakeServer, TestEnv, Words};

/// Starts a run with another state folder, so that only its id is known.
fn started(env: &TestEnv, words: impl Words) -> String {
    let mut command = env.developer_surface(words);
    command.arg("--no-wait").env("SVC_STATE_DIR", env.path("elsewhere"));
    let receipt = CommandOutput::of(&mut command).assert_exit(0);
    receipt.json()["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn runs_of_each_kind_are_read_by_their_ids() {
    let env = TestEnv::new();
    let kinds = [
        ("action", "action run act_daily"),
        ("format", "format run fmt_demo --instruction x"),
        ("agent", "agent run --instruction x --cap 1"),
    ];
    for (kind, words) in kinds {
        let id = started(&env, words);
        let output = env.developer(["run", "wait", &id]).assert_exit(0).json();
        assert!(output["summary"].is_string(), "{output}");
        for verb in ["get", "result"] {
            let receipt = env.developer(["run", verb, &id]).assert_exit(0).json();
            assert_eq!((&receipt["kind"], &receipt["output"]), (&kind.into(), &output));
        }
        let words = ["run", "status", &id, "--kind", kind];
        assert_eq!(env.developer(words).assert_exit(0).json()["terminal"], true);
        let words = ["run", "cancel", &id, "--kind", kind];
        env.developer(words)
            .assert_exit(0)
            .assert_stderr("was not canceled: its status is completed");
    }
    let runs = env.developer("action runs act_daily").assert_exit(0).json();
    let id = runs[0]["run_id"].as_str().unwrap();
    let words = ["action", "run-get", "act_daily", id];
    assert_eq!(env.developer(words).assert_exit(0).json()["run_id"], id);
    env.developer("action list --trigger-type api_call").assert_exit(0);
    env.developer("action get act_daily -o table").assert_exit(0);
}

#[test]
fn the_kind_of_a_run_is_read_from_the_history() {
    let env = TestEnv::new();
    let words = "agent run --instruction x --cap 1 --no-wait";
    let receipt = env.developer(words).assert_exit(0).json();
    let id = receipt["run_id"].as_str().unwrap();
    env.developer(["run", "get", id]).assert_exit(0);
    assert!(env.requests("format_runs_status").is_empty());
    assert_eq!(env.requests("agent_runs_get").len(), 1);
    env.developer(["run", "events", id])
        .assert_exit(2)
        .assert_stderr("only runs of Formats have a timeline");
    assert!(env.requests("format_runs_events").is_empty());
}

#[test]
fn a_missing_run_exits_with_4_and_a_running_one_has_no_result() {
    let env = TestEnv::new();
    env.developer("run get run_nowhere")
        .assert_exit(4)
        .assert_stderr("no run with this id was found");
    env.developer("run get run_nowhere --kind agent").assert_exit(4).assert_stderr("check the id");
    env.developer("run wait ..").assert_exit(2);
    let id = started(&env, "format run fmt_demo --instruction [mock:stuck]");
    env.developer(["run", "result", &id]).assert_exit(1).assert_stderr("svc run status");
    env.developer(["run", "wait", &id, "--timeout", "1"])
        .assert_exit(9)
        .assert_stderr(&format!("svc run wait {id} --kind format"));
    let canceled = env.developer(["run", "cancel", &id]).assert_exit(0).json();
    assert_eq!(canceled["status"], "canceled");
    env.developer(["run", "result", &id]).assert_exit(8);
}

#[test]
fn an_unreadable_spend_is_shown_as_unknown() {
    let env = TestEnv::new();
    let body = r#"{"data": {"run_id": "run_1", "kind": "format", "status": "completed", "terminal": true,
        "output": {"title": "\u001b[2JFox"}, "usage": null, "artifacts": []}}"#;
    let service = FakeServer::answering("200 OK", body);
    let wait = |words: &[&str]| {
        let mut command = env.developer_surface(words);
        CommandOutput::of(command.env("SVC_DEVELOPER_BASE_URL", &service.url))
    };
    let run = wait(&["run", "wait", "run_1", "--kind", "format"]).assert_exit(0);
    run.assert_stderr("run run_1 completed: spend unknown");
    let table = wait(&["run", "get", "run_1", "--kind", "format", "-o", "table"]).assert_exit(0);
    assert!(table.out.contains("spend unknown"), "{}", table.out);
}

#[test]
fn several_runs_of_different_kinds_are_waited_for() {
    let env = TestEnv::new();
    let ids = [
        started(&env, "format run fmt_demo --instruction x"),
        started(&env, "agent run --instruction [mock:fail] --cap 1"),
        started(&env, "action run act_daily --instruction [mock:skip]"),
    ];
    let words: Vec<&str> =
        ["run", "wait"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    let run = env.developer(&words).assert_exit(7);
    let json = run.json();
    let got: Vec<_> =
        json.as_array().unwrap().iter().map(|it| it["run_id"].as_str().unwrap()).collect();
    assert_eq!(got, ids);
    assert!(run.err.contains("the run failed") && run.err.contains("was skipped"), "{}", run.err);
    let words = ["run", "wait", &ids[2], &ids[1], "-o", "json"];
    let error = env.developer(words).assert_exit(7).only_error();
    assert_eq!(error["message"], "2 of 2 runs did not complete");
    assert_eq!(error["details"]["errors"][0]["code"], "skipped");
    assert_eq!(error["details"]["errors"][1]["run_id"], ids[1]);
}

#[test]
fn a_run_that_did_not_complete_is_reported_with_its_key_and_request() {
    let env = TestEnv::new();
    for (words, exit) in [
        ("agent run --instruction [mock:fail] --cap 1", 7),
        ("action run act_daily --instruction [mock:skip]", 8),
    ] {
        let run = env.developer(format!("{words} -o json")).assert_exit(exit);
        let error = run.error();
        for member in ["run_id", "idempotency_key", "request_id"] {
            assert!(error[member].is_string(), "{member}: {error}");
        }
    }
}

#[test]
fn the_files_of_a_run_are_downloaded() {
    let env = TestEnv::new();
    let out = env.path("out");
    let id = started(&env, "format run fmt_media --instruction x");
    let words = ["run", "download", &id, "--dir", out.to_str().unwrap()];
    let receipt = env.developer(words).assert_exit(0).json();
    let path = receipt["files"][0]["path"].as_str().unwrap();
    assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn events_and_redeliver_are_supported_for_format_runs_only() {
    let env = TestEnv::new();
    let hook = "https://hooks.example.com/runs";
    let words = format!("format run fmt_demo --webhook-url '{hook}' --instruction");
    let running = started(&env, format!("{words} [mock:stuck]"));
    env.developer(["run", "redeliver", &running]).assert_exit(1).assert_stderr("run_not_terminal");
    let id = started(&env, format!("{words} x"));
    env.developer(["run", "wait", &id]).assert_exit(0);
    let events = env.developer(["run", "events", &id]).assert_exit(0).json();
    assert_eq!(events[0]["phase"], "queued");
    let again = env.developer(["run", "redeliver", &id]).assert_exit(0).json();
    assert_eq!(again["event"], "format.run.terminal");
    for verb in ["events", "redeliver"] {
        env.developer(["run", verb, &id, "--kind", "agent"])
            .assert_exit(2)
            .assert_stderr("only runs of Formats");
    }
}

#[test]
fn the_sandbox_supports_agent_runs() {
    let env = TestEnv::new();
    let words = "--sandbox agent run --instruction '[mock:seconds=1] x' --cap 1";
    let run = env.run_unconfigured(words).assert_exit(0);
    assert!(run.json()["summary"].is_string());
}
