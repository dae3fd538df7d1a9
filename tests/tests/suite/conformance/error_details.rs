//! Errors: their codes, details and headers, beyond the field that is invalid.

use super::*;

scripts! {
    an_unknown_path_without_a_key_is_unauthorized r#"
        open: /v1/nothing => 401 unauthorized
    "#
    a_refused_create_has_the_details_of_its_code [plan("scale")] r#"
        for <code> <status> <after> in
          | generation_failed 400 null
          | x_no_such_code 400 null
          | provider_unavailable 400 null
          | studio_agent_upstream_unavailable 503 1
          | attachment_too_large 413 null
          open image {"prompt": "a fox [mock:refuse=<code>]"} => <status> <code> @retry-after=<after>
        for <code> <status> <details> in
          | attachment_fetch_failed 502 {"index":0}
          | rate_limited 429 {"scope":"write"}
          | attachment_too_large 413 {"limit_bytes":30000000}
          developer music {"prompt": "[mock:refuse=<code>]"} => <status> <code> details=<details>
    "#
    public_routes_ignore_an_invalid_key r#"
        for <key> in svc_open_demo svc_revoked nonsense
          developer: x-api-key=<key> /v1/health => 200 @ratelimit-limit=480
        developer /v1/health => 200 @ratelimit-limit=4800
        developer /v1/bgm/pick {} => 200 @ratelimit-limit=120
        developer /mcp {"jsonrpc": "2.0", "id": 1, "method": "ping"} => 200 @ratelimit-limit=4800
        # An address has one budget on both hosts.
        repeat 477
          open: x-api-key=svc_unknown /v1/jobs => 401 unauthorized
        developer: /v1/health => 429 rate_limited details={"scope":"read"}
    "#
    a_window_starts_with_the_first_request r#"
        open /v1/jobs => 200 @ratelimit-reset=60
        advance 0.5
        # Rounded up.
        open /v1/nothing => 404 @ratelimit-remaining=4798 @ratelimit-reset=60
        repeat 120
          open estimate => 400
        advance 14.001
        open estimate => 429 rate_limited @retry-after=46
        advance 45.999
        open estimate => 400
    "#
    faults_of_the_media_host r#"
        control /faults {"kind": "status_503", "surface": "media"} => 200
        open /v1/jobs => 200
        media /artifacts/x.png => 503 database_busy
        control /faults {"kind": "status_503", "operation": "checkout"} => 200
        media /artifacts/x.png => 404 not_found
        media /checkout/x => 503
        control /faults => 200 =[]
    "#
    a_redelivery_belongs_to_the_jobs_workspace r#"
        open image {"mode": "webhook", "webhook_url": "https://hooks.example.com/"} => 202 job.id=<id>
        advance 2
        developer:svc_dev_other POST /v1/jobs/<id>/webhook/redeliver => 404 job_not_found
        developer /v1/jobs/<id>/webhook/redeliver {"url": "https://hooks.example.com/"} => 400 invalid_request
        open POST /v1/jobs/<id>/webhook/redeliver => 404 not_found
    "#
}

on_every_frontend! {
    body_errors_have_details,
    a_field_that_occurs_twice_is_rejected,
    faults_are_recorded_in_the_journal,
}

async fn body_errors_have_details(mock: Mock) {
    let open = mock.open();
    let huge = Bytes::from(vec![b' '; 4 * 1024 * 1024 + 1]);
    let (text, json) = ("text/plain", "application/json");
    let received = json!({"received_content_type": text});
    let limit = json!({"limit_bytes": 4_194_304});
    for (content_type, body, status, code, details) in [
        (text, huge.clone(), 415, "unsupported_media_type", received),
        (json, huge, 413, "payload_too_large", limit),
        (json, "{".into(), 400, "invalid_request", json!({"field": "body"})),
    ] {
        let response = open.send("POST", TOP_UPS, Some(content_type), body).await;
        assert_eq!(response.expect_error(status, code)["details"], details);
    }
    let empty = open.send("POST", VIDEO, None, Bytes::new()).await;
    empty.expect_invalid_field("body");
}

async fn a_field_that_occurs_twice_is_rejected(mock: Mock) {
    for name in ["model", "\\u006dodel"] {
        let body = format!(r#"{{"model": "video-l", "prompt": "p", "{name}": "video-l"}}"#);
        let response = mock.open().post_bytes(VIDEO, body).await;
        response.expect_error(400, "invalid_request");
    }
}

async fn faults_are_recorded_in_the_journal(mock: Mock) {
    for (kind, jobs) in [("drop_before", 0), ("drop_after", 1)] {
        mock.add_fault(json!({"kind": kind})).await;
        let response = mock.open().try_post(VIDEO, video()).await;
        assert!(response.is_err(), "{kind}: {response:?}");
        assert_eq!(mock.jobs().await.len(), jobs, "{kind}");
    }
    mock.add_fault(json!({"kind": "status_502_html"})).await;
    let page = mock.open().try_post(VIDEO, video()).await.unwrap().expect(502);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    mock.add_fault(json!({"kind": "garbage"})).await;
    let garbage = mock.open().try_post(VIDEO, video()).await.unwrap().expect(200);
    assert_eq!(garbage.header("content-type"), Some("application/json"));
    assert!(!garbage.is_json(), "{garbage:?}");
    assert_eq!(mock.jobs().await.len(), 2, "garbage hides a submitted job");
    let journal = mock.journal(0).await;
    let rows: Vec<_> =
        journal.iter().map(|entry| json!([entry["status"], entry["fault"]])).collect();
    let expected = json!([
        [null, "drop_before"],
        [null, "drop_after"],
        [502, "status_502_html"],
        [200, "garbage"]
    ]);
    assert_eq!(Value::Array(rows), expected);
}
