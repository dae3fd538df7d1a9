//! What `svc batch` says about prices, mistakes and what to do next.

use serde_json::json;
use svc_mock_server::Setup;
use svc_sdk::contract::Plan;

use crate::batch::{batch, image, run, with_id, write};
use crate::pty::{Terminal, configured_svc};
use crate::test_env::{TestEnv, interrupt, start, wait_until};

#[test]
fn items_without_a_price_are_named_before_anything_is_submitted() {
    let env = TestEnv::new();
    let mut unknown = with_id("g", image("x"));
    unknown["body"]["model"] = "nope".into();
    write(&env, "m.jsonl", &[image("x"), unknown.clone()]);
    let shown = run(&env, &["--dry-run", "-o", "json"]).assert_exit(0);
    assert_eq!(shown.json()["estimate_usd"], "0.0050");
    shown.assert_stderr("warning: 1 of 2 items has no price: line 2, item g: ");

    let text = "model,promt\nimage-i,a\nimage-i,b\nimage-i,c\n";
    std::fs::write(env.path("m.csv"), text).unwrap();
    let command = "batch run m.csv --operation image_generate --dry-run -o table";
    let shown = env.run(command).assert_exit(0);
    assert!(shown.out.contains("an unknown price"), "{}", shown.out);
    shown.assert_stderr(
        "warning: 3 of 3 items have no price: row 1 (line 2) and 2 more items: `promt` is not a \
        field of image-i",
    );

    let prompt = |words: &str| {
        let mut terminal = Terminal::start(configured_svc(&env, words), 100);
        terminal.wait_for("[y/N]");
        terminal.type_text("n\n");
        terminal.end().assert_exit(1);
        terminal.screen()
    };
    let screen = prompt("batch run m.jsonl");
    assert!(screen.contains("1 of 2 items has no price"), "{screen}");
    let question = "Submit 2 items for 0.0050 USD and 1 without a price?";
    assert!(screen.contains(question), "{screen}");
    write(&env, "m.jsonl", &[image("x")]);
    run(&env, &["--max-spend", "1"]).assert_exit(0);
    write(&env, "m.jsonl", &[image("x"), image("y")]);
    let screen = prompt("batch run m.jsonl --max-spend 1");
    let question = "Submit 1 item for 0.0050 USD, within a limit of 1.0000 USD";
    assert!(screen.contains(question), "{screen}");
    assert!(screen.contains("of which 0.0050 USD"), "{screen}");
    assert_eq!(env.job_count(), 1);
}

#[test]
fn a_request_with_a_mistake_is_to_be_corrected_first() {
    let env = TestEnv::new();
    let mut line = with_id("fox", image("x"));
    line["body"]["promt"] = "x".into();
    write(&env, "m.jsonl", &[line.clone()]);
    let message = "`promt` is not a field of image-i";
    let retry = "then submit the failed items again with: svc batch run m.jsonl --retry-failed";
    let output = run(&env, &["-o", "table"]).assert_exit(7);
    let reason = format!("\nitem fox: {message} (invalid_request)\n");
    assert!(output.out.contains(&reason), "{}", output.out);
    output
        .assert_stderr("0 of 1 item completed, 1 failed (invalid_request); spent 0.0000 USD\n")
        .assert_stderr(&format!("next: correct line 1 of m.jsonl ({message}), {retry}"));
    // A later run has not seen the reason.
    run(&env, &[]).assert_exit(7).assert_stderr(&format!(
        "next: correct line 1 of m.jsonl (see svc batch status m.jsonl), {retry}"
    ));
    let status = env.run("batch status m.jsonl -o table").assert_exit(0);
    assert!(status.out.contains(&reason), "{}", status.out);
    status.assert_stderr(&format!("next: correct item fox, {retry}"));

    // A job that failed is submitted again as it is.
    let rejected = (0..7).map(|number| with_id(&number.to_string(), line.clone()));
    let failing = with_id("a", image("[mock:fail]"));
    let lines: Vec<_> = rejected.chain([failing]).collect();
    write(&env, "m.jsonl", &lines);
    let output = run(&env, &["--journal", "j"]).assert_exit(7);
    let places = "next: correct lines 1, 2, 3, 4, 5 and 2 more of m.jsonl, then submit";
    let counts = "8 failed (invalid_request and others)";
    output.assert_stderr(places).assert_stderr(counts);
    write(&env, "m.jsonl", &[image("[mock:fail]")]);
    let output = run(&env, &["--journal", "k"]).assert_exit(7);
    output.assert_stderr("  next: submit the failed items again with: ");
}

