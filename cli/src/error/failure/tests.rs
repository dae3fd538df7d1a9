use serde_json::json;

use super::*;

fn failure() -> Failure {
    Failure::new(Exit::Funds, "the balance\u{1b}[2J is too small")
        .context("cannot submit the video")
        .with_response(
            Some("insufficient_funds".into()),
            Some(402),
            Some("req_1".into()),
            Some(serde_json::json!({"required_usd": "0.7035"})),
        )
        .hint("add funds with `svc top-up create`")
        .with_idempotency_key("k-1")
}

#[test]
fn a_failure_shows_what_failed_why_and_what_to_do() {
    assert_eq!(
        failure().headline(),
        "cannot submit the video: the balance[2J is too small (insufficient_funds)"
    );
    assert_eq!(
        failure().detail_lines(),
        [
            "details: {\"required_usd\":\"0.7035\"}",
            "next: add funds with `svc top-up create`",
            "idempotency key: k-1",
            "request id: req_1",
        ]
    );
}

#[test]
fn a_field_error_names_the_flag() {
    let rejected = |message: &str, field: &str| {
        let details = json!({ "field": field });
        let flag = |field: &str| (field != "seed").then(|| format!("--{field}"));
        Failure::other(message)
            .with_response(
                Some("invalid_request".into()),
                Some(400),
                None,
                Some(details),
            )
            .with_field_flag(flag)
            .to_json()["error"]
            .take()
    };
    let error = rejected("`duration` must be from 4 to 15", "duration");
    assert_eq!(error["message"], "--duration must be from 4 to 15");
    assert_eq!(error["details"]["field"], "duration");
    let error = rejected("`script` or `seed` is required", "script");
    assert_eq!(error["message"], "--script or `seed` is required");
    let error = rejected("out of range", "duration");
    assert_eq!(error["message"], "--duration: out of range");
    assert_eq!(
        rejected("`seed` is odd", "seed")["message"],
        "`seed` is odd"
    );
}

#[test]
fn every_failure_has_a_code() {
    let code = |failure: Failure| failure.to_json()["error"]["code"].clone();
    assert_eq!(code(Failure::usage("x")), "usage");
    assert_eq!(code(Failure::configuration("x")), "configuration");
    assert_eq!(code(Failure::other("x")), "io");
    assert_eq!(code(Failure::interrupted()), "interrupted");
    assert_eq!(code(Failure::interrupted_in_flight()), "ambiguous");
    assert_eq!(code(Failure::new(Exit::Funds, "x")), "over_budget");
    assert_eq!(
        code(Failure::new(Exit::NotAllowed, "x")),
        "not_authenticated"
    );
    assert_eq!(code(failure()), "insufficient_funds");
}

#[test]
fn several_failures_are_one_object_with_the_most_important_exit_code() {
    let failed = Failure::new(Exit::JobFailed, "it failed").for_job("job_1");
    let missing = || Failure::new(Exit::NotFound, "not found").for_job("job_2");
    let both = Failure::several("2 of 2 jobs did not complete", vec![missing(), failed]);
    let error = both.to_json()["error"].take();
    assert_eq!(error["exit_code"], 7);
    assert_eq!(error["code"], "failed");
    assert_eq!(error["details"]["errors"][0]["job_id"], "job_2");
    assert_eq!(error["details"]["errors"][1]["message"], "it failed");
    assert_eq!(
        both.detail_lines(),
        ["not found", "  job: job_2", "it failed", "  job: job_1"]
    );
    let all_missing = Failure::several("x", vec![missing(), missing()]);
    assert_eq!(all_missing.to_json()["error"]["code"], "not_found");
}

#[test]
fn json_contains_the_unmodified_message() {
    assert_eq!(
        failure().to_json(),
        serde_json::json!({"error": {
            "code": "insufficient_funds",
            "message": "cannot submit the video: the balance\u{1b}[2J is too small", "status": 402, "request_id": "req_1",
            "details": {"required_usd": "0.7035"}, "next": ["add funds with `svc top-up create`"],
            "idempotency_key": "k-1", "exit_code": 5
        }})
    );
}
