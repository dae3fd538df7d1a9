//! Bodies and headers: `data` around successes, `error` around refusals, a request id on all.

use bytes::Bytes;
use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::{ESTIMATE, IMAGE, TOP_UPS, VIDEO, image, submit, text, video};

on_every_face! {
    successes_are_wrapped_in_data,
    every_answer_is_json,
    request_ids_are_unique,
    the_developer_surface_says_what_to_do_next,
    an_unknown_path_is_not_found,
    another_method_is_not_allowed,
    a_head_request_is_answered_like_a_get_without_its_body,
    a_message_never_carries_the_key,
}

async fn successes_are_wrapped_in_data(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    let top_up = open
        .post(TOP_UPS, json!({"amount_usd_cents": 500}))
        .await
        .expect(201)
        .data();
    let estimate = json!({"model": "image-i", "input": {"prompt": "p"}});
    open.post(ESTIMATE, estimate).await.expect(200).data();
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
        open.get(&path).await.expect(200).data();
    }
    mock.developer().get("/v1/jobs").await.expect(200).data();
}

async fn every_answer_is_json(mock: Mock) {
    let open = mock.open();
    for answer in [
        open.get("/v1/jobs").await.expect(200),
        open.post(IMAGE, image()).await.expect(202),
        open.post(IMAGE, json!({})).await.expect(400),
        open.get("/v1/jobs/job_unknown").await.expect(404),
        mock.caller(Host::Open).get("/v1/jobs").await.expect(401),
    ] {
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{answer:?}");
        answer.json();
    }
}

async fn request_ids_are_unique(mock: Mock) {
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        for caller in [mock.open(), mock.developer(), mock.caller(Host::Open)] {
            let answer = caller.get("/v1/jobs").await;
            let id = answer.header("x-svc-request-id").unwrap().to_owned();
            assert!(id.starts_with("req_"), "{id}");
            assert!(seen.insert(id), "a request id came twice");
        }
    }
}

async fn the_developer_surface_says_what_to_do_next(mock: Mock) {
    let developer = mock.developer();
    let anonymous = mock.caller(Host::Developer);
    let error = anonymous.get("/v1/jobs").await.refused(401, "unauthorized");
    assert_eq!(error["next_action"], "authenticate");
    assert_eq!(error["retryable"], false);
    mock.fault(json!({"kind": "status_503", "retry_after_seconds": 5}))
        .await;
    let error = developer
        .get("/v1/jobs")
        .await
        .refused(503, "database_busy");
    assert_eq!(error["retryable"], true);
    assert_eq!(error["retry_after_seconds"].as_f64(), Some(5.0));
    assert_eq!(error["next_action"], "retry_later");
    let id = submit(&mock.open(), VIDEO, video()).await;
    let answer = developer.get(&format!("/v1/jobs/{id}/result")).await;
    let error = answer.refused(409, "job_not_completed");
    assert_eq!(error["details"]["status"], "queued");
    assert!(error["retry_after_seconds"].is_number(), "{error}");
}

async fn an_unknown_path_is_not_found(mock: Mock) {
    for caller in [mock.open(), mock.developer()] {
        for path in [
            "/v1/nothing",
            "/v1",
            "/v2/jobs",
            "/v1/jobs/a/b/c",
            "/v1/jobs/job_x/events/x",
            "/V1/JOBS",
            "/v1/jobsx",
        ] {
            caller.get(path).await.expect(404);
        }
    }
    mock.open().get("/v1/me").await.expect(404);
    mock.developer().get("/v1/open/catalog").await.expect(404);
}

async fn another_method_is_not_allowed(mock: Mock) {
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
        let answer = open.send(method, path, None, Bytes::new()).await;
        assert_eq!(answer.status(), 405, "{method} {path} got\n{answer:?}");
        let allowed = answer.header("allow").unwrap_or_default();
        assert!(
            !allowed.is_empty(),
            "405 names what is allowed:\n{answer:?}"
        );
        assert!(
            !allowed.split(", ").any(|name| name == method),
            "{answer:?}"
        );
    }
}

async fn a_head_request_is_answered_like_a_get_without_its_body(mock: Mock) {
    let open = mock.open();
    let get = open.get("/v1/video-router/models").await.expect(200);
    let head = open
        .send("HEAD", "/v1/video-router/models", None, Bytes::new())
        .await
        .expect(200);
    assert_eq!(head.header("content-type"), get.header("content-type"));
    open.send("HEAD", "/v1/jobs/job_unknown", None, Bytes::new())
        .await
        .expect(404);
    mock.caller(Host::Open)
        .send("HEAD", "/v1/jobs", None, Bytes::new())
        .await
        .expect(401);
}

async fn a_message_never_carries_the_key(mock: Mock) {
    let open = mock.open();
    for answer in [
        open.get("/v1/jobs").await,
        open.get("/v1/jobs/job_unknown").await,
        open.post(VIDEO, video()).await,
        open.post(VIDEO, json!({})).await,
        mock.open().api_key("svc_open_demo").get("/v1/jobs").await,
    ] {
        assert!(
            !format!("{answer:?}").contains("svc_open_demo"),
            "{answer:?}"
        );
    }
}
