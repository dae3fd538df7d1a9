//! `svc batch`: what scripts cannot say.

use std::process::Command;

use serde_json::{Value, json};
use svc_mock_server::DEVELOPER_API_KEY;

use crate::test_env::{CommandOutput, TestEnv};

fn write(env: &TestEnv, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(env.path(name), text).unwrap();
}

fn image(prompt: &str) -> Value {
    json!({"operation": "image_generate", "body": {"model": "image-i", "prompt": prompt}})
}

fn with_id(id: &str, mut line: Value) -> Value {
    line["id"] = id.into();
    line
}

fn batch(env: &TestEnv, flags: &[&str]) -> Command {
    let mut command = env.open_surface("batch run m.jsonl");
    command
        .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
        .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY)
        .args(flags);
    command
}

fn run(env: &TestEnv, flags: &[&str]) -> CommandOutput {
    CommandOutput::of(&mut batch(env, flags))
}

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
fn no_more_jobs_are_in_flight_than_allowed() {
    let env = TestEnv::new();
    let lines: Vec<_> = (0..4).map(|number| image(&number.to_string())).collect();
    write(&env, "m.jsonl", &lines);
    run(&env, &["--concurrency", "1"]).assert_exit(0);
    let requests = env.mock.requests(0);
    let names = requests.iter().map(|request| request["operation"].as_str().unwrap());
    let mut is_in_flight = false;
    for name in names {
        match name {
            "image_generate" => assert!(!std::mem::replace(&mut is_in_flight, true)),
            "jobs_result" => is_in_flight = false,
            _ => {}
        }
    }
    run(&env, &["--concurrency", "0"]).assert_exit(2);
}

#[test]
fn a_job_that_the_service_does_not_know_has_failed_and_is_not_paid_again() {
    let env = TestEnv::new();
    let forget_jobs = || {
        for operation in ["jobs_get", "jobs_status"] {
            let fault = json!({"kind": "error", "code": "job_not_found", "operation": operation});
            let fault = serde_json::from_value(fault).unwrap();
            env.mock.add_fault(fault).unwrap();
        }
    };
    write(&env, "m.jsonl", &[image("[mock:stuck]")]);
    run(&env, &["--timeout", "3"]).assert_exit(9);
    forget_jobs();
    let output = run(&env, &["-o", "jsonl"]).assert_exit(7);
    let item: serde_json::Value = serde_json::from_str(output.out.trim()).unwrap();
    assert_eq!(item["status"], "failed");
    assert_eq!(item["error"]["code"], "job_not_found");
    let why = "the service does not know the job, which may have been charged";
    assert_eq!(item["error"]["message"], why);
    assert_eq!(output.error()["code"], "job_not_found");
    output.assert_stderr("--retry-failed submits and pays again");
    let status = env.run("batch status m.jsonl -o table").assert_exit(0);
    assert!(status.out.contains(why), "{}", status.out);
    assert_eq!(run(&env, &[]).assert_exit(7).out, "");
    assert_eq!(env.job_count(), 1);

    // Another API key may know it.
    let journal = std::fs::read_to_string(env.path("m.jsonl.journal.jsonl")).unwrap();
    let failed = journal.lines().filter(|line| !line.contains("failed"));
    let other = |line: &str| line.replace("key_fingerprint\":\"", "key_fingerprint\":\"other-");
    let submitted: String = failed.map(|line| format!("{}\n", other(line))).collect();
    std::fs::write(env.path("k"), submitted).unwrap();
    env.mock.clear_faults();
    forget_jobs();
    let output = run(&env, &["--journal", "k", "--timeout", "60", "-o", "json"]).assert_exit(9);
    let error = output.json()[0]["error"]["message"].to_string();
    assert!(error.contains("for this API key"), "{error}");

    // A job whose files are missing has completed nevertheless.
    env.mock.clear_faults();
    write(&env, "m.jsonl", &[image("x")]);
    env.add_fault("artifact", "status_404", 1);
    let flags = ["--journal", "j", "--download", "out", "-o", "json"];
    run(&env, &flags).assert_exit(1);
    forget_jobs();
    let output = run(&env, &flags).assert_exit(1);
    assert_eq!(output.json()[0]["status"], "completed");
    assert_eq!(output.json()[0]["error"]["code"], "download_failed");
    output.assert_stderr("Resuming m.jsonl: 0 of 1 item finished, 1 to download");
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
        items.find(|item| item["item"] == id).unwrap().clone()
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
    ids.sort_by_key(|item| item["item"].to_string());
    assert_eq!(ids.len(), 2, "{ended}");
    assert_eq!((&ids[0]["item"], &ids[0]["job_id"]), (&json!("running"), &json!(job)));
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
