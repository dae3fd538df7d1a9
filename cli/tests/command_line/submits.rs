//! Submits: interruptions, the journal and idempotency.

use std::fs;
use std::time::Duration;

use crate::test_env::{CommandOutput, TestEnv, interrupt, sleep, start, wait_until};

const IMAGE_ARGS: &str = "image generate --model image-i --prompt '[mock:seconds=0.4] a fox'";

#[test]
fn a_command_that_is_killed_at_any_time_is_resumed_and_charged_once() {
    let env = TestEnv::new();
    let mut jobs = 0;
    for step in 0..20 {
        let delay = Duration::from_millis(step * 8);
        let prompt = format!("[mock:seconds=0.3] number {step}");
        let words = format!("image generate --model image-i --prompt '{prompt}'");
        let mut child = start(&mut env.open_surface(&words));
        sleep(delay);
        child.0.kill().unwrap();
        // On a busy machine the command may finish, or close its intent, before it is killed.
        let succeeded = child.0.wait().unwrap().success();
        let is_reported = env.job_count() > jobs && env.open_intents().is_empty();
        if !succeeded && !is_reported {
            let run = env.run(words).assert_exit(0);
            assert_eq!(run.json()["status"], "completed");
        }
        jobs += 1;
        assert_eq!(env.job_count(), jobs, "killed after {delay:?}");
        assert_eq!(env.charge_count(), jobs, "killed after {delay:?}");
        assert!(env.open_intents().is_empty(), "killed after {delay:?}");
    }
}

#[test]
fn a_command_that_is_killed_before_the_response_is_charged_once() {
    let env = TestEnv::new();
    env.add_delay("image_generate", 400);
    let mut child = start(&mut env.open_surface(IMAGE_ARGS));
    wait_until("the request is received", || {
        !env.requests("image_generate").is_empty() || env.mock.faults().is_empty()
    });
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    env.run(IMAGE_ARGS).assert_exit(0).assert_stderr("with the same idempotency key");
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn a_command_is_a_new_call_once_the_outcome_was_reported() {
    let env = TestEnv::new();
    env.run(IMAGE_ARGS).assert_exit(0);
    env.run(IMAGE_ARGS).assert_exit(0);
    assert_eq!(env.charge_count(), 2);
    env.generate_image("[mock:seconds=0.1]", &["--no-wait"]).assert_exit(0);
    env.generate_image("[mock:seconds=0.1]", &["--no-wait"]).assert_exit(0);
    assert_eq!(env.charge_count(), 4);
}

#[test]
fn concurrent_identical_commands_are_separate_calls() {
    let env = TestEnv::new();
    let runs = [
        start(&mut env.open_surface(IMAGE_ARGS)),
        start(&mut env.open_surface(IMAGE_ARGS)),
        start(&mut env.open_surface(IMAGE_ARGS)),
    ];
    for run in runs {
        run.end().assert_exit(0);
    }
    assert_eq!(env.job_count(), 3);
    assert_eq!(env.charge_count(), 3);
}

#[test]
fn a_timed_out_wait_is_resumed_without_another_submit() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt [mock:stuck] --timeout 1";
    env.run(words).assert_exit(9);
    env.run(words).assert_exit(9).assert_stderr("Resuming job_");
    assert_eq!(env.requests("image_generate").len(), 1);
    // Another command reports the outcome.
    let id = env.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    env.mock.end_job(&id, svc_sdk::contract::JobStatus::Completed, None).unwrap();
    env.run(["job", "wait", &id]).assert_exit(0);
    env.run(words).assert_exit(9);
    assert_eq!(env.requests("image_generate").len(), 2);
    // `--new` submits a new job.
    CommandOutput::of(env.open_surface(words).arg("--new")).assert_exit(9);
    assert_eq!(env.requests("image_generate").len(), 3);
}

