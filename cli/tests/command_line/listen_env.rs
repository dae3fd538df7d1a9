//! Listeners, targets and signed deliveries for the tests of `svc webhook listen`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use svc_webhook_verify::{KeySet, Signer};

use crate::test_env::{
    CommandOutput, RunningProcess, TestEnv, Words, interrupt, start, wait_until,
};

pub(crate) struct Listener {
    pub(crate) process: RunningProcess,
    pub(crate) ready: Value,
    pub(crate) lines: Arc<Mutex<Vec<Value>>>,
}

impl Listener {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = start(command);
        let mut stdout = BufReader::new(process.0.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&lines);
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                received.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        let Ok(ready) = serde_json::from_str(&line) else {
            panic!("{:?}", process.end());
        };
        Self { process, ready, lines }
    }

    pub(crate) fn url(&self) -> &str {
        self.ready["url"].as_str().unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.lines.lock().unwrap().clone()
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

pub(crate) struct Target {
    pub(crate) url: String,
    /// The accepted requests, the status of an answer, and the number of all requests.
    state: Arc<Mutex<(Vec<Request>, u16, usize)>>,
}

/// The header and the body.
pub(crate) type Request = (String, Vec<u8>);

impl Target {
    pub(crate) fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    pub(crate) fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let url = format!("http://{}/in", listener.local_addr().unwrap());
        let target = Self { url, state: Arc::new(Mutex::new((Vec::new(), 200, 0))) };
        let state = Arc::clone(&target.state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&state);
                thread::spawn(move || {
                    let Some(request) = read_request(&stream) else { return };
                    let (seen, status, tries) = &mut *state.lock().unwrap();
                    if *status < 300 {
                        seen.push(request);
                    }
                    *tries += 1;
                    let answer = format!(
                        "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    );
                    let _ = (&stream).write_all(answer.as_bytes());
                });
            }
        });
        target
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.state.lock().unwrap().0.clone()
    }

    pub(crate) fn answer_with(&self, status: u16) {
        self.state.lock().unwrap().1 = status;
    }

    pub(crate) fn receives_attempts(&self, times: usize) {
        wait_until(&format!("{times} attempts"), || self.state.lock().unwrap().2 >= times);
    }

    pub(crate) fn receives(&self, requests: usize) {
        wait_until(&format!("{requests} requests"), || self.seen().len() >= requests);
        assert_eq!(self.seen().len(), requests);
    }
}

pub(crate) fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1)?.lines().next()?;
    let mut body = vec![0; length.trim().parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

pub(crate) fn listen(env: &TestEnv, words: impl Words) -> Command {
    let (mut command, words) = (env.unconfigured("webhook listen"), words.words());
    if !words.iter().any(|word| word == "--port") {
        command.args(["--port", "0"]);
    }
    command.env("SVC_WEBHOOK_SECRET", "whsec_newest").args(words);
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
