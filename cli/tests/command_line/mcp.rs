//! The client of `svc mcp serve`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::test_env::CommandOutput;

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
