//! MCP: the tools of the service's endpoint, and the tools of `svc mcp serve`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY};

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

/// Creates an `svc mcp` command for the mock's endpoint.
fn mcp(env: &TestEnv, words: &str) -> Command {
    let mut command = env.developer_surface(format!("mcp {words}"));
    command.env("SVC_MCP_URL", env.mock.mcp_url());
    command
}

/// Runs an `svc mcp` command for the mock's endpoint.
fn run(env: &TestEnv, words: &str) -> CommandOutput {
    CommandOutput::of(&mut mcp(env, words))
}

/// A running `svc mcp serve`, after the handshake.
struct McpSession {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl McpSession {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut session = Self { child, input, output, last_id: 0 };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let response = session.request("initialize", params);
        assert_eq!(response["result"]["serverInfo"]["name"], "svc");
        session.notify(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn notify(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request. The next line must be its response, because nothing else is written to
    /// stdout.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.notify(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let response: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(response["id"], id, "{line}");
        response
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params)["result"].take()
    }

    fn call_ok(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].take()
    }

    fn call_err(&mut self, tool: &str, arguments: Value, code: &str) {
        let result = self.call(tool, arguments);
        let text = result["content"][0]["text"].as_str().unwrap();
        let envelope: Value = serde_json::from_str(text).unwrap();
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(envelope["error"]["code"], code, "{envelope}");
    }

