//! `svc batch`.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};
use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY, Setup};
use svc_sdk::contract::Plan;

use crate::test_env::{CommandOutput, FakeServer, TestEnv, interrupt, start, wait_until};

/// Writes a manifest with a line for each JSON value.
pub(crate) fn write(env: &TestEnv, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(env.path(name), text).unwrap();
}

/// Returns a line with a video of 4 seconds, which costs 0.5628 USD.
fn video(prompt: &str) -> Value {
    json!({"body": {"model": "video-f", "prompt": prompt, "duration": 4}})
}

pub(crate) fn image(prompt: &str) -> Value {
    json!({"operation": "image_generate", "body": {"model": "image-i", "prompt": prompt}})
}

fn music(prompt: &str) -> Value {
    json!({"operation": "music_1_generate", "body": {"prompt": prompt}})
}

pub(crate) fn with_id(id: &str, mut line: Value) -> Value {
    line["id"] = id.into();
    line
}

/// Creates a `svc batch run` that is configured for both surfaces.
pub(crate) fn batch(env: &TestEnv, flags: &[&str]) -> Command {
    let mut command = env.open_surface("batch run m.jsonl");
    command
        .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
        .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY)
        .args(flags);
    command
}

pub(crate) fn run(env: &TestEnv, flags: &[&str]) -> CommandOutput {
    CommandOutput::of(&mut batch(env, flags))
}

/// Returns the printed items by their ids.
fn items(output: &CommandOutput) -> BTreeMap<String, Value> {
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
    let items = output.out.lines().map(parse);
    items.map(|item| (id(&item), item)).collect()
}

fn status_of(output: &CommandOutput) -> Vec<(String, String)> {
    let status = |item: &Value| item["status"].as_str().unwrap().to_owned();
    let items = items(output).into_iter();
    items.map(|(id, item)| (id, status(&item))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(id, status): &(&str, &str)| ((*id).to_owned(), (*status).to_owned());
    expected.iter().map(owned).collect()
}

fn status_json(env: &TestEnv) -> Value {
    let status = "batch status m.jsonl -o json";
    env.run(status).assert_exit(0).json()
}

#[test]
fn a_batch_submits_each_line_once_and_prints_it_when_it_ends() {
    let env = TestEnv::new();
    let lines = [video("one"), Value::Null, image("three"), music("four")];
    let text = lines.map(|line| match line {
        Value::Null => "\n".to_owned(),
        line => format!("{line}\n"),
    });
    std::fs::write(env.path("m.jsonl"), text.concat()).unwrap();
    let output = run(&env, &["--download", "out"]).assert_exit(0);
    let ended = items(&output);
    assert_eq!(
        status_of(&output),
        pairs(&[("1", "completed"), ("3", "completed"), ("4", "completed")])
    );
    for (id, item) in &ended {
        let fields: Vec<&String> = item.as_object().unwrap().keys().collect();
        let mut expected = ["id", "status", "job_id", "price_usd", "artifacts", "files", "error"];
        expected.sort_unstable();
        assert_eq!(fields, expected, "{id}");
        assert!(item["job_id"].as_str().unwrap().starts_with("job_"));
        assert!(item["artifacts"][0]["url"].is_string());
        let path = env.path(item["files"][0]["path"].as_str().unwrap());
        assert!(path.is_file());
        assert_eq!(item["error"], Value::Null);
    }
    assert_eq!(ended["1"]["price_usd"], "0.5628");
    assert_eq!(ended["3"]["price_usd"], "0.0050");
    assert_eq!((env.job_count(), env.charge_count()), (3, 3));

    // Finished items are not asked for again: no configuration is needed.
    let requests = env.mock.requests(0).len();
    let again = env.unconfigured("batch run m.jsonl");
    let again = CommandOutput::of(&mut { again }).assert_exit(0);
    assert_eq!(again.out, "");
    again.assert_stderr("3 of 3 items completed");
    assert_eq!(env.mock.requests(0).len(), requests);
}

#[test]
fn files_of_a_batch_are_named_and_replaced_as_those_of_a_download() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("a red fox"), image("a blue fox")]);
    let names = || {
        let files = std::fs::read_dir(env.path("out")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let flags = ["--download", "out", "--name", "{slug}.{ext}"];
    let output = run(&env, &flags).assert_exit(0);
    assert_eq!(items(&output)["1"]["files"][0]["path"], "out/a-red-fox.png");
    let expected = ["a-blue-fox.png", "a-red-fox.png"].map(str::to_owned);
    assert_eq!(names(), expected.into());

    // Another file is in the way of one of them.
    std::fs::write(env.path("out/a-blue-fox.png"), "mine").unwrap();
    std::fs::remove_file(env.path("m.jsonl.journal.jsonl")).unwrap();
    let output = run(&env, &[&flags[..], &["--overwrite"]].concat()).assert_exit(0);
    assert_eq!(items(&output)["2"]["files"][0]["status"], "replaced");
    assert_eq!(names().len(), 2);

    for (flags, message) in [
        (&["--name", "{id}.{ext}"][..], "--name requires --download"),
        (&["--open"], "--open requires --download"),
        (
            &["--download", "out", "--overwrite", "--name", "fox.{ext}"],
            "expected {id}, {job} or {slug}",
        ),
    ] {
        run(&env, flags).assert_exit(2).assert_stderr(message);
    }
}

#[test]
fn a_duplicate_id_is_rejected_before_anything_is_sent() {
    let env = TestEnv::new();
    for lines in [
        [with_id("a", video("x")), with_id("a", video("y"))],
        [with_id("2", video("x")), video("y")],
        [video("x"), with_id("1", video("y"))],
    ] {
        write(&env, "m.jsonl", &lines);
        let error = run(&env, &["-o", "json"]).assert_exit(2).error();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("duplicate id"), "{message}");
    }
    assert!(env.mock.requests(0).is_empty());
    assert!(!env.path("m.jsonl.journal.jsonl").exists());
}

