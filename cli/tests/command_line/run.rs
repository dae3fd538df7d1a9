//! Runs, taken up by their ids alone.

use std::fs;

use crate::place::{Fake, Place, Run};

fn svc(place: &Place, words: &[&str]) -> Run {
    Run::of(&mut place.developer(words))
}

/// A run that is started elsewhere: its id is all that this machine knows.
fn started(place: &Place, words: &[&str]) -> String {
    let mut command = place.developer(&[words, &["--no-wait"]].concat());
    let receipt = Run::of(command.env("SVC_STATE_DIR", place.path("elsewhere"))).ends(0);
    receipt.json()["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_of_each_kind_is_read_in_every_way_from_any_machine() {
    let place = Place::new();
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
        let id = started(&place, words);
        let output = svc(&place, &["run", "wait", &id]).ends(0).json();
        assert!(output["summary"].is_string(), "{output}");
        for verb in ["get", "result"] {
            let receipt = svc(&place, &["run", verb, &id]).ends(0).json();
            assert_eq!(
                (&receipt["kind"], &receipt["output"]),
                (&kind.into(), &output)
            );
        }
        let words = ["run", "status", &id, "--kind", kind];
        assert_eq!(svc(&place, &words).ends(0).json()["terminal"], true);
        let words = ["run", "cancel", &id, "--kind", kind];
        svc(&place, &words)
            .ends(0)
            .says("completed, which nothing changed");
    }
    let runs = svc(&place, &["action", "runs", "act_daily"]).ends(0).json();
    let id = runs[0]["run_id"].as_str().unwrap();
    let words = ["action", "run-get", "act_daily", id];
    assert_eq!(svc(&place, &words).ends(0).json()["run_id"], id);
    svc(&place, &["action", "list", "--trigger-type", "api_call"]).ends(0);
    svc(&place, &["action", "get", "act_daily", "-o", "table"]).ends(0);
}

#[test]
fn the_history_knows_what_a_run_is_a_run_of() {
    let place = Place::new();
    let words = [
        "agent",
        "run",
        "--instruction",
        "x",
        "--cap",
        "1",
        "--no-wait",
    ];
    let receipt = svc(&place, &words).ends(0).json();
    let id = receipt["run_id"].as_str().unwrap();
    svc(&place, &["run", "get", id]).ends(0);
    assert!(place.requests("format_runs_status").is_empty());
    assert_eq!(place.requests("agent_runs_get").len(), 1);
    svc(&place, &["run", "events", id])
        .ends(2)
        .says("only runs of Formats have a timeline");
    assert!(place.requests("format_runs_events").is_empty());
}

#[test]
fn a_run_that_is_not_there_is_4_and_one_that_is_at_work_has_no_result() {
    let place = Place::new();
    svc(&place, &["run", "get", "run_nowhere"])
        .ends(4)
        .says("has a run of that id");
    svc(&place, &["run", "get", "run_nowhere", "--kind", "agent"])
        .ends(4)
        .says("check the id");
    svc(&place, &["run", "wait", ".."]).ends(2);
    let id = started(
        &place,
        &["format", "run", "fmt_demo", "--instruction", "[mock:stuck]"],
    );
    svc(&place, &["run", "result", &id])
        .ends(1)
        .says("svc run status");
    svc(&place, &["run", "wait", &id, "--timeout", "1"])
        .ends(9)
        .says(&format!("svc run wait {id} --kind format"));
    let canceled = svc(&place, &["run", "cancel", &id]).ends(0).json();
    assert_eq!(canceled["status"], "canceled");
    svc(&place, &["run", "result", &id]).ends(8);
}

#[test]
fn a_spend_that_could_not_be_read_is_unknown_and_not_0() {
    let place = Place::new();
    let body = r#"{"data": {"run_id": "run_1", "kind": "format", "status": "completed", "terminal": true,
        "output": {"title": "\u001b[2JFox"}, "usage": null, "artifacts": []}}"#;
    let service = Fake::answering("200 OK", body);
    let wait = |words: &[&str]| {
        let mut command = place.developer(words);
        Run::of(command.env("SVC_DEVELOPER_BASE_URL", &service.url))
    };
    let run = wait(&["run", "wait", "run_1", "--kind", "format"]).ends(0);
    run.says("run run_1 completed: spend unknown");
    let table = wait(&["run", "get", "run_1", "--kind", "format", "-o", "table"]).ends(0);
    assert!(table.out.contains("spend unknown"), "{}", table.out);
}

#[test]
fn many_runs_of_any_kind_are_waited_for_at_once() {
    let place = Place::new();
    let ids = [
        started(&place, &["format", "run", "fmt_demo", "--instruction", "x"]),
        started(
            &place,
            &["agent", "run", "--instruction", "[mock:fail]", "--cap", "1"],
        ),
        started(
            &place,
            &["action", "run", "act_daily", "--instruction", "[mock:skip]"],
        ),
    ];
    let words: Vec<&str> = ["run", "wait"]
        .into_iter()
        .chain(ids.iter().map(String::as_str))
        .collect();
    let run = svc(&place, &words).ends(7);
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
    let place = Place::new();
    let out = place.path("out");
    let id = started(
        &place,
        &["format", "run", "fmt_media", "--instruction", "x"],
    );
    let words = ["run", "download", &id, "--dir", out.to_str().unwrap()];
    let receipt = svc(&place, &words).ends(0).json();
    let path = receipt["files"][0]["path"].as_str().unwrap();
    assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_timeline_and_a_webhook_that_is_sent_again_are_for_formats_only() {
    let place = Place::new();
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
    let id = started(&place, &words);
    svc(&place, &["run", "redeliver", &id])
        .ends(1)
        .says("run_not_terminal");
    svc(&place, &["run", "wait", &id]).ends(0);
    let events = svc(&place, &["run", "events", &id]).ends(0).json();
    assert_eq!(events[0]["phase"], "queued");
    let again = svc(&place, &["run", "redeliver", &id]).ends(0).json();
    assert_eq!(again["event"], "format.run.terminal");
    for verb in ["events", "redeliver"] {
        svc(&place, &["run", verb, &id, "--kind", "agent"])
            .ends(2)
            .says("only runs of Formats");
    }
}

#[test]
fn the_sandbox_runs_agents_too() {
    let place = Place::new();
    let words = [
        "--sandbox",
        "agent",
        "run",
        "--instruction",
        "[mock:seconds=1] x",
        "--cap",
        "1",
    ];
    let run = Run::of(place.bare([]).args(words)).ends(0);
    assert!(run.json()["summary"].is_string());
}
