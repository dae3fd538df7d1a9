//! Authentication with bearer keys and `x-api-key`.

use super::*;

scripts! {
    an_x_api_key_is_accepted r#"
        open: x-api-key=svc_open_demo /v1/jobs => 200
        open: x-api-key=svc_open_demo image => 202
        developer: x-api-key=svc_dev_demo /v1/jobs => 200
    "#
    two_credentials_at_once_are_rejected r#"
        for <bearer> <key> in svc_open_demo svc_open_demo, svc_open_demo svc_invalid, svc_invalid svc_open_demo
          open:<bearer> x-api-key=<key> /v1/jobs => 401 unauthorized message*="only one credential"
          open:<bearer> x-api-key=<key> video => 401 unauthorized
          open:<bearer> x-api-key=<key> top-up => 401 unauthorized
        open: authorization="Basic c3Zj" x-api-key=svc_open_demo /v1/jobs => 401 unauthorized
        for <other> in svc_open_demo svc_invalid
          open authorization="Bearer <other>" /v1/jobs => 401 unauthorized
          open: x-api-key=svc_open_demo x-api-key=<other> /v1/jobs => 401 unauthorized
        control /jobs => 200 #=0
        for <path> in /v1/health /v1/catalog
          developer x-api-key=svc_dev_demo <path> => 401 unauthorized
    "#
    invalid_credentials_are_rejected r#"
        open: /v1/jobs => 401 unauthorized
        for <value> in
          | ""
          | Bearer
          | "Bearer svc_invalid"
          | "Bearer svc_revoked"
          | "Basic c3ZjX29wZW5fZGVtbzo="
          | svc_open_demo
          | "Token svc_open_demo"
          | "Bearer svc_open_demo extra"
          | "Bearer svc_open_demo,svc_open_demo"
          | "Bearer SVC_OPEN_DEMO"
          | "Bearer svc_open_dem"
          | "Bearer svc_open_demo\u00e9"
          open: authorization="<value>" /v1/jobs => 401 unauthorized
        for <value> in "" svc_invalid svc_revoked "Bearer svc_open_demo" "svc_open_demo\u00e9"
          open: x-api-key="<value>" /v1/jobs => 401 unauthorized
    "#
    top_ups_require_an_open_key r#"
        for <key> in svc_dev_demo svc_dev_noscope svc_sa_demo svc_team_demo svc_dev_other
          open:<key> top-up => 403 open_key_required
          open: x-api-key=<key> top-up => 403 open_key_required
          open:<key> /v1/open/top-ups/top_x => 403 open_key_required
          open: x-api-key=<key> /v1/open/top-ups/top_x => 403 open_key_required
    "#
    other_operations_require_a_key_of_the_open_surface r#"
        for <key> in "" svc_dev_demo
          for <path> in image video estimate /v1/jobs/job_x/cancel
            open:<key> POST <path> {} => 401 unauthorized
          for <path> in /v1/image-router/models /v1/image-router/models/image-i /v1/video-router/models /v1/video-router/models/video-f /v1/jobs/job_x/status /v1/jobs/job_x/result /v1/jobs/job_x /v1/jobs /v1/open/catalog /v1/open/catalog/video-f
            open:<key> GET <path> => 401 unauthorized
        open: top-up => 401 unauthorized
        open: /v1/open/top-ups/top_x => 401 unauthorized
    "#
}

on_every_frontend! { a_key_is_not_echoed }

async fn a_key_is_not_echoed(mock: Mock) {
    let (open, unknown) = (mock.open(), mock.open_as("svc_canary_4711"));
    for (response, key) in [
        (unknown.get("/v1/jobs").await, "svc_canary"),
        (unknown.api_key("svc_canary_4711").get("/v1/jobs").await, "svc_canary"),
        (open.get("/v1/jobs").await, "svc_open_demo"),
        (open.get("/v1/jobs/job_unknown").await, "svc_open_demo"),
        (open.post(VIDEO, video()).await, "svc_open_demo"),
        (open.post(VIDEO, json!({})).await, "svc_open_demo"),
        (open.api_key("svc_open_demo").get("/v1/jobs").await, "svc_open_demo"),
    ] {
        assert!(!format!("{response:?}").contains(key), "{response:?}");
    }
}
