//! The environment of a test: a home folder, a configuration, a journal, and a mock of the service.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use svc_mock_server::engine::Time;
use svc_mock_server::serve::Server;
use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY, Setup};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) struct TestEnv {
    pub(crate) mock: Server,
    home: TempDir,
    _runtime: Runtime,
}

#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        Self::with(Setup::default().speed("50".parse().unwrap()))
    }

    pub(crate) fn with(setup: Setup) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let mock = runtime.block_on(Server::bind(setup, 0, |_| {})).unwrap();
        Self { mock, home: tempfile::tempdir().unwrap(), _runtime: runtime }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn open_surface(&self, words: impl AsRef<str>) -> Command {
        let mut command = self.unconfigured(words);
        command.env("SVC_BASE_URL", self.mock.base_url()).env("SVC_OPEN_API_KEY", OPEN_API_KEY);
        command
    }

    pub(crate) fn developer_surface(&self, words: impl AsRef<str>) -> Command {
        self.with_developer_surface(self.unconfigured(words))
    }

    pub(crate) fn both_surfaces(&self, words: impl AsRef<str>) -> Command {
        self.with_developer_surface(self.open_surface(words))
    }

    fn with_developer_surface(&self, mut command: Command) -> Command {
        command
            .env("SVC_DEVELOPER_BASE_URL", self.mock.developer_base_url())
            .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY)
            .env("SVC_FIRST_PARTY_OWNER", "studio");
        command
    }

    pub(crate) fn unconfigured(&self, words: impl AsRef<str>) -> Command {
        let home = self.home.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_svc"));
        let words = shell_words::split(words.as_ref()).unwrap();
        command.args(words).env_clear().current_dir(home).stdin(Stdio::null());
        for keep in ["PATH", "SYSTEMROOT", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(keep) {
                command.env(keep, value);
            }
        }
        command
            .env("HOME", home)
            .env("SVC_CONFIG", home.join("config/config.toml"))
            .env("SVC_STATE_DIR", home.join("state"));
        command
    }

    pub(crate) fn run(&self, words: impl AsRef<str>) -> CommandOutput {
        CommandOutput::of(&mut self.open_surface(words))
    }

    pub(crate) fn run_unconfigured(&self, words: impl AsRef<str>) -> CommandOutput {
        CommandOutput::of(&mut self.unconfigured(words))
    }

    pub(crate) fn generate_image(&self, prompt: &str, flags: &[&str]) -> CommandOutput {
        let words = format!("image generate --model image-i --prompt '{prompt}'");
        CommandOutput::of(self.open_surface(words).args(flags))
    }

    pub(crate) fn submit_image(&self, prompt: &str) -> String {
        let run = self.generate_image(prompt, &["--no-wait", "--new"]);
        run.assert_exit(0).json()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn job_count(&self) -> usize {
        self.mock.jobs().len()
    }

    pub(crate) fn charge_count(&self) -> usize {
        let ledger = self.mock.ledger();
        let entries = ledger["data"].as_array().into_iter().flatten();
        let charges = entries.filter(|entry| entry["kind"] == "reservation");
        charges.filter(|entry| entry["job_id"].is_string()).count()
    }

    pub(crate) fn open_intents(&self) -> Vec<Value> {
        self.history("--unfinished --all")
    }

    pub(crate) fn history(&self, flags: &str) -> Vec<Value> {
        let listed = self.run(format!("history -o json {flags}")).assert_exit(0);
        listed.json().as_array().unwrap().clone()
    }

    /// Replaces the journal by the file that earlier versions wrote for an open entry.
    pub(crate) fn leave_to_an_earlier_version(&self, mut intent: Value) {
        let fields = intent.as_object_mut().unwrap();
        let id = fields.remove("entry").unwrap();
        fields.insert("id".to_owned(), id);
        let of_this_version =
            ["outcome", "ended_at", "request_id", "object", "status", "artifacts", "files"];
        for name in of_this_version {
            fields.remove(name);
        }
        let id = ["job_id", "top_up_id"].into_iter().find_map(|name| {
            let id = fields.remove(name).filter(|id| !id.is_null())?;
            Some(json!({"receipt": {name: id, "request_id": "req_1"}}))
        });
        let name = format!("{}-x.jsonl", &intent["request_hash"].as_str().unwrap()[..24]);
        let lines = [Some(json!({"intent": intent})), id];
        let lines = lines.into_iter().flatten();
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        fs::remove_dir_all(self.path("state")).unwrap();
        fs::create_dir_all(self.path("state/open")).unwrap();
        fs::write(self.path("state/open").join(name), text).unwrap();
    }
}

