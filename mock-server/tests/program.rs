//! The program from outside: what it prints, that it answers, and how it ends.
#![cfg(all(feature = "program", unix))]
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on says why and stops"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

struct Program {
    child: Child,
    fields: Value,
}

impl Program {
    /// A program that has said where it is.
    fn start(options: &[&str]) -> Self {
        let mut child = command(options).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            child,
            fields: serde_json::from_str(&line).unwrap(),
        }
    }

    fn get(&self, name: &str, path: &str) -> String {
        let url = self.fields[name].as_str().unwrap();
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn end(&mut self, signal: &str) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap()
    }
}

impl Drop for Program {
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
fn it_says_where_it_is_answers_there_and_ends_with_0_when_it_is_told_to() {
    for signal in ["-TERM", "-INT"] {
        let mut program = Program::start(&["--port-base", "0", "--clock", "manual"]);
        assert!(
            program
                .get("SVC_CONTROL_URL", "/clock")
                .contains(r#""mode":"manual""#)
        );
        let jobs = program.get("SVC_BASE_URL", "/v1/jobs");
        assert!(jobs.starts_with("HTTP/1.1 401 Unauthorized"), "{jobs}");
        assert_eq!(program.end(signal).code(), Some(0), "{signal}");
    }
}

#[test]
fn a_taken_port_is_named_and_ends_it_with_a_failure() {
    let program = Program::start(&["--port-base", "0"]);
    let taken = program.fields["SVC_BASE_URL"].as_str().unwrap();
    let port = taken.rsplit(':').next().unwrap();
    let refused = command(&["--port-base", port]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stdout.is_empty());
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains(&format!("port {port} is taken")), "{told}");
    assert!(told.contains("--port-base 0"), "{told}");
}

#[test]
fn help_names_every_option() {
    let help = command(&["--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for option in [
        "--port-base",
        "--clock",
        "--speed",
        "--seed",
        "--plan",
        "--balance-usd",
        "--webhook-route",
        "--env",
        "--json",
    ] {
        assert!(help.contains(option), "{option}");
    }
}
