//! The exit codes, and what is said with them.

use svc_sdk::contract::JobStatus;

use crate::place::{Fake, Place, Run};

const SOON: &str = "[mock:seconds=0.3]";

#[test]
fn a_key_that_is_not_accepted_ends_3() {
    let place = Place::new();
    for (key, words) in [
        ("svc_wrong", "job list"),
        ("svc_revoked", "job list"),
        // A key of the other host.
        ("svc_dev_demo", "model list"),
        ("svc_dev_demo", "top-up create --amount-usd-cents 500"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let run = Run::of(place.svc([]).env("SVC_OPEN_API_KEY", key).args(words)).ends(3);
        assert!(!run.err.contains(key), "the key is printed: {}", run.err);
        run.says("svc auth");
    }
    let run = Run::of(
        place
            .svc(["job", "list", "-o", "json"])
            .env("SVC_OPEN_API_KEY", "svc_wrong"),
    )
    .ends(3);
    let error = run.error();
    assert_eq!(error["code"], "unauthorized");
    assert_eq!(error["status"], 401);
    assert_eq!(error["next_action"], "authenticate");
    assert!(error["request_id"].as_str().unwrap().starts_with("req_"));
    assert!(run.out.is_empty());
}

#[test]
fn what_does_not_exist_ends_4() {
    let place = Place::new();
    place
        .run(["job", "get", "job_none"])
        .ends(4)
        .says("job_not_found")
        .says("request id: req_");
    place.run(["job", "wait", "job_none"]).ends(4);
    place.run(["model", "get", "no-such-model"]).ends(4);
    place.run(["pricing", "get", "no-such-model"]).ends(4);
    place.run(["top-up", "get", "top_none"]).ends(4);
}

#[test]
fn what_the_service_does_not_accept_ends_1_and_costs_nothing() {
    let place = Place::new();
    let rows: [&[&str]; 4] = [
        &["--model", "no-such-model", "--prompt", "a fox"],
        &["--model", "video-f", "--prompt", "a fox", "--duration", "3"],
        &[
            "--model",
            "video-h",
            "--prompt",
            "a fox",
            "--generate-audio",
        ],
        &[
            "--prompt",
            "a fox",
            "--image-url",
            "https://127.0.0.1/a.png",
        ],
    ];
    for words in rows {
        let run = Run::of(place.svc(["video", "generate", "-o", "json"]).args(words)).ends(1);
        assert_eq!(run.error()["code"], "invalid_request", "{words:?}");
        assert_eq!(
            run.error()["next"][0],
            "correct the input; nothing was charged"
        );
    }
    assert_eq!(place.charges(), 0);
    assert!(place.open_intents().is_empty(), "the outcome is known");
}

#[test]
fn without_enough_funds_it_ends_5() {
    let place = Place::with(svc_mock_server::Setup::default().balance_usd(0));
    let run = place
        .run(["video", "generate", "--prompt", "a fox", "-o", "json"])
        .ends(5);
    assert_eq!(run.error()["code"], "insufficient_funds");
    assert_eq!(run.error()["details"]["available_usd"], "0.0000");
    place
        .run(["video", "generate", "--prompt", "a fox"])
        .ends(5)
        .says("svc top-up create");
}

#[test]
fn over_the_highest_price_or_without_a_price_it_ends_5() {
    let place = Place::new();
    let words = [
        "video",
        "generate",
        "--model",
        "video-f",
        "--prompt",
        "a fox",
        "--max-price",
    ];
    let run = Run::of(place.svc(words).arg("0.7034")).ends(5);
    run.says("0.7035").says("--max-price 0.7034");
    place.fault("open_estimate", "garbage", 1);
    Run::of(place.svc(words).args(["1000", "--retries", "0"]))
        .ends(5)
        .says("no price");
    assert_eq!(place.jobs(), 0);
    Run::of(place.svc(words).args(["0.7035", "--no-wait"])).ends(0);
    assert_eq!(place.jobs(), 1);
}

#[test]
fn an_overload_that_does_not_end_is_6() {
    let place = Place::new();
    for (kind, words) in [
        ("status_429", ["job", "list", "--retries", "0"]),
        ("status_503", ["job", "list", "--retries", "1"]),
        ("status_502_html", ["job", "list", "--retries", "1"]),
    ] {
        place.fault("jobs_list", kind, 9);
        place.run(words).ends(6);
        place.mock.clear_faults();
    }
    place.fault("video_generate", "status_503", 9);
    let run = place
        .run(["video", "generate", "--prompt", "a fox", "--retries", "0"])
        .ends(6);
    run.says("idempotency key");
    assert_eq!(place.charges(), 0);
}

#[test]
fn too_many_jobs_at_once_is_6() {
    let place = Place::new();
    let body = r#"{"error":{"code":"concurrency_limit_reached","message":"The workspace has 100 jobs in flight."}}"#;
    let service = Fake::answering("400 Bad Request", body);
    let words = ["video", "generate", "--prompt", "a fox", "--retries", "0"];
    let run = Run::of(place.svc(words).env("SVC_BASE_URL", &service.url)).ends(6);
    run.says("concurrency_limit_reached")
        .says("run it again later");
}

#[test]
fn a_job_that_fails_is_7_and_one_that_is_canceled_8() {
    let place = Place::new();
    let prompt = format!("{SOON}[mock:fail=generation_failed]");
    let run = place
        .run([
            "image", "generate", "--model", "image-i", "--prompt", &prompt, "-o", "json",
        ])
        .ends(7);
    assert!(run.out.is_empty());
    let error = run.error();
    assert_eq!(error["code"], "generation_failed");
    let id = error["job_id"].as_str().unwrap();
    place.run(["job", "wait", id]).ends(7);
    assert_eq!(
        place.run(["job", "result", id]).ends(7).json()["status"],
        "failed"
    );

    let run = place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:stuck]",
            "--no-wait",
        ])
        .ends(0);
    let id = run.json()["job"]["id"].as_str().unwrap().to_owned();
    place.mock.end_job(&id, JobStatus::Canceled, None).unwrap();
    place.run(["job", "wait", &id]).ends(8);
    place.run(["job", "result", &id]).ends(8);
    place.run(["job", "get", &id]).ends(0);
}

