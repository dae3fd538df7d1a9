//! Formats and their runs.

use std::fs;

use serde_json::json;

use crate::test_env::{CommandOutput, TestEnv, interrupt, start, wait_until};

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
fn a_format_is_listed_run_with_a_schema_and_downloaded() {
    let env = TestEnv::new();
    let list = env.developer("format list -o table").assert_exit(0);
    assert!(list.out.contains("demo/product-shot"), "{}", list.out);
    let format = env.developer("format get demo/product-shot").assert_exit(0);
    assert_eq!(format.json()["io"]["output_kind"], "image");

    let (schema, out) = (schema(&env), env.path("out"));
    let words = format!(
        "format run demo/product-shot --instruction 'a red shoe' --output-schema '{schema}' --cap 2 --download '{}'",
        out.display()
    );
    let run = env
        .developer(&words)
        .assert_exit(0)
        .assert_stderr("spent 0.0500 of a cap of 2.0000 USD")
        .assert_stderr("downloaded ");
    let output = run.json();
    assert!(output["title"].is_string() && output.get("run_id").is_none());
    assert!(output["hero"].as_str().unwrap().ends_with(".png"));
    let picture = fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read(picture).unwrap().starts_with(b"\x89PNG"));

    let body = "format runs demo/product-shot";
    assert_eq!(env.developer(body).assert_exit(0).json()[0]["status"], "completed");
    let whole = env.developer(format!("{words} --receipt")).assert_exit(0).json();
    assert_eq!(whole["output"]["title"], output["title"]);
    assert!(whole["files"][0]["bytes"].as_u64().unwrap() > 100);
}

