//! The MCP endpoint as a client meets it: raw JSON-RPC, in both revisions.

use super::*;

const MCP: &str = "/mcp";

/// Sends a message as a client of the revision before does.
fn send(mock: &mut Mock, message: Value) -> Answer {
    mock.developer()
        .header("mcp-protocol-version", "2025-11-25")
        .header("accept", "application/json, text/event-stream")
        .post(MCP, message)
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Calls a tool and gives the result.
#[track_caller]
fn call(mock: &mut Mock, tool: &str, arguments: Value) -> Value {
    let answer = send(
        mock,
        request("tools/call", json!({"name": tool, "arguments": arguments})),
    );
    assert_eq!(answer.status(), 200);
    answer.json()["result"].take()
}

/// Calls a tool that succeeds and gives its structured content.
#[track_caller]
fn done(mock: &mut Mock, tool: &str, arguments: Value) -> Value {
    let mut result = call(mock, tool, arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].take()
}

/// Calls a tool that is refused and gives the service's error.
#[track_caller]
fn refused(mock: &mut Mock, tool: &str, arguments: Value, code: &str) -> Value {
    let result = call(mock, tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let mut envelope: Value = serde_json::from_str(text).unwrap();
    assert_eq!(envelope["error"]["code"], code, "{envelope}");
    envelope["error"].take()
}

fn jobs(mock: &Mock) -> usize {
    mock.simulator.state.jobs.all().len()
}

#[test]
fn a_client_initializes_lists_and_calls() {
    let mut mock = Mock::new();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let mut answer = mock
        .developer()
        .post(MCP, request("initialize", hello))
        .json();
    assert_eq!(answer["id"], 7);
    let welcome = answer["result"].take();
    assert_eq!(welcome["protocolVersion"], "2025-11-25");
    assert_eq!(
        welcome["capabilities"],
        json!({"tools": {"listChanged": false}})
    );
    let ready = send(
        &mut mock,
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    );
    assert_eq!((ready.status(), ready.0.response.body().len()), (202, 0));
    assert_eq!(
        send(&mut mock, request("ping", json!({}))).json()["result"],
        json!({})
    );
    let tools = send(&mut mock, request("tools/list", json!({}))).json()["result"].take();
    assert_eq!(tools["tools"][0]["name"], "image_generate");
    assert!(tools.get("ttlMs").is_none());
    let submitted = done(&mut mock, "image_generate", json!({"prompt": "a fox"}));
    let id = &submitted["job_id"];
    let status = done(&mut mock, "jobs_status", json!({"job_id": id}));
    assert_eq!(
        (&status["status"], &status["terminal"]),
        (&json!("queued"), &json!(false))
    );
    mock.pass(2_000);
    let result = call(&mut mock, "jobs_result", json!({"job_id": id}));
    assert_eq!(result["structuredContent"]["status"], "completed");
    let link = &result["content"][1];
    assert_eq!(
        (&link["type"], &link["mimeType"]),
        (&json!("resource_link"), &json!("image/png"))
    );
    mock.file(&link["uri"]);
    mock.books_are_balanced();
}

#[test]
fn the_current_revision_needs_no_handshake() {
    let mut mock = Mock::new();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut modern = |method: &str, mut params: Value, name: Option<&str>| {
        params["_meta"] = meta.clone();
        let mut ask = mock
            .developer()
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = name {
            ask = ask.header("mcp-name", name);
        }
        let answer = ask.post(MCP, request(method, params));
        (answer.status(), answer.json())
    };
    let (status, found) = modern("server/discover", json!({}), None);
    assert_eq!(status, 200);
    assert_eq!(
        found["result"]["supportedVersions"],
        json!(["2026-07-28", "2025-11-25"])
    );
    let (_, tools) = modern("tools/list", json!({}), None);
    assert_eq!(tools["result"]["resultType"], "complete");
    assert_eq!(tools["result"]["cacheScope"], "public");
    let (status, called) = modern(
        "tools/call",
        json!({"name": "balance", "arguments": {}}),
        Some("balance"),
    );
    assert_eq!(status, 200);
    assert_eq!(
        called["result"]["structuredContent"]["available_usd"],
        "100.0000"
    );
    // What the older way has, this one has not.
    for method in ["ping", "initialize", "resources/list"] {
        let (status, answer) = modern(method, json!({}), None);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (404, &json!(-32601)),
            "{method}"
        );
    }
    let (status, answer) = modern("tools/call", json!({"name": "balance"}), Some("other"));
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)));
}