    fn close(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// Starts `svc mcp serve`, configured for both surfaces.
fn serve(env: &TestEnv, words: &str) -> McpSession {
    let mut command = env.developer_surface(format!("mcp serve {words}"));
    command.env("SVC_BASE_URL", env.mock.base_url()).env("SVC_OPEN_API_KEY", OPEN_API_KEY);
    McpSession::start(command)
}

#[test]
fn tools_of_the_endpoint_are_listed_and_called() {
    let env = TestEnv::new();
    let tools = run(&env, "tools -o json").assert_exit(0);
    assert!(tools.out.contains("\"jobs_status\""), "{}", tools.out);
    let words = "call image_generate --arg 'prompt=a fox' --arg max_spend_usd=1";
    let made = run(&env, words).assert_exit(0).assert_stderr("idempotency key:");
    let made: Value = serde_json::from_str(&made.out).unwrap();
    let id = made["job_id"].as_str().unwrap();
    run(&env, &format!("call jobs_status --arg job_id={id}")).assert_exit(0);
    assert_eq!(env.job_count(), 1);
    assert!(!made.to_string().contains(DEVELOPER_API_KEY));
}

#[test]
fn tool_errors_have_the_usual_exit_codes() {
    let env = TestEnv::new();
    let expensive = "call video_generate --arg prompt=x --arg max_spend_usd=0.1";
    run(&env, expensive).assert_exit(5).assert_stderr("max_spend_exceeded");
    let missing = "call jobs_status --arg job_id=job_none";
    run(&env, missing).assert_exit(4);
    run(&env, "call no_such_tool").assert_exit(2);
    CommandOutput::of(mcp(&env, "tools").env("SVC_DEVELOPER_API_KEY", "svc_wrong")).assert_exit(3);
    CommandOutput::of(mcp(&env, "tools").env_remove("SVC_MCP_URL")).assert_exit(2);
    CommandOutput::of(mcp(&env, "tools").env_remove("SVC_DEVELOPER_API_KEY")).assert_exit(3);
    run(&env, "tools --mcp-url http://mcp.example/").assert_exit(2);
    assert_eq!(env.job_count(), 0);
}

#[test]
fn a_call_with_a_lost_response_is_retried_and_charged_once() {
    let env = TestEnv::new();
    // The first request is the probe, the second lists the tools.
    let words = "call music_generate --arg prompt=x --arg idempotency_key=k-1 --yes";
    run(&env, words).assert_exit(0);
    env.add_fault("mcp", "drop_after", 2);
    run(&env, words).assert_exit(0);
    assert_eq!(env.job_count(), 1);
}

#[test]
fn the_sandbox_has_tools() {
    let env = TestEnv::new();
    let tools = env.run_unconfigured("mcp tools --sandbox -o json").assert_exit(0);
    assert!(tools.out.contains("agent_completion"));
    let mut session = McpSession::start(env.unconfigured("mcp serve --sandbox"));
    let balance = session.call_ok("balance", json!({}));
    assert_eq!(balance["available_usd"], "100.0000");
    session.close();
}

#[test]
fn served_tools_enforce_the_spend_limits() {
    let env = TestEnv::new();
    let mut session = serve(&env, "--max-spend-usd 0.5 --max-total-usd 0.8");
    let listed = session.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 12);
    assert!(
        tools
            .iter()
            .all(|tool| { tool["inputSchema"]["properties"].get("idempotency_key").is_none() })
    );

    // Two seconds of the cheapest model cost 0.1250 USD.
    let video = |more: Value| {
        let mut arguments = json!({"prompt": "a fox", "model": "video-l", "duration": 2});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    session.call_err("video_generate", video(json!({"max_spend_usd": 0.1})), "max_spend_exceeded");
    // The caller cannot raise the limit.
    session.call_err(
        "video_generate",
        video(json!({"duration": 10, "max_spend_usd": 9})),
        "max_spend_exceeded",
    );
    session.call_err("music_generate", json!({"prompt": "x"}), "price_unknown");
    session.call_err(
        "video_generate",
        video(json!({"idempotency_key": "mine"})),
        "invalid_request",
    );
    assert_eq!(env.job_count(), 0);
    let made = session.call_ok("video_generate", video(json!({})));
    let job = json!({"job_id": made["job_id"]});
    while session.call_ok("jobs_status", job.clone())["terminal"] == false {}
    let result = session.call("jobs_result", job);
    assert_eq!(result["content"][1]["type"], "resource_link");
    assert_eq!(result["content"][1]["mimeType"], "video/mp4");
    let image = session.call_ok("image_generate", json!({"prompt": "a fox"}));
    assert_eq!(image["job"]["model"], "image-i");

    // A run may cost up to its cap, so the rest of the total is too small for a second run.
    let run =
        session.call_ok("agent_completion", json!({"instruction": "a poem", "max_spend_usd": 0.3}));
    assert_eq!(run["usage"]["generation_spend_cap_usd_micros"], 300_000);
    session.call_err(
        "format_run",
        json!({"format_id": "demo/teaser", "instruction": "x"}),
        "max_total_exceeded",
    );
    let run = json!({"run_id": run["run_id"]});
    while session.call_ok("run_status", run.clone())["terminal"] == false {}
    assert_eq!(session.call_ok("run_result", run)["status"], "completed");
    session.call_err("jobs_status", json!({"job_id": "job_none"}), "job_not_found");
    session.close();
}

#[test]
fn paid_tools_require_a_spend_limit() {
    let env = TestEnv::new();
    let mut session = serve(&env, "");
    for (tool, order) in [
        ("image_generate", json!({"prompt": "x"})),
        ("agent_completion", json!({"instruction": "x"})),
        ("format_run", json!({"format_id": "fmt_demo", "instruction": "x"})),
    ] {
        session.call_err(tool, order, "max_spend_required");
    }
    let free = session
        .call_ok("estimate", json!({"model": "video-l", "input": {"prompt": "x", "duration": 2}}));
    assert_eq!(free["price_usd"], "0.1250");
    assert_eq!(env.job_count(), 0);
    session.close();
}

#[test]
fn a_repeated_call_after_a_lost_response_returns_the_same_job() {
    let env = TestEnv::new();
    let mut session = serve(&env, "--max-spend-usd 1 --retries 0");
    let order = json!({"prompt": "a fox", "model": "image-i"});
    env.add_fault("image_generate", "drop_after", 1);
    session.call_err("image_generate", order.clone(), "no_answer");
    assert_eq!(env.job_count(), 1);
    session.call_ok("image_generate", order);
    assert_eq!((env.job_count(), env.charge_count()), (1, 1));
    session.close();
}

/// Returns the entries of `svc history`, newest first.
fn history(env: &TestEnv) -> Vec<Value> {
    let listed = env.run_unconfigured("history -o json");
    let listed = listed.assert_exit(0).json();
    listed.as_array().unwrap().clone()
}

#[test]
fn the_history_lists_a_paid_call() {
    let env = TestEnv::new();
    let words = "call image_generate --arg 'prompt=a secret fox' --arg max_spend_usd=1";
    let result = run(&env, words).assert_exit(0).json();
    // A read is not recorded.
    let id = result["job_id"].as_str().unwrap();
    run(&env, &format!("call jobs_status --arg job_id={id}")).assert_exit(0);
    let entries = history(&env);
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["job_id"], result["job_id"]);
    assert_eq!(entries[0]["outcome"], "submitted");
    assert_eq!(entries[0]["summary"], "MCP tool, image_generate");
    assert_eq!(entries[0]["max_price_usd"], "1.0000");
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_paid_call_enforces_max_price_and_records_a_rejection() {
    let env = TestEnv::new();
    let words = "call video_generate --arg prompt=x";
    let limited = format!("{words} --max-price 0.1");
    run(&env, &limited).assert_exit(5).assert_stderr("max_spend_exceeded");
    assert_eq!(history(&env)[0]["outcome"], "refused");
    let above = format!("{limited} --arg max_spend_usd=1");
    run(&env, &above).assert_exit(5).assert_stderr("--max-price");
    let dry_run = format!("{words} --dry-run");
    let shown = run(&env, &dry_run).assert_exit(0).json();
    assert_eq!(shown["request"]["tool"], "video_generate");
    assert_eq!(history(&env).len(), 1);
    assert_eq!(env.job_count(), 0);
}

#[test]
fn a_paid_call_with_a_lost_response_is_resumed_with_its_key() {
    let env = TestEnv::new();
    let words = "call image_generate --arg 'prompt=a fox' --arg max_spend_usd=1 --retries 0";
    // The first request is the probe, the second lists the tools. The third is the call, whose
    // response is lost.
    let pass = json!({"operation": "mcp", "kind": "delay", "delay_ms": 1, "times": 2});
    env.mock.add_fault(serde_json::from_value(pass).unwrap()).unwrap();
    env.add_fault("mcp", "drop_after", 1);
    run(&env, words).assert_exit(11).assert_stderr("run the same command again");
    assert_eq!(env.open_intents().len(), 1);
    assert_eq!(history(&env)[0]["outcome"], Value::Null);
    let result = run(&env, words).assert_exit(0).json();
    assert_eq!((env.job_count(), env.charge_count()), (1, 1));
    let entries = history(&env);
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["job_id"], result["job_id"]);
    assert_eq!(entries[0]["outcome"], "submitted");
}

#[test]
fn a_paid_call_that_was_answered_but_not_printed_is_not_sent_again() {
    let env = TestEnv::new();
    let words = "call image_generate --arg 'prompt=a fox' --arg max_spend_usd=1";
    let made = run(&env, words).assert_exit(0).json();
    env.leave_to_an_earlier_version(history(&env).remove(0));
    let again = run(&env, words).assert_exit(0).assert_stderr("Resuming job_");
    assert_eq!(again.json(), json!({"job_id": made["job_id"]}));
    assert_eq!((env.job_count(), env.charge_count()), (1, 1));
    assert!(env.open_intents().is_empty());
    run(&env, words).assert_exit(0);
    assert_eq!(env.job_count(), 2);
}

#[test]
fn a_served_tool_resumes_what_a_command_left_open() {
    let env = TestEnv::new();
    env.add_fault("image_generate", "drop_after", 1);
    let words = "image generate --model image-i --prompt 'a fox' --no-wait --retries 0";
    env.run(words).assert_exit(11);
    let mut session = serve(&env, "--max-spend-usd 1 --retries 0");
    let arguments = json!({"prompt": "a fox", "model": "image-i"});
    let made = session.call_ok("image_generate", arguments.clone());
    assert_eq!((env.job_count(), env.charge_count()), (1, 1));
    // And a command what a server left open that is still running.
    env.add_fault("image_generate", "drop_after", 1);
    session.call_err("image_generate", arguments, "no_answer");
    let resumed = env.run(words).assert_exit(0).json();
    session.close();
    assert_eq!((env.job_count(), env.charge_count()), (2, 2));
    assert_ne!(resumed["job"]["id"], made["job_id"]);
    assert!(env.open_intents().is_empty());
}

#[test]
fn the_history_lists_paid_calls_of_served_tools() {
    let env = TestEnv::new();
    let mut session = serve(&env, "--max-spend-usd 1");
    let image = session.call_ok("image_generate", json!({"prompt": "a fox", "model": "image-i"}));
    let run = session.call_ok("agent_completion", json!({"instruction": "a poem"}));
    session.call_err(
        "format_run",
        json!({"format_id": "demo/no-such-format", "instruction": "x"}),
        "format_not_found",
    );
    session.close();
    let entries = history(&env);
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["run_id"], run["run_id"]);
    assert_eq!(entries[0]["operation"], "agent_completions_create");
    assert_eq!(entries[1]["job_id"], image["job_id"]);
    assert_eq!(entries[1]["operation"], "image_generate");
    assert!(entries.iter().all(|entry| entry["outcome"] == "submitted"));
    // The commands find the kind of the run in the history.
    let id = run["run_id"].as_str().unwrap();
    env.developer(["run", "get", id]).assert_exit(0);
    assert!(env.requests("format_runs_get").is_empty());
}

