//! Tools over MCP: those of the service's endpoint, and those that `svc mcp serve` has.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY};

use crate::place::{Place, Run};

/// `svc mcp` with those words, for the mock's endpoint.
fn mcp(place: &Place, words: &[&str]) -> Command {
    let words = [&["mcp"], words].concat();
    let mut command = place.developer(&words);
    command.env("SVC_MCP_URL", place.mock.mcp_url());
    command
}

/// A server that runs, after the handshake.
struct Serving {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Serving {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut serving = Self {
            child,
            input,
            output,
            asked: 0,
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let welcome = serving.ask("initialize", hello);
        assert_eq!(welcome["result"]["serverInfo"]["name"], "svc");
        serving.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        serving
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request. The next line has to be its answer, as nothing else may be on stdout.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{line}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask("tools/call", params)["result"].take()
    }

    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].take()
    }

    fn refused(&mut self, tool: &str, arguments: Value, code: &str) {
        let result = self.call(tool, arguments);
        let text = result["content"][0]["text"].as_str().unwrap();
        let envelope: Value = serde_json::from_str(text).unwrap();
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(envelope["error"]["code"], code, "{envelope}");
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// `svc mcp serve` with those words, configured for both surfaces.
fn serve(place: &Place, words: &[&str]) -> Serving {
    let words = [&["mcp", "serve"], words].concat();
    let mut command = place.developer(&words);
    command
        .env("SVC_BASE_URL", place.mock.base_url())
        .env("SVC_OPEN_API_KEY", OPEN_API_KEY);
    Serving::start(command)
}

#[test]
fn the_tools_of_the_endpoint_are_listed_and_called() {
    let place = Place::new();
    let tools = Run::of(&mut mcp(&place, &["tools", "-o", "json"])).ends(0);
    assert!(tools.out.contains("\"jobs_status\""), "{}", tools.out);
    let words = [
        "call",
        "image_generate",
        "--arg",
        "prompt=a fox",
        "--arg",
        "max_spend_usd=1",
    ];
    let made = Run::of(&mut mcp(&place, &words))
        .ends(0)
        .says("idempotency key:");
    let made: Value = serde_json::from_str(&made.out).unwrap();
    let id = made["job_id"].as_str().unwrap();
    let job = format!("job_id={id}");
    Run::of(&mut mcp(&place, &["call", "jobs_status", "--arg", &job])).ends(0);
    assert_eq!(place.jobs(), 1);
    assert!(!made.to_string().contains(DEVELOPER_API_KEY));
}

#[test]
fn what_a_tool_refuses_ends_as_the_same_refusal_by_another_way() {
    let place = Place::new();
    let dear = [
        "call",
        "video_generate",
        "--arg",
        "prompt=x",
        "--arg",
        "max_spend_usd=0.1",
    ];
    Run::of(&mut mcp(&place, &dear))
        .ends(5)
        .says("max_spend_exceeded");
    let missing = ["call", "jobs_status", "--arg", "job_id=job_none"];
    Run::of(&mut mcp(&place, &missing)).ends(4);
    Run::of(&mut mcp(&place, &["call", "no_such_tool"])).ends(2);
    Run::of(mcp(&place, &["tools"]).env("SVC_DEVELOPER_API_KEY", "svc_wrong")).ends(3);
    Run::of(mcp(&place, &["tools"]).env_remove("SVC_MCP_URL")).ends(2);
    Run::of(mcp(&place, &["tools"]).env_remove("SVC_DEVELOPER_API_KEY")).ends(3);
    Run::of(&mut mcp(
        &place,
        &["tools", "--mcp-url", "http://mcp.example/"],
    ))
    .ends(2);
    assert_eq!(place.jobs(), 0);
}

#[test]
fn a_call_whose_answer_was_lost_is_made_once() {
    let place = Place::new();
    // The first request is the probe, the second the list.
    let words = [
        "call",
        "music_generate",
        "--arg",
        "prompt=x",
        "--arg",
        "idempotency_key=k-1",
    ];
    Run::of(&mut mcp(&place, &words)).ends(0);
    place.fault("mcp", "drop_after", 2);
    Run::of(&mut mcp(&place, &words)).ends(0);
    assert_eq!(place.jobs(), 1);
}

#[test]
fn a_sandbox_has_tools_too() {
    let place = Place::new();
    let tools = Run::of(&mut place.bare(["mcp", "tools", "--sandbox", "-o", "json"])).ends(0);
    assert!(tools.out.contains("agent_completion"));
    let mut serving = Serving::start(place.bare(["mcp", "serve", "--sandbox"]));
    let balance = serving.done("balance", json!({}));
    assert_eq!(balance["available_usd"], "100.0000");
    serving.end();
}

#[test]
fn served_tools_generate_within_their_limits() {
    let place = Place::new();
    let mut serving = serve(
        &place,
        &["--max-spend-usd", "0.5", "--max-total-usd", "0.8"],
    );
    let listed = serving.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 12);
    assert!(tools.iter().all(|tool| {
        tool["inputSchema"]["properties"]
            .get("idempotency_key")
            .is_none()
    }));

    // Two seconds of the cheapest model are 0.1250.
    let video = |more: Value| {
        let mut order = json!({"prompt": "a fox", "model": "video-l", "duration": 2});
        order
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        order
    };
    serving.refused(
        "video_generate",
        video(json!({"max_spend_usd": 0.1})),
        "max_spend_exceeded",
    );
    // A model does not raise the limit.
    serving.refused(
        "video_generate",
        video(json!({"duration": 10, "max_spend_usd": 9})),
        "max_spend_exceeded",
    );
    serving.refused("music_generate", json!({"prompt": "x"}), "price_unknown");
    serving.refused(
        "video_generate",
        video(json!({"idempotency_key": "mine"})),
        "invalid_request",
    );
    assert_eq!(place.jobs(), 0);
    let made = serving.done("video_generate", video(json!({})));
    let job = json!({"job_id": made["job_id"]});
    while serving.done("jobs_status", job.clone())["terminal"] == false {}
    let result = serving.call("jobs_result", job);
    assert_eq!(result["content"][1]["type"], "resource_link");
    assert_eq!(result["content"][1]["mimeType"], "video/mp4");
    let image = serving.done("image_generate", json!({"prompt": "a fox"}));
    assert_eq!(image["job"]["model"], "image-i");

    // A run may cost its cap, which is the limit here; what is left of the total is less.
    let run = serving.done(
        "agent_completion",
        json!({"instruction": "a poem", "max_spend_usd": 0.3}),
    );
    assert_eq!(run["usage"]["generation_spend_cap_usd_micros"], 300_000);
    serving.refused(
        "format_run",
        json!({"format_id": "demo/teaser", "instruction": "x"}),
        "max_total_exceeded",
    );
    let run = json!({"run_id": run["run_id"]});
    while serving.done("run_status", run.clone())["terminal"] == false {}
    assert_eq!(serving.done("run_result", run)["status"], "completed");
    serving.refused(
        "jobs_status",
        json!({"job_id": "job_none"}),
        "job_not_found",
    );
    serving.end();
}