#[test]
fn a_reused_idempotency_key_returns_the_existing_job() {
    let env = TestEnv::new();
    let words =
        "image generate --model image-i --prompt [mock:seconds=0.2] --idempotency-key order-4711";
    let first = env.run(words).assert_exit(0).json();
    let elsewhere = env.path("elsewhere");
    let second = CommandOutput::of(env.open_surface(words).env("SVC_STATE_DIR", &elsewhere))
        .assert_exit(0)
        .json();
    assert_eq!(first, second);
    assert_eq!(env.charge_count(), 1);
    let other =
        "image generate --model image-i --prompt another --idempotency-key order-4711 -o json";
    assert_eq!(env.run(other).assert_exit(1).error()["code"], "idempotency_conflict");
    assert_eq!(env.requests("image_generate")[0]["idempotency_key"], "order-4711");
}

#[test]
fn an_expired_idempotency_key_is_not_resent() {
    let env = TestEnv::new();
    env.add_fault("image_generate", "drop_before", 1);
    CommandOutput::of(env.open_surface(IMAGE_ARGS).args(["--retries", "0"])).assert_exit(11);
    let mut entry = env.open_intents().remove(0);
    entry["created_at"] = "2001-01-01T00:00:00Z".into();
    env.leave_to_an_earlier_version(entry);
    let run = env.run(IMAGE_ARGS).assert_exit(11);
    run.assert_stderr("could charge twice").assert_stderr("--new").assert_stderr("svc job list");
    assert_eq!(env.requests("image_generate").len(), 1);
    CommandOutput::of(env.open_surface(IMAGE_ARGS).arg("--new")).assert_exit(0);
    assert_eq!(env.charge_count(), 1);
    assert!(env.open_intents().is_empty());
}

#[test]
fn what_an_earlier_version_left_open_is_sent_again_with_its_key() {
    let env = TestEnv::new();
    env.add_fault("image_generate", "drop_after", 1);
    CommandOutput::of(env.open_surface(IMAGE_ARGS).args(["--retries", "0"])).assert_exit(11);
    env.leave_to_an_earlier_version(env.open_intents().remove(0));
    assert_eq!(env.open_intents().len(), 1);
    env.run(IMAGE_ARGS).assert_exit(0).assert_stderr("with the same idempotency key");
    assert_eq!(env.charge_count(), 1);
    let requests = env.requests("image_generate");
    assert_eq!(requests[0]["idempotency_key"], requests[1]["idempotency_key"]);
    assert!(env.open_intents().is_empty());
    assert!(!env.path("state/open").exists());
}

#[test]
fn what_an_earlier_version_submitted_is_resumed() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt [mock:stuck] --timeout 1";
    env.run(words).assert_exit(9);
    let entry = env.open_intents().remove(0);
    let id = entry["job_id"].clone();
    env.leave_to_an_earlier_version(entry);
    env.mock.end_job(id.as_str().unwrap(), svc_sdk::contract::JobStatus::Completed, None).unwrap();
    let job = env.run(words).assert_exit(0).assert_stderr("Resuming job").json();
    assert_eq!(job["job_id"], id);
    assert_eq!(env.requests("image_generate").len(), 1);
    let history = env.run("history").assert_exit(0).json();
    assert_eq!(history.as_array().unwrap().len(), 1);
    assert_eq!(history[0]["outcome"], "completed");
    assert_eq!(history[0]["request_id"], "req_1");
}

#[test]
fn nothing_is_sent_if_the_journal_cannot_be_written() {
    let env = TestEnv::new();
    fs::write(env.path("state"), "a file in the way").unwrap();
    env.run(IMAGE_ARGS)
        .assert_exit(1)
        .assert_stderr("nothing was sent")
        .assert_stderr("--no-journal")
        .assert_stderr("SVC_STATE_DIR");
    assert!(env.requests("image_generate").is_empty());
    CommandOutput::of(env.open_surface(IMAGE_ARGS).arg("--no-journal")).assert_exit(0);
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn the_journal_contains_no_secret_and_no_user_text() {
    let env = TestEnv::new();
    env.generate_image("[mock:stuck] canary", &["--metadata", "who=canary", "--timeout", "1"])
        .assert_exit(9);
    let files = fs::read_dir(env.path("state/journal")).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
    let text: String =
        files.map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()).collect();
    assert!(text.contains("image_generate"), "{text}");
    assert!(!text.contains("canary") && !text.contains("svc_open_demo"), "{text}");
}