/// Returns the status and the body of the response to a request.
pub(crate) type Respond = Box<dyn Fn(&str) -> (String, String) + Send>;

/// A server that does not validate what it receives.
pub(crate) struct FakeServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    respond: Arc<Mutex<Respond>>,
}

impl FakeServer {
    pub(crate) fn start(address: &str, respond: Respond) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let respond = Arc::new(Mutex::new(respond));
        let server = Self { url, requests: Arc::default(), respond };
        let (received, respond) = (Arc::clone(&server.requests), Arc::clone(&server.respond));
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let request = read_request(&mut stream);
                let (status, body) = respond.lock().unwrap()(&request);
                received.lock().unwrap().push(request);
                let length = body.len();
                let head = "content-type: application/json\r\nconnection: close";
                let response = format!(
                    "HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                let _ = stream.write_all(response.as_bytes());
            }
        });
        server
    }

    /// Starts a server that accepts connections, and never answers.
    pub(crate) fn silent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || listener.incoming().collect::<Vec<_>>());
        Self {
            url,
            requests: Arc::default(),
            respond: Arc::new(Mutex::new(Box::new(|_| panic!()))),
        }
    }

    pub(crate) fn answer(&self, respond: Respond) {
        *self.respond.lock().unwrap() = respond;
    }

    pub(crate) fn sent(&self) -> Value {
        let requests = self.requests.lock().unwrap();
        let request = |head: &String| {
            let key = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("idempotency-key").then(|| value.to_owned())
            });
            let body = head.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            json!({"line": head.lines().next(), "head": head, "key": key, "body": serde_json::from_str::<Value>(body).ok()})
        };
        requests.iter().map(request).collect()
    }
}

/// Reads a request with its body, or as much as arrives of it. A TLS handshake is read once.
fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer).unwrap_or_default();
        request.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&request);
        let is_whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let announced = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
            });
            body.len() >= announced.unwrap_or_default()
        });
        let is_http = request.first().is_some_and(u8::is_ascii_uppercase);
        if length == 0 || is_whole || !is_http {
            return text.into_owned();
        }
    }
}

impl CommandOutput {
    /// What is looked at like the output of a command.
    pub(crate) fn text(out: impl ToString) -> Self {
        Self { code: None, out: out.to_string(), err: String::new() }
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().unwrap().into()
    }

    #[track_caller]
    pub(crate) fn assert_exit(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn assert_stderr(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no {text:?} in: {}", self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let line = self.err.lines().last().unwrap_or_default();
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {}", self.err));
        value["error"].clone()
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) struct RunningProcess(pub(crate) Child);

impl RunningProcess {
    pub(crate) fn end(mut self) -> CommandOutput {
        drop(self.0.stdin.take());
        let (mut out, mut err) = (String::new(), String::new());
        let (stdout, stderr) = (self.0.stdout.take(), self.0.stderr.take());
        thread::scope(|scope| {
            scope.spawn(|| stdout.map(|mut stream| stream.read_to_string(&mut out).unwrap()));
            stderr.map(|mut stream| stream.read_to_string(&mut err).unwrap());
        });
        CommandOutput { code: self.0.wait().unwrap().code(), out, err }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(command: &mut Command) -> RunningProcess {
    RunningProcess(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

pub(crate) fn send_signal(child: &RunningProcess, name: &str) {
    let arguments = [format!("-{name}"), child.0.id().to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
}

#[track_caller]
#[allow(clippy::disallowed_methods, reason = "real processes take real time")]
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(60), "timed out waiting until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[allow(clippy::disallowed_methods, reason = "real processes take real time")]
pub(crate) fn sleep(time: Duration) {
    thread::sleep(time);
}

/// Returns the time since 1970.
#[allow(clippy::disallowed_methods, reason = "svc compares with the real time")]
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

pub(crate) fn ago(time: Duration) -> Time {
    Time::from_micros((now() - time).as_micros().try_into().unwrap())
}
