//! Tests of calls, waits and downloads as scripts, in virtual time. The language around the steps (conditions,
//! variables, `for`) is that of the crate `svc_test_script`.
//!
//! ```text
//! == a `Retry-After` is waited for to the millisecond
//! < 503 database_busy retry-after=3, 200 job
//! get => ok at=[0,3000]
//! ```
//!
//! A line that begins with `<` has the responses that follow, of which the last is repeated, and begins with
//! new clients of both surfaces and a new folder (`<<` with the same folder): `refused`, `reset` and `silent`,
//! or a status with a body and headers. A body is JSON as it is, `data` and what its envelope contains, a text
//! in quotes, a word of [`BODIES`](responses), the code of an error, a `page`, or `image` and its content. `whole` is the
//! whole [`FILE`](responses), `part A B` a part of it, `other STATUS TEXT` another version. `limit=L/N` says that N of L
//! requests remain for half a minute, `range=` is a `Content-Range`, `cut=N` and `stall=N` end the body after
//! N bytes, and `xN` gives the response N times. `latency MS` is that of the responses after the next `<`.
//!
//! `client` changes the options of both clients: `key=K`, `provider=K,…` (a provider of these keys, `!reason`
//! for a failure), `in-flight=N`, `attempt-timeout=S` and `retry=none`. `get`, `video`, `music`, `agent`, `bulk` and
//! `raw METHOD PATH` (with the query parameter `a=` or a body) are calls, of which `at-once=N` makes several together. `wait KIND`, `watch KIND` and
//! `result KIND` wait for a `job`, a `run` of a Format, an `agent` run, an `action` run, a `queue`, a `top-up`
//! or the `video` that was submitted. `download KIND` stores its files in the folder, and `stream` reads the
//! content of a file. They take `timeout=S` (`max`, `none`), `retries=N` and `failures=S`.
//!
//! `sleep S` lets the computer sleep an hour after S seconds (`sleep S H` for H hours), `event S` announces the
//! end of the job and the run then, and `write FILE TEXT` changes a file.
//!
//! After `=>` stand conditions on the [outcome](Runner::outcome). One without an operator says that there is
//! such a thing, `left<N` and `left>N` compare numbers, and a word that begins with a capital letter is the kind of the error.
//! `about=[…]` has the times of the requests in seconds, each of which may be up to a tenth later.

mod options;
mod outcome;
mod responses;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::{Map, Value, json};
use svc_test_script::{Steps, Variables, parse, run_script, scripts_of, split};
use tempfile::TempDir;

use self::options::{Options, client};
use self::outcome::{difference, outcome_of, request_json};
use self::responses::steps_of;
use crate::Client;
use crate::call::clock;
use crate::contract::Method;
use crate::download::Download;
use crate::error::Result;
use crate::handle::{Handle, JobHandle, Resource};
use crate::polling::WebhookNotifier;
use crate::surface::{Developer, Open};
use crate::transport::scripted::{Script, developer_client, open_client};
use crate::types::{
    AgentCompletionCreate, BulkRunCreate, FormatRunCreate, Music1Generate, Usd, VideoGenerate,
};

/// What a script has set up.
struct Runner(RefCell<ScriptState>);

struct ScriptState {
    script: Arc<Script>,
    open: Client<Open>,
    developer: Client<Developer>,
    latency: Duration,
    /// The video that was submitted last.
    video: Option<JobHandle<Open>>,
    /// Announces the end of the job, if the script says so.
    notifier: Option<WebhookNotifier>,
    /// How many keys the provider was asked for.
    asked: Arc<AtomicUsize>,
    /// The parent of the folder for downloads.
    folder: Arc<TempDir>,
    /// What a stream delivered.
    received: String,
}

