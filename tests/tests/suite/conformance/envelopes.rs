//! Response envelopes: `data` in successful responses, `error` in error responses, request ids.

use super::*;

on_every_frontend! {
    request_ids_are_unique,
    other_methods_are_not_allowed,
    head_returns_the_headers_of_get,
    responses_do_not_contain_the_key,
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

async fn other_methods_are_not_allowed(mock: Mock) {
    let open = mock.open();
    for (method, path, allowed) in [
        ("POST", "/v1/jobs", "GET, HEAD"),
        ("DELETE", "/v1/jobs/job_x", "GET, HEAD"),
        ("PUT", "/v1/jobs/job_x/status", "GET, HEAD"),
        ("PATCH", "/v1/open/catalog", "GET, HEAD"),
        ("GET", VIDEO, "POST"),
        ("HEAD", VIDEO, "POST"),
        ("GET", ESTIMATE, "POST"),
        ("GET", TOP_UPS, "POST"),
        ("GET", "/v1/jobs/job_x/cancel", "POST"),
    ] {
        let response = open.send(method, path, None, Bytes::new()).await;
        assert_eq!(response.expect(405).header("allow"), Some(allowed));
    }
}

async fn head_returns_the_headers_of_get(mock: Mock) {
    let open = mock.open();
    let get = open.get("/v1/video-router/models").await.expect(200);
    let head = open.head("/v1/video-router/models").await.expect(200);
    assert_eq!(head.header("content-type"), get.header("content-type"));
    assert_eq!(head.int_header("content-length"), get.body().len() as u64);
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