#[test]
fn giving_up_the_wait_is_9_and_says_how_to_go_on() {
    let place = Place::new();
    let run = place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:stuck]",
            "--timeout",
            "1s",
        ])
        .ends(9);
    let id = place.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    run.says(&format!("svc job wait {id} --surface open"))
        .says(&format!("job: {id}"));
    let run = place
        .run(["job", "wait", &id, "--timeout", "1", "-o", "json"])
        .ends(9);
    assert_eq!(
        run.error()["resume"],
        format!("svc job wait {id} --surface open")
    );
    assert_eq!(run.error()["job_id"], id.as_str());
}

#[test]
fn a_service_that_is_not_there_is_10() {
    let place = Place::new();
    let nowhere = "http://127.0.0.1:9";
    for words in [
        ["job", "list", "--retries", "0"],
        ["video", "generate", "--retries", "0"],
    ] {
        let run = Run::of(place.svc(words).env("SVC_BASE_URL", nowhere)).ends(10);
        run.says("svc config show --origin");
    }
    assert!(place.open_intents().is_empty(), "it was never sent");
}

#[test]
fn what_may_have_been_carried_out_is_11_with_the_key() {
    let place = Place::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        SOON,
        "--retries",
        "0",
        "-o",
        "json",
    ];
    for kind in ["drop_after", "truncate", "garbage", "status_502_html"] {
        place.fault("image_generate", kind, 1);
        let run = place.run(words).ends(11);
        let error = run.error();
        assert!(
            !error["idempotency_key"].as_str().unwrap().is_empty(),
            "{kind}"
        );
        assert!(
            error["next"]
                .to_string()
                .contains("run the same command again"),
            "{kind}"
        );
        let again = place.run(words).ends(0);
        assert!(
            again.err.contains("sending it again with the same key"),
            "{kind}: {}",
            again.err
        );
    }
    assert_eq!(place.jobs(), 4);
    assert_eq!(place.charges(), 4);

    place.fault("top_ups_create", "drop_after", 1);
    let run = place
        .run([
            "top-up",
            "create",
            "--amount-usd-cents",
            "500",
            "--retries",
            "0",
        ])
        .ends(11);
    run.says("--idempotency-key");
    place.fault("video_generate", "drop_after", 1);
    let raw = [
        "api",
        "post",
        "/v1/video-router/generate",
        "--body",
        r#"{"model": "auto", "prompt": "a fox"}"#,
        "--retries",
        "0",
    ];
    place.run(raw).ends(11).says("idempotency key");
}

#[test]
fn a_raw_answer_that_says_no_is_printed_and_ends_as_it_should() {
    let place = Place::new();
    let run = place
        .run(["api", "get", "/v1/jobs/job_none"])
        .ends(4)
        .says("job_not_found");
    assert_eq!(run.json()["error"]["code"], "job_not_found");
    let run = place.run(["api", "get", "/v1/no/such/thing"]).ends(4);
    assert!(run.json()["error"]["code"].is_string());
}

#[test]
fn a_key_that_an_answer_repeats_is_not_said() {
    let place = Place::new();
    let body =
        "<html>no such host; you sent: authorization: Bearer canary_k3y_0f_mine</html>".to_owned();
    for status in ["502 Bad Gateway", "403 Forbidden"] {
        let service = Fake::answering(status, &body);
        for form in ["table", "json"] {
            let words = ["job", "list", "--retries", "0", "-o", form];
            let run = Run::of(
                place
                    .svc(words)
                    .env("SVC_BASE_URL", &service.url)
                    .env("SVC_OPEN_API_KEY", "canary_k3y_0f_mine"),
            );
            assert!(!run.err.contains("canary"), "{}", run.err);
            run.says("Bearer [key]");
        }
    }
}

#[test]
fn a_url_that_leads_elsewhere_says_where_to_look() {
    let place = Place::new();
    let service = Fake::answering("302 Found\r\nlocation: http://127.0.0.1:9/login", "");
    let run = Run::of(place.svc(["job", "list"]).env("SVC_BASE_URL", &service.url));
    run.ends(1)
        .says("redirects are not followed")
        .says("svc config show --origin");
}

#[test]
fn a_top_up_that_is_not_paid_in_time_is_9_and_no_job() {
    let place = Place::new();
    let top_up = place
        .run(["top-up", "create", "--amount-usd-cents", "500"])
        .ends(0)
        .json();
    let id = top_up["id"].as_str().unwrap();
    let run = place
        .run(["top-up", "wait", id, "--timeout", "1"])
        .ends(9)
        .says(&format!("svc top-up wait {id}"));
    assert!(!run.err.contains("job"), "{}", run.err);
}
