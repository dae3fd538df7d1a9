//! The MCP endpoint, called with raw JSON-RPC: the protocol, and tools with their limits.

use super::*;

on_every_frontend! {
    a_developer_key_is_required,
    both_revisions_list_the_same_tools,
    invalid_messages_are_protocol_errors,
    a_notification_gets_no_response_body,
    requests_count_as_reads_and_submits_as_writes,
    an_idempotency_key_prevents_duplicate_jobs,
    a_fault_on_the_endpoint_prevents_the_call,
    a_client_initializes_and_calls_tools,
    the_current_revision_is_stateless,
    protocol_errors_keep_the_request_id,
    headers_of_a_message_are_checked,
    a_tool_call_is_limited_by_the_write_budget,
    max_spend_usd_is_compared_with_the_estimate,
    max_spend_usd_limits_the_cap_of_a_run,
    an_idempotency_key_is_shared_with_the_rest_api: honors_undocumented_keys(true),
    runs_are_read_by_id,
    tools_need_the_scopes_of_their_operations,
}

const CURRENT: &str = "2026-07-28";
const PREVIOUS: &str = "2025-11-25";

fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Sends a message in the previous protocol revision.
async fn send(client: &Client, message: Value) -> Response {
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
async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    send_ok(client, "tools/call", params).await["result"].take()
}

/// Calls a tool successfully and returns the structured content.
async fn call_ok(client: &Client, tool: &str, arguments: Value) -> Value {
    let mut result = call(client, tool, arguments).await;
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].take()
}

