//! Authentication: both forms of a credential, one at a time, on its own host.

use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::{ESTIMATE, IMAGE, TOP_UPS, VIDEO, image, video};

on_every_face! {
    a_bearer_key_is_accepted,
    an_x_api_key_is_accepted,
    two_credentials_at_once_are_refused,
    two_credentials_at_once_are_refused_on_public_routes_too,
    what_is_no_credential_is_refused,
    a_revoked_key_is_refused,
    an_open_key_is_refused_on_the_developer_host,
    a_developer_key_is_refused_on_the_open_host,
    a_developer_key_on_top_ups_is_told_that_an_open_key_is_required,
    every_operation_of_the_open_surface_needs_a_key,
    a_refused_key_is_not_repeated_in_the_answer,
}

/// Every operation of the open surface: method and path.
const OPEN_OPERATIONS: [(&str, &str); 16] = [
    ("POST", IMAGE),
    ("GET", "/v1/image-router/models"),
    ("GET", "/v1/image-router/models/image-i"),
    ("POST", VIDEO),
    ("GET", "/v1/video-router/models"),
    ("GET", "/v1/video-router/models/video-f"),
    ("GET", "/v1/jobs/job_x/status"),
    ("GET", "/v1/jobs/job_x/result"),
    ("GET", "/v1/jobs/job_x"),
    ("GET", "/v1/jobs"),
    ("POST", "/v1/jobs/job_x/cancel"),
    ("GET", "/v1/open/catalog"),
    ("GET", "/v1/open/catalog/video-f"),
    ("POST", ESTIMATE),
    ("POST", TOP_UPS),
    ("GET", "/v1/open/top-ups/top_x"),
];

async fn a_bearer_key_is_accepted(mock: Mock) {
    let caller = mock.caller(Host::Open).bearer("svc_open_demo");
    caller.get("/v1/jobs").await.expect(200);
    caller.post(VIDEO, video()).await.expect(202);
    mock.caller(Host::Developer)
        .bearer("svc_dev_demo")
        .get("/v1/jobs")
        .await
        .expect(200);
}

async fn an_x_api_key_is_accepted(mock: Mock) {
    let caller = mock.caller(Host::Open).api_key("svc_open_demo");
    caller.get("/v1/jobs").await.expect(200);
    caller.post(IMAGE, image()).await.expect(202);
    mock.caller(Host::Developer)
        .api_key("svc_dev_demo")
        .get("/v1/jobs")
        .await
        .expect(200);
}

async fn two_credentials_at_once_are_refused(mock: Mock) {
    for (bearer, api_key) in [
        ("svc_open_demo", "svc_open_demo"),
        ("svc_open_demo", "nonsense"),
        ("nonsense", "svc_open_demo"),
    ] {
        let caller = mock.caller(Host::Open).bearer(bearer).api_key(api_key);
        caller.get("/v1/jobs").await.refused(401, "unauthorized");
        caller
            .post(VIDEO, video())
            .await
            .refused(401, "unauthorized");
        caller
            .post(TOP_UPS, json!({"amount_usd_cents": 500}))
            .await
            .refused(401, "unauthorized");
    }
    let basic = mock
        .caller(Host::Open)
        .with("authorization", "Basic c3Zj")
        .api_key("svc_open_demo");
    basic.get("/v1/jobs").await.refused(401, "unauthorized");
    for name in ["authorization", "x-api-key"] {
        let value = |key: &str| match name {
            "authorization" => format!("Bearer {key}"),
            _ => key.to_owned(),
        };
        for other in ["svc_open_demo", "nonsense"] {
            let once = mock.caller(Host::Open).with(name, &value("svc_open_demo"));
            let twice = once.with(name, &value(other));
            twice.get("/v1/jobs").await.refused(401, "unauthorized");
        }
    }
    assert!(mock.jobs().await.is_empty(), "a refused submit made a job");
}

async fn two_credentials_at_once_are_refused_on_public_routes_too(mock: Mock) {
    let both = mock
        .caller(Host::Developer)
        .bearer("svc_dev_demo")
        .api_key("svc_dev_demo");
    both.get("/v1/health").await.refused(401, "unauthorized");
    both.get("/v1/catalog").await.refused(401, "unauthorized");
}