#[test]
fn ctrl_c_during_a_wait_keeps_the_job_and_prints_the_resume_command() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt [mock:stuck]";
    let child = start(&mut env.open_surface(words));
    wait_until("the job is polled", || {
        !env.requests("jobs_status").is_empty() || env.job_count() == 1
    });
    sleep(Duration::from_millis(200));
    interrupt(&child);
    let run = child.end().assert_exit(130);
    let job = env.mock.jobs().remove(0);
    run.assert_stderr(&format!("svc job wait {} --surface open", job["id"].as_str().unwrap()))
        .assert_stderr("idempotency key: ");
    assert_ne!(job["status"], "canceled");
    CommandOutput::of(env.open_surface(words).args(["--timeout", "1"]))
        .assert_exit(9)
        .assert_stderr("Resuming job_");
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn ctrl_c_during_a_read_ends_with_an_error() {
    let env = TestEnv::new();
    for (flags, words) in [("", "error: interrupted\n"), ("-o json", "\"interrupted\"")] {
        env.add_delay("jobs_list", 60_000);
        let child = start(&mut env.open_surface(format!("job list {flags}")));
        wait_until("the request is received", || env.mock.faults().is_empty());
        interrupt(&child);
        let run = child.end().assert_exit(130);
        assert_eq!(run.out, "");
        run.assert_stderr(words);
    }
}

#[test]
fn ctrl_c_cancels_the_job_with_cancel_on_interrupt() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt [mock:seconds=9000] --cancel-on-interrupt";
    let child = start(&mut env.open_surface(words));
    wait_until("the job is submitted", || env.job_count() == 1);
    sleep(Duration::from_millis(200));
    interrupt(&child);
    child.end().assert_exit(130).assert_stderr("canceled");
    assert_eq!(env.mock.jobs()[0]["status"], "canceled");
    // The outcome was reported, so the same command is a new call.
    CommandOutput::of(env.open_surface(words).args(["--timeout", "1"])).assert_exit(9);
    assert_eq!(env.job_count(), 2);
}

#[test]
fn a_second_ctrl_c_exits_at_once() {
    let env = TestEnv::new();
    let words = "video generate --prompt [mock:seconds=9000] --cancel-on-interrupt";
    let child = start(&mut env.open_surface(words));
    wait_until("the job is submitted", || env.job_count() == 1);
    env.add_delay("jobs_cancel", 60_000);
    sleep(Duration::from_millis(200));
    interrupt(&child);
    wait_until("the cancelation is sent", || env.mock.faults().is_empty());
    interrupt(&child);
    child.end().assert_exit(130);
}

#[test]
fn ctrl_c_during_a_paid_request_is_ambiguous() {
    let env = TestEnv::new();
    let rows: [(&str, &[&str], &str); 2] = [
        (
            "top_ups_create",
            &["top-up", "create", "--amount-usd-cents", "500"],
            "run the same command again",
        ),
        (
            "video_generate",
            &["api", "post", "/v1/video-router/generate", "--body", "{\"model\": \"auto\"}"],
            "--idempotency-key",
        ),
    ];
    for (operation, words, hint) in rows {
        env.add_delay(operation, 60_000);
        let child = start(env.open_surface([]).args(words));
        wait_until("the request is received", || env.mock.faults().is_empty());
        sleep(Duration::from_millis(100));
        interrupt(&child);
        child.end().assert_exit(11).assert_stderr("idempotency key: ").assert_stderr(hint);
    }
}

