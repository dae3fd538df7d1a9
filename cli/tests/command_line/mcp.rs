//! MCP: the tools of the service's endpoint, and the tools of `svc mcp serve`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

pub(crate) struct McpSession {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl McpSession {
    pub(crate) fn start(mut command: Command) -> Self {
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

    /// Sends a request, whose result is the output, or the error of a tool the error.
    pub(crate) fn output(&mut self, method: &str, params: Value) -> CommandOutput {
        let mut result = self.request(method, params)["result"].take();
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        if result["isError"] == true {
            return CommandOutput { code: Some(1), out: String::new(), err: text };
        }
        let content = result["structuredContent"].take();
        let shown = if content.is_null() { result } else { content };
        CommandOutput { code: Some(0), out: shown.to_string(), err: String::new() }
    }

    pub(crate) fn close(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
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
