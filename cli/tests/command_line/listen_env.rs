//! Listeners and signed deliveries for the tests of `svc webhook listen`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::Value;
use svc_webhook_verify::{KeySet, Signer};

use crate::test_env::{
    CommandOutput, Printed, RunningProcess, TestEnv, interrupt, start_printing, wait_until,
};

pub(crate) struct Listener {
    pub(crate) process: RunningProcess,
    pub(crate) ready: Value,
    printed: Printed,
}

impl Listener {
    pub(crate) fn start(command: &mut Command) -> Self {
        let (process, line, printed) = start_printing(command);
        let Ok(ready) = serde_json::from_str(&line) else {
            panic!("{:?}", process.end());
        };
        Self { process, ready, printed }
    }

    pub(crate) fn url(&self) -> &str {
        self.ready["url"].as_str().unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.printed.lock().unwrap().clone()
    }

    pub(crate) fn receives(&self, events: usize) {
        wait_until(&format!("{events} events"), || self.events().len() >= events);
        assert_eq!(self.events().len(), events);
    }

    /// Stops the listener like Ctrl-C.
    pub(crate) fn end(self) -> CommandOutput {
        interrupt(&self.process);
        self.process.end()
    }
}

pub(crate) fn listen(env: &TestEnv, words: &str) -> Command {
    let port = if words.contains("--port") { "" } else { "--port 0" };
    let mut command = env.unconfigured(format!("webhook listen {port} {words}"));
    command.env("SVC_WEBHOOK_SECRET", "whsec_newest");
    command
}

pub(crate) fn now() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "real processes take real time")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Returns the signed headers of a delivery, one per line.
pub(crate) fn signed(secrets: &[&str], timestamp: u64, body: &[u8]) -> String {
    let headers = Signer::new(KeySet::new(secrets).unwrap()).sign(timestamp, body);
    let lines = headers.pairs().map(|(name, value)| format!("{name}: {value}\r\n"));
    format!("content-type: application/json\r\n{}", lines.concat())
}

pub(crate) fn post(url: &str, headers: &str, body: &[u8]) -> u16 {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST /svc HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

pub(crate) fn deliver(url: &str, body: &[u8]) -> u16 {
    post(url, &signed(&["whsec_newest"], now(), body), body)
}

pub(crate) fn job(id: &str) -> Vec<u8> {
    format!(r#"{{"event":"job.completed","request_id":"req_1","job_id":"{id}","status":"OK","payload":{{}}}}"#).into()
}
