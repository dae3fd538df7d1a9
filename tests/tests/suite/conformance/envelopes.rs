//! Response envelopes: `data` in successful responses, `error` in error responses, request ids.

use bytes::Bytes;
use serde_json::json;
use svc_tests::{Host, Mock, on_every_frontend};

use super::{ESTIMATE, IMAGE, TOP_UPS, VIDEO, image, submit, text, video};

on_every_frontend! {
    successes_are_wrapped_in_data,
    every_response_is_json,
    request_ids_are_unique,
    developer_errors_have_a_next_action,
    an_unknown_path_is_not_found,
    other_methods_are_not_allowed,
    head_returns_the_headers_of_get,
    responses_do_not_contain_the_key,
}

async fn successes_are_wrapped_in_data(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    let top_up = open
        .post_data(TOP_UPS, json!({"amount_usd_cents": 500}), 201)
        .await;
    let estimate = json!({"model": "image-i", "input": {"prompt": "p"}});
    open.post_data(ESTIMATE, estimate, 200).await;
    mock.advance(8).await;
    for path in [
        "/v1/image-router/models".to_owned(),
        "/v1/image-router/models/image-i".to_owned(),
        "/v1/video-router/models".to_owned(),
        "/v1/video-router/models/video-f".to_owned(),
        "/v1/jobs".to_owned(),
        format!("/v1/jobs/{id}"),
        format!("/v1/jobs/{id}/status"),
        format!("/v1/jobs/{id}/result"),
        "/v1/open/catalog".to_owned(),
        "/v1/open/catalog/video-f".to_owned(),
        format!("{TOP_UPS}/{}", text(&top_up["id"])),
    ] {
        open.get_data(&path).await;
    }
    mock.developer().get_data("/v1/jobs").await;
}

async fn every_response_is_json(mock: Mock) {
    let open = mock.open();
    for response in [
        open.get("/v1/jobs").await.expect(200),
        open.post(IMAGE, image()).await.expect(202),
        open.post(IMAGE, json!({})).await.expect(400),
        open.get("/v1/jobs/job_unknown").await.expect(404),
        mock.client(Host::Open).get("/v1/jobs").await.expect(401),
    ] {
        let kind = response.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{response:?}");
        response.json();
    }
}

async fn request_ids_are_unique(mock: Mock) {
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        for client in [mock.open(), mock.developer(), mock.client(Host::Open)] {
            let response = client.get("/v1/jobs").await;
            let id = response.header("x-svc-request-id").unwrap().to_owned();
            assert!(id.starts_with("req_"), "{id}");
            assert!(seen.insert(id), "a request id came twice");
        }
    }
}

async fn developer_errors_have_a_next_action(mock: Mock) {
    let developer = mock.developer();
    let anonymous = mock.client(Host::Developer);
    let error = anonymous.get_error("/v1/jobs", 401, "unauthorized").await;
    assert_eq!(error["next_action"], "authenticate");
    assert_eq!(error["retryable"], false);
    mock.add_fault(json!({"kind": "status_503", "retry_after_seconds": 5}))
        .await;
    let error = developer.get_error("/v1/jobs", 503, "database_busy").await;
    assert_eq!(error["retryable"], true);
    assert_eq!(error["retry_after_seconds"].as_f64(), Some(5.0));
    assert_eq!(error["next_action"], "retry_later");
    let id = submit(&mock.open(), VIDEO, video()).await;
    let error = developer
        .get_error(&format!("/v1/jobs/{id}/result"), 409, "job_not_completed")
        .await;
    assert_eq!(error["details"]["status"], "queued");
    assert!(error["retry_after_seconds"].is_number(), "{error}");
}

async fn an_unknown_path_is_not_found(mock: Mock) {
    for client in [mock.open(), mock.developer()] {
        for path in [
            "/v1/nothing",
            "/v1",
            "/v2/jobs",
            "/v1/jobs/a/b/c",
            "/v1/jobs/job_x/events/x",
            "/V1/JOBS",
            "/v1/jobsx",
        ] {
            client.get(path).await.expect(404);
        }
    }
    mock.open().get("/v1/me").await.expect(404);
    mock.developer().get("/v1/open/catalog").await.expect(404);
}

async fn other_methods_are_not_allowed(mock: Mock) {
    let open = mock.open();
    for (method, path) in [
        ("POST", "/v1/jobs"),
        ("DELETE", "/v1/jobs/job_x"),
        ("PUT", "/v1/jobs/job_x/status"),
        ("PATCH", "/v1/open/catalog"),
        ("GET", VIDEO),
        ("GET", ESTIMATE),
        ("GET", TOP_UPS),
        ("GET", "/v1/jobs/job_x/cancel"),
    ] {
        let response = open
            .send(method, path, None, Bytes::new())
            .await
            .expect(405);
        let allowed = response.header("allow").unwrap_or_default();
        assert!(!allowed.is_empty(), "{response:?}");
        assert!(
            !allowed.split(", ").any(|name| name == method),
            "{response:?}"
        );
    }
}

async fn head_returns_the_headers_of_get(mock: Mock) {
    let open = mock.open();
    let get = open.get("/v1/video-router/models").await.expect(200);
    let head = open.head("/v1/video-router/models").await.expect(200);
    assert_eq!(head.header("content-type"), get.header("content-type"));
    open.head("/v1/jobs/job_unknown").await.expect(404);
    mock.client(Host::Open).head("/v1/jobs").await.expect(401);
}

async fn responses_do_not_contain_the_key(mock: Mock) {
    let open = mock.open();
    for response in [
        open.get("/v1/jobs").await,
        open.get("/v1/jobs/job_unknown").await,
        open.post(VIDEO, video()).await,
        open.post(VIDEO, json!({})).await,
        mock.open().api_key("svc_open_demo").get("/v1/jobs").await,
    ] {
        assert!(
            !format!("{response:?}").contains("svc_open_demo"),
            "{response:?}"
        );
    }
}
