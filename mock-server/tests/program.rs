//! The program as a child process: its output, its responses and its exit status.
#![cfg(all(feature = "program", unix))]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

struct MockProgram {
    child: Child,
    fields: Value,
}

impl MockProgram {
    /// Starts the program and reads the line with its addresses.
    fn start(options: &[&str]) -> Self {
        let mut child = command(options).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, fields: serde_json::from_str(&line).unwrap() }
    }

    fn get(&self, name: &str, path: &str) -> String {
        self.send(name, &format!("GET {path}"), "")
    }

    fn post(&self, name: &str, path: &str, body: &str) -> String {
        self.send(name, &format!("POST {path}"), body)
    }

    fn send(&self, name: &str, request: &str, body: &str) -> String {
        let url = self.fields[name].as_str().unwrap();
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        // Requests without a body are sent without a key.
        let key = match body {
            "" => String::new(),
            _ => format!("x-api-key: {}\r\n", self.fields["SVC_OPEN_API_KEY"].as_str().unwrap()),
        };
        write!(
            stream,
            "{request} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             {key}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn stop(&mut self, signal: &str) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for MockProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_svc-mock-server"));
    command.args(options).stderr(Stdio::piped());
    command
}

#[test]
fn prints_its_addresses_responds_and_exits_with_0_on_a_signal() {
    for signal in ["-TERM", "-INT"] {
        let mut program = MockProgram::start(&["--port-base", "0", "--clock", "manual"]);
        assert!(program.get("SVC_CONTROL_URL", "/clock").contains(r#""mode":"manual""#));
        let jobs = program.get("SVC_BASE_URL", "/v1/jobs");
        assert!(jobs.starts_with("HTTP/1.1 401 Unauthorized"), "{jobs}");
        assert_eq!(program.stop(signal).code(), Some(0), "{signal}");
    }
}

#[test]
fn a_port_in_use_is_reported_with_exit_code_1() {
    let program = MockProgram::start(&["--port-base", "0"]);
    let taken = program.fields["SVC_BASE_URL"].as_str().unwrap();
    let port = taken.rsplit(':').next().unwrap();
    let output = command(&["--port-base", port]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(&format!("port {port} is already in use")), "{stderr}");
    assert!(stderr.contains("--port-base 0"), "{stderr}");
}

#[test]
fn a_health_check_names_the_address_that_it_asked() {
    let program = MockProgram::start(&["--port-base", "0"]);
    let address = program.fields["SVC_BASE_URL"].as_str().unwrap();
    let check = |port: &str| command(&["--check-health", "--port-base", port]).output().unwrap();
    assert_eq!(check(address.rsplit(':').next().unwrap()).status.code(), Some(0));
    let failed = check("1");
    assert_eq!(failed.status.code(), Some(1));
    let stderr = String::from_utf8(failed.stderr).unwrap();
    assert!(stderr.contains("no mock runs at http://127.0.0.1:1: "), "{stderr}");
}

#[test]
fn every_line_of_a_log_in_json_is_an_object() {
    let mut program = MockProgram::start(&["--port-base", "0", "--log-format", "json"]);
    let body = r#"{"model": "image-i", "prompt": "[mock:refuse=rate_limited]"}"#;
    program.post("SVC_BASE_URL", "/v1/image-router/generate", body);
    program.stop("-TERM");
    let mut log = String::new();
    program.child.stderr.as_mut().unwrap().read_to_string(&mut log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let request = lines.iter().find(|line| line["method"] == "POST").unwrap();
    let shown = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(shown("path"), "/v1/image-router/generate");
    assert_eq!(shown("operation"), "image_generate");
    assert_eq!((shown("workspace"), shown("key")), ("ws_demo".into(), "key_open_demo".into()));
    assert_eq!((&request["status"], shown("code")), (&429.into(), "rate_limited".into()));
    assert!(shown("request_id").starts_with("req_"), "{request}");
    assert!(shown("time").ends_with('Z') && request["duration_ms"].is_number(), "{request}");
    assert!(lines.iter().all(Value::is_object), "{log}");
}
