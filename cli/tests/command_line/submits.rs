//! Nothing is paid for twice, and nothing is lost.

use std::fs;
use std::time::Duration;

use crate::test_env::{CommandOutput, TestEnv, interrupt, sleep, start, wait_until};

const VIDEO_ARGS: [&str; 6] = [
    "image",
    "generate",
    "--model",
    "image-i",
    "--prompt",
    "[mock:seconds=0.4] a fox",
];

#[test]
fn a_run_that_is_killed_at_any_moment_is_taken_up_by_the_next_one() {
    let env = TestEnv::new();
    let mut made = 0;
    for step in 0..20 {
        let delay = Duration::from_millis(step * 8);
        let prompt = format!("[mock:seconds=0.3] number {step}");
        let words = [
            "image", "generate", "--model", "image-i", "--prompt", &prompt,
        ];
        let mut child = start(&mut env.open_surface(words));
        sleep(delay);
        child.0.kill().unwrap();
        // On a busy machine it may be through before it is killed: then there is nothing to take up.
        if !child.0.wait().unwrap().success() {
            let run = env.run(words).assert_exit(0);
            assert_eq!(run.json()["status"], "completed");
        }
        made += 1;
        assert_eq!(env.job_count(), made, "killed after {delay:?}");
        assert_eq!(env.charge_count(), made, "killed after {delay:?}");
        assert!(env.open_intents().is_empty(), "killed after {delay:?}");
    }
}

#[test]
fn a_run_that_is_killed_while_the_service_works_on_the_answer_is_paid_for_once() {
    let env = TestEnv::new();
    let fault =
        serde_json::json!({"operation": "image_generate", "kind": "delay", "delay_ms": 400});
    env.mock
        .add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    let mut child = start(&mut env.open_surface(VIDEO_ARGS));
    wait_until("the request is there", || {
        !env.requests("image_generate").is_empty() || env.mock.faults().is_empty()
    });
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    env.run(VIDEO_ARGS)
        .assert_exit(0)
        .assert_stderr("with the same key");
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn once_the_outcome_is_known_the_same_command_is_a_new_call() {
    let env = TestEnv::new();
    env.run(VIDEO_ARGS).assert_exit(0);
    env.run(VIDEO_ARGS).assert_exit(0);
    assert_eq!(env.charge_count(), 2);
    env.run([
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=0.1]",
        "--no-wait",
    ])
    .assert_exit(0);
    env.run([
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=0.1]",
        "--no-wait",
    ])
    .assert_exit(0);
    assert_eq!(env.charge_count(), 4);
}

#[test]
fn the_same_command_twice_at_once_is_two_calls() {
    let env = TestEnv::new();
    let runs = [
        start(&mut env.open_surface(VIDEO_ARGS)),
        start(&mut env.open_surface(VIDEO_ARGS)),
        start(&mut env.open_surface(VIDEO_ARGS)),
    ];
    for run in runs {
        run.end().assert_exit(0);
    }
    assert_eq!(env.job_count(), 3);
    assert_eq!(env.charge_count(), 3);
}

#[test]
fn a_wait_that_was_given_up_is_taken_up_without_a_request() {
    let env = TestEnv::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:stuck]",
        "--timeout",
        "1",
    ];
    env.run(words).assert_exit(9);
    env.run(words).assert_exit(9).assert_stderr("taking up job");
    assert_eq!(env.requests("image_generate").len(), 1);
    // The outcome that another command told is known too.
    let id = env.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    env.mock
        .end_job(&id, svc_sdk::contract::JobStatus::Completed, None)
        .unwrap();
    env.run(["job", "wait", &id]).assert_exit(0);
    env.run(words).assert_exit(9);
    assert_eq!(env.requests("image_generate").len(), 2);
    // And a new call can be asked for.
    CommandOutput::of(env.open_surface(words).arg("--new")).assert_exit(9);
    assert_eq!(env.requests("image_generate").len(), 3);
}

#[test]
fn a_key_of_ones_own_is_one_job_on_any_machine() {
    let env = TestEnv::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=0.2]",
        "--idempotency-key",
        "order-4711",
    ];
    let first = env.run(words).assert_exit(0).json();
    let elsewhere = env.path("elsewhere");
    let second = CommandOutput::of(env.open_surface(words).env("SVC_STATE_DIR", &elsewhere))
        .assert_exit(0)
        .json();
    assert_eq!(first, second);
    assert_eq!(env.charge_count(), 1);
    let other = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "another",
        "--idempotency-key",
        "order-4711",
        "-o",
        "json",
    ];
    assert_eq!(
        env.run(other).assert_exit(1).error()["code"],
        "idempotency_conflict"
    );
    assert_eq!(
        env.requests("image_generate")[0]["idempotency_key"],
        "order-4711"
    );
}