#[test]
fn without_a_limit_nothing_that_costs_runs() {
    let place = Place::new();
    let mut serving = serve(&place, &[]);
    for (tool, order) in [
        ("image_generate", json!({"prompt": "x"})),
        ("agent_completion", json!({"instruction": "x"})),
        (
            "format_run",
            json!({"format_id": "fmt_demo", "instruction": "x"}),
        ),
    ] {
        serving.refused(tool, order, "max_spend_required");
    }
    let free = serving.done(
        "estimate",
        json!({"model": "video-l", "input": {"prompt": "x", "duration": 2}}),
    );
    assert_eq!(free["price_usd"], "0.1250");
    assert_eq!(place.jobs(), 0);
    serving.end();
}

#[test]
fn the_same_call_after_one_whose_answer_was_lost_is_the_same_job() {
    let place = Place::new();
    let mut serving = serve(&place, &["--max-spend-usd", "1", "--retries", "0"]);
    let order = json!({"prompt": "a fox", "model": "image-i"});
    place.fault("image_generate", "drop_after", 1);
    serving.refused("image_generate", order.clone(), "no_answer");
    assert_eq!(place.jobs(), 1);
    serving.done("image_generate", order);
    assert_eq!((place.jobs(), place.charges()), (1, 1));
    serving.end();
}
