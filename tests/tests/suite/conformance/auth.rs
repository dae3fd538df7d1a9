//! Authentication with bearer keys and `x-api-key`.

use super::*;

on_every_frontend! {
    an_x_api_key_is_accepted,
    two_credentials_at_once_are_rejected,
    invalid_credentials_are_rejected,
    a_developer_key_is_rejected_on_the_open_host,
    top_ups_require_an_open_key,
    open_operations_require_a_key,
    a_rejected_key_is_not_echoed,
}

/// The method and path of every operation of the open surface.
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

async fn an_x_api_key_is_accepted(mock: Mock) {
    let client = mock.client(Host::Open).api_key("svc_open_demo");
    client.get("/v1/jobs").await.expect(200);
    client.post(IMAGE, image()).await.expect(202);
    mock.client(Host::Developer)
        .api_key("svc_dev_demo")
        .get("/v1/jobs")
        .await
        .expect(200);
}

async fn two_credentials_at_once_are_rejected(mock: Mock) {
    for (bearer, api_key) in [
        ("svc_open_demo", "svc_open_demo"),
        ("svc_open_demo", "svc_invalid"),
        ("svc_invalid", "svc_open_demo"),
    ] {
        let client = mock.open_as(bearer).api_key(api_key);
        let error = client.get_error("/v1/jobs", 401, "unauthorized").await;
        assert!(
            text(&error["message"]).contains("only one credential"),
            "{error}"
        );
        client.post_error(VIDEO, video(), 401, "unauthorized").await;
        client
            .post_error(
                TOP_UPS,
                json!({"amount_usd_cents": 500}),
                401,
                "unauthorized",
            )
            .await;
    }
    let basic = mock
        .client(Host::Open)
        .header("authorization", "Basic c3Zj")
        .api_key("svc_open_demo");
    basic.get_error("/v1/jobs", 401, "unauthorized").await;
    for name in ["authorization", "x-api-key"] {
        let value = |key: &str| match name {
            "authorization" => format!("Bearer {key}"),
            _ => key.to_owned(),
        };
        for other in ["svc_open_demo", "svc_invalid"] {
            let single = mock
                .client(Host::Open)
                .header(name, &value("svc_open_demo"));
            let double = single.header(name, &value(other));
            double.get_error("/v1/jobs", 401, "unauthorized").await;
        }
    }
    assert!(
        mock.jobs().await.is_empty(),
        "a rejected submit created a job"
    );
    let public = mock.developer().api_key("svc_dev_demo");
    for path in ["/v1/health", "/v1/catalog"] {
        public.get_error(path, 401, "unauthorized").await;
    }
}

async fn invalid_credentials_are_rejected(mock: Mock) {
    mock.client(Host::Open)
        .get_error("/v1/jobs", 401, "unauthorized")
        .await;
    for value in [
        "",
        "Bearer",
        "Bearer svc_invalid",
        "Bearer svc_revoked",
        "Basic c3ZjX29wZW5fZGVtbzo=",
        "svc_open_demo",
        "Token svc_open_demo",
        "Bearer svc_open_demo extra",
        "Bearer svc_open_demo,svc_open_demo",
        "Bearer SVC_OPEN_DEMO",
        "Bearer svc_open_dem",
        "Bearer svc_open_demo\u{e9}",
    ] {
        let client = mock.client(Host::Open).header("authorization", value);
        client.get_error("/v1/jobs", 401, "unauthorized").await;
    }
    for value in [
        "",
        "svc_invalid",
        "svc_revoked",
        "Bearer svc_open_demo",
        "svc_open_demo\u{e9}",
    ] {
        let client = mock.client(Host::Open).header("x-api-key", value);
        client.get_error("/v1/jobs", 401, "unauthorized").await;
    }
}

async fn a_developer_key_is_rejected_on_the_open_host(mock: Mock) {
    let client = mock.open_as("svc_dev_demo");
    let other_operations = OPEN_OPERATIONS
        .iter()
        .filter(|row| !row.1.starts_with(TOP_UPS));
    for (method, path) in other_operations {
        let response = client.request(method, path).await;
        response.expect_error(401, "unauthorized");
    }
}

async fn top_ups_require_an_open_key(mock: Mock) {
    for key in [
        "svc_dev_demo",
        "svc_dev_noscope",
        "svc_sa_demo",
        "svc_team_demo",
        "svc_dev_other",
    ] {
        for client in [mock.open_as(key), mock.client(Host::Open).api_key(key)] {
            client
                .post_error(
                    TOP_UPS,
                    json!({"amount_usd_cents": 500}),
                    403,
                    "open_key_required",
                )
                .await;
            client
                .get_error("/v1/open/top-ups/top_x", 403, "open_key_required")
                .await;
        }
    }
}

async fn open_operations_require_a_key(mock: Mock) {
    for (method, path) in OPEN_OPERATIONS {
        let response = mock.client(Host::Open).request(method, path).await;
        response.expect_error(401, "unauthorized");
    }
}

async fn a_rejected_key_is_not_echoed(mock: Mock) {
    for client in [
        mock.open_as("svc_canary_4711"),
        mock.client(Host::Open).api_key("svc_canary_4711"),
        mock.open_as("svc_canary_4711").api_key("svc_canary_4711"),
    ] {
        let response = client.get("/v1/jobs").await.expect(401);
        assert!(
            !format!("{response:?}").contains("svc_canary_4711"),
            "{response:?}"
        );
    }
}