#[test]
fn a_line_that_changes_after_it_was_submitted_is_rejected() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[with_id("a", image("x")), with_id("b", image("y"))]);
    run(&env, &[]).assert_exit(0);
    let mut other_operation = with_id("b", image("y"));
    other_operation["operation"] = "image_1_generate".into();
    for changed in [with_id("b", image("z")), other_operation] {
        write(&env, "m.jsonl", &[with_id("a", image("x")), changed]);
        let failed = run(&env, &[]).assert_exit(2);
        failed.assert_stderr("item `b` has changed after it was submitted");
    }
    // The order of the fields, and of the lines, is no change.
    let reordered = "{\"body\": {\"prompt\": \"y\", \"model\": \"image-i\"}, \"operation\": \"image_generate\", \"id\": \"b\"}\n";
    let text = format!("{reordered}{}\n", with_id("a", image("x")));
    std::fs::write(env.path("m.jsonl"), text).unwrap();
    run(&env, &[]).assert_exit(0);
    assert_eq!(env.job_count(), 2);
}

#[test]
fn a_line_that_the_service_rejected_can_be_corrected() {
    let env = TestEnv::new();
    let mut line = video("x");
    line["body"]["duration"] = 99.into();
    write(&env, "m.jsonl", &[line]);
    let output = run(&env, &["-o", "json"]).assert_exit(7);
    let item = &output.json()[0];
    assert_eq!(item["error"]["code"], "invalid_request");
    assert_eq!(item["job_id"], Value::Null);
    assert_eq!(output.error()["code"], "invalid_request");
    write(&env, "m.jsonl", &[video("x")]);
    run(&env, &[]).assert_exit(7);
    assert_eq!(env.job_count(), 0, "it failed, and is not submitted again");
    run(&env, &["--retry-failed"]).assert_exit(0);
    assert_eq!(env.job_count(), 1);
}