#[test]
fn what_is_wrong_with_the_message_is_an_error_of_the_protocol() {
    let mut mock = Mock::new();
    let rows = [
        (request("no/such", json!({})), -32601),
        (request("tools/call", json!({})), -32602),
        (request("tools/call", json!({"name": "no_such"})), -32602),
        (
            request("tools/call", json!({"name": "balance", "arguments": []})),
            -32602,
        ),
        (request("tools/list", json!({"cursor": "x"})), -32602),
        (request("initialize", json!({})), -32602),
    ];
    for (message, code) in rows {
        let answer = send(&mut mock, message.clone());
        assert_eq!(answer.status(), 200, "{message}");
        assert_eq!(answer.json()["error"]["code"], code, "{message}");
        assert_eq!(answer.json()["id"], 7);
    }
    let batch = send(&mut mock, json!([request("ping", json!({}))]));
    assert_eq!(
        (batch.status(), &batch.json()["error"]["code"]),
        (400, &json!(-32600))
    );
    let broken = mock
        .developer()
        .header("content-type", "application/json")
        .send("POST", MCP, "{");
    assert_eq!(
        (broken.status(), &broken.json()["error"]["code"]),
        (400, &json!(-32700))
    );
    let old = mock
        .developer()
        .header("mcp-protocol-version", "2024-11-05")
        .post(MCP, request("ping", json!({})));
    assert_eq!(
        (old.status(), &old.json()["error"]["code"]),
        (400, &json!(-32022))
    );
}

#[test]
fn the_endpoint_is_a_place_of_the_service_like_any_other() {
    let mut mock = Mock::new();
    let ping = || request("ping", json!({}));
    mock.ask(Host::Developer)
        .post(MCP, ping())
        .refused(401, "unauthorized");
    mock.ask(Host::Developer)
        .key("svc_open_demo")
        .post(MCP, ping())
        .refused(401, "unauthorized");
    let get = mock.developer().get(MCP);
    get.refused(405, "method_not_allowed");
    assert_eq!(get.header("allow"), "POST");
    mock.developer()
        .header("content-type", "text/plain")
        .send("POST", MCP, ping().to_string())
        .refused(415, "unsupported_media_type");
    let elsewhere = mock
        .developer()
        .header("origin", "https://evil.example")
        .post(MCP, ping());
    assert_eq!(elsewhere.status(), 403);
    let plain = mock
        .developer()
        .header("accept", "text/plain")
        .post(MCP, ping());
    assert_eq!(plain.status(), 406);
    let fine = send(&mut mock, ping());
    assert!(fine.header("x-svc-request-id").starts_with("req_"));
    assert_eq!(fine.header("ratelimit-limit"), "4800");
}

#[test]
fn a_call_spends_a_write_for_what_it_makes_and_nothing_for_itself() {
    let mut mock = Mock::new();
    let writes_left = |mock: &mut Mock| -> u32 {
        let answer = mock
            .developer()
            .post("/v1/trending-videos/search", json!({"query": "x"}));
        answer.header("ratelimit-remaining").parse().unwrap()
    };
    assert_eq!(writes_left(&mut mock), 119);
    let job = done(&mut mock, "image_generate", json!({"prompt": "x"}));
    assert_eq!(writes_left(&mut mock), 117);
    for _ in 0..5 {
        done(&mut mock, "jobs_status", json!({"job_id": job["job_id"]}));
    }
    let listed = send(&mut mock, request("tools/list", json!({})));
    assert_eq!(listed.header("ratelimit-remaining"), "4793");
    assert_eq!(writes_left(&mut mock), 116);
    for _ in 0..116 {
        writes_left(&mut mock);
    }
    let error = refused(
        &mut mock,
        "image_generate",
        json!({"prompt": "x"}),
        "rate_limited",
    );
    assert_eq!(error["details"]["scope"], "write");
    assert_eq!(error["retry_after_seconds"], 60);
    done(&mut mock, "jobs_status", json!({"job_id": job["job_id"]}));
    assert_eq!(jobs(&mock), 1);
}

#[test]
fn what_would_cost_too_much_is_refused_before_anything_runs() {
    let mut mock = Mock::new();
    // 5 seconds at 480p are 25 credits.
    let order = |limit: Value| json!({"prompt": "x", "max_spend_usd": limit});
    let error = refused(
        &mut mock,
        "video_generate",
        order(json!(0.2499)),
        "max_spend_exceeded",
    );
    assert_eq!(
        error["details"],
        json!({"estimate_usd": "0.2500", "max_spend_usd": "0.2499"})
    );
    assert_eq!(jobs(&mock), 0);
    done(&mut mock, "video_generate", order(json!(0.25)));
    refused(
        &mut mock,
        "music_generate",
        order(json!(0)),
        "max_spend_exceeded",
    );
    refused(
        &mut mock,
        "image_generate",
        order(json!("1")),
        "invalid_request",
    );
    assert_eq!(jobs(&mock), 1);
    mock.books_are_balanced();
}

