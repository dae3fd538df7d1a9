//! The journal of `svc batch`: that of an earlier version, and what a killed process leaves.

use serde_json::{Value, json};

use crate::batch::{batch, image, run, with_id, write};
use crate::test_env::{CommandOutput, TestEnv, start, wait_until};

/// What version 1 wrote about a batch of which an item was running, and two were not answered.
const VERSION_1: &str = include_str!("fixtures/batch-version-1.journal.jsonl");
/// The key of the item that can be sent again.
const KEY: &str = "c8c14d8ed2cb25dbd0d55d6c030a60c3";

fn earlier(env: &TestEnv) -> (Vec<Value>, String) {
    let job = env.submit_image("[mock:stuck]");
    let now = env.path(".").metadata().unwrap().modified().unwrap();
    let now = jiff::Timestamp::try_from(now).unwrap();
    let journal = VERSION_1
        .replace("{OPEN}", env.mock.base_url())
        .replace("{DEVELOPER}", env.mock.developer_base_url())
        .replace("{JOB}", &job)
        .replace("{NOW}", &now.to_string());
    std::fs::write(env.path("m.jsonl.journal.jsonl"), &journal).unwrap();
    let mut rejected = image("x");
    rejected["body"]["promt"] = "y".into();
    let music = json!({"operation": "music_1_generate", "body": {"prompt": "a waltz"}});
    let lines = vec![
        with_id("done", image("a red fox")),
        with_id("failed", image("[mock:fail]")),
        with_id("rejected", rejected),
        with_id("unknown", music),
        with_id("running", image("[mock:stuck]")),
        with_id("unanswered", image("a blue fox")),
    ];
    write(env, "m.jsonl", &lines);
    (lines, job)
}

fn status(env: &TestEnv) -> Value {
    let status = env.run("batch status m.jsonl -o json");
    status.assert_exit(0).json()
}

fn counts(completed: u32, failed: u32, ambiguous: u32, timed_out: u32) -> Value {
    json!({
        "completed": completed, "failed": failed, "ambiguous": ambiguous, "timed_out": timed_out,
    })
}

#[test]
fn a_journal_of_an_earlier_version_is_continued() {
    let env = TestEnv::new();
    let (mut lines, job) = earlier(&env);
    let path = env.path("m.jsonl.journal.jsonl");
    let before = std::fs::read_to_string(&path).unwrap();
    let shown = status(&env);
    assert_eq!(shown["by_status"], counts(1, 2, 2, 1));
    assert_eq!(shown["spent_usd"], "0.0100");
    let item = |shown: &Value, id: &str| {
        let mut items = shown["items"].as_array().unwrap().iter();
        items.find(|item| item["id"] == id).unwrap().clone()
    };
    assert_eq!(item(&shown, "unanswered")["idempotency_key"], KEY);
    assert_eq!(item(&shown, "running")["job_id"], job);
    assert_eq!(item(&shown, "rejected")["error"]["details"]["field"], "promt");
    // What was submitted must not change, also before anything is written.
    let submitted = lines[4].clone();
    lines[4] = with_id("running", image("another"));
    write(&env, "m.jsonl", &lines);
    run(&env, &["--dry-run"]).assert_exit(2);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    lines[4] = submitted;
    write(&env, "m.jsonl", &lines);

    let output = run(&env, &["--timeout", "4", "-o", "json"]).assert_exit(11);
    let ended = output.json();
    let mut ids: Vec<_> = ended.as_array().unwrap().iter().collect();
    ids.sort_by_key(|item| item["id"].to_string());
    assert_eq!(ids.len(), 2, "{ended}");
    assert_eq!((&ids[0]["id"], &ids[0]["job_id"]), (&json!("running"), &json!(job)));
    assert_eq!(ids[1]["status"], "completed");
    let submits = env.requests("image_generate");
    assert_eq!(submits.last().unwrap()["idempotency_key"], KEY);
    assert!(env.requests("music_1_generate").is_empty());
    assert_eq!(env.job_count(), 2);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\"v\":"), "earlier versions refuse it");
    let shown = status(&env);
    assert_eq!(shown["by_status"], counts(2, 2, 1, 1));
    assert_eq!(shown["spent_usd"], "0.0150");
    assert!(!env.path("m.jsonl.journal.jsonl.new").exists());

    // The rejected line can be corrected, and what was spent counts.
    lines[2] = with_id("rejected", image("x"));
    write(&env, "m.jsonl", &lines);
    let flags = ["--retry-failed", "--max-spend", "0.02", "--timeout", "4"];
    run(&env, &flags).assert_exit(11);
    assert_eq!(env.job_count(), 4, "the second fits when the first is refunded");
    assert_eq!(status(&env)["spent_usd"], "0.0200");
}