#[test]
fn another_server_resumes_a_call_with_a_lost_response() {
    let env = TestEnv::new();
    let limits = "--max-spend-usd 1 --retries 0";
    let arguments = json!({"prompt": "a fox", "model": "image-i"});
    let mut session = serve(&env, limits);
    env.add_fault("image_generate", "drop_after", 1);
    session.call_err("image_generate", arguments.clone(), "no_answer");
    session.close();
    assert_eq!(env.open_intents().len(), 1);
    let mut session = serve(&env, limits);
    let image = session.call_ok("image_generate", arguments);
    session.close();
    assert_eq!((env.job_count(), env.charge_count()), (1, 1));
    let entries = history(&env);
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["job_id"], image["job_id"]);
}

#[test]
fn a_call_without_idempotency_is_not_resent() {
    let env = TestEnv::new();
    let words = "--max-spend-usd 1 --allow-unpriced --retries 0";
    let arguments = json!({"prompt": "a waltz"});
    let mut session = serve(&env, words);
    env.add_fault("music_1_generate", "drop_after", 1);
    session.call_err("music_generate", arguments.clone(), "no_answer");
    session.call_err("music_generate", arguments, "ambiguous");
    session.close();
    assert_eq!(env.requests("music_1_generate").len(), 1);
    assert_eq!(env.open_intents().len(), 1);
}