#[test]
fn csv_columns_are_fields_of_the_body() {
    let env = TestEnv::new();
    let text = "id,model,prompt,num_images,metadata\n\
        ,image-i,\"red, or\nblue\",2,\"{\"\"order\"\": 7}\"\n\
        \n\
        b,image-i,42,,\n";
    std::fs::write(env.path("m.csv"), text).unwrap();
    let command = "batch run m.csv --operation image_generate";
    let output = env.run(command).assert_exit(0);
    let ended = items(&output);
    assert_eq!(ended.keys().collect::<Vec<_>>(), ["1", "b"]);
    assert_eq!(ended["1"]["artifacts"].as_array().unwrap().len(), 2);
    let bodies: Vec<_> = env.mock.jobs().iter().map(|job| job["metadata"].clone()).collect();
    assert!(bodies.contains(&json!({"order": 7})), "{bodies:?}");
    assert!(env.path("m.csv.journal.jsonl").is_file());
}

#[test]
fn an_operation_that_submits_nothing_is_rejected() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[json!({"body": {"prompt": "a waltz"}})]);
    for name in ["jobs_list", "top_ups_create", "formats_runs_create", "nope"] {
        let failed = run(&env, &["--operation", name]).assert_exit(2);
        failed.assert_stderr("invalid operation");
    }
    run(&env, &["--operation", "music_1_generate"]).assert_exit(0);
    assert_eq!(env.requests("music_1_generate").len(), 1);
}

#[test]
fn a_run_of_the_agent_has_a_run_id_and_needs_a_cap() {
    let env = TestEnv::new();
    let line = |cap: Value| {
        let mut body = json!({"instruction": "a poster"});
        if !cap.is_null() {
            body["generation_spend_cap_usd"] = cap;
        }
        json!({"operation": "agent_completions_create", "body": body})
    };
    write(&env, "m.jsonl", &[line(Value::Null)]);
    run(&env, &[]).assert_exit(2).assert_stderr("line 1: `generation_spend_cap_usd` is required");
    write(&env, "m.jsonl", &[line(json!(1)), line(json!(1))]);
    let output = run(&env, &["--max-spend", "1.5", "--concurrency", "1"]).assert_exit(0);
    for item in items(&output).values() {
        assert!(item["run_id"].as_str().unwrap().starts_with("run_"));
        assert!(item.get("job_id").is_none());
        assert!(item["price_usd"].is_string());
    }
}

#[test]
fn the_budget_is_never_exceeded_over_all_runs() {
    let env = TestEnv::new();
    let lines: Vec<_> = (0..5).map(|number| video(&number.to_string())).collect();
    write(&env, "m.jsonl", &lines);
    // Two fit, three do not.
    for round in 0..3 {
        let output = run(&env, &["--max-spend", "1.2", "-o", "jsonl"]).assert_exit(5);
        assert_eq!(output.error()["code"], "over_budget");
        let ended = items(&output);
        let over_budget = ended.values().filter(|item| item["status"] == "not_submitted");
        for item in over_budget.clone() {
            assert_eq!(item["error"]["code"], "over_budget");
            assert_eq!(item["price_usd"], Value::Null);
        }
        assert_eq!(over_budget.count(), 3, "round {round}");
        assert_eq!(ended.len(), if round == 0 { 5 } else { 3 });
        assert_eq!(env.charge_count(), 2);
    }
    assert_eq!(status_json(&env)["spent_usd"], "1.1256");
    run(&env, &["--max-spend", "1.70"]).assert_exit(5);
    assert_eq!(env.charge_count(), 3);
    run(&env, &["--max-spend", "2.814"]).assert_exit(0);
    assert_eq!(env.charge_count(), 5);
}

