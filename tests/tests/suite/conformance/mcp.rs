//! The MCP endpoint, called with raw JSON-RPC: authentication, rate limits, spend limits, idempotency.

use serde_json::{Value, json};
use svc_tests::{Client, Host, Mock, Response, on_every_frontend};

use super::text;

on_every_frontend! {
    a_developer_key_is_required,
    both_revisions_list_the_same_tools,
    invalid_messages_are_protocol_errors,
    a_notification_gets_no_response_body,
    requests_count_as_reads_and_submits_as_writes,
    calls_above_max_spend_usd_are_rejected,
    an_idempotency_key_prevents_duplicate_jobs,
    long_runs_return_a_handle_immediately,
    a_fault_on_the_endpoint_prevents_the_call,
}

pub(super) const CURRENT: &str = "2026-07-28";
pub(super) const PREVIOUS: &str = "2025-11-25";

pub(super) fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Sends a message in the previous protocol revision.
pub(super) async fn send(client: &Client, message: Value) -> Response {
    let client = client.clone().header("mcp-protocol-version", PREVIOUS);
    client.post("/mcp", message).await
}

/// Sends a request in the previous protocol revision and returns the body of the `200` response.
async fn send_ok(client: &Client, method: &str, params: Value) -> Value {
    let response = send(client, message(method, params)).await;
    response.expect(200).json()
}

/// Sends a request in the current protocol revision.
async fn send_current(
    client: &Client,
    method: &str,
    name: Option<&str>,
    mut params: Value,
) -> Response {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut client = client
        .clone()
        .header("mcp-protocol-version", CURRENT)
        .header("mcp-method", method);
    if let Some(name) = name {
        client = client.header("mcp-name", name);
    }
    client.post("/mcp", message(method, params)).await
}

/// Calls a tool and returns its result.
pub(super) async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    send_ok(client, "tools/call", params).await["result"].take()
}

/// Calls a tool successfully and returns the structured content.
pub(super) async fn call_ok(client: &Client, tool: &str, arguments: Value) -> Value {
    let mut result = call(client, tool, arguments).await;
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].take()
}