#[test]
fn a_reply_of_another_shape_is_an_error() {
    let env = TestEnv::new();
    // (reply to the call, exit code and code of the error)
    let rows = [
        (json!({"id": "zz", "result": {"content": []}}), 11, "ambiguous"),
        (json!({"result": {}}), 11, "ambiguous"),
        (json!({"result": null}), 11, "ambiguous"),
    ];
    for (reply, exit, code) in rows {
        let service = FakeServer::answering_each(move |message| {
            answer_without_keys(message, "200 OK", &reply)
        });
        let words = "mcp call image_generate --arg prompt=x --max-price 1 --new -o json";
        let mut command = env.developer_surface(words);
        command.env("SVC_MCP_URL", format!("{}/mcp", service.url));
        let error = CommandOutput::of(&mut command).assert_exit(exit).error();
        assert_eq!(error["code"], code, "{error}");
    }
    let service = FakeServer::answering_each(|message| {
        let (status, mut answer) = answer_without_keys(message, "200 OK", &Value::Null);
        if message.contains("tools/list") {
            answer = answer.replace("\"id\":", "\"other_id\":");
        }
        (status, answer)
    });
    let mut command = env.developer_surface("mcp tools -o json");
    command.env("SVC_MCP_URL", format!("{}/mcp", service.url));
    let error = CommandOutput::of(&mut command).assert_exit(1).error();
    assert_eq!(error["code"], "unreadable_response", "{error}");
}