#[test]
fn a_refund_makes_room_for_another_item() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[video("[mock:fail]"), video("x"), video("y")]);
    let output = run(&env, &["--max-spend", "1.2", "-o", "jsonl"]).assert_exit(7);
    assert_eq!(
        status_of(&output),
        pairs(&[("1", "failed"), ("2", "completed"), ("3", "completed")])
    );
    assert_eq!(items(&output)["1"]["price_usd"], "0.0000");
}

#[test]
fn an_item_without_a_price_is_not_submitted_within_a_budget() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[music("x")]);
    let output = run(&env, &["--max-spend", "100"]).assert_exit(5);
    assert_eq!(status_of(&output), pairs(&[("1", "not_submitted")]));
    assert_eq!(env.job_count(), 0);
}

#[test]
fn a_charge_above_its_estimate_stops_the_batch() {
    let env = TestEnv::new();
    // The same body is an estimate of 0.50 USD, and a receipt and a result with a charge of 0.60 USD.
    let job = json!({"id": "job_1", "status": "completed", "price_usd": "0.6000"});
    let body = json!({"data": {
        "price_usd": "0.5000", "job": job, "job_id": "job_1", "status": "completed",
        "terminal": true, "result_ready": true, "artifacts": [],
    }});
    let service = FakeServer::answering("200 OK", &body.to_string());
    write(&env, "m.jsonl", &[video("1"), video("2"), video("3")]);
    let flags = ["--max-spend", "10", "--concurrency", "1", "-o", "jsonl"];
    let mut command = batch(&env, &flags);
    command.env("SVC_BASE_URL", &service.url);
    let submit_count = || {
        let heads = service.heads.lock().unwrap();
        let is_submit = |head: &&String| head.contains("video-router");
        heads.iter().filter(is_submit).count()
    };
    let output = CommandOutput::of(&mut command).assert_exit(5);
    assert_eq!(output.error()["code"], "over_budget");
    assert_eq!(
        status_of(&output),
        pairs(&[("1", "completed"), ("2", "not_submitted"), ("3", "not_submitted")])
    );
    let next = "check the charges, as one was above its estimate; then submit the rest without a \
        limit: svc batch run m.jsonl --concurrency 1";
    let output = output.assert_stderr("more than its estimate");
    output.assert_stderr(next);
    // A later run does not go on either.
    let again = CommandOutput::of(&mut command).assert_exit(5);
    let message = items(&again)["2"]["error"]["message"].to_string();
    assert!(message.contains("more than its estimate"), "{message}");
    assert_eq!(submit_count(), 1);
    env.run("batch status m.jsonl").assert_exit(0).assert_stderr(
        "then remove --max-spend from this command to submit the rest: svc batch run m.jsonl",
    );
    assert_eq!(status_json(&env)["spent_usd"], "0.6000");
}

#[test]
fn failed_items_are_submitted_again_only_on_request() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("ok"), image("[mock:fail]")]);
    let output = run(&env, &[]).assert_exit(7);
    assert_eq!(status_of(&output), pairs(&[("1", "completed"), ("2", "failed")]));
    assert_eq!(items(&output)["2"]["error"]["code"], "generation_failed");
    let again = run(&env, &["-o", "json"]).assert_exit(7);
    assert_eq!(again.json(), json!([]));
    assert_eq!(env.job_count(), 2);
    let retried = run(&env, &["--retry-failed"]).assert_exit(7);
    assert_eq!(status_of(&retried), pairs(&[("2", "failed")]));
    assert_eq!(env.job_count(), 3);
}

/// A retry that does not fit into the budget is made by the next run, and what failed before is neither
/// counted twice nor shown as what the retry submitted.
#[test]
fn a_retry_that_was_not_submitted_is_submitted_later() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("ok"), image("[mock:fail]")]);
    run(&env, &[]).assert_exit(7);
    let limited = run(&env, &["--retry-failed", "--max-spend", "0.001"]).assert_exit(5);
    let item = items(&limited)["2"].clone();
    assert_eq!(item["status"], "not_submitted");
    assert_eq!(item["job_id"], Value::Null);
    assert_eq!(env.job_count(), 2);
    let retried = run(&env, &[]).assert_exit(7);
    assert_eq!(status_of(&retried), pairs(&[("2", "failed")]));
    assert_eq!(env.job_count(), 3);
}

