//! Nothing is paid for twice, and nothing is lost.

use std::fs;
use std::time::Duration;

use crate::place::{Place, Run, interrupt, pass, start, until};

const FOX: [&str; 6] = [
    "image",
    "generate",
    "--model",
    "image-i",
    "--prompt",
    "[mock:seconds=0.4] a fox",
];

#[test]
fn a_run_that_is_killed_at_any_moment_is_taken_up_by_the_next_one() {
    let place = Place::new();
    let mut made = 0;
    for step in 0..20 {
        let delay = Duration::from_millis(step * 8);
        let prompt = format!("[mock:seconds=0.3] number {step}");
        let words = [
            "image", "generate", "--model", "image-i", "--prompt", &prompt,
        ];
        let mut child = start(&mut place.svc(words));
        pass(delay);
        child.0.kill().unwrap();
        // On a busy machine it may be through before it is killed: then there is nothing to take up.
        if !child.0.wait().unwrap().success() {
            let run = place.run(words).ends(0);
            assert_eq!(run.json()["status"], "completed");
        }
        made += 1;
        assert_eq!(place.jobs(), made, "killed after {delay:?}");
        assert_eq!(place.charges(), made, "killed after {delay:?}");
        assert!(place.open_intents().is_empty(), "killed after {delay:?}");
    }
}

#[test]
fn a_run_that_is_killed_while_the_service_works_on_the_answer_is_paid_for_once() {
    let place = Place::new();
    let fault =
        serde_json::json!({"operation": "image_generate", "kind": "delay", "delay_ms": 400});
    place
        .mock
        .add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    let mut child = start(&mut place.svc(FOX));
    until("the request is there", || {
        !place.requests("image_generate").is_empty() || place.mock.faults().is_empty()
    });
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    place.run(FOX).ends(0).says("with the same key");
    assert_eq!(place.charges(), 1);
}

#[test]
fn once_the_outcome_is_known_the_same_command_is_a_new_call() {
    let place = Place::new();
    place.run(FOX).ends(0);
    place.run(FOX).ends(0);
    assert_eq!(place.charges(), 2);
    place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1]",
            "--no-wait",
        ])
        .ends(0);
    place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1]",
            "--no-wait",
        ])
        .ends(0);
    assert_eq!(place.charges(), 4);
}

#[test]
fn the_same_command_twice_at_once_is_two_calls() {
    let place = Place::new();
    let runs = [
        start(&mut place.svc(FOX)),
        start(&mut place.svc(FOX)),
        start(&mut place.svc(FOX)),
    ];
    for run in runs {
        run.end().ends(0);
    }
    assert_eq!(place.jobs(), 3);
    assert_eq!(place.charges(), 3);
}

#[test]
fn a_wait_that_was_given_up_is_taken_up_without_a_request() {
    let place = Place::new();
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
    place.run(words).ends(9);
    place.run(words).ends(9).says("taking up job");
    assert_eq!(place.requests("image_generate").len(), 1);
    // The outcome that another command told is known too.
    let id = place.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    place
        .mock
        .end_job(&id, svc_sdk::contract::JobStatus::Completed, None)
        .unwrap();
    place.run(["job", "wait", &id]).ends(0);
    place.run(words).ends(9);
    assert_eq!(place.requests("image_generate").len(), 2);
    // And a new call can be asked for.
    Run::of(place.svc(words).arg("--new")).ends(9);
    assert_eq!(place.requests("image_generate").len(), 3);
}

#[test]
fn a_key_of_ones_own_is_one_job_on_any_machine() {
    let place = Place::new();
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
    let first = place.run(words).ends(0).json();
    let elsewhere = place.path("elsewhere");
    let second = Run::of(place.svc(words).env("SVC_STATE_DIR", &elsewhere))
        .ends(0)
        .json();
    assert_eq!(first, second);
    assert_eq!(place.charges(), 1);
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
        place.run(other).ends(1).error()["code"],
        "idempotency_conflict"
    );
    assert_eq!(
        place.requests("image_generate")[0]["idempotency_key"],
        "order-4711"
    );
}

#[test]
fn after_the_service_has_forgotten_the_key_nothing_is_sent_again() {
    let place = Place::new();
    place.fault("image_generate", "drop_before", 1);
    Run::of(place.svc(FOX).args(["--retries", "0"])).ends(11);
    let path = place.open_intents().remove(0);
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("created_at\":\"").unwrap() + "created_at\":\"".len();
    fs::write(&path, format!("{}2001{}", &text[..at], &text[at + 4..])).unwrap();
    let run = place.run(FOX).ends(11);
    run.says("could pay twice")
        .says("--new")
        .says("svc job list");
    assert_eq!(place.requests("image_generate").len(), 1);
    Run::of(place.svc(FOX).arg("--new")).ends(0);
    assert_eq!(place.charges(), 1);
    assert!(place.open_intents().is_empty());
}

#[test]
fn where_the_journal_cannot_be_written_nothing_is_sent() {
    let place = Place::new();
    fs::write(place.path("state"), "a file in the way").unwrap();
    place
        .run(FOX)
        .ends(1)
        .says("nothing was sent")
        .says("--no-journal")
        .says("SVC_STATE_DIR");
    assert!(place.requests("image_generate").is_empty());
    Run::of(place.svc(FOX).arg("--no-journal")).ends(0);
    assert_eq!(place.charges(), 1);
}

