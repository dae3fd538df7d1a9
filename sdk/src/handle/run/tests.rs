//! Runs and queues against scripted responses, in virtual time: what the scripts of [`crate::scripts`] cannot
//! say.

use crate::error::ErrorKind;
use crate::transport::scripted::{Script, Step, developer_client, json};
use crate::types::{AgentCompletionCreate, BulkRunCreate, FormatRunCreate, OutputSchema, Usd};

fn receipt(status: &str, more: &str) -> Step {
    let body = format!(r#"{{"data": {{"run_id": "run_1", "status": "{status}"{more}}}}}"#);
    json(if status == "queued" { 202 } else { 200 }, &body)
}

fn body() -> FormatRunCreate {
    FormatRunCreate::new("a teaser")
}

#[tokio::test(start_paused = true)]
async fn an_invalid_run_is_not_sent() {
    let script = Script::new([]);
    let client = developer_client(&script);
    let refused = client.formats().run("fmt_1", FormatRunCreate::default());
    assert_eq!(refused.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let no_cap = AgentCompletionCreate::new("x", Usd::ZERO);
    let refused = client.agents().run(no_cap).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidRequest);
    for schema in [serde_json::json!([]), true.into(), "x".into()] {
        let error = crate::Error::from(OutputSchema::new(schema).unwrap_err());
        assert!(error.kind() == ErrorKind::InvalidRequest && !error.may_have_been_sent());
        assert_eq!(error.violations()[0].path, "");
    }
    assert_eq!(script.requests().len(), 0);
}

fn queue(status: &str, counts: &str, items: &str) -> Step {
    let body = format!(
        r#"{{"data": {{"queue_id": "frq_1", "status": "{status}", "next_poll_after_seconds": 1,
            "counts": {{{counts}}}, "items": [{items}]}}}}"#
    );
    json(if status == "queued" { 202 } else { 200 }, &body)
}

#[tokio::test(start_paused = true)]
async fn a_queue_reports_its_progress_and_the_result_of_each_item() {
    let items = r#"{"index": 0, "run_id": "run_1", "status": "completed"}, {"index": 1, "run_id": null, "status": "skipped"}"#;
    let over = || queue("completed", r#""total": 2, "completed": 1, "skipped": 1"#, items);
    let script = Script::new([
        queue("running", r#""total": 2, "queued": 2"#, ""),
        queue("running", r#""total": 2, "running": 1, "queued": 1"#, ""),
        over(),
        over(),
        receipt("completed", r#", "output": {"title": "Fox"}"#),
    ]);
    let client = developer_client(&script);
    let bulk = BulkRunCreate::new([body(), body()]).concurrency(1);
    let queue = client.formats().bulk_run("fmt_1", bulk).await.unwrap();
    let mut updates = queue.updates();
    let mut ended = Vec::new();
    while let Some(update) = updates.next().await {
        ended.push(update.unwrap().status.counts().ended());
    }
    assert_eq!(ended, [0, 0, 2]);
    let results = queue.results().await.unwrap();
    assert!(results[0].receipt.as_ref().unwrap().output.is_some());
    assert!(results[1].receipt.is_none() && results[1].error.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_submits_another_resource_is_rejected() {
    use crate::contract::Operation;
    use crate::handle::{AgentRun, JobResource, QueueResource};
    use crate::surface::Developer;

    let script = Script::new([]);
    let client = developer_client(&script);
    let json = serde_json::json!({});
    let wrong =
        client.submit_json::<JobResource<Developer>>(Operation::AgentCompletionsCreate, &[], &json);
    assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let wrong = client.submit_json::<AgentRun>(Operation::FormatsRunsCreate, &["f"], &json);
    assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let wrong = client.submit_json::<QueueResource>(Operation::Video1Generate, &[], &json);
    assert_eq!(wrong.await.unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[tokio::test(start_paused = true)]
async fn a_field_set_by_its_name_overrules_its_setter_and_is_sent_once() {
    let script = Script::new([receipt("queued", "")]);
    let body = FormatRunCreate::new("first").field("instruction", "second");
    let start = developer_client(&script).formats().run("fmt_1", body);
    start.await.unwrap();
    let sent = String::from_utf8(script.requests()[0].body.to_vec()).unwrap();
    assert_eq!(sent, r#"{"instruction":"second"}"#);
}
