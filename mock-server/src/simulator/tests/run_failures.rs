//! The specification's table "Failed-run codes", row by row.

use serde_json::{Value, json};

use super::{DEMO, Mock};

const MEDIA: &str = "/v1/formats/fmt_media/runs";

#[test]
fn a_failed_run_says_what_its_code_says() {
    let rows = [
        ("unattended_blocked", json!(null), false),
        ("deliverable_missing", json!(null), false),
        ("primary_output_missing", json!(null), false),
        (
            "output_extraction_failed",
            json!({"reason": "harvest_threw"}),
            false,
        ),
        (
            "mcp_unavailable",
            json!({"retryable": true, "charged": false}),
            true,
        ),
        ("provider_unavailable", json!({"retryable": true}), true),
        ("format_run_failed", json!(null), false),
        ("a_code_of_tomorrow", json!(null), false),
    ];
    for (code, details, retryable) in rows {
        let mut mock = Mock::new();
        let receipt = mock.ended(MEDIA, &format!("[mock:fail={code}]"));
        assert_eq!(receipt["status"], "failed", "{code}");
        for error in [&receipt["error"], &receipt["output_error"]] {
            assert_eq!(
                (&error["code"], &error["details"]),
                (&json!(code), &details),
                "{code}"
            );
        }
        assert_eq!(receipt["error"]["retryable"], retryable, "{code}");
        assert_eq!(receipt["primary_output_url"], Value::Null, "{code}");
        let nothing_made = ["deliverable_missing", "mcp_unavailable"].contains(&code);
        let made = usize::from(!nothing_made);
        assert_eq!(
            receipt["artifacts"].as_array().unwrap().len(),
            made,
            "{code}"
        );
        let billed = &receipt["usage"]["billable_amount_usd_micros"];
        let free = code == "mcp_unavailable";
        assert_eq!(*billed, if free { 0 } else { 50_000 }, "{code}");
        mock.books_are_balanced();
    }
}

#[test]
fn a_bare_failure_is_the_generic_one() {
    let receipt = Mock::new().ended(DEMO, "[mock:fail]");
    assert_eq!(receipt["error"]["code"], "format_run_failed");
}

#[test]
fn an_unsatisfied_schema_says_where_and_what_there_is() {
    let mut mock = Mock::new();
    let properties =
        json!({"hero": {"type": "string", "format": "uri"}, "title": {"type": "string"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["title"]});
    let body =
        json!({"instruction": "[mock:fail=output_schema_unsatisfied]", "output_schema": schema});
    let id = mock.start(DEMO, body);
    mock.pass(10_000);
    let receipt = mock.receipt(&id);
    let details = &receipt["error"]["details"];
    assert_eq!(
        details["violations"],
        json!([{"path": "", "rule": "required", "message": "`title` is required"}])
    );
    assert_eq!(details["harvested"], json!({"image": 1}));
    assert_eq!(
        details["rejected_urls"],
        json!([receipt["artifacts"][0]["url"]])
    );
    assert_eq!(
        receipt["output"],
        json!({"hero": receipt["artifacts"][0]["url"]})
    );
    let bare = mock.ended(DEMO, "[mock:fail=output_schema_unsatisfied]");
    let details = &bare["error"]["details"];
    assert_eq!(
        (&details["violations"][0]["rule"], &details["harvested"]),
        (&json!("required"), &json!({}))
    );
    assert_eq!(details.get("rejected_urls"), None);
}

#[test]
fn a_run_that_reports_its_own_failure_gives_the_reason() {
    let receipt = Mock::new().ended(DEMO, "[mock:fail=agent_reported_failure]");
    assert!(
        !receipt["error"]["details"]["reason"]
            .as_str()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_run_whose_time_is_over_names_what_was_pending_and_is_not_billed_for_it() {
    let mut mock = Mock::new();
    let receipt = mock.ended(MEDIA, "[mock:fail=incomplete_assembly][mock:cost=3]");
    let details = &receipt["error"]["details"];
    assert_eq!(details["pending_job_count"], 1);
    assert!(
        details["pending_jobs"][0]["id"]
            .as_str()
            .unwrap()
            .starts_with("job_")
    );
    assert_eq!(receipt["usage"]["billable_amount_usd_micros"], 2_000_000);
    assert_eq!(mock.read("/v1/usage")[0]["kind"], "refund");
    mock.books_are_balanced();
}

#[test]
fn an_empty_primary_output_is_null_under_its_name() {
    let receipt = Mock::new().ended(MEDIA, "[mock:fail=primary_output_missing]");
    assert_eq!(receipt["primary_output_key"], "image_url");
    assert_eq!(receipt["output"]["image_url"], Value::Null);
}

#[test]
fn a_job_that_fails_with_a_code_of_runs_has_its_details_too() {
    let mut mock = Mock::new();
    for (code, detail) in [
        ("output_schema_unsatisfied", "/violations"),
        ("agent_reported_failure", "/reason"),
        ("incomplete_assembly", "/pending_jobs/0/id"),
        ("output_extraction_failed", "/reason"),
        ("mcp_unavailable", "/charged"),
    ] {
        let id = mock.submit(super::IMAGE, super::image(&format!("[mock:fail={code}]")));
        mock.pass(2_000);
        let job = mock.open().get(&format!("/v1/jobs/{id}")).data(200);
        assert!(job["error"]["details"].pointer(detail).is_some(), "{job}");
    }
}
