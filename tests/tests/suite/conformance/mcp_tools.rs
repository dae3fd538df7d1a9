//! The tools of the MCP endpoint and the parts of the protocol around them.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_frontend};

use super::mcp::{CURRENT, PREVIOUS, call, call_error, call_ok, message, send};

on_every_frontend! {
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
    let send = async |method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": CURRENT,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut client = mock
            .developer()
            .header("mcp-protocol-version", CURRENT)
            .header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            client = client.header("mcp-name", name);
        }
        client.post("/mcp", message(method, params)).await
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