#[test]
fn after_the_service_has_forgotten_the_key_nothing_is_sent_again() {
    let env = TestEnv::new();
    env.add_fault("image_generate", "drop_before", 1);
    CommandOutput::of(env.open_surface(VIDEO_ARGS).args(["--retries", "0"])).assert_exit(11);
    let path = env.open_intents().remove(0);
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("created_at\":\"").unwrap() + "created_at\":\"".len();
    fs::write(&path, format!("{}2001{}", &text[..at], &text[at + 4..])).unwrap();
    let run = env.run(VIDEO_ARGS).assert_exit(11);
    run.assert_stderr("could pay twice")
        .assert_stderr("--new")
        .assert_stderr("svc job list");
    assert_eq!(env.requests("image_generate").len(), 1);
    CommandOutput::of(env.open_surface(VIDEO_ARGS).arg("--new")).assert_exit(0);
    assert_eq!(env.charge_count(), 1);
    assert!(env.open_intents().is_empty());
}

#[test]
fn where_the_journal_cannot_be_written_nothing_is_sent() {
    let env = TestEnv::new();
    fs::write(env.path("state"), "a file in the way").unwrap();
    env.run(VIDEO_ARGS)
        .assert_exit(1)
        .assert_stderr("nothing was sent")
        .assert_stderr("--no-journal")
        .assert_stderr("SVC_STATE_DIR");
    assert!(env.requests("image_generate").is_empty());
    CommandOutput::of(env.open_surface(VIDEO_ARGS).arg("--no-journal")).assert_exit(0);
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn the_journal_has_no_secret_and_no_text_of_the_person() {
    let env = TestEnv::new();
    env.run([
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:stuck] canary",
        "--metadata",
        "who=canary",
        "--timeout",
        "1",
    ])
    .assert_exit(9);
    let text = fs::read_to_string(env.open_intents().remove(0)).unwrap();
    assert!(
        !text.contains("canary") && !text.contains("svc_open_demo"),
        "{text}"
    );
}

#[test]
fn ctrl_c_while_waiting_leaves_the_job_and_says_how_to_go_on() {
    let env = TestEnv::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:stuck]",
    ];
    let child = start(&mut env.open_surface(words));
    wait_until("it waits", || {
        !env.requests("jobs_status").is_empty() || env.job_count() == 1
    });
    sleep(Duration::from_millis(200));
    interrupt(&child);
    let run = child.end().assert_exit(130);
    let job = env.mock.jobs().remove(0);
    run.assert_stderr(&format!(
        "svc job wait {} --surface open",
        job["id"].as_str().unwrap()
    ));
    assert_ne!(job["status"], "canceled");
    CommandOutput::of(env.open_surface(words).args(["--timeout", "1"]))
        .assert_exit(9)
        .assert_stderr("taking up job");
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn ctrl_c_cancels_where_that_was_asked_for() {
    let env = TestEnv::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=9000]",
        "--cancel-on-interrupt",
    ];
    let child = start(&mut env.open_surface(words));
    wait_until("there is a job", || env.job_count() == 1);
    sleep(Duration::from_millis(200));
    interrupt(&child);
    child.end().assert_exit(130).assert_stderr("canceled");
    assert_eq!(env.mock.jobs()[0]["status"], "canceled");
    // Its end is known: the same command is a new call.
    CommandOutput::of(env.open_surface(words).args(["--timeout", "1"])).assert_exit(9);
    assert_eq!(env.job_count(), 2);
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let env = TestEnv::new();
    let words = [
        "video",
        "generate",
        "--prompt",
        "[mock:seconds=9000]",
        "--cancel-on-interrupt",
    ];
    let child = start(&mut env.open_surface(words));
    wait_until("there is a job", || env.job_count() == 1);
    let fault =
        serde_json::json!({"operation": "jobs_cancel", "kind": "delay", "delay_ms": 60_000});
    env.mock
        .add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    sleep(Duration::from_millis(200));
    interrupt(&child);
    wait_until("it cancels", || env.mock.faults().is_empty());
    interrupt(&child);
    child.end().assert_exit(130);
}

