//! Lists: limits, pages, cursors, and tables of a given width.

use serde_json::{Value, json};

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

/// The list commands of the developer surface.
const DEVELOPER_LISTS: [&[&str]; 13] = [
    &["action", "list"],
    &["action", "runs", "act_daily"],
    &["agent", "runs"],
    &["avatar", "list"],
    &["avatar", "list", "--any"],
    &["avatar", "search", "hair"],
    &["avatar-video", "list"],
    &["bgm", "list"],
    &["bgm", "categories"],
    &["format", "list"],
    &["format", "runs", "fmt_demo"],
    &["trending", "search", "dance"],
    &["usage", "--entries"],
];

/// The list commands of the open surface, and those that need no service.
const OPEN_LISTS: [&[&str]; 5] =
    [&["job", "list"], &["model", "list"], &["pricing", "list"], &["history"], &["operations"]];

fn submit_jobs(env: &TestEnv, count: usize) -> Vec<String> {
    let ids = (0..count).map(|_| env.submit_image("[mock:seconds=0.1]"));
    let mut newest_first: Vec<String> = ids.collect();
    newest_first.reverse();
    newest_first
}

fn ids(list: &Value) -> Vec<&str> {
    let items = list.as_array().unwrap();
    items.iter().map(|it| it["id"].as_str().unwrap()).collect()
}

/// Returns the words of the command that lists more, without the program name.
fn command_for_more(run: &CommandOutput) -> Vec<&str> {
    let (_, command) = run.err.split_once("list them with: svc ").unwrap();
    command.trim().split(' ').collect()
}

#[test]
fn limit_counts_all_items_and_the_message_names_the_command_for_more() {
    let env = TestEnv::new();
    let jobs = submit_jobs(&env, 5);
    let run = env.run("job list --limit 2").assert_exit(0);
    assert_eq!(ids(&run.json()), jobs[..2]);
    let run = run.assert_stderr("there are more jobs");
    let next = env.run(command_for_more(&run)).assert_exit(0);
    assert_eq!(ids(&next.json()), jobs[2..4]);
    let last = env.run(command_for_more(&next)).assert_exit(0);
    assert_eq!(ids(&last.json()), jobs[4..]);
    assert_eq!(last.err, "");

    let before = env.requests("jobs_list").len();
    let words = "job list --limit 3 -q limit=2";
    let run = env.run(words).assert_exit(0);
    assert_eq!(ids(&run.json()), jobs[..3]);
    assert_eq!(env.requests("jobs_list").len(), before + 2);
    run.assert_stderr("there are more jobs; list them with a higher --limit, or all with --all");

    let words = "job list --all -q limit=2";
    let run = env.run(words).assert_exit(0);
    assert_eq!((ids(&run.json()), &*run.err), (ids(&json!(to_items(&jobs))), ""));
    assert_eq!(env.requests("jobs_list").len(), before + 5);

    let words = "job list --limit 4 -o jsonl";
    let run = env.run(words).assert_exit(0).assert_stderr("--cursor");
    assert_eq!(run.out.lines().count(), 4);
    let run = env.run(["job", "list", "--limit", "2", "--quiet"]).assert_exit(0);
    assert_eq!(run.err, "");
}

fn to_items(ids: &[String]) -> Vec<Value> {
    ids.iter().map(|id| json!({ "id": id })).collect()
}

#[test]
fn every_list_takes_a_limit_all_and_a_cursor() {
    let env = TestEnv::new();
    let run = |words: &[&str], flags: &[&str], is_open: bool| {
        let words = [words, flags].concat();
        match is_open {
            true => env.run(words),
            false => env.developer(&words),
        }
    };
    let developer = DEVELOPER_LISTS.iter().map(|words| (words, false));
    for (words, is_open) in OPEN_LISTS.iter().map(|words| (words, true)).chain(developer) {
        for wrong in [&["--limit", "0"][..], &["--limit=-1"], &["--limit", "2", "--all"]] {
            run(words, wrong, is_open).assert_exit(2);
        }
        assert!(env.mock.requests(0).is_empty());
    }
    run(&["job", "list"], &["--limit", "0"], true)
        .assert_stderr("expected an integer of at least 1");
    for (words, is_open) in OPEN_LISTS.iter().map(|words| (words, true)) {
        let all = run(words, &["--all"], is_open).assert_exit(0).json();
        let one = run(words, &["--limit", "1"], is_open).assert_exit(0).json();
        let all = all.as_array().unwrap();
        assert_eq!(one.as_array().unwrap()[..], all[..all.len().min(1)], "{words:?}");
    }
    for words in DEVELOPER_LISTS {
        let all = run(words, &["--all"], false).assert_exit(0).json();
        let one = run(words, &["--limit", "1"], false).assert_exit(0);
        let all = all.as_array().unwrap();
        assert_eq!(one.json().as_array().unwrap().len(), all.len().min(1), "{words:?}");
        assert_eq!(one.err.contains("list them"), all.len() > 1, "{words:?}: {}", one.err);
    }
}

