//! Formats: found, run, and what each end of a run is told as.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::test_env::{CommandOutput, TestEnv, interrupt, sleep, start, wait_until};

fn svc(env: &TestEnv, words: &[&str]) -> CommandOutput {
    CommandOutput::of(&mut env.developer_surface(words))
}

fn schema(env: &TestEnv) -> String {
    let path = env.path("schema.json");
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "hero": {"type": "string", "format": "uri"},
            "mood": {"enum": ["calm", null]}
        },
        "required": ["title", "hero"]
    });
    fs::write(&path, schema.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_new_user_finds_a_format_and_gets_json_that_fits_the_schema_and_the_pictures() {
    let env = TestEnv::new();
    let list = svc(&env, &["format", "list", "-o", "table"]).assert_exit(0);
    assert!(list.out.contains("demo/product-shot"), "{}", list.out);
    let format = svc(&env, &["format", "get", "demo/product-shot"]).assert_exit(0);
    assert_eq!(format.json()["io"]["output_kind"], "image");

    let (schema, out) = (schema(&env), env.path("out"));
    let words = [
        "format",
        "run",
        "demo/product-shot",
        "--instruction",
        "a red shoe",
        "--output-schema",
        &schema,
        "--cap",
        "2",
        "--download",
        out.to_str().unwrap(),
    ];
    let run = svc(&env, &words)
        .assert_exit(0)
        .assert_stderr("spent 0.0500 of a cap of 2.0000 USD")
        .assert_stderr("stored ");
    let output = run.json();
    assert!(output["title"].is_string() && output.get("run_id").is_none());
    assert!(output["hero"].as_str().unwrap().ends_with(".png"));
    let picture = fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read(picture).unwrap().starts_with(b"\x89PNG"));

    let body = &["format", "runs", "demo/product-shot"];
    assert_eq!(
        svc(&env, body).assert_exit(0).json()[0]["status"],
        "completed"
    );
    let whole = svc(&env, &[&words[..], &["--receipt"]].concat())
        .assert_exit(0)
        .json();
    assert_eq!(whole["output"]["title"], output["title"]);
    assert!(whole["files"][0]["bytes"].as_u64().unwrap() > 100);
}

#[test]
fn a_format_is_addressed_by_its_id_or_by_handle_and_slug() {
    let env = TestEnv::new();
    for format in ["fmt_demo", "demo/teaser"] {
        svc(&env, &["format", "get", format]).assert_exit(0);
        svc(&env, &["format", "runs", format, "--limit", "1"]).assert_exit(0);
        let words = [
            "format",
            "run",
            format,
            "--param",
            "input={\"a\": 1}",
            "--no-wait",
        ];
        assert_eq!(
            svc(&env, &words).assert_exit(0).json()["format_id"],
            "fmt_demo"
        );
    }
    for operation in ["formats_runs_create", "formats_by_slug_runs_create"] {
        assert_eq!(env.requests(operation).len(), 1);
    }
    svc(&env, &["format", "get", "demo/nothing"]).assert_exit(4);
    svc(&env, &["format", "get", "demo/.."]).assert_exit(2);
}

#[test]
fn each_end_of_a_run_has_its_receipt_its_exit_code_and_its_sentence() {
    let env = TestEnv::new();
    let schema = schema(&env);
    let rows: [(&str, i32, &str, &[&str]); 8] = [
        ("[mock:skip]", 8, "skipped", &["it costs nothing"]),
        (
            "[mock:cost=5]",
            7,
            "failed",
            &[
                "past its cap",
                "spent 2.0000 of a cap of 2.0000 USD",
                "--cap USD",
            ],
        ),
        (
            "[mock:fail=unattended_blocked]",
            7,
            "failed",
            &["a person has to decide", "--continue run_", "--instruction"],
        ),
        (
            "[mock:degraded]",
            0,
            "completed",
            &["completed, but could not fill the schema", "spent "],
        ),
        (
            "[mock:fail=output_schema_unsatisfied]",
            7,
            "failed",
            &["(required)", "work finished before a failure is billed"],
        ),
        (
            "[mock:fail=mcp_unavailable]",
            7,
            "failed",
            &["nothing was charged", "run the same command once more"],
        ),
        (
            "[mock:fail=incomplete_assembly]",
            7,
            "failed",
            &["not finished: 1"],
        ),
        (
            "[mock:fail=brand_new_code]",
            7,
            "failed",
            &["brand_new_code", "or continue it with"],
        ),
    ];
    for (word, code, status, said) in rows {
        let words = [
            "format",
            "run",
            "fmt_capped",
            "--instruction",
            word,
            "--output-schema",
            &schema,
        ];
        let run = svc(&env, &words).assert_exit(code);
        assert_eq!(run.json()["status"], status, "{word}");
        for said in said {
            assert!(run.err.contains(said), "{word}: no {said:?} in {}", run.err);
        }
    }
    assert!(env.open_intents().is_empty());
    let json = [
        "format",
        "run",
        "fmt_capped",
        "--instruction",
        "[mock:skip]",
        "-o",
        "json",
    ];
    let error = svc(&env, &json).assert_exit(8).error();
    assert_eq!(error["exit_code"], 8);
    assert!(error["run_id"].as_str().unwrap().starts_with("run_"));
    let history = svc(&env, &["history"]).assert_exit(0).json();
    assert_eq!(history[0]["outcome"], "skipped");
    assert_eq!(history[0]["summary"], "Format run, fmt_capped");
}