#[test]
fn ctrl_c_leaves_every_job_that_is_waited_for() {
    let env = TestEnv::new();
    let ids = ["[mock:stuck]", "[mock:stuck]"].map(|prompt| {
        let run = env
            .run(["video", "generate", "--prompt", prompt, "--no-wait"])
            .assert_exit(0);
        run.json()["job"]["id"].as_str().unwrap().to_owned()
    });
    let child = start(env.open_surface(["job", "wait"]).args(&ids));
    wait_until("it waits for both", || {
        env.requests("jobs_status").len() >= 2
    });
    interrupt(&child);
    let run = child.end().assert_exit(130);
    for id in &ids {
        assert!(
            run.err
                .contains(&format!("svc job wait {id} --surface open")),
            "{}",
            run.err
        );
    }
}

#[test]
fn ctrl_c_during_any_request_that_may_cost_is_ambiguous() {
    let env = TestEnv::new();
    let rows: [(&str, &[&str]); 2] = [
        (
            "top_ups_create",
            &["top-up", "create", "--amount-usd-cents", "500"],
        ),
        (
            "video_generate",
            &[
                "api",
                "post",
                "/v1/video-router/generate",
                "--body",
                "{\"model\": \"auto\"}",
            ],
        ),
    ];
    for (operation, words) in rows {
        let fault =
            serde_json::json!({"operation": operation, "kind": "delay", "delay_ms": 60_000});
        env.mock
            .add_fault(serde_json::from_value(fault).unwrap())
            .unwrap();
        let child = start(env.open_surface([]).args(words));
        wait_until("the request is there", || env.mock.faults().is_empty());
        sleep(Duration::from_millis(100));
        interrupt(&child);
        child
            .end()
            .assert_exit(11)
            .assert_stderr("idempotency key: ")
            .assert_stderr("--idempotency-key");
    }
}

#[test]
fn ctrl_c_before_the_answer_is_ambiguous_and_names_the_key() {
    let env = TestEnv::new();
    let fault =
        serde_json::json!({"operation": "image_generate", "kind": "delay", "delay_ms": 3000});
    env.mock
        .add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    let child = start(&mut env.open_surface(VIDEO_ARGS));
    wait_until("the request is there", || env.mock.faults().is_empty());
    sleep(Duration::from_millis(100));
    interrupt(&child);
    child
        .end()
        .assert_exit(11)
        .assert_stderr("idempotency key: ")
        .assert_stderr("run the same command again");
    env.run(VIDEO_ARGS)
        .assert_exit(0)
        .assert_stderr("with the same key");
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn the_history_lists_what_was_submitted_newest_first() {
    let env = TestEnv::new();
    env.run([
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=0.1]",
    ])
    .assert_exit(0);
    env.run(["image", "generate", "--model", "no-such-model"])
        .assert_exit(1);
    env.run([
        "video",
        "generate",
        "--prompt",
        "[mock:stuck]",
        "--max-price",
        "5",
        "--timeout",
        "1",
    ])
    .assert_exit(9);
    let history = env.run(["history"]).assert_exit(0).json();
    let outcomes: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, [None, Some("refused"), Some("completed")]);
    assert!(history[0]["price_usd"].is_string());
    assert_eq!(history[0]["job_id"], env.mock.jobs()[1]["id"]);
    assert_eq!(
        env.run(["history", "--open"])
            .assert_exit(0)
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        env.run(["history", "--limit", "1"])
            .assert_exit(0)
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_dry_run_shows_the_request_and_the_price_and_sends_nothing_that_costs() {
    let env = TestEnv::new();
    let words = [
        "video",
        "generate",
        "--model",
        "video-f",
        "--prompt",
        "a fox",
        "--dry-run",
        "--webhook-url",
        "https://h.example/x",
    ];
    let shown = env.run(words).assert_exit(0).json();
    assert_eq!(shown["request"]["body"]["mode"], "webhook");
    assert_eq!(shown["request"]["method"], "POST");
    assert_eq!(shown["estimate"]["price_usd"], "0.7035");
    assert!(env.requests("video_generate").is_empty());
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_submit_survives_what_can_be_survived() {
    let env = TestEnv::new();
    env.add_fault("image_generate", "status_503", 1);
    env.add_fault("image_generate", "drop_after", 1);
    env.add_fault("jobs_status", "truncate", 1);
    env.add_fault("jobs_result", "status_502_html", 1);
    env.run(VIDEO_ARGS).assert_exit(0);
    assert_eq!(env.job_count(), 1);
    let keys: Vec<_> = env
        .requests("image_generate")
        .iter()
        .map(|request| request["idempotency_key"].clone())
        .collect();
    assert!(
        keys.len() >= 2 && keys.windows(2).all(|pair| pair[0] == pair[1]),
        "{keys:?}"
    );
}
