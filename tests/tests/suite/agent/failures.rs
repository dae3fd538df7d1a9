//! "Failed-run codes".

use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::{ErrorDetails, FormatRunCreate, OutputSchema, RunReceipt, Usd};
use svc_sdk::{Error, ErrorKind, developer};

use super::{demo, started};

async fn failed(client: &developer::Client, format: &str, words: &str) -> Error {
    let body = FormatRunCreate::new(words);
    let run = started(client, format, &body).await;
    let error = run.wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RunFailed, "{words}: {error}");
    let receipt = error.run_receipt().unwrap();
    assert_eq!(receipt.status, RunStatus::Failed);
    assert_eq!(receipt.primary_output_url, None, "{words}");
    assert_eq!(error.run_id(), Some(run.id()));
    error
}

fn details(error: &Error) -> &ErrorDetails {
    error.body().unwrap().details()
}

#[tokio::test(start_paused = true)]
async fn each_code_comes_with_its_details_typed() {
    let (_mock, client) = demo();
    for code in [
        ErrorCode::UnattendedBlocked,
        ErrorCode::DeliverableMissing,
        ErrorCode::PrimaryOutputMissing,
        ErrorCode::FormatRunFailed,
    ] {
        let error = failed(&client, "fmt_demo", &format!("[mock:fail={code}]")).await;
        assert_eq!(error.code(), Some(&code));
    }

    let error = failed(&client, "fmt_demo", "[mock:fail=agent_reported_failure]").await;
    assert!(details(&error).reason.is_some());

    let error = failed(&client, "fmt_demo", "[mock:fail=incomplete_assembly]").await;
    let pending = details(&error);
    assert_eq!(pending.pending_job_count, Some(pending.pending_jobs.len() as u64));
    assert!(!pending.pending_jobs.is_empty());

    let error = failed(&client, "fmt_demo", "[mock:fail=output_extraction_failed]").await;
    assert_eq!(details(&error).reason.as_deref(), Some("harvest_threw"));

    let error = failed(&client, "fmt_demo", "[mock:fail=mcp_unavailable]").await;
    assert_eq!((details(&error).retryable, details(&error).charged), (Some(true), Some(false)));
    assert!(error.is_retryable());
    assert_eq!(error.run_receipt().unwrap().billable_amount(), Some(Usd::ZERO));

    let error = failed(&client, "fmt_demo", "[mock:fail=provider_unavailable]").await;
    assert_eq!(details(&error).retryable, Some(true));
    assert!(error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn an_output_that_does_not_fit_says_where_and_what_was_made_all_the_same() {
    let (_mock, client) = demo();
    let schema = OutputSchema::new(serde_json::json!({
        "type": "object",
        "properties": {"hero": {"type": "string", "format": "uri"}},
        "required": ["hero"],
    }));
    let body = FormatRunCreate::new("[mock:fail=output_schema_unsatisfied]")
        .output_schema(schema.unwrap());
    let run = started(&client, "fmt_media", &body).await;
    let error = run.wait().await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::OutputSchemaUnsatisfied));
    let details = details(&error);
    assert!(!details.violations.is_empty() || !details.rejected_urls.is_empty());
    assert_eq!(error.violations(), details.violations);
    let images = error.run_receipt().unwrap().artifacts.len() as u64;
    assert_eq!(details.harvested.as_ref().unwrap()["image"], images);
}

#[tokio::test(start_paused = true)]
async fn an_output_that_cannot_be_harvested_yet_is_filled_in_at_a_later_read() {
    let (_mock, client) = demo();
    let body = FormatRunCreate::new("[mock:harvest-unavailable]");
    let run = started(&client, "fmt_demo", &body).await;
    let mut updates = run.updates();
    while let Some(update) = updates.next().await {
        update.unwrap();
    }
    let first: RunReceipt = run.result().await.unwrap();
    assert!(first.is_output_pending(), "{first:?}");
    let then = run.wait().await.unwrap();
    assert!(then.output.is_some() && then.output_error.is_none());
}