/// Runs the scripts of a file, each on a thread of its own, whose clock it may move.
fn run(file: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scripts").join(file);
    let text = std::fs::read_to_string(file).unwrap();
    let mut failed = Vec::new();
    for (title, script) in scripts_of(&text) {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let runner = Runner(RefCell::new(ScriptState::new()));
                run_script(&runner, Variables::new(), script).await;
            });
        };
        if std::thread::scope(|scope| scope.spawn(run).join()).is_err() {
            failed.push(title);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

impl ScriptState {
    fn new() -> Self {
        let script = Script::new([]);
        Self {
            open: open_client(&script),
            developer: developer_client(&script),
            script,
            latency: Duration::ZERO,
            video: None,
            notifier: None,
            asked: Arc::default(),
            folder: Arc::new(tempfile::tempdir().unwrap()),
            received: String::new(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Makes the clients with other options.
    fn configure(&mut self, options: &str) {
        let names = ["key", "provider", "in-flight", "retry", "attempt-timeout"];
        let options = Options::new(options.split(' ').filter_map(|it| it.split_once('=')), &names);
        self.asked = Arc::default();
        self.open = client(&self.script, &options, &self.asked);
        self.developer = client(&self.script, &options, &self.asked);
    }

    /// Begins with new clients, given the responses.
    fn answer(&mut self, responses: &str) {
        let steps = split(responses, ',').into_iter().flat_map(steps_of);
        self.script = Script::with_latency(steps, self.latency);
        self.open = open_client(&self.script);
        self.developer = developer_client(&self.script);
        self.notifier = None;
    }
}

impl Steps for Runner {
    async fn run(&self, step: &str, _: &[String], variables: &mut Variables) -> Option<String> {
        let (action, conditions) = step.split_once(" => ").unwrap_or((step, ""));
        let (name, rest) = action.split_once(' ').unwrap_or((action, ""));
        let began = clock::now();
        let result = match name {
            "<" => {
                self.0.borrow_mut().folder = Arc::new(tempfile::tempdir().unwrap());
                return self.set_up(|state| state.answer(rest));
            }
            "<<" => return self.set_up(|state| state.answer(rest)),
            "client" => return self.set_up(|state| state.configure(rest)),
            "latency" => {
                let latency = Duration::from_millis(rest.parse().unwrap());
                return self.set_up(|state| state.latency = latency);
            }
            "sleep" => {
                let (after, hours) = rest.split_once(' ').unwrap_or((rest, "1"));
                let span = Duration::from_secs_f64(3_600.0 * hours.parse::<f64>().unwrap());
                return later(after, move || clock::sleep_computer(span)).await;
            }
            "event" => {
                let notifier = WebhookNotifier::new();
                self.0.borrow_mut().notifier = Some(notifier.clone());
                let events = [
                    json!({"event": "job.completed", "job_id": "job_1"}),
                    json!({"event": "agent.run.terminal", "run_id": "run_1"}),
                ];
                let events = events.map(|event| serde_json::from_value(event).unwrap());
                return later(rest, move || events.iter().for_each(|it| notifier.notify(it))).await;
            }
            "write" => {
                let (file, text) = rest.split_once(' ').unwrap();
                std::fs::write(self.0.borrow().folder().join(file), text).unwrap();
                return None;
            }
            _ => {
                let (rest, count) = rest.rsplit_once("at-once=").unwrap_or((rest, "1"));
                let calls = (0..count.parse().unwrap()).map(|_: u32| self.act(name, rest.trim()));
                let results = join_all(calls).await;
                results.into_iter().reduce(Result::and).unwrap()
            }
        };
        let seconds = (clock::now() - began).as_secs();
        let outcome = self.outcome(result, seconds);
        let failed: Vec<_> = split(conditions, ' ')
            .into_iter()
            .filter_map(|condition| {
                let actual = difference(condition, &outcome, variables)?;
                Some(format!("  {condition}: {actual}"))
            })
            .collect();
        (!failed.is_empty()).then(|| format!("{step}\n{}\n{outcome:#}", failed.join("\n")))
    }
}

impl Runner {
    fn set_up(&self, change: impl FnOnce(&mut ScriptState)) -> Option<String> {
        change(&mut self.0.borrow_mut());
        None
    }

    /// Makes a call, a wait or a download, and returns its value as JSON.
    async fn act(&self, name: &str, rest: &str) -> Result<Value> {
        let words = split(rest, ' ');
        let is_option = |word: &&&str| word.starts_with(|c: char| c.is_lowercase());
        let options = words.iter().filter(is_option).filter_map(|word| word.split_once('='));
        let options = &Options::new(options, &["timeout", "retries", "failures", "a"]);
        let kind = words.first().copied().unwrap_or_default();
        let (open, developer, video, folder) = {
            let state = self.0.borrow();
            let folder = state.folder();
            (state.open.clone(), state.developer.clone(), state.video.clone(), folder)
        };
        let body = || FormatRunCreate::new("a teaser");
        match name {
            "get" => {
                let id = if kind.contains('=') || kind.is_empty() { "job_1" } else { kind };
                let id = id.trim_matches('\'');
                value_of(options.apply_to(open.jobs().handle(id).get()).await?)
            }
            "video" => {
                let body = VideoGenerate::new("auto").prompt("a red fox in snow");
                let job = options.apply_to(open.videos().generate(body)).await?;
                let value = submitted(&job);
                self.0.borrow_mut().video = Some(job);
                value
            }
            "music" => {
                let call = developer.music().generate(Music1Generate::new("p"));
                submitted(&options.apply_to(call).await?)
            }
            "agent" => {
                let body = AgentCompletionCreate::new("x", Usd::from_micros(1));
                submitted(&options.apply_to(developer.agents().run(body)).await?)
            }
            "bulk" => {
                let body = BulkRunCreate::new([body(), body()]);
                submitted(&options.apply_to(developer.formats().bulk_run("fmt_1", body)).await?)
            }
            "raw" => {
                let method = if kind == "GET" { Method::Get } else { Method::Post };
                let mut call = open.raw_request(method, words[1]);
                if let Some(value) = options.get("a") {
                    call = call.query("a", value.trim_matches('"'));
                }
                if let Some(body) = words.get(2).filter(|word| word.starts_with('{')) {
                    call = call.body(&parse(body));
                }
                value_of(String::from_utf8_lossy(&options.apply_to(call).await?.body))
            }
            "stream" => {
                let artifact = r#"{"url": "https://media.example/a", "content_type": "image/png"}"#;
                let artifact = serde_json::from_str(artifact).unwrap();
                let mut download = open.jobs().handle("job_1").download_artifact(&artifact);
                if let Some(timeout) = options.seconds("timeout") {
                    download = download.timeout(timeout);
                }
                let (mut stream, mut content) = (download.stream(), Vec::new());
                let mut end = Ok(());
                while let Some(chunk) = stream.next().await {
                    assert!(end.is_ok(), "a stream ends after an error");
                    end = chunk.map(|chunk| content.extend_from_slice(&chunk));
                }
                let content = String::from_utf8(content).unwrap();
                self.0.borrow_mut().received.clone_from(&content);
                end.map(|()| content.into())
            }
            "download" => {
                let (job, run) = (open.jobs().handle("job_1"), developer.agent_runs());
                let download = match kind {
                    "job" => job.download(folder),
                    _ => run.handle("run_1").download(folder),
                };
                downloaded(download.concurrency(1), options).await
            }
            how => match kind {
                "job" => self.wait(how, open.jobs().handle("job_1"), options).await,
                "run" => self.wait(how, developer.format_runs().handle("run_1"), options).await,
                "agent" => self.wait(how, developer.agent_runs().handle("run_1"), options).await,
                "action" => self.wait(how, developer.action_runs().handle("run_1"), options).await,
                "queue" => self.wait(how, developer.queues().handle("frq_1"), options).await,
                "top-up" => self.wait(how, open.top_ups().handle("top_1"), options).await,
                "video" => self.wait(how, video.unwrap(), options).await,
                other => panic!("no such kind: {how} {other}"),
            },
        }
    }

    /// Waits for a resource. To `watch` counts the updates, and those with the error of a poll.
    async fn wait<R: Resource<Output: Serialize>>(
        &self,
        how: &str,
        handle: Handle<R>,
        options: &Options<'_>,
    ) -> Result<Value> {
        let notifier = self.0.borrow().notifier.clone();
        let mut wait = handle.wait();
        let mut updates = handle.updates();
        if let Some(notifier) = &notifier {
            wait = wait.webhook_notifier(notifier);
        }
        match (options.get("timeout"), options.seconds("timeout")) {
            (Some("none"), _) => wait = wait.no_timeout(),
            (_, Some(timeout)) => wait = wait.timeout(timeout),
            _ => {}
        }
        if let Some(span) = options.seconds("failures") {
            wait = wait.poll_failure_timeout(span);
        }
        match how {
            "wait" => value_of(wait.await?),
            "watch" => {
                let (mut count, mut failed) = (0, 0);
                while let Some(update) = updates.next().await {
                    count += 1;
                    failed += usize::from(update?.poll_error.is_some());
                }
                Ok(json!({"updates": count, "failed": failed}))
            }
            "result" => value_of(updates.result().await?),
            other => panic!("no such step: {other}"),
        }
    }

    /// Returns the value (`ok`) or the error as JSON, and what was requested: `at` are the times in
    /// milliseconds, `sent` the requests with their headers, `last` the last of them, `each` what all have in
    /// common, `most` how many were in flight at once, `reconnects` how often the transport had been told to
    /// reconnect. `key-sent` says that all have the idempotency key of the value or the error. `asked` is how
    /// often the provider was asked for a key, `requests` the number of requests, `took` the seconds of the step, `files` the names in the folder,
    /// `received` what a stream delivered.
    fn outcome(&self, result: Result<Value>, took: u64) -> Value {
        let state = self.0.borrow();
        let mut outcome = match result {
            Ok(value) => Map::from_iter([("ok".to_owned(), value)]),
            Err(error) => outcome_of(&error),
        };
        let requests = state.script.requests();
        let sent: Vec<_> = requests.iter().map(request_json).collect();
        let mut each = sent.first().cloned().unwrap_or_default();
        if let Value::Object(fields) = &mut each {
            fields.retain(|name, value| sent.iter().all(|request| request[name] == *value));
        }
        let key = outcome.get("key").or_else(|| outcome.get("ok")?.get("key"));
        if key.is_some_and(|key| key.is_string() && each["idempotency-key"] == *key) {
            outcome.insert("key-sent".to_owned(), true.into());
        }
        let files = std::fs::read_dir(state.folder()).into_iter().flatten();
        let mut files: Vec<_> =
            files.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        let times: Vec<_> = requests.iter().map(|request| request.at.as_millis() as u64).collect();
        let reconnects: Vec<_> = requests.iter().map(|request| request.reconnects).collect();
        for (name, value) in [
            ("at", json!(times)),
            ("requests", json!(requests.len())),
            ("each", each),
            ("reconnects", json!(reconnects)),
            ("last", sent.last().cloned().unwrap_or_default()),
            ("sent", json!(sent)),
            ("took", json!(took)),
            ("files", json!(files)),
            ("received", json!(state.received)),
            ("asked", json!(state.asked.load(Ordering::SeqCst))),
            ("most", json!(state.script.max_in_flight())),
        ] {
            outcome.insert(name.to_owned(), value);
        }
        outcome.into()
    }
}

/// Does something after some seconds, or now.
async fn later(seconds: &str, act: impl FnOnce() + Send + 'static) -> Option<String> {
    let span = Duration::from_secs_f64(seconds.parse().unwrap());
    if span.is_zero() {
        act();
    } else {
        tokio::spawn(async move {
            clock::sleep(span).await;
            act();
        });
    }
    None
}

fn value_of(value: impl Serialize) -> Result<Value> {
    Ok(serde_json::to_value(value).unwrap())
}

fn submitted<R: Resource>(handle: &Handle<R>) -> Result<Value> {
    let key = handle.idempotency_key().map(ToString::to_string);
    Ok(json!({"id": handle.id().as_ref(), "key": key, "is_replay": handle.is_replay()}))
}

async fn downloaded(mut download: Download, options: &Options<'_>) -> Result<Value> {
    match (options.get("timeout"), options.seconds("timeout")) {
        (Some("none"), _) => download = download.no_timeout(),
        (_, Some(timeout)) => download = download.timeout(timeout),
        _ => {}
    }
    let files = download.await?.into_iter().map(|file| {
        let content = String::from_utf8(std::fs::read(&file.path).unwrap()).unwrap();
        json!({
            "name": file.path.file_name().unwrap().to_str(),
            "content": content,
            "bytes": file.bytes,
            "resumed_from": file.resumed_from,
            "status": format!("{:?}", file.status),
        })
    });
    Ok(files.collect())
}

/// Declares a test for each file.
macro_rules! scripts {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                run(concat!(stringify!($name), ".txt"));
            }
        )+
    };
}

scripts! { calls clients sleep waits runs downloads }
