//! Lists against scripted responses, in virtual time; and what is documented of submits.

use crate::contract::{Idempotency, JobStatus, Operation};
use crate::error::ErrorKind;
use crate::transport::scripted::{Script, json, open_client};

fn page(ids: &[&str], next_cursor: &str) -> crate::transport::scripted::Step {
    let jobs: Vec<_> =
        ids.iter().map(|id| serde_json::json!({"id": id, "status": "queued"})).collect();
    let mut body = serde_json::json!({"data": jobs});
    if !next_cursor.is_empty() {
        body["next_cursor"] = next_cursor.into();
    }
    json(200, &body.to_string())
}

fn queries(script: &Script) -> Vec<String> {
    let requests = script.requests();
    requests
        .iter()
        .map(|request| request.url.split_once('?').map_or("", |it| it.1).to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_items_of_all_pages_are_streamed_with_the_same_filters() {
    let script =
        Script::new([page(&["job_1", "job_2"], "c1"), page(&[], "c2"), page(&["job_3"], "")]);
    let list = open_client(&script).jobs().list();
    let mut jobs = list.status(JobStatus::Queued).limit(2).items();
    let mut ids = Vec::new();
    while let Some(job) = jobs.next().await {
        ids.push(job.unwrap().id.to_string());
    }
    assert_eq!(ids, ["job_1", "job_2", "job_3"]);
    assert_eq!(
        queries(&script),
        [
            "status=queued&limit=2",
            "status=queued&limit=2&cursor=c1",
            "status=queued&limit=2&cursor=c2"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn pages_start_at_a_cursor_and_end_after_an_error() {
    let error = json(400, r#"{"error": {"code": "invalid_request"}}"#);
    let script = Script::new([page(&["job_1"], "c2"), error]);
    let mut pages = open_client(&script).jobs().list().cursor("c1").pages();
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!((first.items.len(), first.next_cursor.as_deref()), (1, Some("c2")));
    assert!(pages.next().await.unwrap().is_err());
    assert!(pages.next().await.is_none());
    assert_eq!(queries(&script), ["cursor=c1", "cursor=c2"]);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_names_its_own_cursor_ends_the_stream() {
    let script = Script::new([page(&["job_1"], "c1")]);
    let mut pages = open_client(&script).jobs().list().pages();
    assert!(pages.next().await.unwrap().is_ok());
    let error = pages.next().await.unwrap().unwrap_err();
    assert!(error.to_string().contains("`c1`"), "{error}");
    assert!(pages.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_response_has_its_status_headers_and_rate_limit() {
    let body = json(200, r#"{"data": []}"#)
        .header("x-svc-request-id", "req_7")
        .header("ratelimit-limit", 120)
        .header("ratelimit-remaining", 7)
        .header("ratelimit-reset", 30);
    let script = Script::new([body]);
    let list = open_client(&script).jobs().list().header("x-trace", "t");
    let response = list.with_response().await.unwrap();
    assert!(response.value.items.is_empty());
    assert_eq!(response.status, 200);
    assert_eq!(response.request_id().unwrap().as_str(), "req_7");
    let rate_limit = response.rate_limit().unwrap();
    assert_eq!((rate_limit.limit, rate_limit.remaining), (120, 7));
    assert_eq!(rate_limit.reset_after.as_secs(), 30);
    assert_eq!(script.requests()[0].header("x-trace"), Some("t"));
}

#[tokio::test(start_paused = true)]
async fn headers_that_the_client_sets_itself_are_rejected() {
    let script = Script::new([json(200, "{}")]);
    for name in ["Authorization", "x-api-key", "idempotency-key", "not a name"] {
        let call = open_client(&script).jobs().list().header(name, "x");
        assert_eq!(call.await.unwrap_err().kind(), ErrorKind::InvalidRequest, "{name}");
    }
    assert!(script.requests().is_empty());
}

#[test]
fn the_documentation_of_each_submit_says_what_the_service_does_with_its_key() {
    let sources = [
        include_str!("account.rs"),
        include_str!("agent.rs"),
        include_str!("avatars.rs"),
        include_str!("generation.rs"),
    ];
    let mut documented: std::collections::BTreeSet<_> =
        Operation::ALL.iter().copied().filter(|it| it.is_alias()).collect();
    assert!(documented.iter().all(|alias| alias.idempotency() == Idempotency::Undocumented));
    for source in sources {
        for (before, method) in source
            .split("idempotency_section!(")
            .skip(1)
            .map(|it| it.split_once(")]").expect("the text is an attribute of a method"))
        {
            let body = method.split("///").next().unwrap();
            let names = body.split("Operation::").skip(1).filter(|name| !name.starts_with('$'));
            for name in names {
                let end = name.find(|it: char| !it.is_alphanumeric()).unwrap();
                let operation =
                    Operation::ALL.iter().find(|it| format!("{it:?}") == name[..end]).unwrap();
                assert_eq!(format!("{:?}", operation.idempotency()), before, "{operation}");
                documented.insert(*operation);
            }
        }
    }
    for operation in Operation::ALL {
        let has_key = operation.idempotency() != Idempotency::NoKey;
        assert_eq!(documented.contains(operation), has_key, "{operation}");
    }
}
