//! The MCP endpoint, by raw JSON-RPC: who is let in, what counts, what may be spent, and what a
//! repeated call does.

use serde_json::{Value, json};
use svc_tests::{Answer, Caller, Host, Mock, on_every_face};

on_every_face! {
    a_key_of_the_developer_surface_is_needed,
    both_revisions_list_the_same_tools,
    messages_that_are_none_are_refused_by_the_protocol,
    a_notification_is_accepted_and_not_answered,
    a_request_is_a_read_and_what_a_tool_makes_is_a_write,
    nothing_runs_above_max_spend_usd,
    a_call_under_a_key_is_made_once,
    long_jobs_answer_with_a_handle_at_once,
    a_fault_of_the_endpoint_does_nothing,
}

const CURRENT: &str = "2026-07-28";
const BEFORE: &str = "2025-11-25";

fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Sends a message in the revision before the current one.
async fn send(caller: &Caller, message: Value) -> Answer {
    let caller = caller.clone().with("mcp-protocol-version", BEFORE);
    caller.post("/mcp", message).await
}

/// Sends a request in the current revision.
async fn stateless(caller: &Caller, method: &str, name: Option<&str>, mut params: Value) -> Answer {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut caller = caller
        .clone()
        .with("mcp-protocol-version", CURRENT)
        .with("mcp-method", method);
    if let Some(name) = name {
        caller = caller.with("mcp-name", name);
    }
    caller.post("/mcp", message(method, params)).await
}

async fn call(caller: &Caller, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = send(caller, message("tools/call", params))
        .await
        .expect(200);
    answer.json()["result"].take()
}

/// The structured content of a call that succeeds.
async fn done(caller: &Caller, tool: &str, arguments: Value) -> Value {
    let mut result = call(caller, tool, arguments).await;
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].take()
}