#[test]
fn a_batch_that_is_continued_without_its_operation_is_told_so() {
    let env = TestEnv::new();
    std::fs::write(env.path("m.csv"), "id,model,prompt\nfox,image-i,x\n").unwrap();
    env.run("batch run m.csv --operation image_generate").assert_exit(0);
    for words in ["batch run m.csv", "batch run m.csv --dry-run"] {
        let failed = env.run(words).assert_exit(2);
        failed
            .assert_stderr("m.csv: item `fox` was submitted with --operation image_generate\n")
            .assert_stderr(
                "next: continue the batch with: svc batch run m.csv --operation image_generate\n",
            );
    }
    env.run("batch status m.csv").assert_exit(0);
    env.run("batch run m.csv --operation image_generate").assert_exit(0);
    assert_eq!(env.job_count(), 1);
}

#[test]
fn the_status_says_how_to_continue() {
    let env = TestEnv::new();
    let status = || env.run("batch status m.jsonl");
    let missing = status().assert_exit(2);
    missing.assert_stderr("m.jsonl.journal.jsonl does not exist, and neither does m.jsonl");
    write(&env, "m.jsonl", &[image("x"), image("y")]);
    let missing = status().assert_exit(2);
    missing.assert_stderr("next: start the batch with: svc batch run m.jsonl");

    run(&env, &["--max-spend", "0.005"]).assert_exit(5);
    let next = "next: raise the --max-spend of this command to submit the rest: svc batch run m.jsonl --max-spend";
    status().assert_exit(0).assert_stderr(next);
    run(&env, &["--max-spend", "5"]).assert_exit(0);
    assert_eq!(status().assert_exit(0).err, "");

    write(&env, "m.jsonl", &[image("[mock:stuck]"), image("y")]);
    let journal = ["--journal", "j", "--timeout", "3"];
    run(&env, &journal).assert_exit(9);
    let words = "batch status m.jsonl --journal j -o table";
    let output = env.run(words).assert_exit(0);
    assert!(output.out.contains("timed out"), "{}", output.out);
    output.assert_stderr("next: resume with: svc batch run m.jsonl --journal j\n");
}

#[test]
fn canceled_items_are_not_counted_as_failed() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("[mock:seconds=300]")]);
    let child = start(&mut batch(&env, &["-o", "json"]));
    wait_until("the job is submitted", || env.job_count() == 1);
    let job = env.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    env.run(["job", "cancel", &job]).assert_exit(0);
    let output = child.end().assert_exit(7);
    assert_eq!(output.json()[0]["status"], "canceled");
    assert_eq!(output.json()[0]["error"]["next_action"], json!(null));
    let error = output.error();
    assert_eq!(error["code"], "canceled");
    assert_eq!(error["message"], "0 of 1 item completed, 1 canceled; spent 0.0000 USD");
}

#[test]
fn a_duplicate_id_names_the_other_line_and_all_problems_are_shown() {
    let env = TestEnv::new();
    let text = "{\"id\": \"a\", \"body\": {}}\n7\n{\"id\": \"a\", \"body\": {}}\n";
    std::fs::write(env.path("m.jsonl"), text).unwrap();
    let output = run(&env, &[]).assert_exit(2);
    output
        .assert_stderr("error: m.jsonl: line 2, column 1: invalid type")
        .assert_stderr("\n  m.jsonl: line 3: duplicate id `a`: line 1 has it too\n");
}