/// Answers a message to an MCP endpoint whose paid tool accepts no idempotency key. Its calls are
/// answered with `reply`.
fn answer_without_keys(
    message: &str,
    status: &'static str,
    reply: &Value,
) -> (&'static str, String) {
    let message: Value = serde_json::from_str(message).unwrap();
    let mut answer = match message["method"].as_str().unwrap() {
        "initialize" => json!({"result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        }}),
        "tools/list" => {
            let properties =
                json!({"prompt": {"type": "string"}, "max_spend_usd": {"type": "number"}});
            let schema = json!({"type": "object", "properties": properties});
            json!({"result": {"tools": [{"name": "image_generate", "inputSchema": schema}]}})
        }
        "tools/call" => {
            let mut reply = reply.clone();
            if reply.get("error").is_none_or(|error| error["code"].is_i64()) {
                reply["jsonrpc"] = json!("2.0");
                if reply["id"].is_null() {
                    reply["id"] = message["id"].clone();
                }
            }
            return (status, reply.to_string());
        }
        "server/discover" => json!({"error": {"code": -32601, "message": "unknown method"}}),
        _ => return ("202 Accepted", String::new()),
    };
    answer["jsonrpc"] = json!("2.0");
    answer["id"] = message["id"].clone();
    ("200 OK", answer.to_string())
}

#[test]
fn a_tool_without_a_key_is_called_once_while_its_outcome_is_unknown() {
    let tool_error = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}], "isError": true}});
    let server_error = json!({"error": {"code": "format_run_failed_to_start", "message": "No."}});
    let rejection = json!({"error": {"code": "insufficient_credits", "message": "No."}});
    let gateway = json!({"error": {"code": "gateway_timeout", "message": "No."}});
    // (status, reply to the call, exit code)
    let rows = [
        ("504 Gateway Timeout", gateway, 11),
        ("200 OK", json!({"error": {"code": -32603, "message": "internal error"}}), 11),
        ("200 OK", tool_error("it broke"), 11),
        ("200 OK", tool_error(&server_error.to_string()), 11),
        ("200 OK", tool_error(&rejection.to_string()), 5),
    ];
    for (status, reply, exit) in rows {
        let env = TestEnv::new();
        let shown = reply.to_string();
        let service =
            FakeServer::answering_each(move |message| answer_without_keys(message, status, &reply));
        let calls = || {
            let heads = service.heads.lock().unwrap();
            heads.iter().filter(|head| head.contains("tools/call")).count()
        };
        let words = "mcp call image_generate --arg 'prompt=a fox' --max-price 1";
        let run = || {
            let mut command = env.developer_surface(words);
            command.env("SVC_MCP_URL", format!("{}/mcp", service.url));
            CommandOutput::of(&mut command)
        };
        run().assert_exit(exit);
        assert_eq!(calls(), 1, "{shown}");
        let is_open = exit == 11;
        assert_eq!(env.open_intents().len(), usize::from(is_open), "{shown}");
        let again = run().assert_exit(exit);
        assert_eq!(calls(), if is_open { 1 } else { 2 }, "{shown}");
        if is_open {
            again.assert_stderr("--new");
        }
    }
}

#[test]
fn a_paid_call_without_a_limit_is_rejected_off_a_terminal() {
    let env = TestEnv::new();
    let words = "call image_generate --arg 'prompt=a fox'";
    run(&env, words)
        .assert_exit(2)
        .assert_stderr("--yes")
        .assert_stderr("--max-price")
        .assert_stderr("max_spend_usd");
    let negative = format!("{words} --arg max_spend_usd=-1");
    run(&env, &negative)
        .assert_exit(2)
        .assert_stderr("invalid amount `-1`: expected dollars of at least 0");
    assert!(history(&env).is_empty());
    assert_eq!(env.job_count(), 0);
    let allowed = ["--yes", "--max-price 1", "--arg max_spend_usd=1"];
    for (jobs, flags) in (1..).zip(allowed) {
        run(&env, &format!("{words} {flags}")).assert_exit(0);
        assert_eq!(env.job_count(), jobs);
    }
    // A call that costs nothing needs no limit.
    run(&env, "call balance").assert_exit(0);
}
