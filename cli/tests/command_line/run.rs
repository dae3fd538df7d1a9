//! Runs, taken up by their ids alone.

use std::fs;

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

fn svc(env: &TestEnv, words: &[&str]) -> CommandOutput {
    CommandOutput::of(&mut env.developer_surface(words))
}

/// A run that is started elsewhere: its id is all that this machine knows.
fn started(env: &TestEnv, words: &[&str]) -> String {
    let mut command = env.developer_surface(&[words, &["--no-wait"]].concat());
    let receipt =
        CommandOutput::of(command.env("SVC_STATE_DIR", env.path("elsewhere"))).assert_exit(0);
    receipt.json()["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_of_each_kind_is_read_in_every_way_from_any_machine() {
    let env = TestEnv::new();
    let kinds: [(&str, &[&str]); 3] = [
        ("action", &["action", "run", "act_daily"]),
        (
            "format",
            &["format", "run", "fmt_demo", "--instruction", "x"],
        ),
        (
            "agent",
            &["agent", "run", "--instruction", "x", "--cap", "1"],
        ),
    ];
    for (kind, words) in kinds {
        let id = started(&env, words);
        let output = svc(&env, &["run", "wait", &id]).assert_exit(0).json();
        assert!(output["summary"].is_string(), "{output}");
        for verb in ["get", "result"] {
            let receipt = svc(&env, &["run", verb, &id]).assert_exit(0).json();
            assert_eq!(
                (&receipt["kind"], &receipt["output"]),
                (&kind.into(), &output)
            );
        }
        let words = ["run", "status", &id, "--kind", kind];
        assert_eq!(svc(&env, &words).assert_exit(0).json()["terminal"], true);
        let words = ["run", "cancel", &id, "--kind", kind];
        svc(&env, &words)
            .assert_exit(0)
            .assert_stderr("was not canceled: its status is completed");
    }
    let runs = svc(&env, &["action", "runs", "act_daily"])
        .assert_exit(0)
        .json();
    let id = runs[0]["run_id"].as_str().unwrap();
    let words = ["action", "run-get", "act_daily", id];
    assert_eq!(svc(&env, &words).assert_exit(0).json()["run_id"], id);
    svc(&env, &["action", "list", "--trigger-type", "api_call"]).assert_exit(0);
    svc(&env, &["action", "get", "act_daily", "-o", "table"]).assert_exit(0);
}

#[test]
fn the_history_knows_what_a_run_is_a_run_of() {
    let env = TestEnv::new();
    let words = [
        "agent",
        "run",
        "--instruction",
        "x",
        "--cap",
        "1",
        "--no-wait",
    ];
    let receipt = svc(&env, &words).assert_exit(0).json();
    let id = receipt["run_id"].as_str().unwrap();
    svc(&env, &["run", "get", id]).assert_exit(0);
    assert!(env.requests("format_runs_status").is_empty());
    assert_eq!(env.requests("agent_runs_get").len(), 1);
    svc(&env, &["run", "events", id])
        .assert_exit(2)
        .assert_stderr("only runs of Formats have a timeline");
    assert!(env.requests("format_runs_events").is_empty());
}

#[test]
fn a_run_that_is_not_there_is_4_and_one_that_is_at_work_has_no_result() {
    let env = TestEnv::new();
    svc(&env, &["run", "get", "run_nowhere"])
        .assert_exit(4)
        .assert_stderr("no run with this id was found");
    svc(&env, &["run", "get", "run_nowhere", "--kind", "agent"])
        .assert_exit(4)
        .assert_stderr("check the id");
    svc(&env, &["run", "wait", ".."]).assert_exit(2);
    let id = started(
        &env,
        &["format", "run", "fmt_demo", "--instruction", "[mock:stuck]"],
    );
    svc(&env, &["run", "result", &id])
        .assert_exit(1)
        .assert_stderr("svc run status");
    svc(&env, &["run", "wait", &id, "--timeout", "1"])
        .assert_exit(9)
        .assert_stderr(&format!("svc run wait {id} --kind format"));
    let canceled = svc(&env, &["run", "cancel", &id]).assert_exit(0).json();
    assert_eq!(canceled["status"], "canceled");
    svc(&env, &["run", "result", &id]).assert_exit(8);
}

#[test]
fn a_spend_that_could_not_be_read_is_unknown_and_not_0() {
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
fn many_runs_of_any_kind_are_waited_for_at_once() {
    let env = TestEnv::new();
    let ids = [
        started(&env, &["format", "run", "fmt_demo", "--instruction", "x"]),
        started(
            &env,
            &["agent", "run", "--instruction", "[mock:fail]", "--cap", "1"],
        ),
        started(
            &env,
            &["action", "run", "act_daily", "--instruction", "[mock:skip]"],
        ),
    ];
    let words: Vec<&str> = ["run", "wait"]
        .into_iter()
        .chain(ids.iter().map(String::as_str))
        .collect();
    let run = svc(&env, &words).assert_exit(7);
    let json = run.json();
    let got: Vec<_> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["run_id"].as_str().unwrap())
        .collect();
    assert_eq!(got, ids);
    assert!(
        run.err.contains("the run failed") && run.err.contains("was skipped"),
        "{}",
        run.err
    );
}

#[test]
fn what_runs_made_is_downloaded() {
    let env = TestEnv::new();
    let out = env.path("out");
    let id = started(&env, &["format", "run", "fmt_media", "--instruction", "x"]);
    let words = ["run", "download", &id, "--dir", out.to_str().unwrap()];
    let receipt = svc(&env, &words).assert_exit(0).json();
    let path = receipt["files"][0]["path"].as_str().unwrap();
    assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_timeline_and_a_webhook_that_is_sent_again_are_for_formats_only() {
    let env = TestEnv::new();
    let hook = "https://hooks.example.com/runs";
    let words = [
        "format",
        "run",
        "fmt_demo",
        "--instruction",
        "x",
        "--webhook-url",
        hook,
    ];
    let id = started(&env, &words);
    svc(&env, &["run", "redeliver", &id])
        .assert_exit(1)
        .assert_stderr("run_not_terminal");
    svc(&env, &["run", "wait", &id]).assert_exit(0);
    let events = svc(&env, &["run", "events", &id]).assert_exit(0).json();
    assert_eq!(events[0]["phase"], "queued");
    let again = svc(&env, &["run", "redeliver", &id]).assert_exit(0).json();
    assert_eq!(again["event"], "format.run.terminal");
    for verb in ["events", "redeliver"] {
        svc(&env, &["run", verb, &id, "--kind", "agent"])
            .assert_exit(2)
            .assert_stderr("only runs of Formats");
    }
}

#[test]
fn the_sandbox_runs_agents_too() {
    let env = TestEnv::new();
    let words = [
        "--sandbox",
        "agent",
        "run",
        "--instruction",
        "[mock:seconds=1] x",
        "--cap",
        "1",
    ];
    let run = CommandOutput::of(env.unconfigured([]).args(words)).assert_exit(0);
    assert!(run.json()["summary"].is_string());
}