#[test]
fn a_format_is_identified_by_its_id_or_by_handle_and_slug() {
    let env = TestEnv::new();
    for format in ["fmt_demo", "demo/teaser"] {
        env.developer(["format", "get", format]).assert_exit(0);
        env.developer(["format", "runs", format, "--limit", "1"]).assert_exit(0);
        let words = format!(r#"format run '{format}' --param 'input={{"a": 1}}' --no-wait"#);
        assert_eq!(env.developer(&words).assert_exit(0).json()["format_id"], "fmt_demo");
    }
    for operation in ["formats_runs_create", "formats_by_slug_runs_create"] {
        assert_eq!(env.requests(operation).len(), 1);
    }
    env.developer("format get demo/nothing").assert_exit(4);
    env.developer("format get demo/..").assert_exit(2);
}

#[test]
fn each_outcome_of_a_run_has_its_receipt_exit_code_and_message() {
    let env = TestEnv::new();
    let schema = schema(&env);
    let rows: [(&str, i32, &str, &[&str]); 8] = [
        ("[mock:skip]", 8, "skipped", &["nothing was charged"]),
        (
            "[mock:cost=5]",
            7,
            "failed",
            &["tried to exceed its cap", "spent 2.0000 of a cap of 2.0000 USD", "--cap USD"],
        ),
        (
            "[mock:fail=unattended_blocked]",
            7,
            "failed",
            &["the run needs a decision", "--continue run_", "--instruction"],
        ),
        (
            "[mock:degraded]",
            0,
            "completed",
            &["completed without an output that fits the schema", "spent "],
        ),
        (
            "[mock:fail=output_schema_unsatisfied]",
            7,
            "failed",
            &["(required)", "work completed before a failure is billed"],
        ),
        (
            "[mock:fail=mcp_unavailable]",
            7,
            "failed",
            &["nothing was charged", "run the same command again"],
        ),
        ("[mock:fail=incomplete_assembly]", 7, "failed", &["unfinished generation jobs: 1"]),
        ("[mock:fail=brand_new_code]", 7, "failed", &["brand_new_code", "or continue it with"]),
    ];
    for (word, code, status, expected) in rows {
        let words =
            format!("format run fmt_capped --instruction '{word}' --output-schema '{schema}'");
        let run = env.developer(words).assert_exit(code);
        assert_eq!(run.json()["status"], status, "{word}");
        for expected in expected {
            assert!(run.err.contains(expected), "{word}: no {expected:?} in {}", run.err);
        }
    }
    assert!(env.open_intents().is_empty());
    let json = "format run fmt_capped --instruction [mock:skip] -o json";
    let error = env.developer(json).assert_exit(8).error();
    assert_eq!(error["exit_code"], 8);
    assert!(error["run_id"].as_str().unwrap().starts_with("run_"));
    let history = env.developer("history").assert_exit(0).json();
    assert_eq!(history[0]["outcome"], "skipped");
    assert_eq!(history[0]["summary"], "Format run, fmt_capped");
}

#[test]
fn a_blocked_run_is_continued_with_an_instruction() {
    let env = TestEnv::new();
    let words = "format run fmt_demo --instruction [mock:fail=unattended_blocked]";
    let blocked = env.developer(words).assert_exit(7).json();
    let id = blocked["run_id"].as_str().unwrap();
    let words = format!("format run fmt_demo --continue '{id}' --instruction yes --receipt");
    let run = env.developer(words).assert_exit(0).json();
    assert_eq!(run["previous_run_id"], id);
}

#[test]
fn the_files_of_a_failed_run_are_downloaded() {
    let env = TestEnv::new();
    let out = env.path("out");
    let words = format!(
        "format run fmt_media --instruction '[mock:fail=agent_reported_failure]' --download '{}'",
        out.display()
    );
    let run = env.developer(&words).assert_exit(7).json();
    let files = run["files"].as_array().unwrap();
    assert_eq!(files.len(), run["artifacts"].as_array().unwrap().len());
    let stored = fs::read_dir(&out).map_or(0, Iterator::count);
    assert!(stored > 0 && stored == files.len(), "{run}");
}

#[test]
fn an_unsupported_schema_is_rejected_with_all_violations_before_anything_is_sent() {
    let env = TestEnv::new();
    let bad = r#"{"type": "array", "properties": {"a": {"pattern": "^F"}}}"#;
    let words = format!("format run fmt_demo --instruction x --output-schema '{bad}'");
    env.developer(&words)
        .assert_exit(2)
        .assert_stderr("2 violations of the supported subset; nothing was sent")
        .assert_stderr("the root must have the type object (root_not_object)")
        .assert_stderr("/properties/a/pattern is not supported (unsupported_keyword)");
    let error = env.developer(format!("{words} -o json")).assert_exit(2).error();
    assert_eq!(error["details"]["violations"].as_array().unwrap().len(), 2);
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn invalid_run_requests_are_not_sent() {
    let env = TestEnv::new();
    let rows = [
        ("format run fmt_demo", "no input"),
        ("format run fmt_demo --instruction x --cap 501", "at most 500"),
        ("format run fmt_demo --instruction x --cap 0", "above 0"),
        ("format run fmt_demo --attach http://a.example/x", "https://"),
        ("format run fmt_demo --instruction x --webhook-url http://a", "https://"),
        ("format run fmt_demo --param attachments=[{}]", "expected an https:// URL or asset:ID"),
        (
            "format run fmt_demo --instruction x --output-schema {} --param response_format={}",
            "cannot be used together",
        ),
        (
            "format run fmt_demo --instruction x --param generation_spend_cap_usd=\"2\"",
            "expected a number",
        ),
        ("agent run --instruction x", "--cap USD"),
        ("agent run --cap 1", "--instruction is required"),
        ("format run fmt_demo --instruction x --param instruction=\"y\"", "is set twice"),
    ];
    for (words, expected) in rows {
        let words: Vec<&str> = words.split(' ').collect();
        env.developer(&words).assert_exit(2).assert_stderr(expected);
    }
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn an_unknown_field_is_reported_with_a_suggestion() {
    let env = TestEnv::new();
    let words = r#"format run fmt_demo --instruction x --param 'instructions="y"'"#;
    env.developer(words).assert_exit(1).assert_stderr("; did you mean `instruction`?");
    assert!(env.captured_by_run().is_empty());
}

#[test]
fn input_errors_and_missing_permissions_have_their_own_exit_codes() {
    let env = TestEnv::new();
    let words = |format, instruction| ["format", "run", format, "--instruction", instruction];
    env.developer(words("fmt_demo", "[mock:refuse=attachment_fetch_failed]"))
        .assert_exit(1)
        .assert_stderr("correct the input");
    env.developer(words("fmt_team", "x"))
        .assert_exit(3)
        .assert_stderr("API key of the workspace that owns it");
}

#[test]
fn max_price_is_compared_with_the_spend_cap() {
    let env = TestEnv::new();
    let run = |more: &[&str]| {
        let words = "format run fmt_demo --instruction x --max-price 2";
        CommandOutput::of(env.developer_surface(words).args(more))
    };
    run(&[]).assert_exit(5).assert_stderr("pass --cap USD");
    run(&["--cap", "2.01"]).assert_exit(5).assert_stderr("above --max-price");
    assert!(env.requests("formats_runs_create").is_empty());
    let dry_run = run(&["--cap", "2", "--dry-run"]).assert_exit(0).json();
    assert_eq!(dry_run["cap_usd"], "2.0000");
    assert_eq!(dry_run["request"]["body"]["generation_spend_cap_usd"], 2);
    run(&["--cap", "2"]).assert_exit(0);
    let action = "action run act_daily --max-price 500";
    env.developer(action).assert_exit(5).assert_stderr("the price is unknown");
    assert!(env.requests("actions_runs_create").is_empty());
}

#[test]
fn ctrl_c_keeps_the_run_or_cancels_it_with_cancel_on_interrupt() {
    let env = TestEnv::new();
    let words = "format run fmt_demo --instruction [mock:stuck]";
    let polls = || env.requests("format_runs_status").len();
    let child = start(&mut env.developer_surface(words));
    wait_until("the run is polled", || polls() > 0);
    interrupt(&child);
    let run = child
        .end()
        .assert_exit(130)
        .assert_stderr("the run keeps running")
        .assert_stderr("--kind format");
    let command = run.err.lines().find(|line| line.contains("svc run wait run_")).unwrap();
    let id = command.split(' ').find(|word| word.starts_with("run_")).unwrap();

    let before = polls();
    let child = start(&mut env.developer_surface(format!("{words} --cancel-on-interrupt")));
    wait_until("the same run is polled", || polls() > before);
    interrupt(&child);
    child.end().assert_exit(130).assert_stderr("Resuming run_").assert_stderr("canceled");
    assert_eq!(env.requests("formats_runs_create").len(), 1);
    env.developer(["run", "wait", id])
        .assert_exit(8)
        .assert_stderr("was canceled; work done before that is billed");
}