#[test]
fn an_id_that_the_journal_cannot_store_is_rejected_with_the_manifest() {
    let env = TestEnv::new();
    let line = |id: &str| {
        let mut line = image("a fox");
        line["id"] = json!(id);
        line
    };
    for id in ["a\nb".to_owned(), "a".repeat(513)] {
        write(&env, "m.jsonl", &[line(&id)]);
        let output = run(&env, &[]).assert_exit(2);
        assert!(output.err.contains("512 bytes"), "{}", output.err);
    }
    assert_eq!(env.job_count(), 0);
}

#[test]
fn a_rejected_key_or_an_empty_balance_stops_the_batch() {
    let rows = [
        ("401 Unauthorized", "unauthorized", 3),
        ("402 Payment Required", "insufficient_funds", 5),
        ("403 Forbidden", "insufficient_scope", 3),
    ];
    for (status, code, exit) in rows {
        let env = TestEnv::new();
        let envelope = format!(r#"{{"error": {{"code": "{code}", "message": "No."}}}}"#);
        let service = FakeServer::answering(status, &envelope);
        write(&env, "m.jsonl", &[image("1"), image("2"), image("3")]);
        let mut command = batch(&env, &["-o", "json", "--concurrency", "1"]);
        command.env("SVC_BASE_URL", &service.url);
        let output = CommandOutput::of(&mut command).assert_exit(exit);
        let ended = output.json();
        assert_eq!(ended.as_array().unwrap().len(), 3);
        for item in ended.as_array().unwrap() {
            assert_eq!(item["status"], "not_submitted");
            assert_eq!(item["error"]["code"], code);
        }
        assert_eq!(output.error()["code"], code);
        assert_eq!(output.error()["idempotency_key"], Value::Null);
        assert_eq!(service.heads.lock().unwrap().len(), 1);
        // With a valid key the same batch goes on.
        run(&env, &[]).assert_exit(0);
        assert_eq!(env.job_count(), 3);
    }
}

#[test]
fn an_empty_balance_in_the_middle_leaves_what_is_paid_for() {
    let setup = Setup::default().speed("50".parse().unwrap()).balance("1.2".parse().unwrap());
    let env = TestEnv::with(setup);
    let lines: Vec<_> = (0..4).map(|number| video(&number.to_string())).collect();
    write(&env, "m.jsonl", &lines);
    let output = run(&env, &["-o", "jsonl"]).assert_exit(5);
    let count = |status: &str| {
        let items = items(&output);
        items.values().filter(|item| item["status"] == status).count()
    };
    assert_eq!((count("completed"), count("not_submitted")), (2, 2));
    assert_eq!(output.error()["code"], "insufficient_funds");
    // A failed item is more important, but not the only thing to be said.
    let mut invalid = video("x");
    invalid["body"]["duration"] = 99.into();
    write(&env, "m.jsonl", &[invalid, video("y"), video("z")]);
    let output = run(&env, &["--journal", "j", "-o", "jsonl"]).assert_exit(7);
    assert_eq!(output.error()["details"]["errors"][0]["code"], "insufficient_funds");
    output.assert_stderr("the batch was stopped: ");
}

#[test]
fn pushed_back_submits_are_repeated_until_they_are_accepted() {
    let env = TestEnv::new();
    let lines: Vec<_> = (0..4).map(|number| image(&number.to_string())).collect();
    write(&env, "m.jsonl", &lines);
    env.add_fault("image_generate", "status_503", 8);
    env.add_fault("image_generate", "status_429", 3);
    run(&env, &["--retries", "0"]).assert_exit(0);
    assert_eq!((env.job_count(), env.charge_count()), (4, 4));
}

#[test]
fn the_limit_of_jobs_slows_the_batch_down() {
    let setup = Setup::default()
        .speed("50".parse().unwrap())
        .plan(Plan::Free)
        .concurrent_jobs(Plan::Free, 10);
    let env = TestEnv::with(setup);
    // Six seconds: long enough for ten submits on a busy machine.
    let line = |number| image(&format!("{number} [mock:seconds=300]"));
    let lines: Vec<_> = (0..15).map(line).collect();
    write(&env, "m.jsonl", &lines);
    run(&env, &[]).assert_exit(0);
    assert_eq!((env.job_count(), env.charge_count()), (15, 15));
    let submits = env.requests("image_generate");
    assert!(submits.iter().any(|request| request["status"] == 400));
    assert!(submits.iter().all(|request| request["status"] != 429));
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
fn at_the_timeout_what_runs_is_left_running() {
    let env = TestEnv::new();
    let lines = [image("ok"), image("[mock:stuck]"), image("[mock:stuck]"), image("late")];
    write(&env, "m.jsonl", &lines);
    let flags = ["--timeout", "6", "--concurrency", "2", "-o", "json"];
    let output = run(&env, &flags).assert_exit(9);
    let statuses: Vec<_> = output.json().as_array().unwrap().clone();
    let of = |id: &str| statuses.iter().find(|item| item["id"] == id).unwrap();
    assert_eq!(of("1")["status"], "completed");
    for id in ["2", "3"] {
        assert_eq!(of(id)["status"], "timed_out");
        assert!(of(id)["job_id"].is_string());
    }
    assert_eq!(of("4")["status"], "not_submitted");
    assert_eq!(output.error()["code"], "timed_out");
    assert_eq!(status_json(&env)["by_status"]["timed_out"], 2);
    // The jobs are followed again, and not submitted.
    let again = run(&env, &["--timeout", "4", "-o", "json"]).assert_exit(9);
    assert_eq!(env.job_count(), 4);
    assert_eq!(again.json().as_array().unwrap().len(), 3);
}

#[test]
fn an_operation_without_keys_is_never_sent_again() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[music("x"), music("y")]);
    env.add_fault("music_1_generate", "drop_after", 1);
    let flags = ["--concurrency", "1", "-o", "jsonl"];
    let output = run(&env, &flags).assert_exit(11);
    assert_eq!(status_of(&output), pairs(&[("1", "ambiguous"), ("2", "completed")]));
    let item = &items(&output)["1"];
    assert_eq!(item["error"]["code"], "ambiguous");
    let key = item["error"]["idempotency_key"].as_str().unwrap();
    let error = output.error();
    assert_eq!(error["code"], "ambiguous");
    assert_eq!(error["idempotency_key"], key);
    assert_eq!(error["details"]["ambiguous"], json!([{"id": "1", "idempotency_key": key}]));
    let again = run(&env, &[]).assert_exit(11);
    assert_eq!(again.out, "");
    assert!(again.err.contains(key), "{}", again.err);
    run(&env, &["--retry-failed"]).assert_exit(11);
    assert_eq!(env.requests("music_1_generate").len(), 2);
    assert_eq!(status_json(&env)["items"][0]["idempotency_key"], key);
}