/// Calls a tool, asserts the error code, and returns the `error` object of the service.
pub(super) async fn call_error(client: &Client, tool: &str, arguments: Value, code: &str) -> Value {
    let result = call(client, tool, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    let mut envelope: Value = serde_json::from_str(&text(&result["content"][0]["text"])).unwrap();
    assert_eq!(envelope["error"]["code"], code, "{envelope}");
    envelope["error"].take()
}

async fn a_developer_key_is_required(mock: Mock) {
    let list = || message("tools/list", json!({}));
    let anonymous = mock.client(Host::Developer);
    send(&anonymous, list())
        .await
        .expect_error(401, "unauthorized");
    let open = anonymous.clone().bearer("svc_open_demo");
    send(&open, list()).await.expect_error(401, "unauthorized");
    let both = mock.developer().api_key("svc_dev_demo");
    send(&both, list()).await.expect_error(401, "unauthorized");
    send(&mock.developer(), list()).await.expect(200);
    let get = mock.developer().get("/mcp").await;
    get.expect_error(405, "method_not_allowed");
    assert_eq!(get.header("allow"), Some("POST"));
}

async fn both_revisions_list_the_same_tools(mock: Mock) {
    let client = mock.developer();
    let initialize = json!({"protocolVersion": PREVIOUS, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let initialized = client
        .post("/mcp", message("initialize", initialize))
        .await
        .expect(200)
        .json();
    assert_eq!(initialized["result"]["protocolVersion"], PREVIOUS);
    let pong = send_ok(&client, "ping", json!({})).await;
    assert_eq!(pong["result"], json!({}));
    let discovery = send_current(&client, "server/discover", None, json!({}))
        .await
        .expect(200)
        .json();
    assert_eq!(
        discovery["result"]["supportedVersions"],
        json!([CURRENT, PREVIOUS])
    );

    let previous = send_ok(&client, "tools/list", json!({})).await;
    let current = send_current(&client, "tools/list", None, json!({}))
        .await
        .expect(200)
        .json();
    assert_eq!(previous["result"]["tools"], current["result"]["tools"]);
    let tools = previous["result"]["tools"].as_array().unwrap();
    let tool_named = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    for name in [
        "image_generate",
        "video_generate",
        "music_generate",
        "format_run",
        "agent_completion",
    ] {
        let tool = tool_named(name);
        assert_eq!(
            tool["inputSchema"]["properties"]["max_spend_usd"]["type"], "number",
            "{name}"
        );
        assert_eq!(tool["annotations"]["readOnlyHint"], false, "{name}");
    }
    assert_eq!(
        tool_named("jobs_status")["annotations"]["readOnlyHint"],
        true
    );
}

async fn invalid_messages_are_protocol_errors(mock: Mock) {
    let client = mock.developer();
    for (body, status, code) in [
        (message("no/such", json!({})), 200, -32601),
        (
            message("tools/call", json!({"name": "no_such"})),
            200,
            -32602,
        ),
        (json!([message("ping", json!({}))]), 400, -32600),
        (json!({"id": 1, "method": "ping"}), 400, -32600),
    ] {
        let response = send(&client, body.clone()).await.expect(status);
        assert_eq!(response.json()["error"]["code"], code, "{body}");
    }
    let other = client.clone().header("mcp-protocol-version", "1900-01-01");
    let response = other
        .post("/mcp", message("ping", json!({})))
        .await
        .expect(400)
        .json();
    assert_eq!(response["error"]["code"], -32022);
    assert_eq!(
        response["error"]["data"]["supported"],
        json!([CURRENT, PREVIOUS])
    );
    let mismatch = send_current(
        &client,
        "tools/call",
        Some("balance"),
        json!({"name": "jobs_status"}),
    );
    assert_eq!(mismatch.await.expect(400).json()["error"]["code"], -32020);
    let cross_origin = client.header("origin", "https://evil.example");
    cross_origin
        .post("/mcp", message("ping", json!({})))
        .await
        .expect(403);
}

async fn a_notification_gets_no_response_body(mock: Mock) {
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = send(&mock.developer(), notification).await.expect(202);
    assert!(response.body().is_empty());
}

async fn requests_count_as_reads_and_submits_as_writes(mock: Mock) {
    let client = mock.developer();
    let remaining_writes = async || {
        let search = client
            .post("/v1/trending-videos/search", json!({"query": "x"}))
            .await;
        search.int_header("ratelimit-remaining")
    };
    let before = remaining_writes().await;
    let listed = send(&client, message("tools/list", json!({}))).await;
    assert_eq!(listed.int_header("ratelimit-limit"), 4800);
    assert_eq!(remaining_writes().await, before - 1);
    let job = call_ok(&client, "image_generate", json!({"prompt": "x"})).await;
    assert_eq!(remaining_writes().await, before - 3);
    for _ in 0..3 {
        call_ok(&client, "jobs_status", json!({"job_id": job["job_id"]})).await;
    }
    assert_eq!(remaining_writes().await, before - 4);
}

async fn calls_above_max_spend_usd_are_rejected(mock: Mock) {
    let client = mock.developer();
    let expensive =
        json!({"prompt": "x", "duration": 30, "resolution": "1080p", "max_spend_usd": 0.05});
    let error = call_error(&client, "video_generate", expensive, "max_spend_exceeded").await;
    assert_eq!(error["details"]["max_spend_usd"], "0.0500");
    let run = json!({"instruction": "x", "generation_spend_cap_usd": 2, "max_spend_usd": 1});
    call_error(&client, "agent_completion", run, "max_spend_exceeded").await;
    assert!(mock.jobs().await.is_empty());
    let ledger = mock.ledger().await;
    assert!(ledger.iter().all(|entry| entry["kind"] == "top_up"));
}

async fn an_idempotency_key_prevents_duplicate_jobs(mock: Mock) {
    let client = mock.developer();
    let arguments = |prompt: &str| json!({"prompt": prompt, "idempotency_key": "order-1"});
    let first = call_ok(&client, "music_generate", arguments("a waltz")).await;
    let replay = call_ok(&client, "music_generate", arguments("a waltz")).await;
    assert_eq!(first["job_id"], replay["job_id"]);
    call_error(
        &client,
        "music_generate",
        arguments("a march"),
        "idempotency_conflict",
    )
    .await;
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn long_runs_return_a_handle_immediately(mock: Mock) {
    let client = mock.developer();
    let run = call_ok(
        &client,
        "format_run",
        json!({"format_id": "demo/product-shot", "instruction": "a cup"}),
    )
    .await;
    assert_eq!(run["status"], "queued");
    let id = json!({"run_id": run["run_id"]});
    call_error(&client, "run_result", id.clone(), "run_not_completed").await;
    mock.advance(10).await;
    assert_eq!(
        call_ok(&client, "run_status", id.clone()).await["terminal"],
        true
    );
    let result = call(&client, "run_result", id).await;
    assert_eq!(result["content"][1]["type"], "resource_link");
}

async fn a_fault_on_the_endpoint_prevents_the_call(mock: Mock) {
    let client = mock.developer();
    mock.add_fault(json!({"surface": "mcp", "kind": "status_503"}))
        .await;
    client.get("/v1/balance").await.expect(200);
    let params = json!({"name": "image_generate", "arguments": {"prompt": "x"}});
    send(&client, message("tools/call", params))
        .await
        .expect_error(503, "database_busy");
    assert!(mock.jobs().await.is_empty());
}