#[test]
fn a_run_that_blocks_for_a_person_is_continued_by_the_command_that_is_said() {
    let env = TestEnv::new();
    let words = [
        "format",
        "run",
        "fmt_demo",
        "--instruction",
        "[mock:fail=unattended_blocked]",
    ];
    let blocked = svc(&env, &words).assert_exit(7).json();
    let id = blocked["run_id"].as_str().unwrap();
    let words = [
        "format",
        "run",
        "fmt_demo",
        "--continue",
        id,
        "--instruction",
        "yes",
        "--receipt",
    ];
    let run = svc(&env, &words).assert_exit(0).json();
    assert_eq!(run["previous_run_id"], id);
}

#[test]
fn a_failed_run_leaves_the_files_that_it_made() {
    let env = TestEnv::new();
    let out = env.path("out");
    let words = [
        "format",
        "run",
        "fmt_media",
        "--instruction",
        "[mock:fail=agent_reported_failure]",
        "--download",
        out.to_str().unwrap(),
    ];
    let run = svc(&env, &words).assert_exit(7).json();
    let files = run["files"].as_array().unwrap();
    assert_eq!(files.len(), run["artifacts"].as_array().unwrap().len());
    let stored = fs::read_dir(&out).map_or(0, Iterator::count);
    assert!(stored > 0 && stored == files.len(), "{run}");
}

