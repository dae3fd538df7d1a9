//! Scopes of keys, which are checked before the rest of the request.

use super::*;

scripts! {
    every_operation_with_a_scope_requires_it r#"
        for <method> <path> <scope> in
          | POST /v1/jobs/job_x/webhook/redeliver jobs:write
          | GET /v1/actions actions:read
          | GET /v1/actions/act_x actions:read
          | GET /v1/actions/act_x/runs actions:read
          | POST /v1/actions/act_x/runs actions:write
          | GET /v1/actions/act_x/runs/run_x actions:read
          | GET /v1/action-runs/run_x actions:read
          | GET /v1/action-runs/run_x/status actions:read
          | GET /v1/action-runs/run_x/result actions:read
          | POST /v1/action-runs/run_x/cancel actions:write
          | GET /v1/formats formats:read
          | GET /v1/formats/fmt_x formats:read
          | GET /v1/formats/fmt_x/runs formats:read
          | POST /v1/formats/fmt_x/runs formats:write
          | POST /v1/formats/fmt_x/bulk-runs formats:write
          | GET /v1/formats/demo/x formats:read
          | GET /v1/formats/demo/x/runs formats:read
          | POST /v1/formats/demo/x/runs formats:write
          | POST /v1/formats/demo/x/bulk-runs formats:write
          | GET /v1/format-run-queues/frq_x formats:read
          | GET /v1/format-runs/run_x formats:read
          | GET /v1/format-runs/run_x/status formats:read
          | GET /v1/format-runs/run_x/result formats:read
          | GET /v1/format-runs/run_x/events formats:read
          | POST /v1/format-runs/run_x/cancel formats:write
          | POST /v1/format-runs/run_x/webhook/redeliver formats:write
          | POST /v1/agent/completions agent_completions:write
          | GET /v1/agent-runs agent_completions:read
          | GET /v1/agent-runs/run_x agent_completions:read
          | GET /v1/agent-runs/run_x/status agent_completions:read
          | GET /v1/agent-runs/run_x/result agent_completions:read
          | POST /v1/agent-runs/run_x/cancel agent_completions:write
          | GET /v1/webhooks/signing-secret account:read
          | POST /v1/webhooks/signing-secret/rotate account:write
          | POST /v1/webhooks/test-deliveries account:write
          developer: <method> <path> => 401 unauthorized
          developer:svc_dev_noscope <method> <path> => 403 insufficient_scope details.required_scope=<scope>
    "#
    another_scope_does_not_suffice r#"
        control /keys {"kind": "developer", "workspace": "ws_demo", "scopes": ["formats:read"]} => 201 key=<key>
        developer:<key> /v1/formats => 200
        for <method> <path> <scope> in
          | POST /v1/formats/fmt_x/runs formats:write
          | GET /v1/actions actions:read
          | GET /v1/agent-runs agent_completions:read
          | POST /v1/jobs/job_x/webhook/redeliver jobs:write
          | GET /v1/webhooks/signing-secret account:read
          developer:<key> <method> <path> => 403 insufficient_scope details.required_scope=<scope>
    "#
}

on_every_frontend! { the_scope_is_checked_before_the_content_type_and_the_body }

async fn the_scope_is_checked_before_the_content_type_and_the_body(mock: Mock) {
    let client = mock.developer_as("svc_dev_noscope");
    for path in
        ["/v1/formats/fmt_x/runs", "/v1/agent-runs/run_x/cancel", "/v1/webhooks/test-deliveries"]
    {
        let response = client.send("POST", path, Some("text/plain"), "{".into()).await;
        response.expect_error(403, "insufficient_scope");
    }
}
