//! Response envelopes: request ids, methods and headers.

use super::*;

scripts! {
    other_methods_are_not_allowed r#"
        for <method> <path> <allowed> in
          | POST /v1/jobs "GET, HEAD"
          | DELETE /v1/jobs/job_x "GET, HEAD"
          | PUT /v1/jobs/job_x/status "GET, HEAD"
          | PATCH /v1/open/catalog "GET, HEAD"
          | GET /v1/video-router/generate POST
          | HEAD /v1/video-router/generate POST
          | GET /v1/open/estimate POST
          | GET /v1/open/top-ups POST
          | GET /v1/jobs/job_x/cancel POST
          open <method> <path> => 405 @allow="<allowed>"
    "#
    head_returns_the_headers_of_get r#"
        open /v1/video-router/models => 200 @content-type=<type> @content-length=<length>
        open HEAD /v1/video-router/models => 200 @content-type=<type> @content-length=<length> %=""
        open HEAD /v1/jobs/job_unknown => 404
        open: HEAD /v1/jobs => 401
    "#
}

on_every_frontend! { request_ids_are_unique }

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