/// The service's error of a call that is refused.
async fn refused(caller: &Caller, tool: &str, arguments: Value, code: &str) -> Value {
    let result = call(caller, tool, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    let mut envelope: Value =
        serde_json::from_str(&super::text(&result["content"][0]["text"])).unwrap();
    assert_eq!(envelope["error"]["code"], code, "{envelope}");
    envelope["error"].take()
}

async fn a_key_of_the_developer_surface_is_needed(mock: Mock) {
    let list = || message("tools/list", json!({}));
    let nobody = mock.caller(Host::Developer);
    send(&nobody, list()).await.refused(401, "unauthorized");
    let open = nobody.clone().bearer("svc_open_demo");
    send(&open, list()).await.refused(401, "unauthorized");
    let both = mock.developer().api_key("svc_dev_demo");
    send(&both, list()).await.refused(401, "unauthorized");
    send(&mock.developer(), list()).await.expect(200);
    let get = mock.developer().get("/mcp").await;
    get.refused(405, "method_not_allowed");
    assert_eq!(get.header("allow"), Some("POST"));
}

async fn both_revisions_list_the_same_tools(mock: Mock) {
    let caller = mock.developer();
    let hello = json!({"protocolVersion": BEFORE, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let welcome = caller
        .post("/mcp", message("initialize", hello))
        .await
        .expect(200)
        .json();
    assert_eq!(welcome["result"]["protocolVersion"], BEFORE);
    let pong = send(&caller, message("ping", json!({})))
        .await
        .expect(200)
        .json();
    assert_eq!(pong["result"], json!({}));
    let found = stateless(&caller, "server/discover", None, json!({}))
        .await
        .expect(200)
        .json();
    assert_eq!(
        found["result"]["supportedVersions"],
        json!([CURRENT, BEFORE])
    );

    let before = send(&caller, message("tools/list", json!({})))
        .await
        .expect(200)
        .json();
    let current = stateless(&caller, "tools/list", None, json!({}))
        .await
        .expect(200)
        .json();
    assert_eq!(before["result"]["tools"], current["result"]["tools"]);
    let tools = before["result"]["tools"].as_array().unwrap();
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    for name in [
        "image_generate",
        "video_generate",
        "music_generate",
        "format_run",
        "agent_completion",
    ] {
        let tool = named(name);
        assert_eq!(
            tool["inputSchema"]["properties"]["max_spend_usd"]["type"], "number",
            "{name}"
        );
        assert_eq!(tool["annotations"]["readOnlyHint"], false, "{name}");
    }
    assert_eq!(named("jobs_status")["annotations"]["readOnlyHint"], true);
}

async fn messages_that_are_none_are_refused_by_the_protocol(mock: Mock) {
    let caller = mock.developer();
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
        let answer = send(&caller, body.clone()).await.expect(status);
        assert_eq!(answer.json()["error"]["code"], code, "{body}");
    }
    let other = caller.clone().with("mcp-protocol-version", "1900-01-01");
    let answer = other
        .post("/mcp", message("ping", json!({})))
        .await
        .expect(400)
        .json();
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(
        answer["error"]["data"]["supported"],
        json!([CURRENT, BEFORE])
    );
    let elsewhere = stateless(
        &caller,
        "tools/call",
        Some("balance"),
        json!({"name": "jobs_status"}),
    );
    assert_eq!(elsewhere.await.expect(400).json()["error"]["code"], -32020);
    let site = caller.with("origin", "https://evil.example");
    site.post("/mcp", message("ping", json!({})))
        .await
        .expect(403);
}

async fn a_notification_is_accepted_and_not_answered(mock: Mock) {
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = send(&mock.developer(), told).await.expect(202);
    assert!(answer.body().is_empty());
}

async fn a_request_is_a_read_and_what_a_tool_makes_is_a_write(mock: Mock) {
    let caller = mock.developer();
    let writes_left = async || {
        let search = caller
            .post("/v1/trending-videos/search", json!({"query": "x"}))
            .await;
        search.number("ratelimit-remaining")
    };
    let before = writes_left().await;
    let listed = send(&caller, message("tools/list", json!({}))).await;
    assert_eq!(listed.number("ratelimit-limit"), 4800);
    assert_eq!(writes_left().await, before - 1);
    let job = done(&caller, "image_generate", json!({"prompt": "x"})).await;
    assert_eq!(writes_left().await, before - 3);
    for _ in 0..3 {
        done(&caller, "jobs_status", json!({"job_id": job["job_id"]})).await;
    }
    assert_eq!(writes_left().await, before - 4);
}

async fn nothing_runs_above_max_spend_usd(mock: Mock) {
    let caller = mock.developer();
    let dear = json!({"prompt": "x", "duration": 30, "resolution": "1080p", "max_spend_usd": 0.05});
    let error = refused(&caller, "video_generate", dear, "max_spend_exceeded").await;
    assert_eq!(error["details"]["max_spend_usd"], "0.0500");
    let run = json!({"instruction": "x", "generation_spend_cap_usd": 2, "max_spend_usd": 1});
    refused(&caller, "agent_completion", run, "max_spend_exceeded").await;
    assert!(
        mock.jobs().await.is_empty()
            && mock
                .ledger()
                .await
                .iter()
                .all(|entry| entry["kind"] == "top_up")
    );
}

async fn a_call_under_a_key_is_made_once(mock: Mock) {
    let caller = mock.developer();
    let order = |prompt: &str| json!({"prompt": prompt, "idempotency_key": "order-1"});
    let first = done(&caller, "music_generate", order("a waltz")).await;
    let again = done(&caller, "music_generate", order("a waltz")).await;
    assert_eq!(first["job_id"], again["job_id"]);
    refused(
        &caller,
        "music_generate",
        order("a march"),
        "idempotency_conflict",
    )
    .await;
    assert_eq!(mock.jobs().await.len(), 1);
}

async fn long_jobs_answer_with_a_handle_at_once(mock: Mock) {
    let caller = mock.developer();
    let run = done(
        &caller,
        "format_run",
        json!({"format_id": "demo/product-shot", "instruction": "a cup"}),
    )
    .await;
    assert_eq!(run["status"], "queued");
    let id = json!({"run_id": run["run_id"]});
    refused(&caller, "run_result", id.clone(), "run_not_completed").await;
    mock.advance(10).await;
    assert_eq!(
        done(&caller, "run_status", id.clone()).await["terminal"],
        true
    );
    let result = call(&caller, "run_result", id).await;
    assert_eq!(result["content"][1]["type"], "resource_link");
}

async fn a_fault_of_the_endpoint_does_nothing(mock: Mock) {
    let caller = mock.developer();
    mock.fault(json!({"surface": "mcp", "kind": "status_503"}))
        .await;
    caller.get("/v1/balance").await.expect(200);
    let params = json!({"name": "image_generate", "arguments": {"prompt": "x"}});
    let answer = send(&caller, message("tools/call", params)).await;
    answer.refused(503, "database_busy");
    assert!(mock.jobs().await.is_empty());
}