#[test]
fn an_operation_with_keys_is_sent_again_with_the_same_key() {
    let env = TestEnv::new();
    let gateway = r#"{"error": {"code": "gateway_timeout", "message": "No response."}}"#;
    let service = FakeServer::answering("504 Gateway Timeout", gateway);
    write(&env, "m.jsonl", &[image("x")]);
    let mut command = batch(&env, &["--retries", "1", "-o", "json"]);
    command.env("SVC_BASE_URL", &service.url);
    for round in 1..=2 {
        let output = CommandOutput::of(&mut command).assert_exit(11);
        assert_eq!(output.json()[0]["status"], "ambiguous");
        let mut keys = service.idempotency_keys();
        assert_eq!(keys.len(), 2 * round);
        keys.dedup();
        assert_eq!(keys.len(), 1, "{keys:?}");
    }
    // A key that belongs to another request says nothing of this one.
    for (status, code, exit) in [
        ("409 Conflict", "idempotency_conflict", 11),
        ("402 Payment Required", "insufficient_funds", 11),
        ("400 Bad Request", "invalid_request", 7),
    ] {
        let envelope = format!(r#"{{"error": {{"code": "{code}", "message": "No."}}}}"#);
        service.answer(status, &envelope);
        CommandOutput::of(&mut command).assert_exit(exit);
    }
}

#[test]
fn requests_whose_answers_are_lost_are_charged_once() {
    let env = TestEnv::new();
    let lines: Vec<_> = (0..6).map(|number| image(&number.to_string())).collect();
    write(&env, "m.jsonl", &lines);
    env.add_fault("image_generate", "drop_after", 5);
    run(&env, &[]).assert_exit(0);
    assert_eq!((env.job_count(), env.charge_count()), (6, 6));
}

#[test]
fn a_file_that_cannot_be_fetched_leaves_the_item_completed() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("x"), image("y")]);
    env.add_fault("artifact", "status_404", 1);
    let flags = ["--download", "out", "--concurrency", "1", "-o", "json"];
    let output = run(&env, &flags).assert_exit(1);
    let items = output.json();
    let failed: Vec<_> =
        items.as_array().unwrap().iter().filter(|it| !it["error"].is_null()).collect();
    assert!(!failed.is_empty());
    assert_eq!(failed[0]["status"], "completed");
    assert_eq!(failed[0]["error"]["code"], "download_failed");
    assert_eq!(output.error()["code"], "download_failed");
    env.mock.clear_faults();
    let again = run(&env, &["--download", "out", "-o", "json"]).assert_exit(0);
    assert_eq!(again.json().as_array().unwrap().len(), failed.len());
    assert_eq!(std::fs::read_dir(env.path("out")).unwrap().count(), 2);
    assert_eq!((env.job_count(), env.charge_count()), (2, 2));
}