#[test]
fn a_schema_outside_of_the_subset_is_refused_with_every_place_before_anything_is_sent() {
    let env = TestEnv::new();
    let bad = r#"{"type": "array", "properties": {"a": {"pattern": "^F"}}}"#;
    let words = [
        "format",
        "run",
        "fmt_demo",
        "--instruction",
        "x",
        "--output-schema",
        bad,
    ];
    svc(&env, &words)
        .assert_exit(2)
        .assert_stderr("in 2 places; nothing was sent")
        .assert_stderr("the root must have the type object (root_not_object)")
        .assert_stderr("/properties/a/pattern is not supported (unsupported_keyword)");
    let error = svc(&env, &[&words[..], &["-o", "json"]].concat())
        .assert_exit(2)
        .error();
    assert_eq!(error["details"]["violations"].as_array().unwrap().len(), 2);
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn what_can_never_be_right_is_not_sent() {
    let env = TestEnv::new();
    let rows: [(&[&str], &str); 8] = [
        (&["format", "run", "fmt_demo"], "nothing to run"),
        (
            &[
                "format",
                "run",
                "fmt_demo",
                "--instruction",
                "x",
                "--cap",
                "501",
            ],
            "at most 500",
        ),
        (
            &[
                "format",
                "run",
                "fmt_demo",
                "--instruction",
                "x",
                "--cap",
                "0",
            ],
            "above 0",
        ),
        (
            &[
                "format",
                "run",
                "fmt_demo",
                "--attach",
                "http://a.example/x",
            ],
            "https://",
        ),
        (
            &[
                "format",
                "run",
                "fmt_demo",
                "--instruction",
                "x",
                "--webhook-url",
                "http://a",
            ],
            "https://",
        ),
        (&["agent", "run", "--instruction", "x"], "--cap USD"),
        (&["agent", "run", "--cap", "1"], "--instruction is required"),
        (
            &[
                "format",
                "run",
                "fmt_demo",
                "--instruction",
                "x",
                "--param",
                "instruction=\"y\"",
            ],
            "given twice",
        ),
    ];
    for (words, said) in rows {
        svc(&env, words).assert_exit(2).assert_stderr(said);
    }
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn a_field_that_the_service_does_not_know_is_named() {
    let env = TestEnv::new();
    let words = [
        "format",
        "run",
        "fmt_demo",
        "--instruction",
        "x",
        "--param",
        "instructions=\"y\"",
    ];
    svc(&env, &words)
        .assert_exit(1)
        .assert_stderr("; did you mean `instruction`?");
    assert!(env.captured_by_run().is_empty());
}

#[test]
fn what_the_caller_has_to_correct_is_no_overload_and_a_teams_format_takes_its_key() {
    let env = TestEnv::new();
    let words = |format, instruction| ["format", "run", format, "--instruction", instruction];
    svc(
        &env,
        &words("fmt_demo", "[mock:refuse=attachment_fetch_failed]"),
    )
    .assert_exit(1)
    .assert_stderr("correct the input");
    svc(&env, &words("fmt_team", "x"))
        .assert_exit(3)
        .assert_stderr("a key of the workspace that owns it");
}

#[test]
fn the_cap_is_the_most_that_a_run_can_cost() {
    let env = TestEnv::new();
    let run = |more: &[&str]| {
        let words = [
            "format",
            "run",
            "fmt_demo",
            "--instruction",
            "x",
            "--max-price",
            "2",
        ];
        svc(&env, &[&words[..], more].concat())
    };
    run(&[]).assert_exit(5).assert_stderr("pass --cap USD");
    run(&["--cap", "2.01"])
        .assert_exit(5)
        .assert_stderr("over --max-price");
    assert!(env.requests("formats_runs_create").is_empty());
    let rehearsal = run(&["--cap", "2", "--dry-run"]).assert_exit(0).json();
    assert_eq!(rehearsal["cap_usd"], "2.0000");
    assert_eq!(rehearsal["request"]["body"]["generation_spend_cap_usd"], 2);
    run(&["--cap", "2"]).assert_exit(0);
    let action = ["action", "run", "act_daily", "--max-price", "500"];
    svc(&env, &action)
        .assert_exit(5)
        .assert_stderr("no price can be had");
    assert!(env.requests("actions_runs_create").is_empty());
}

#[test]
fn a_run_that_is_killed_at_any_moment_is_taken_up_by_the_same_command() {
    let env = TestEnv::new();
    for step in 0..10 {
        let delay = Duration::from_millis(step * 16);
        let text = format!("[mock:seconds=5] number {step}");
        let words = [
            "format",
            "run",
            "fmt_demo",
            "--instruction",
            &text,
            "--receipt",
        ];
        let mut child = start(&mut env.developer_surface(&words));
        sleep(delay);
        child.0.kill().unwrap();
        if !child.0.wait().unwrap().success() {
            svc(&env, &words).assert_exit(0);
        }
        assert_eq!(
            env.captured_by_run().len() as u64,
            step + 1,
            "killed after {delay:?}"
        );
        assert!(env.open_intents().is_empty(), "killed after {delay:?}");
    }
}

#[test]
fn an_action_that_may_have_been_started_is_not_started_again_by_itself() {
    let env = TestEnv::new();
    env.add_fault("actions_runs_create", "drop_after", 1);
    let words = ["action", "run", "act_daily"];
    svc(&env, &words)
        .assert_exit(11)
        .assert_stderr("idempotency key");
    svc(&env, &words)
        .assert_exit(11)
        .assert_stderr("svc action runs act_daily")
        .assert_stderr("--new");
    assert_eq!(env.requests("actions_runs_create").len(), 1);
    let words = ["agent", "run", "--instruction", "x", "--cap", "1"];
    env.add_fault("agent_completions_create", "drop_after", 1);
    svc(&env, &words).assert_exit(0);
    assert_eq!(
        svc(&env, &["agent", "runs"])
            .assert_exit(0)
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn ctrl_c_leaves_the_run_alone_or_cancels_it_where_that_was_asked_for() {
    let env = TestEnv::new();
    let words = ["format", "run", "fmt_demo", "--instruction", "[mock:stuck]"];
    let asked = || env.requests("format_runs_status").len();
    let child = start(&mut env.developer_surface(&words));
    wait_until("it waits", || asked() > 0);
    interrupt(&child);
    let run = child
        .end()
        .assert_exit(130)
        .assert_stderr("the run goes on")
        .assert_stderr("--kind format");
    let command = run
        .err
        .lines()
        .find(|line| line.contains("svc run wait run_"))
        .unwrap();
    let id = command
        .split(' ')
        .find(|word| word.starts_with("run_"))
        .unwrap();

    let before = asked();
    let child =
        start(&mut env.developer_surface(&[&words[..], &["--cancel-on-interrupt"]].concat()));
    wait_until("it waits for the same run", || asked() > before);
    interrupt(&child);
    child
        .end()
        .assert_exit(130)
        .assert_stderr("taking up run")
        .assert_stderr("canceled");
    assert_eq!(env.requests("formats_runs_create").len(), 1);
    svc(&env, &["run", "wait", id])
        .assert_exit(8)
        .assert_stderr("was canceled; what it did before that is billed");
}