/// Calls a tool, asserts the error code, and returns the `error` object of the service.
async fn call_error(client: &Client, tool: &str, arguments: Value, code: &str) -> Value {
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

async fn a_client_initializes_and_calls_tools(mock: Mock) {
    let client = mock.developer();
    let client_info = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": PREVIOUS, "capabilities": {}, "clientInfo": client_info});
    let welcome = client
        .post("/mcp", message("initialize", hello))
        .await
        .json();
    assert_eq!(welcome["id"], 7);
    let capabilities = json!({"tools": {"listChanged": false}});
    assert_eq!(welcome["result"]["capabilities"], capabilities);
    let listed = send(&client, message("tools/list", json!({}))).await.json();
    assert_eq!(listed["result"]["tools"][0]["name"], "image_generate");
    assert_eq!(listed["result"].get("ttlMs"), None);
    let job = call_ok(&client, "image_generate", json!({"prompt": "a fox"})).await;
    let id = json!({"job_id": job["job_id"]});
    let status = call_ok(&client, "jobs_status", id.clone()).await;
    assert_eq!(status["status"], "queued");
    assert_eq!(status["terminal"], false);
    mock.advance(2).await;
    let result = call(&client, "jobs_result", id).await;
    assert_eq!(result["structuredContent"]["status"], "completed");
    let link = &result["content"][1];
    assert_eq!(link["type"], "resource_link");
    assert_eq!(link["mimeType"], "image/png");
    let path = mock.path_of(Host::Media, &link["uri"]);
    mock.client(Host::Media).get(&path).await.expect(200);
}

async fn the_current_revision_is_stateless(mock: Mock) {
    let client = mock.developer();
    let send = async |method: &str, params: Value| {
        let name = params["name"].as_str().map(str::to_owned);
        send_current(&client, method, name.as_deref(), params).await
    };
    let tools = send("tools/list", json!({})).await.expect(200).json();
    assert_eq!(tools["result"]["resultType"], "complete");
    assert_eq!(tools["result"]["cacheScope"], "public");
    let params = json!({"name": "balance", "arguments": {}});
    let balance = send("tools/call", params).await.expect(200).json();
    let content = &balance["result"]["structuredContent"];
    assert_eq!(content["available_usd"], "100.0000");
    // Methods of the previous revision only.
    for method in ["ping", "initialize", "resources/list"] {
        let response = send(method, json!({})).await.expect(404);
        assert_eq!(response.json()["error"]["code"], -32601, "{method}");
    }
}

async fn protocol_errors_keep_the_request_id(mock: Mock) {
    let client = mock.developer();
    for (request, code) in [
        (message("tools/call", json!({})), -32602),
        (
            message("tools/call", json!({"name": "balance", "arguments": []})),
            -32602,
        ),
        (message("tools/list", json!({"cursor": "x"})), -32602),
        (message("initialize", json!({})), -32602),
    ] {
        let error = send(&client, request.clone()).await.expect(200).json();
        assert_eq!(error["error"]["code"], code, "{request}");
        assert_eq!(error["id"], 7);
    }
    let json_type = Some("application/json");
    let broken = client.send("POST", "/mcp", json_type, "{".into()).await;
    assert_eq!(broken.expect(400).json()["error"]["code"], -32700);
    let old = client.header("mcp-protocol-version", "2024-11-05");
    let old = old.post("/mcp", message("ping", json!({}))).await;
    assert_eq!(old.expect(400).json()["error"]["code"], -32022);
}

async fn headers_of_a_message_are_checked(mock: Mock) {
    let client = mock.developer();
    let ping = || message("ping", json!({}));
    let body = Bytes::from(ping().to_string());
    let plain = client.send("POST", "/mcp", Some("text/plain"), body).await;
    plain.expect_error(415, "unsupported_media_type");
    let plain = client.header("accept", "text/plain");
    plain.post("/mcp", ping()).await.expect(406);
}

async fn a_tool_call_is_limited_by_the_write_budget(mock: Mock) {
    let client = mock.developer();
    for _ in 0..120 {
        let search = json!({"query": "x"});
        let response = client.post("/v1/trending-videos/search", search).await;
        response.expect(200);
    }
    let image = json!({"prompt": "x"});
    let error = call_error(&client, "image_generate", image, "rate_limited").await;
    assert_eq!(error["details"]["scope"], "write");
    assert_eq!(error["retry_after_seconds"], 60);
    call_ok(&client, "balance", json!({})).await;
    assert!(mock.jobs().await.is_empty());
}

async fn max_spend_usd_is_compared_with_the_estimate(mock: Mock) {
    let client = mock.developer();
    // A video of 5 seconds at 480p costs 0.25 USD.
    let prompt = |limit: Value| json!({"prompt": "x", "max_spend_usd": limit});
    let exceeded = "max_spend_exceeded";
    let error = call_error(&client, "video_generate", prompt(json!(0.2499)), exceeded).await;
    let details = json!({"estimate_usd": "0.2500", "max_spend_usd": "0.2499"});
    assert_eq!(error["details"], details);
    call_error(&client, "music_generate", prompt(json!(0)), exceeded).await;
    let typed = prompt(json!("1"));
    call_error(&client, "image_generate", typed, "invalid_request").await;
    assert!(mock.jobs().await.is_empty());
    call_ok(&client, "video_generate", prompt(json!(0.25))).await;
}

async fn max_spend_usd_limits_the_cap_of_a_run(mock: Mock) {
    let client = mock.developer();
    let exceeded = "max_spend_exceeded";
    let equal = json!({
        "instruction": "x", "generation_spend_cap_usd": 1, "max_spend_usd": 1
    });
    let run = call_ok(&client, "agent_completion", equal).await;
    assert_eq!(run["kind"], "agent");
    let format =
        |id: &str, limit: f64| json!({"format_id": id, "instruction": "x", "max_spend_usd": limit});
    // The cap of the format is lowered to the limit, and never raised.
    for (id, limit, micros) in [
        ("fmt_capped", 1.5, 1_500_000),
        ("demo/capped", 3.0, 2_000_000),
    ] {
        let run = call_ok(&client, "format_run", format(id, limit)).await;
        assert_eq!(
            run["usage"]["generation_spend_cap_usd_micros"], micros,
            "{id}"
        );
    }
    call_error(&client, "format_run", format("fmt_capped", 0.0), exceeded).await;
    let mut above = format("fmt_capped", 1.0);
    above["generation_spend_cap_usd"] = json!(2);
    call_error(&client, "format_run", above, exceeded).await;
}

async fn an_idempotency_key_is_shared_with_the_rest_api(mock: Mock) {
    let client = mock.developer();
    let waltz = json!({"prompt": "a waltz", "idempotency_key": "order-1"});
    let job = call_ok(&client, "music_generate", waltz).await;
    let empty = json!({"prompt": "x", "idempotency_key": ""});
    call_error(&client, "music_generate", empty, "invalid_request").await;
    let keyed = client.idempotency_key("order-1");
    let path = "/v1/music-1.0/generate";
    let replay = keyed.post(path, json!({"prompt": "a waltz"})).await;
    assert_eq!(replay.expect(200).data()["job"]["id"], job["job_id"]);
}

async fn runs_are_read_by_id(mock: Mock) {
    let client = mock.developer();
    let arguments = json!({"format_id": "demo/product-shot", "instruction": "a cup"});
    let run = call_ok(&client, "format_run", arguments).await;
    let id = json!({"run_id": run["run_id"]});
    let code = "run_not_completed";
    let early = call_error(&client, "run_result", id.clone(), code).await;
    assert_eq!(early["details"]["status"], "queued");
    let status = call_ok(&client, "run_status", id.clone()).await;
    assert_eq!(status["kind"], "format");
    mock.advance(10).await;
    let result = call(&client, "run_result", id).await;
    assert_eq!(result["structuredContent"]["status"], "completed");
    assert_eq!(result["content"][1]["type"], "resource_link");
    for (arguments, code) in [
        (json!({"run_id": "run_0"}), "format_run_not_found"),
        (
            json!({"run_id": "run_0", "kind": "agent"}),
            "agent_run_not_found",
        ),
    ] {
        call_error(&client, "run_status", arguments, code).await;
    }
}

async fn tools_need_the_scopes_of_their_operations(mock: Mock) {
    let key = |key: &str| mock.client(Host::Developer).bearer(key);
    let run = json!({"format_id": "fmt_demo", "instruction": "x"});
    let (no_scope, code) = (key("svc_dev_noscope"), "insufficient_scope");
    let error = call_error(&no_scope, "format_run", run.clone(), code).await;
    assert_eq!(error["details"]["required_scope"], "formats:write");
    let error = call_error(&key("svc_sa_demo"), "format_run", run, code).await;
    let reason = &error["details"]["reason"];
    assert_eq!(reason, "service_account_format_runs_unsupported");
    let image = call_ok(&no_scope, "image_generate", json!({"prompt": "x"})).await;
    assert!(image["job_id"].is_string(), "{image}");
}