#[test]
fn the_status_is_read_from_the_journal_alone() {
    let env = TestEnv::new();
    let missing = env.run("batch status m.jsonl").assert_exit(2);
    missing.assert_stderr("m.jsonl.journal.jsonl does not exist");
    write(&env, "m.jsonl", &[image("x"), video("[mock:fail]"), image("z")]);
    run(&env, &["--journal", "j.jsonl"]).assert_exit(7);
    std::fs::remove_file(env.path("m.jsonl")).unwrap();
    let words = "batch status m.jsonl --journal j.jsonl -o json";
    let mut command = env.unconfigured(words);
    let status = CommandOutput::of(&mut command).assert_exit(0).json();
    assert_eq!(status["total"], 3);
    assert_eq!(status["by_status"], json!({"completed": 2, "failed": 1}));
    assert_eq!(status["spent_usd"], "0.0100");
    assert_eq!(status["items"].as_array().unwrap().len(), 3);
}

#[test]
fn a_second_process_on_the_same_journal_is_rejected() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("[mock:stuck]")]);
    let first = start(&mut batch(&env, &[]));
    wait_until("the job is submitted", || env.job_count() == 1);
    run(&env, &[]).assert_exit(2).assert_stderr("another process is running this batch");
    assert_eq!(status_json(&env)["by_status"]["submitted"], 1);
    drop(first);
    assert_eq!(env.job_count(), 1);
}

