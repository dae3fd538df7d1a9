//! Scopes of keys, which are checked before the rest of the request.

use super::*;

on_every_frontend! {
    a_missing_scope_is_rejected,
    the_scope_is_checked_before_existence_and_content_type,
    scoped_operations_require_a_key,
}

/// The method, path and scope of every operation that requires a scope.
const SCOPED: [(&str, &str, &str); 35] = [
    ("POST", "/v1/jobs/job_x/webhook/redeliver", "jobs:write"),
    ("GET", "/v1/actions", "actions:read"),
    ("GET", "/v1/actions/act_x", "actions:read"),
    ("GET", "/v1/actions/act_x/runs", "actions:read"),
    ("POST", "/v1/actions/act_x/runs", "actions:write"),
    ("GET", "/v1/actions/act_x/runs/run_x", "actions:read"),
    ("GET", "/v1/action-runs/run_x", "actions:read"),
    ("GET", "/v1/action-runs/run_x/status", "actions:read"),
    ("GET", "/v1/action-runs/run_x/result", "actions:read"),
    ("POST", "/v1/action-runs/run_x/cancel", "actions:write"),
    ("GET", "/v1/formats", "formats:read"),
    ("GET", "/v1/formats/fmt_x", "formats:read"),
    ("GET", "/v1/formats/fmt_x/runs", "formats:read"),
    ("POST", "/v1/formats/fmt_x/runs", "formats:write"),
    ("POST", "/v1/formats/fmt_x/bulk-runs", "formats:write"),
    ("GET", "/v1/formats/demo/x", "formats:read"),
    ("GET", "/v1/formats/demo/x/runs", "formats:read"),
    ("POST", "/v1/formats/demo/x/runs", "formats:write"),
    ("POST", "/v1/formats/demo/x/bulk-runs", "formats:write"),
    ("GET", "/v1/format-run-queues/frq_x", "formats:read"),
    ("GET", "/v1/format-runs/run_x", "formats:read"),
    ("GET", "/v1/format-runs/run_x/status", "formats:read"),
    ("GET", "/v1/format-runs/run_x/result", "formats:read"),
    ("GET", "/v1/format-runs/run_x/events", "formats:read"),
    ("POST", "/v1/format-runs/run_x/cancel", "formats:write"),
    (
        "POST",
        "/v1/format-runs/run_x/webhook/redeliver",
        "formats:write",
    ),
    ("POST", "/v1/agent/completions", "agent_completions:write"),
    ("GET", "/v1/agent-runs", "agent_completions:read"),
    ("GET", "/v1/agent-runs/run_x", "agent_completions:read"),
    (
        "GET",
        "/v1/agent-runs/run_x/status",
        "agent_completions:read",
    ),
    (
        "GET",
        "/v1/agent-runs/run_x/result",
        "agent_completions:read",
    ),
    (
        "POST",
        "/v1/agent-runs/run_x/cancel",
        "agent_completions:write",
    ),
    ("GET", "/v1/webhooks/signing-secret", "account:read"),
    (
        "POST",
        "/v1/webhooks/signing-secret/rotate",
        "account:write",
    ),
    ("POST", "/v1/webhooks/test-deliveries", "account:write"),
];

async fn a_missing_scope_is_rejected(mock: Mock) {
    let body = json!({"kind": "developer", "workspace": "ws_demo", "scopes": ["formats:read"]});
    let key = mock.create_key(body).await;
    for (key, key_scope) in [("svc_dev_noscope", ""), (&key, "formats:read")] {
        let client = mock.developer_as(key);
        for (method, path, scope) in SCOPED.iter().filter(|row| row.2 != key_scope) {
            let response = client.request(method, path).await;
            let error = response.expect_error(403, "insufficient_scope");
            assert_eq!(error["details"]["required_scope"], *scope, "{response:?}");
        }
    }
}

async fn the_scope_is_checked_before_existence_and_content_type(mock: Mock) {
    let client = mock.developer_as("svc_dev_noscope");
    for (method, path, _) in SCOPED {
        if method == "POST" {
            client
                .send(method, path, Some("text/plain"), Bytes::from("{"))
                .await
                .expect_error(403, "insufficient_scope");
        }
    }
}

async fn scoped_operations_require_a_key(mock: Mock) {
    for (method, path, _) in SCOPED {
        let response = mock.client(Host::Developer).request(method, path).await;
        response.expect_error(401, "unauthorized");
    }
}