async fn what_is_no_credential_is_refused(mock: Mock) {
    mock.caller(Host::Open)
        .get("/v1/jobs")
        .await
        .refused(401, "unauthorized");
    for value in [
        "",
        "Bearer",
        "Bearer nonsense",
        "Basic c3ZjX29wZW5fZGVtbzo=",
        "svc_open_demo",
        "Token svc_open_demo",
        "Bearer svc_open_demo extra",
        "Bearer svc_open_demo,svc_open_demo",
        "Bearer SVC_OPEN_DEMO",
        "Bearer svc_open_dem",
        "Bearer svc_open_demo\u{e9}",
    ] {
        let caller = mock.caller(Host::Open).with("authorization", value);
        caller.get("/v1/jobs").await.refused(401, "unauthorized");
    }
    for value in [
        "",
        "nonsense",
        "Bearer svc_open_demo",
        "svc_open_demo\u{e9}",
    ] {
        let caller = mock.caller(Host::Open).with("x-api-key", value);
        caller.get("/v1/jobs").await.refused(401, "unauthorized");
    }
}

async fn a_revoked_key_is_refused(mock: Mock) {
    for host in [Host::Open, Host::Developer] {
        let caller = mock.caller(host).bearer("svc_revoked");
        caller.get("/v1/jobs").await.refused(401, "unauthorized");
    }
    let top_up = json!({"amount_usd_cents": 500});
    let caller = mock.caller(Host::Open).api_key("svc_revoked");
    caller
        .post(TOP_UPS, top_up)
        .await
        .refused(401, "unauthorized");
}

async fn an_open_key_is_refused_on_the_developer_host(mock: Mock) {
    let caller = mock.caller(Host::Developer).bearer("svc_open_demo");
    for path in [
        "/v1/me",
        "/v1/balance",
        "/v1/usage",
        "/v1/jobs",
        "/v1/formats",
    ] {
        caller.get(path).await.refused(401, "unauthorized");
    }
}

async fn a_developer_key_is_refused_on_the_open_host(mock: Mock) {
    let caller = mock.caller(Host::Open).bearer("svc_dev_demo");
    for (method, path) in OPEN_OPERATIONS
        .into_iter()
        .filter(|(_, path)| !path.starts_with(TOP_UPS))
    {
        let answer = match method {
            "GET" => caller.get(path).await,
            _ => caller.post(path, video()).await,
        };
        answer.refused(401, "unauthorized");
    }
}

async fn a_developer_key_on_top_ups_is_told_that_an_open_key_is_required(mock: Mock) {
    for key in [
        "svc_dev_demo",
        "svc_dev_noscope",
        "svc_sa_demo",
        "svc_team_demo",
        "svc_dev_other",
    ] {
        for caller in [
            mock.caller(Host::Open).bearer(key),
            mock.caller(Host::Open).api_key(key),
        ] {
            let created = caller.post(TOP_UPS, json!({"amount_usd_cents": 500})).await;
            created.refused(403, "open_key_required");
            caller
                .get("/v1/open/top-ups/top_x")
                .await
                .refused(403, "open_key_required");
        }
    }
}

async fn every_operation_of_the_open_surface_needs_a_key(mock: Mock) {
    let anonymous = mock.caller(Host::Open);
    for (method, path) in OPEN_OPERATIONS {
        let answer = match method {
            "GET" => anonymous.get(path).await,
            _ => anonymous.post(path, json!({})).await,
        };
        answer.refused(401, "unauthorized");
    }
}

async fn a_refused_key_is_not_repeated_in_the_answer(mock: Mock) {
    for caller in [
        mock.caller(Host::Open).bearer("svc_canary_4711"),
        mock.caller(Host::Open).api_key("svc_canary_4711"),
        mock.caller(Host::Open)
            .bearer("svc_canary_4711")
            .api_key("svc_canary_4711"),
    ] {
        let answer = caller.get("/v1/jobs").await.expect(401);
        assert!(
            !format!("{answer:?}").contains("svc_canary_4711"),
            "{answer:?}"
        );
    }
}