#[test]
fn ctrl_c_leaves_the_jobs_running_and_says_how_to_go_on() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("[mock:seconds=300]"), image("ok")]);
    let flags = ["--concurrency", "1", "--max-spend", "5", "-o", "jsonl"];
    let child = start(&mut batch(&env, &flags));
    wait_until("the job is submitted", || {
        std::fs::read_to_string(env.path("m.jsonl.journal.jsonl"))
            .is_ok_and(|text| text.contains("\"job_"))
    });
    interrupt(&child);
    let output = child.end().assert_exit(130);
    assert_eq!(output.out, "");
    let error = output.error();
    assert_eq!(error["code"], "interrupted");
    let resume = error["resume"].as_str().unwrap();
    assert!(
        resume.starts_with("svc batch run m.jsonl --concurrency 1 --max-spend 5.0000"),
        "{resume}"
    );
    assert_eq!(env.job_count(), 1);
    let output = run(&env, &flags).assert_exit(0);
    assert_eq!(status_of(&output), pairs(&[("1", "completed"), ("2", "completed")]));
    assert_eq!(env.job_count(), 2);
}

#[test]
fn a_dry_run_shows_the_price_and_sends_nothing_that_costs() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[video("x"), video("y"), image("z")]);
    let shown = run(&env, &["--dry-run", "-o", "json"]).assert_exit(0).json();
    assert_eq!(shown["to_submit"], 3);
    assert_eq!(shown["estimate_usd"], "1.1306");
    assert_eq!(shown["by_operation"], json!({"image_generate": 1, "video_generate": 2}));
    run(&env, &["--dry-run", "--max-spend", "1.1"]).assert_exit(5);
    assert_eq!(env.requests("open_estimate").len(), 4, "one for each shape");
    assert_eq!(env.job_count(), 0);
    assert!(!env.path("m.jsonl.journal.jsonl").exists());
}

#[test]
fn the_whole_manifest_is_checked_first() {
    let env = TestEnv::new();
    std::fs::write(env.path("m.jsonl"), format!("{}\n{{\"body\": 1}}\n", image("x"))).unwrap();
    run(&env, &[]).assert_exit(2).assert_stderr("m.jsonl: line 2, column 10: invalid type");
    std::fs::remove_file(env.path("m.jsonl")).unwrap();
    run(&env, &[]).assert_exit(2).assert_stderr("cannot read m.jsonl");
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn a_service_that_cannot_be_reached_ends_the_batch() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("x"), image("y")]);
    let mut command = batch(&env, &["--retries", "0", "-o", "json"]);
    command.env("SVC_BASE_URL", "http://127.0.0.1:9").env("SVC_OPEN_API_KEY", OPEN_API_KEY);
    let output = CommandOutput::of(&mut command).assert_exit(10);
    for item in output.json().as_array().unwrap() {
        assert_eq!(item["status"], "not_submitted");
    }
    run(&env, &[]).assert_exit(0);
    assert_eq!(env.job_count(), 2);
}

#[test]
fn the_sandbox_leaves_no_journal() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("x")]);
    let mut command = env.unconfigured("--sandbox batch run m.jsonl");
    let output = CommandOutput::of(&mut command).assert_exit(0);
    assert_eq!(status_of(&output), pairs(&[("1", "completed")]));
    assert!(!env.path("m.jsonl.journal.jsonl").exists());

    // Without a journal, a retry would submit all items, outside of the sandbox even for money.
    write(&env, "m.jsonl", &[image("[mock:fail]")]);
    let mut command = env.unconfigured("--sandbox batch run m.jsonl");
    let output = CommandOutput::of(&mut command).assert_exit(7);
    assert!(!output.err.contains("svc batch run"), "{}", output.err);
}

#[test]
fn a_filter_applies_to_each_line_or_to_the_array() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("x")]);
    let output = run(&env, &["--jq", ".id + \" \" + .status"]).assert_exit(0);
    assert_eq!(output.out, "1 completed\n");
    let output = run(&env, &["--journal", "j", "-o", "json", "--jq", "length"]).assert_exit(0);
    assert_eq!(output.out, "1\n");
    let output = run(&env, &["--journal", "k", "-o", "table"]).assert_exit(0);
    assert!(output.out.starts_with("ID"), "{}", output.out);
}