#[test]
fn a_submit_interrupted_before_the_response_is_resent_with_the_same_key() {
    let env = TestEnv::new();
    env.add_delay("image_generate", 3000);
    let child = start(&mut env.open_surface(IMAGE_ARGS));
    wait_until("the request is received", || env.mock.faults().is_empty());
    sleep(Duration::from_millis(100));
    interrupt(&child);
    child
        .end()
        .assert_exit(11)
        .assert_stderr("idempotency key: ")
        .assert_stderr("run the same command again");
    env.run(IMAGE_ARGS).assert_exit(0).assert_stderr("with the same idempotency key");
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn the_history_lists_submits_newest_first() {
    let env = TestEnv::new();
    env.generate_image("[mock:seconds=0.1]", &[]).assert_exit(0);
    env.run("image generate --model no-such-model --prompt 'a fox'").assert_exit(1);
    env.run("video generate --prompt [mock:stuck] --max-price 5 --timeout 1").assert_exit(9);
    let history = env.run("history").assert_exit(0).json();
    let outcomes: Vec<_> =
        history.as_array().unwrap().iter().map(|entry| entry["outcome"].as_str()).collect();
    assert_eq!(outcomes, [None, Some("refused"), Some("completed")]);
    assert!(history[0]["price_usd"].is_string());
    assert_eq!(history[0]["job_id"], env.mock.jobs()[1]["id"]);
    assert_eq!(env.run("history --open").assert_exit(0).json().as_array().unwrap().len(), 1);
    assert_eq!(env.run("history --limit 1").assert_exit(0).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_dry_run_shows_the_request_and_the_price_without_submitting() {
    let env = TestEnv::new();
    let words = "video generate --model video-f --prompt 'a fox' --dry-run --webhook-url \
        https://h.example/x";
    let shown = env.run(words).assert_exit(0).json();
    assert_eq!(shown["request"]["body"]["mode"], "webhook");
    assert_eq!(shown["request"]["method"], "POST");
    assert_eq!(shown["estimate"]["price_usd"], "0.7035");
    assert!(env.requests("video_generate").is_empty());
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_submit_survives_temporary_errors() {
    let env = TestEnv::new();
    env.add_fault("image_generate", "status_503", 1);
    env.add_fault("image_generate", "drop_after", 1);
    env.add_fault("jobs_status", "truncate", 1);
    env.add_fault("jobs_result", "status_502_html", 1);
    env.run(IMAGE_ARGS).assert_exit(0);
    assert_eq!(env.job_count(), 1);
    let keys: Vec<_> = env
        .requests("image_generate")
        .iter()
        .map(|request| request["idempotency_key"].clone())
        .collect();
    assert!(keys.len() >= 2 && keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
}

#[test]
fn a_prompt_is_an_argument_or_a_flag() {
    let env = TestEnv::new();
    fs::write(env.path("fox.txt"), "a red fox\n").unwrap();
    for prompt in [vec!["a red fox"], vec!["@fox.txt"], vec!["--prompt", "a red fox"]] {
        let mut command = env.open_surface("video generate --dry-run");
        let shown = CommandOutput::of(command.args(&prompt)).assert_exit(0).json();
        assert_eq!(shown["request"]["body"]["prompt"], "a red fox", "{prompt:?}");
    }
    env.run("video generate 'a fox' --prompt 'a wolf' --dry-run")
        .assert_exit(2)
        .assert_stderr("cannot be used with");
    let run = env.developer("format run demo/product-shot 'a red shoe' --mode async --dry-run");
    let body = run.assert_exit(0).json()["request"]["body"].clone();
    assert_eq!(body["instruction"], "a red shoe");
    assert_eq!(body["mode"], "async");
    let run = env.developer("model run avatar/v1.0 'a chef' --dry-run");
    let body = run.assert_exit(0).json()["request"]["body"].clone();
    assert_eq!(body["input"]["prompt"], "a chef");
    env.developer("model run avatar-video/v1.0 'a chef' --dry-run")
        .assert_exit(2)
        .assert_stderr("does not take a prompt");
    assert_eq!(env.job_count(), 0);
}

#[test]
fn what_ended_90_days_ago_is_removed_once_a_day() {
    let env = TestEnv::new();
    env.generate_image("an old fox", &[]).assert_exit(0);
    // The dates of the journal are those of last year.
    let now = env.path(".").metadata().unwrap().modified().unwrap();
    let now = jiff::Timestamp::try_from(now).unwrap().to_string();
    let year: u32 = now[..4].parse().unwrap();
    for file in fs::read_dir(env.path("state/journal")).unwrap() {
        let path = file.unwrap().path();
        if let Ok(text) = fs::read_to_string(&path) {
            let text = text.replace(&format!("\"{year}-"), &format!("\"{}-", year - 1));
            fs::write(&path, text).unwrap();
        }
    }
    let count = || {
        env.generate_image("a fox", &[]).assert_exit(0);
        env.run("history --all -o json").json().as_array().unwrap().len()
    };
    assert_eq!(count(), 2, "it was purged today");
    fs::remove_file(env.path("state/journal-purged")).unwrap();
    assert_eq!(count(), 2, "the first one is removed");
}