#[test]
fn a_manifest_without_items_is_warned_about() {
    let env = TestEnv::new();
    for name in ["m.jsonl", "m.csv"] {
        std::fs::write(env.path(name), "prompt\n".repeat(usize::from(name == "m.csv"))).unwrap();
        let output = env.run_unconfigured(["batch", "run", name]);
        let output = output.assert_exit(0);
        output.assert_stderr(&format!("warning: {name} has no items"));
    }
}

#[test]
fn an_unknown_price_is_none_in_the_status_as_well() {
    let env = TestEnv::new();
    let music = json!({"operation": "music_1_generate", "body": {"prompt": "x"}});
    write(&env, "m.jsonl", &[music.clone(), music]);
    env.add_fault("music_1_generate", "drop_after", 1);
    let output = run(&env, &["--concurrency", "1", "-o", "json"]).assert_exit(11);
    let status = env.run("batch status m.jsonl -o json").assert_exit(0);
    for items in [output.json(), status.json()["items"].clone()] {
        let of = |status: &str| {
            let mut items = items.as_array().unwrap().iter();
            items.find(|it| it["status"] == status).unwrap().clone()
        };
        assert_eq!(of("ambiguous")["price_usd"], json!(null));
        assert_eq!(of("completed")["price_usd"], json!(null));
    }
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
fn a_batch_that_did_not_start_has_no_status() {
    let env = TestEnv::new();
    write(&env, "m.jsonl", &[image("x")]);
    let mut terminal = Terminal::start(configured_svc(&env, "batch run m.jsonl"), 100);
    terminal.wait_for("[y/N]");
    terminal.type_text("n\n");
    terminal.end().assert_exit(1);
    env.run("batch status m.jsonl")
        .assert_exit(2)
        .assert_stderr("m.jsonl.journal.jsonl is empty: the batch has not started")
        .assert_stderr("next: start the batch with: svc batch run m.jsonl");
    run(&env, &[]).assert_exit(0);
}

#[test]
fn an_interrupted_retry_is_resumed_as_a_retry() {
    let env = TestEnv::new();
    let mut invalid = image("[mock:stuck]");
    invalid["body"]["promt"] = "x".into();
    write(&env, "m.jsonl", &[invalid]);
    run(&env, &[]).assert_exit(7);
    write(&env, "m.jsonl", &[image("[mock:stuck]")]);
    let child = start(&mut batch(&env, &["--retry-failed"]));
    wait_until("the job is submitted", || env.job_count() == 1);
    interrupt(&child);
    let output = child.end().assert_exit(130);
    output.assert_stderr("resume with: svc batch run m.jsonl --retry-failed\n");
}

#[test]
fn a_line_is_an_object_and_not_an_array() {
    let env = TestEnv::new();
    let text = " [\"a\", \"image_generate\", {\"model\": \"image-i\", \"prompt\": \"x\"}]\n";
    std::fs::write(env.path("m.jsonl"), text).unwrap();
    run(&env, &[])
        .assert_exit(2)
        .assert_stderr("m.jsonl: line 1, column 2: invalid type: sequence: expected an object");
    run(&env, &["--timeout", "0"]).assert_exit(2).assert_stderr("expected a time above 0");
    assert_eq!(env.job_count(), 0);
}

#[test]
fn a_dry_run_with_too_many_different_prices_is_not_over_the_limit() {
    let setup = Setup::default().speed("50".parse().unwrap()).plan(Plan::Scale);
    let env = TestEnv::with(setup);
    let line = |number: u32| {
        let url = format!("https://example.com/{number}.png");
        json!({"body": {"model": "video-f", "prompt": "x", "duration": 4, "image_url": url}})
    };
    let lines: Vec<_> = (0..201).map(line).collect();
    write(&env, "m.jsonl", &lines);
    let shown = run(&env, &["--dry-run", "--max-spend", "1000", "-o", "json"]).assert_exit(0);
    assert_eq!(shown.json()["unpriced"], 1);
    shown.assert_stderr("1 of 201 items has no price: line 201: only 200 different prices are");
    run(&env, &["--dry-run", "--max-spend", "1"]).assert_exit(5);
}