#[test]
fn a_run_may_cost_its_cap() {
    let mut mock = Mock::new();
    let completion = |cap: f64, limit: f64| json!({"instruction": "x", "generation_spend_cap_usd": cap, "max_spend_usd": limit});
    refused(
        &mut mock,
        "agent_completion",
        completion(2.0, 1.0),
        "max_spend_exceeded",
    );
    let run = done(&mut mock, "agent_completion", completion(1.0, 1.0));
    assert_eq!(run["kind"], "agent");
    // A Format's own cap is lowered to the limit, and never raised.
    let cap = |mock: &mut Mock, format: &str, limit: f64| {
        let run = done(
            mock,
            "format_run",
            json!({"format_id": format, "instruction": "x", "max_spend_usd": limit}),
        );
        run["usage"]["generation_spend_cap_usd_micros"]
            .as_i64()
            .unwrap()
    };
    assert_eq!(cap(&mut mock, "fmt_capped", 1.5), 1_500_000);
    assert_eq!(cap(&mut mock, "demo/capped", 3.0), 2_000_000);
    let dear = json!({"format_id": "fmt_capped", "instruction": "x", "max_spend_usd": 1, "generation_spend_cap_usd": 2});
    refused(&mut mock, "format_run", dear, "max_spend_exceeded");
    let nothing = json!({"format_id": "fmt_capped", "instruction": "x", "max_spend_usd": 0});
    refused(&mut mock, "format_run", nothing, "max_spend_exceeded");
}

#[test]
fn a_key_makes_a_call_one_call() {
    let mut mock = Mock::new();
    let order = |prompt: &str| json!({"prompt": prompt, "idempotency_key": "order-1"});
    let first = done(&mut mock, "music_generate", order("a waltz"));
    let again = done(&mut mock, "music_generate", order("a waltz"));
    assert_eq!(first["job_id"], again["job_id"]);
    refused(
        &mut mock,
        "music_generate",
        order("a march"),
        "idempotency_conflict",
    );
    refused(
        &mut mock,
        "music_generate",
        json!({"prompt": "x", "idempotency_key": ""}),
        "invalid_request",
    );
    assert_eq!(jobs(&mock), 1);
    // The key is the operation's own, however that is asked for.
    let by_path = mock
        .developer()
        .once("order-1")
        .post("/v1/music-1.0/generate", json!({"prompt": "a waltz"}));
    assert_eq!(by_path.data(200)["job"]["id"], first["job_id"]);
}

#[test]
fn runs_are_asked_for_by_their_id_alone() {
    let mut mock = Mock::new();
    let run = done(
        &mut mock,
        "format_run",
        json!({"format_id": "demo/product-shot", "instruction": "a cup"}),
    );
    let id = json!({"run_id": run["run_id"]});
    let early = refused(&mut mock, "run_result", id.clone(), "run_not_completed");
    assert_eq!(early["details"]["status"], "queued");
    assert_eq!(done(&mut mock, "run_status", id.clone())["kind"], "format");
    mock.pass(10_000);
    let result = call(&mut mock, "run_result", id);
    assert_eq!(result["structuredContent"]["status"], "completed");
    assert_eq!(result["content"][1]["type"], "resource_link");
    refused(
        &mut mock,
        "run_status",
        json!({"run_id": "run_0"}),
        "format_run_not_found",
    );
    let agent = json!({"run_id": "run_0", "kind": "agent"});
    refused(&mut mock, "run_status", agent, "agent_run_not_found");
}

#[test]
fn scopes_hold_for_tools_too() {
    let mut mock = Mock::new();
    let mut as_key = |key: &str, tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = mock
            .ask(Host::Developer)
            .key(key)
            .post(MCP, request("tools/call", params));
        let result = answer.json()["result"].take();
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let run = json!({"format_id": "fmt_demo", "instruction": "x"});
    let lacking = as_key("svc_dev_noscope", "format_run", run.clone());
    assert_eq!(lacking["error"]["code"], "insufficient_scope");
    assert_eq!(
        lacking["error"]["details"]["required_scope"],
        "formats:write"
    );
    let account = as_key("svc_sa_demo", "format_run", run);
    assert_eq!(
        account["error"]["details"]["reason"],
        "service_account_format_runs_unsupported"
    );
    let image = as_key("svc_dev_noscope", "image_generate", json!({"prompt": "x"}));
    assert_eq!(image["job"]["status"], "queued");
}