#[test]
fn a_journal_of_an_earlier_version_whose_first_block_was_lost_is_continued() {
    let env = TestEnv::new();
    earlier(&env);
    let path = env.path("m.jsonl.journal.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lost = text.find('\n').unwrap() + 10;
    std::fs::write(&path, "\0".repeat(lost) + &text[lost..]).unwrap();
    let shown = status(&env);
    assert_eq!(shown["by_status"]["timed_out"], 1, "{shown}");
}

#[test]
fn an_earlier_version_that_runs_keeps_its_journal() {
    let env = TestEnv::new();
    earlier(&env);
    let path = env.path("m.jsonl.journal.jsonl");
    let before = std::fs::read_to_string(&path).unwrap();
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.lock().unwrap();
    run(&env, &[]).assert_exit(2).assert_stderr("another process is running this batch");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_journal_is_left_alone() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("x")]);
    let text = std::fs::read_to_string(env.path("m.jsonl")).unwrap();
    let command = "batch run m.jsonl --journal m.jsonl";
    env.run(command).assert_exit(2).assert_stderr("m.jsonl is not the journal of a batch");
    assert_eq!(std::fs::read_to_string(env.path("m.jsonl")).unwrap(), text);
    // A first line that was not written completely says nothing.
    for (name, begun) in [
        ("j", "{\"batch\":{\"ver"),
        ("k", "{\"v\":1,\"jour"),
        ("l", "{\""),
        ("m", &"\0".repeat(100)),
    ] {
        std::fs::write(env.path(name), begun).unwrap();
        run(&env, &["--journal", name]).assert_exit(0);
        run(&env, &["--journal", name]).assert_exit(0);
    }
    assert_eq!(env.job_count(), 4);
}

#[test]
fn batches_with_the_same_ids_are_different_batches() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("x")]);
    for journal in ["j", "k"] {
        run(&env, &["--journal", journal]).assert_exit(0);
    }
    assert_eq!(env.job_count(), 2);
}

#[test]
fn a_killed_batch_is_paid_for_once_within_its_limit() {
    let env = TestEnv::new();
    env.add_delay("image_generate", 300);
    let lines: Vec<_> = (0..12).map(|number| image(&number.to_string())).collect();
    write(&env, "m.jsonl", &lines);
    // Ten of twelve fit.
    let flags = ["--max-spend", "0.05", "-o", "jsonl"];
    for killed_at in [2, 5, 9] {
        let child = start(&mut batch(&env, &flags));
        wait_until("jobs are submitted", || env.job_count() >= killed_at);
        drop(child);
        assert!(env.job_count() <= 10);
    }
    let output = CommandOutput::of(&mut batch(&env, &flags)).assert_exit(5);
    assert_eq!(output.error()["code"], "over_budget");
    assert_eq!((env.job_count(), env.charge_count()), (10, 10));
    assert_eq!(status(&env)["spent_usd"], "0.0500");
    // What was spent without a limit counts as well.
    write(&env, "n.jsonl", &lines[..3]);
    let free = "batch run n.jsonl --yes";
    env.run(free).assert_exit(0);
    write(&env, "n.jsonl", &lines[..6]);
    env.run("batch run n.jsonl --max-spend 0.02").assert_exit(5);
    assert_eq!(env.job_count(), 14);
}
