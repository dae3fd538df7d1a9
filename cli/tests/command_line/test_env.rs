//! A place of one's own for each test: a home, a configuration, a journal, and a mock.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use svc_mock_server::serve::Server;
use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY, Setup};
use svc_sdk::types::Usd;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A home, and the service in miniature.
pub(crate) struct TestEnv {
    pub(crate) mock: Server,
    home: TempDir,
    _runtime: Runtime,
}

/// What a run came to.
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
        Self {
            mock,
            home: tempfile::tempdir().unwrap(),
            _runtime: runtime,
        }
    }

    /// A file of this place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// `svc` with those words, configured for the open surface by variables.
    pub(crate) fn open_surface<const N: usize>(&self, words: [&str; N]) -> Command {
        let mut command = self.unconfigured(words);
        command
            .env("SVC_BASE_URL", self.mock.base_url())
            .env("SVC_OPEN_API_KEY", OPEN_API_KEY);
        command
    }

    /// `svc` with those words, configured for the developer surface by variables.
    pub(crate) fn developer_surface(&self, words: &[&str]) -> Command {
        let mut command = unconfigured(self.home.path(), words);
        command
            .env("SVC_DEVELOPER_BASE_URL", self.mock.developer_base_url())
            .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY);
        command
    }

    /// What was taken for each run, by its id, in USD micros.
    pub(crate) fn captured_by_run(&self) -> BTreeMap<String, i64> {
        let ledger = self.mock.ledger();
        let entries = ledger["data"].as_array().cloned().unwrap_or_default();
        let mut captured = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry["kind"] == "capture") {
            let amount: Usd = entry["amount_usd"].as_str().unwrap().parse().unwrap();
            if let Some(run) = entry["run_id"].as_str() {
                *captured.entry(run.to_owned()).or_default() += amount.micros();
            }
        }
        captured
    }

    /// `svc` with those words, and no configuration at all.
    pub(crate) fn unconfigured<const N: usize>(&self, words: [&str; N]) -> Command {
        unconfigured(self.home.path(), &words)
    }

    /// Runs `svc` with those words to its end.
    pub(crate) fn run<const N: usize>(&self, words: [&str; N]) -> CommandOutput {
        CommandOutput::of(&mut self.open_surface(words))
    }

    /// Makes the next requests of that operation fail.
    pub(crate) fn add_fault(&self, operation: &str, kind: &str, times: u64) {
        let fault = serde_json::json!({"operation": operation, "kind": kind, "times": times, "retry_after_seconds": 0});
        self.mock
            .add_fault(serde_json::from_value(fault).unwrap())
            .unwrap();
    }

    /// How many jobs there are.
    pub(crate) fn job_count(&self) -> usize {
        self.mock.jobs().len()
    }

    /// What was reserved for jobs, once for each charge.
    pub(crate) fn charge_count(&self) -> usize {
        let text = self.mock.ledger().to_string();
        text.matches("\"kind\":\"reservation\"").count()
    }

    /// The requests of that operation that came in.
    pub(crate) fn requests(&self, operation: &str) -> Vec<Value> {
        self.mock
            .requests(0)
            .into_iter()
            .filter(|request| request["operation"] == operation)
            .collect()
    }

    /// The journal's files of intents whose outcome is not known. A hidden one is of a run that was
    /// killed before its intent was whole, and so before anything was sent.
    pub(crate) fn open_intents(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path("state/open"));
        let names = entries.into_iter().flatten().map(|it| it.unwrap());
        names
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .map(|entry| entry.path())
            .collect()
    }
}

/// A service that says one thing to everybody.
pub(crate) struct FakeServer {
    pub(crate) url: String,
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    pub(crate) fn answering(status: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let heads = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&heads);
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap_or_default();
                heard
                    .lock()
                    .unwrap()
                    .push(String::from_utf8_lossy(&request[..length]).into_owned());
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, heads }
    }
}

/// `svc` in that home, with nothing of this process's environment that could matter.
pub(crate) fn unconfigured(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_svc"));
    command
        .args(words)
        .env_clear()
        .current_dir(home)
        .stdin(Stdio::null());
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

impl CommandOutput {
    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().unwrap().into()
    }

    /// Checks how it ended.
    #[track_caller]
    pub(crate) fn assert_exit(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {}\nstderr: {}",
            self.out,
            self.err
        );
        self
    }

    /// Checks that standard error says it.
    #[track_caller]
    pub(crate) fn assert_stderr(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no {text:?} in: {}", self.err);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The error as JSON: the last line of standard error.
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

/// A process that does not outlive its test.
pub(crate) struct RunningProcess(pub(crate) Child);

impl RunningProcess {
    /// Waits for its end, and gives what it said.
    pub(crate) fn end(mut self) -> CommandOutput {
        drop(self.0.stdin.take());
        let streams = [
            self.0
                .stdout
                .take()
                .map(|stream| Box::new(stream) as Box<dyn Read + Send>),
            self.0
                .stderr
                .take()
                .map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        ];
        let [out, err] = streams.map(|stream| {
            thread::spawn(move || {
                let mut text = String::new();
                stream.map(|mut stream| stream.read_to_string(&mut text).unwrap());
                text
            })
        });
        let code = self.0.wait().unwrap().code();
        CommandOutput {
            code,
            out: out.join().unwrap(),
            err: err.join().unwrap(),
        }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it, with both streams kept.
pub(crate) fn start(command: &mut Command) -> RunningProcess {
    RunningProcess(
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    )
}

/// Sends SIGINT, as Ctrl-C does.
pub(crate) fn interrupt(child: &RunningProcess) {
    let status = Command::new("kill")
        .args(["-INT", &child.0.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Waits until it is so, a minute at most.
#[track_caller]
#[allow(clippy::disallowed_methods, reason = "real processes take real time")]
pub(crate) fn wait_until(what: &str, so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "never came about: {what}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// Lets real time pass.
#[allow(clippy::disallowed_methods, reason = "real processes take real time")]
pub(crate) fn sleep(time: Duration) {
    thread::sleep(time);
}