#[test]
fn the_journal_has_no_secret_and_no_text_of_the_person() {
    let place = Place::new();
    place
        .run([
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
        .ends(9);
    let text = fs::read_to_string(place.open_intents().remove(0)).unwrap();
    assert!(
        !text.contains("canary") && !text.contains("svc_open_demo"),
        "{text}"
    );
}

#[test]
fn ctrl_c_while_waiting_leaves_the_job_and_says_how_to_go_on() {
    let place = Place::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:stuck]",
    ];
    let child = start(&mut place.svc(words));
    until("it waits", || {
        !place.requests("jobs_status").is_empty() || place.jobs() == 1
    });
    pass(Duration::from_millis(200));
    interrupt(&child);
    let run = child.end().ends(130);
    let job = place.mock.jobs().remove(0);
    run.says(&format!(
        "svc job wait {} --surface open",
        job["id"].as_str().unwrap()
    ));
    assert_ne!(job["status"], "canceled");
    Run::of(place.svc(words).args(["--timeout", "1"]))
        .ends(9)
        .says("taking up job");
    assert_eq!(place.charges(), 1);
}

#[test]
fn ctrl_c_cancels_where_that_was_asked_for() {
    let place = Place::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=9000]",
        "--cancel-on-interrupt",
    ];
    let child = start(&mut place.svc(words));
    until("there is a job", || place.jobs() == 1);
    pass(Duration::from_millis(200));
    interrupt(&child);
    child.end().ends(130).says("canceled");
    assert_eq!(place.mock.jobs()[0]["status"], "canceled");
    // Its end is known: the same command is a new call.
    Run::of(place.svc(words).args(["--timeout", "1"])).ends(9);
    assert_eq!(place.jobs(), 2);
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let place = Place::new();
    let words = [
        "video",
        "generate",
        "--prompt",
        "[mock:seconds=9000]",
        "--cancel-on-interrupt",
    ];
    let child = start(&mut place.svc(words));
    until("there is a job", || place.jobs() == 1);
    let fault =
        serde_json::json!({"operation": "jobs_cancel", "kind": "delay", "delay_ms": 60_000});
    place
        .mock
        .add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    pass(Duration::from_millis(200));
    interrupt(&child);
    until("it cancels", || place.mock.faults().is_empty());
    interrupt(&child);
    child.end().ends(130);
}

#[test]
fn ctrl_c_leaves_every_job_that_is_waited_for() {
    let place = Place::new();
    let ids = ["[mock:stuck]", "[mock:stuck]"].map(|prompt| {
        let run = place
            .run(["video", "generate", "--prompt", prompt, "--no-wait"])
            .ends(0);
        run.json()["job"]["id"].as_str().unwrap().to_owned()
    });
    let child = start(place.svc(["job", "wait"]).args(&ids));
    until("it waits for both", || {
        place.requests("jobs_status").len() >= 2
    });
    interrupt(&child);
    let run = child.end().ends(130);
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
    let place = Place::new();
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
        place
            .mock
            .add_fault(serde_json::from_value(fault).unwrap())
            .unwrap();
        let child = start(place.svc([]).args(words));
        until("the request is there", || place.mock.faults().is_empty());
        pass(Duration::from_millis(100));
        interrupt(&child);
        child
            .end()
            .ends(11)
            .says("idempotency key: ")
            .says("--idempotency-key");
    }
}

#[test]
fn ctrl_c_before_the_answer_is_ambiguous_and_names_the_key() {
    let place = Place::new();
    let fault =
        serde_json::json!({"operation": "image_generate", "kind": "delay", "delay_ms": 3000});
    place
        .mock
        .add_fault(serde_json::from_value(fault).unwrap())
        .unwrap();
    let child = start(&mut place.svc(FOX));
    until("the request is there", || place.mock.faults().is_empty());
    pass(Duration::from_millis(100));
    interrupt(&child);
    child
        .end()
        .ends(11)
        .says("idempotency key: ")
        .says("run the same command again");
    place.run(FOX).ends(0).says("with the same key");
    assert_eq!(place.charges(), 1);
}

#[test]
fn the_history_lists_what_was_submitted_newest_first() {
    let place = Place::new();
    place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1]",
        ])
        .ends(0);
    place
        .run(["image", "generate", "--model", "no-such-model"])
        .ends(1);
    place
        .run([
            "video",
            "generate",
            "--prompt",
            "[mock:stuck]",
            "--max-price",
            "5",
            "--timeout",
            "1",
        ])
        .ends(9);
    let history = place.run(["history"]).ends(0).json();
    let outcomes: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, [None, Some("refused"), Some("completed")]);
    assert!(history[0]["price_usd"].is_string());
    assert_eq!(history[0]["job_id"], place.mock.jobs()[1]["id"]);
    assert_eq!(
        place
            .run(["history", "--open"])
            .ends(0)
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        place
            .run(["history", "--limit", "1"])
            .ends(0)
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_dry_run_shows_the_request_and_the_price_and_sends_nothing_that_costs() {
    let place = Place::new();
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
    let shown = place.run(words).ends(0).json();
    assert_eq!(shown["request"]["body"]["mode"], "webhook");
    assert_eq!(shown["request"]["method"], "POST");
    assert_eq!(shown["estimate"]["price_usd"], "0.7035");
    assert!(place.requests("video_generate").is_empty());
    assert!(place.open_intents().is_empty());
}

#[test]
fn a_submit_survives_what_can_be_survived() {
    let place = Place::new();
    place.fault("image_generate", "status_503", 1);
    place.fault("image_generate", "drop_after", 1);
    place.fault("jobs_status", "truncate", 1);
    place.fault("jobs_result", "status_502_html", 1);
    place.run(FOX).ends(0);
    assert_eq!(place.jobs(), 1);
    let keys: Vec<_> = place
        .requests("image_generate")
        .iter()
        .map(|request| request["idempotency_key"].clone())
        .collect();
    assert!(
        keys.len() >= 2 && keys.windows(2).all(|pair| pair[0] == pair[1]),
        "{keys:?}"
    );
}
