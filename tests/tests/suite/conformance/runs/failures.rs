//! The codes of the specification's table "Failed-run codes", and other outcomes of runs.

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_frontend};

use super::{
    Kind, MEDIA_RUNS, RUNS, billable, instruction, receipt, run_result, run_to_end, start,
    start_run, with,
};

on_every_frontend! {
    fail_directive_sets_the_code_and_its_details,
    fail_directive_without_a_code_is_format_run_failed,
    unknown_failure_codes_are_returned_unchanged,
    a_run_above_its_spend_cap_fails,
    an_unavailable_output_is_available_on_the_next_read,
    an_output_extraction_error_fails_the_run,
    a_degraded_run_has_artifacts_and_no_output,
    a_skipped_run_has_no_error,
    a_completed_run_has_its_primary_output,
    actions_and_completions_can_fail,
}

/// An error code and a check of its `details`.
type Row = (&'static str, fn(&Value) -> bool);

const CODES: [Row; 10] = [
    ("unattended_blocked", |_| true),
    ("output_schema_unsatisfied", |details| {
        let is_non_empty = |name: &str| {
            details[name]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        };
        let counts = details["harvested"].as_object();
        (is_non_empty("violations") || is_non_empty("rejected_urls"))
            && counts.is_some_and(|counts| counts.values().all(Value::is_u64))
    }),
    ("deliverable_missing", |_| true),
    ("primary_output_missing", |_| true),
    ("agent_reported_failure", |details| {
        details["reason"].is_string()
    }),
    ("incomplete_assembly", |details| {
        let jobs = details["pending_jobs"].as_array().map(Vec::len);
        jobs.is_some_and(|jobs| jobs > 0 && details["pending_job_count"] == jobs)
    }),
    ("output_extraction_failed", |details| {
        details["reason"] == "harvest_threw"
    }),
    ("mcp_unavailable", |details| {
        details["retryable"] == true && details["charged"] == false
    }),
    ("provider_unavailable", |details| {
        details["retryable"] == true
    }),
    ("format_run_failed", |_| true),
];

async fn fail_directive_sets_the_code_and_its_details(mock: Mock) {
    for format in [MEDIA_RUNS, RUNS] {
        for (code, has_valid_details) in CODES {
            let id = start(
                &mock.developer(),
                format,
                instruction(&format!("[mock:fail={code}]")),
            )
            .await;
            mock.advance(10).await;
            let receipt = receipt(&mock, Kind::Format, &id).await;
            assert_eq!(receipt["status"], "failed", "{code}");
            assert_eq!(receipt["error"]["code"], code);
            assert!(receipt["error"]["message"].is_string(), "{code}");
            let details = &receipt["error"]["details"];
            assert!(has_valid_details(details), "{code}: {details}");
            assert!(receipt["primary_output_url"].is_null(), "{code}");
            assert!(receipt["artifacts"].is_array(), "{code}");
            if code == "mcp_unavailable" {
                assert_eq!(billable(&receipt), 0, "{code}");
            }
            if code == "deliverable_missing" {
                let is_empty = receipt["artifacts"].as_array().unwrap().is_empty();
                assert!(is_empty, "{receipt}");
            }
            if code == "primary_output_missing" {
                assert!(receipt["primary_output_key"].is_string(), "{receipt}");
            }
            let result = run_result(&mock, Kind::Format, &id).await;
            assert_eq!(result.data()["error"]["code"], code);
        }
    }
}

async fn fail_directive_without_a_code_is_format_run_failed(mock: Mock) {
    let id = run_to_end(&mock, "[mock:fail]").await;
    let receipt = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(receipt["error"]["code"], "format_run_failed");
}

async fn unknown_failure_codes_are_returned_unchanged(mock: Mock) {
    let id = run_to_end(&mock, "[mock:fail=moon_phase_wrong]").await;
    let receipt = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(receipt["status"], "failed");
    assert_eq!(receipt["error"]["code"], "moon_phase_wrong");
}

async fn a_run_above_its_spend_cap_fails(mock: Mock) {
    let capped = "/v1/formats/fmt_capped/runs";
    let cap = |usd: f64| json!({"generation_spend_cap_usd": usd});
    for (path, body, most) in [
        (capped, instruction("[mock:cost=3]"), 2_000_000),
        (
            RUNS,
            with(instruction("[mock:cost=1.5]"), cap(1.0)),
            1_000_000,
        ),
        (
            RUNS,
            with(instruction("[mock:cost=0.000002]"), cap(0.000_001)),
            1,
        ),
    ] {
        let id = start(&mock.developer(), path, body).await;
        mock.advance(10).await;
        let receipt = receipt(&mock, Kind::Format, &id).await;
        assert_eq!(receipt["status"], "failed", "{receipt}");
        assert_eq!(receipt["error"]["code"], "format_run_failed");
        assert!(billable(&receipt) <= most, "{receipt}");
    }
    for (path, body) in [
        (capped, instruction("[mock:cost=2]")),
        (capped, with(instruction("[mock:cost=3]"), cap(5.0))),
        (
            capped,
            with(
                instruction("[mock:cost=3]"),
                json!({"generation_spend_cap_usd": null}),
            ),
        ),
        (RUNS, with(instruction("[mock:cost=1]"), cap(1.0))),
    ] {
        let id = start(&mock.developer(), path, body.clone()).await;
        mock.advance(10).await;
        let receipt = receipt(&mock, Kind::Format, &id).await;
        assert_eq!(receipt["status"], "completed", "{body}");
    }
}

async fn an_unavailable_output_is_available_on_the_next_read(mock: Mock) {
    let id = run_to_end(&mock, "[mock:harvest-unavailable]").await;
    let first = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(first["status"], "completed");
    assert!(
        first["error"].is_null() && first["output"].is_null(),
        "{first}"
    );
    assert_eq!(first["output_error"]["code"], "output_extraction_failed");
    assert_eq!(
        first["output_error"]["details"]["reason"],
        "harvest_unavailable"
    );
    let second = receipt(&mock, Kind::Format, &id).await;
    assert!(second["output"].is_object(), "{second}");
    assert!(second["output_error"].is_null(), "{second}");
    assert_eq!(receipt(&mock, Kind::Format, &id).await, second);
    let result = run_result(&mock, Kind::Format, &id).await;
    assert_eq!(result.data()["output"], second["output"]);
}

async fn an_output_extraction_error_fails_the_run(mock: Mock) {
    let id = run_to_end(&mock, "[mock:fail=output_extraction_failed]").await;
    for _ in 0..3 {
        let receipt = receipt(&mock, Kind::Format, &id).await;
        assert_eq!(receipt["status"], "failed");
        assert_eq!(receipt["error"]["details"]["reason"], "harvest_threw");
    }
}

async fn a_degraded_run_has_artifacts_and_no_output(mock: Mock) {
    let id = run_to_end(&mock, "[mock:degraded]").await;
    let receipt = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(receipt["status"], "completed");
    assert!(
        receipt["error"].is_null() && receipt["output"].is_null(),
        "{receipt}"
    );
    assert!(
        !receipt["artifacts"].as_array().unwrap().is_empty(),
        "{receipt}"
    );
}

async fn a_skipped_run_has_no_error(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "[mock:skip]").await;
        mock.advance(10).await;
        let receipt = receipt(&mock, kind, &id).await;
        assert_eq!(receipt["status"], "skipped");
        assert!(receipt["error"].is_null(), "{receipt}");
        assert_eq!(billable(&receipt), 0, "a skipped run is free");
    }
}

async fn a_completed_run_has_its_primary_output(mock: Mock) {
    let id = start(&mock.developer(), MEDIA_RUNS, instruction("x")).await;
    mock.advance(10).await;
    let receipt = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(receipt["status"], "completed");
    assert!(
        receipt["error"].is_null() && receipt["output_error"].is_null(),
        "{receipt}"
    );
    let url = receipt["primary_output_url"].as_str().unwrap();
    let artifacts = receipt["artifacts"].as_array().unwrap();
    let primary = artifacts.iter().find(|artifact| artifact["url"] == url);
    assert_eq!(
        primary.unwrap()["media_type"],
        "image",
        "the media type follows `io.output_kind`"
    );
    let file = mock.download(&receipt["primary_output_url"]).await;
    assert!(svc_tests::png_size(file.body()).0 > 0);
}

async fn actions_and_completions_can_fail(mock: Mock) {
    for kind in [Kind::Action, Kind::Agent] {
        let id = start_run(&mock, kind, "[mock:fail=provider_unavailable]").await;
        mock.advance(10).await;
        let receipt = receipt(&mock, kind, &id).await;
        assert_eq!(receipt["status"], "failed");
        assert_eq!(receipt["error"]["code"], "provider_unavailable");
    }
}