#[test]
fn a_cursor_is_sent_as_it_is_given() {
    let env = TestEnv::new();
    let service = FakeServer::answering("200 OK", r#"{"data": []}"#);
    let rows: &[&[&str]] = &[
        &["job", "list"],
        &["model", "list", "--type", "video"],
        &["pricing", "list"],
        &["job", "events", "job_1"],
        &["run", "events", "run_1", "--kind", "format"],
    ];
    for words in rows.iter().chain(&DEVELOPER_LISTS) {
        let mut command = env.developer_surface(words);
        command
            .args(["--cursor", "c/1 ?"])
            .env("SVC_DEVELOPER_BASE_URL", &service.url)
            .env("SVC_BASE_URL", &service.url)
            .env("SVC_OPEN_API_KEY", svc_mock_server::OPEN_API_KEY);
        let run = CommandOutput::of(&mut command).assert_exit(0);
        assert_eq!(run.json(), json!([]), "{words:?}");
        run.assert_stderr("no ").assert_stderr(" found");
        let head = service.heads.lock().unwrap().last().unwrap().clone();
        let line = head.lines().next().unwrap_or_default();
        assert!(line.contains("cursor=c%2F1"), "{words:?}: {line}");
    }
}

#[test]
fn a_cursor_that_repeats_is_an_error() {
    let env = TestEnv::new();
    let body = r#"{"data": [{"id": "job_1", "status": "queued"}], "next_cursor": "c1"}"#;
    let service = FakeServer::answering("200 OK", body);
    let list = |flags: &[&str]| {
        let mut command = env.open_surface("job list");
        CommandOutput::of(command.args(flags).env("SVC_BASE_URL", &service.url))
    };
    let run = list(&["-o", "json"]).assert_exit(1);
    assert_eq!(run.out, "");
    assert!(run.error()["message"].as_str().unwrap().contains("`c1`"));
    // Items are printed as the pages arrive.
    let run = list(&["--all", "-o", "jsonl"]).assert_exit(1);
    assert_eq!(run.out.lines().count(), 2);
    list(&["--cursor", "c1", "--limit", "1"]).assert_exit(1);
}

#[test]
fn items_that_cannot_be_decoded_are_listed_as_they_are() {
    let env = TestEnv::new();
    let body = r#"{"data": [7, {"id": "job_1", "status": "queued"}]}"#;
    let service = FakeServer::answering("200 OK", body);
    let list = |format: &str| {
        let mut command = env.open_surface("job list -o");
        CommandOutput::of(command.arg(format).env("SVC_BASE_URL", &service.url)).assert_exit(0)
    };
    let run = list("json");
    assert_eq!(run.json()[0], 7);
    assert_eq!(run.json()[1]["id"], "job_1");
    let run = list("table").assert_stderr("1 of 2 jobs could not be decoded");
    assert_eq!(run.out.lines().count(), 4);
}

#[test]
fn an_empty_list_is_said_on_stderr() {
    let env = TestEnv::new();
    for (words, message) in
        [(["job", "list"], "no jobs found"), (["history", "--open"], "no requests found")]
    {
        let run = env.run(words).assert_exit(0).assert_stderr(message);
        assert_eq!(run.json(), json!([]));
        let run = CommandOutput::of(env.open_surface(words).args(["-o", "table"]));
        assert_eq!((run.code, &*run.out), (Some(0), ""));
        run.assert_stderr(message);
    }
}

#[test]
fn the_history_is_paged_and_shows_current_statuses() {
    let env = TestEnv::new();
    let done = env.submit_image("[mock:seconds=0.1]");
    let running = env.submit_image("[mock:stuck]");
    let jobs = |run: &CommandOutput| -> Vec<String> {
        let json = run.json();
        let entries = json.as_array().unwrap().iter();
        entries.map(|it| it["job_id"].as_str().unwrap().to_owned()).collect()
    };
    let first = env.run("history --limit 1").assert_exit(0);
    assert_eq!(jobs(&first), [running.as_str()]);
    let next = env.run(command_for_more(&first)).assert_exit(0);
    assert_eq!((jobs(&next), &*next.err), (vec![done.clone()], ""));
    env.run("history --cursor none").assert_exit(2).assert_stderr("invalid --cursor `none`");
    assert!(env.requests("jobs_status").is_empty());

    env.run(["job", "wait", &done]).assert_exit(0);
    let refreshed = env.run("history --refresh").assert_exit(0).json();
    assert_eq!(refreshed[1]["status"], "completed");
    assert!(["queued", "processing"].contains(&refreshed[0]["status"].as_str().unwrap()));
    let mut command = env.open_surface("history --refresh");
    let elsewhere = CommandOutput::of(command.env("SVC_BASE_URL", "http://127.0.0.1:9/"));
    let elsewhere = elsewhere.assert_exit(0).json();
    assert!(elsewhere[0]["error"]["message"].as_str().unwrap().contains("submitted to"));
    let mut command = env.open_surface("history --refresh -o table");
    let table = CommandOutput::of(command.env("SVC_OPEN_API_KEY", "")).assert_exit(0);
    assert!(table.out.contains("error: no API key"), "{}", table.out);
}

#[test]
fn the_newest_job_and_run_of_the_history_are_taken_with_last() {
    let env = TestEnv::new();
    env.run("job wait --last").assert_exit(4).assert_stderr("this machine has not submitted a job");
    for words in [["job", "wait"], ["job", "download"], ["run", "wait"], ["run", "download"]] {
        env.run(words).assert_exit(2).assert_stderr("--last");
    }
    env.run("job wait job_1 --last").assert_exit(2);
    let jobs = submit_jobs(&env, 2);
    let run = env.run("job wait --last").assert_exit(0);
    assert_eq!(run.json()["job_id"], jobs[0].as_str());
    run.assert_stderr(&format!("Using {}", jobs[0]));
    let run = env.run("job download --last").assert_exit(0);
    assert_eq!(run.json()["job_id"], jobs[0].as_str());
    env.developer("run wait --last").assert_exit(4);
    let words = "agent run --instruction x --cap 1 --no-wait";
    let receipt = env.developer(words).assert_exit(0).json();
    let run = env.developer("run wait --last --receipt").assert_exit(0);
    assert_eq!(run.json()["run_id"], receipt["run_id"]);
    env.developer("run wait --last --kind format").assert_exit(4);
}

#[test]
fn the_usage_chart_shows_days_and_models_also_in_a_pipe() {
    let env = TestEnv::new();
    let jobs = submit_jobs(&env, 2);
    CommandOutput::of(env.open_surface("job wait").args(&jobs)).assert_exit(0);
    env.generate_image("[mock:seconds=0.1][mock:fail]", &[]).assert_exit(7);
    let run = env.developer("usage --chart").assert_exit(0);
    assert!(run.out.contains("Net spend by day: $0.01\n"), "{}", run.out);
    let model = run.out.lines().find(|line| line.starts_with("image-i "));
    let model = model.unwrap_or_else(|| panic!("no model: {}", run.out));
    assert!(model.contains("$0.01") && model.contains('█'), "{model}");
    assert!(run.out.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(env.requests("jobs_list").len(), 1);
    let json = env.developer("usage --chart -o json").assert_exit(0).json();
    assert!(json["totals"].is_array() && json["entries"].is_array());
    let limited = env.developer("usage --limit 2").assert_exit(0);
    assert_eq!(limited.json()["entries"].as_array().unwrap().len(), 2);
    limited.assert_stderr("only the newest 2 entries are included");
}
