//! Scripts of requests to the mock server. The language around the requests (conditions, variables, `for`) is
//! that of the crate `svc_test_script`.
//!
//! ```text
//! open video {"prompt": "[mock:seconds=100]"} => 202 job.id=<id> job.status=queued
//! advance 30
//! open POST /v1/jobs/<id>/cancel => 409 job_generation_already_started
//! for <end> in status result
//!   developer:svc_dev_other /v1/jobs/<id>/<end> => 404 job_not_found
//! ```
//!
//! In a file, a script begins with `== what it shows`, then says how its mock is set up, if not as usual:
//! `mock plan=scale balance=1.0000` (with several of these lines it is run with each), `receiver` (of webhooks,
//! so that there are sockets), and `on serve in-process` (no other frontend). `SCRIPT=part of what it shows`
//! runs some scripts only.
//!
//! A request is a host with its default key (`open:KEY` has another key, `open:` none), headers as
//! `name=value` (`key=` is the idempotency key), a method if it is not `POST` with a body and `GET`
//! without one, a path or a URL of the mock, and a JSON body. A word of [`SHORT`] stands for a path and
//! a body, to which the fields of the line's body are added. `raw="…"` is a body as text, `bytes="…"`
//! one with a byte for each character, and `untyped` leaves out the content type. `<ab*100>` is `ab` a
//! hundred times, with `#` for the numbers from 0. `unchecked` leaves out what is checked of every
//! response, for faults.
//!
//! `advance N` moves the clock, `ledger ID = …` lists all entries of a job, run or top-up, `available N`
//! is the balance, which must be below 7.5 USD: the error of a submit that costs that says it. `restore` exports
//! the state of the mock and imports it again.
//!
//! `later NAME REQUEST` sends a request and goes on when the mock has received it (a control request, which
//! is in no journal: after a millisecond, so that `pending` has to follow), `pending NAME` says that its
//! response has not come, and `reply NAME =>` waits for it and has conditions on it. `until REQUEST` sends
//! it again, as often as the response tells to, until it is as the line says. `together N` sends each of the
//! requests below it N times, all at once: their responses are those after `=>`, with `*N` exactly N
//! times, else any number (`202*1 200 409:idempotency_key_in_use`), each with a request id of its own. `raw "…" => 200`
//! sends bytes over a connection of their own to the open surface; `rejected` is a status 4xx or no response.
//!
//! With a receiver of webhooks, `replies` sets its replies (statuses, `429:retry-after=5`, `close`, `hang`),
//! `received N` and `outcomes N` wait until it has N deliveries and the mock N outcomes, `attempts N` moves
//! the clock until then, `signed N SECRET …` checks the signature of the N-th delivery, and `delivery N =>`
//! has conditions on it, with the headers `@path`, `@method` and `@after`, the seconds since the one before.
//!
//! After `=>` come the status (`4xx` is any, `served` any below 500, `lost` that no complete response
//! came), the error code, the field that its details name, and
//! conditions. Their left side is a path in `data` or `error` (or the body, if it has neither); `/path`
//! starts at the body, `@name` is a header, `@` are all, `%` is the text, and `file.` what the header of an
//! image or a video says. `fixture=NAME` says that a response has the fields of that fixture, with values of
//! the same types or null. After each row the clock moves on by 8 seconds.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use svc_test_script::{Steps, Variables, at, check, parse, scripts_of, split, substitute, word};
use tokio::task::{JoinHandle, JoinSet, LocalSet, spawn_local};

use crate::client::Client;
use crate::file::file_facts;
use crate::frontend::{FrontendKind, Host, TransportError};
use crate::mock::Mock;
use crate::receiver::{Receiver, Reply};
use crate::response::Response;

/// Words for requests: the path and the body.
const SHORT: &str = r#"
video /v1/video-router/generate {"model": "video-l", "prompt": "a red fox", "duration": 2}
image /v1/image-router/generate {"model": "image-i", "prompt": "a red fox"}
hooked-video /v1/video-router/generate {"model": "video-l", "prompt": "a red fox", "duration": 2, "mode": "webhook", "webhook_url": "https://hooks.example.com/svc?tenant=7"}
hooked-image /v1/image-router/generate {"model": "image-i", "prompt": "a red fox", "mode": "webhook", "webhook_url": "https://hooks.example.com/svc?tenant=7"}
estimate /v1/open/estimate {}
top-up /v1/open/top-ups {"amount_usd_cents": 500}
music /v1/music-1.0/generate {"prompt": "a waltz"}
mcp /mcp {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
avatar /v1/avatar-1.0/generate {"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}}
talking-video /v1/avatar-1.0/talking-video {"avatar_handle": "ada", "script": "Hi."}
preview /v1/avatar-video-previews {"avatar_handle": "ada", "script": "Hi.", "quality": "max"}
run /v1/formats/fmt_demo/runs {"instruction": "x"}
media-run /v1/formats/fmt_media/runs {"instruction": "x"}
bulk /v1/formats/fmt_demo/bulk-runs {"items": [{"instruction": "x"}]}
run:format /v1/formats/fmt_demo/runs {"instruction": "x"}
run:action /v1/actions/act_daily/runs {"instruction": "x"}
run:agent /v1/agent/completions {"instruction": "x", "generation_spend_cap_usd": 5}
runs:format /v1/formats/fmt_demo/runs
runs:action /v1/actions/act_daily/runs
runs:agent /v1/agent-runs
"#;

/// Runs all scripts of a file on a frontend, each against a mock of its own, and panics with what those
/// show that failed.
pub async fn run_scripts(file: &Path, kind: FrontendKind) {
    let text = std::fs::read_to_string(file).expect("a file of scripts");
    let local = LocalSet::new();
    let mut failed = Vec::new();
    for (title, script) in scripts_of(&text) {
        let script = script.to_owned();
        let running = local.run_until(async { spawn_local(run_alone(kind, script)).await });
        if running.await.is_err() {
            failed.push(title);
        }
    }
    assert!(failed.is_empty(), "{kind:?}: {failed:#?}");
}

/// Runs a script of a file against each mock that it says.
async fn run_alone(kind: FrontendKind, script: String) {
    let (mut setups, mut has_receiver, mut rest) = (Vec::new(), false, script.as_str());
    while let Some((line, after)) = rest.split_once('\n') {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("mock", options) => setups.push(options),
            ("receiver", "") if kind == FrontendKind::InProcess => return,
            ("receiver", "") => has_receiver = true,
            ("on", kinds) if !kinds.split(' ').any(|it| it == kind.name()) => return,
            ("on", _) => {}
            _ => break,
        }
        rest = after;
    }
    if setups.is_empty() {
        setups.push("");
    }
    for options in setups {
        let receiver = if has_receiver { Some(Receiver::start().await) } else { None };
        let port = receiver.as_ref().map(|receiver| format!("webhook-port={}", receiver.port()));
        let options = format!("{options} {}", port.unwrap_or_default());
        let mock = Mock::start(kind, &options).await;
        run_script(&mock, receiver.as_ref(), rest).await;
    }
}

/// Runs a script against a mock, and the receiver of its webhooks if there is one.
pub async fn run_script(mock: &Mock, receiver: Option<&Receiver>, script: &str) {
    let mut variables = Variables::new();
    for host in Host::ALL {
        let name = format!("{host:?}").to_uppercase();
        variables.insert(name, mock.base_url(host).to_owned());
    }
    if let Some(receiver) = receiver {
        let url = format!("http://127.0.0.1:{}", receiver.port());
        variables.insert("RECEIVER".to_owned(), url);
    }
    let requests = Requests { mock, receiver, later: RefCell::default(), ids: RefCell::default() };
    svc_test_script::run_script(&requests, variables, script).await;
}

/// Sends a request, as a line of a script has it.
pub async fn request(mock: &Mock, line: &str) -> Response {
    let sent = send(mock, &split(line, ' '), true).await;
    sent.unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// As [`request`], without any check of the response.
pub async fn try_request(mock: &Mock, line: &str) -> Result<Response, TransportError> {
    send(mock, &split(line, ' '), false).await
}

/// What a script is run with.
struct Requests<'m> {
    mock: &'m Mock,
    receiver: Option<&'m Receiver>,
    /// The requests whose responses are looked at later, by name.
    later: RefCell<BTreeMap<String, JoinHandle<Result<Response, TransportError>>>>,
    /// The ids of requests that were sent together.
    ids: RefCell<BTreeSet<String>>,
}

impl Steps for Requests<'_> {
    /// Sends the request of a line, and returns the conditions that do not hold.
    async fn run(&self, line: &str, block: &[String], variables: &mut Variables) -> Option<String> {
        let (request, expected) = line.split_once(" => ").unwrap_or((line, "2xx"));
        let words = split(request, ' ');
        match words.as_slice() {
            ["advance", seconds] => {
                self.mock.advance(parse(seconds)).await;
            }
            ["restore"] => {
                let state = self.mock.state().await;
                self.mock.put_state(state).await.expect_success();
            }
            ["available", balance] => {
                let body = json!({"model": "video-l", "prompt": "p", "duration": 30, "resolution": "1080p"});
                let response = self.mock.open().post("/v1/video-router/generate", body).await;
                let details = response.expect_error(402, "insufficient_funds")["details"].take();
                assert_eq!(details["required_usd"], "7.5000");
                assert_eq!(details["available_usd"], *balance, "{line}");
            }
            ["ledger", owner, "=", expected @ ..] => {
                let found: Vec<_> = self
                    .mock
                    .ledger()
                    .await
                    .iter()
                    .filter(|it| {
                        ["job_id", "run_id", "top_up_id"].iter().any(|id| it[id] == *owner)
                    })
                    .map(|it| format!("{} {}", word(&it["kind"]), word(&it["amount_usd"])))
                    .collect();
                assert_eq!(found.join(", "), expected.join(" "), "{line}");
            }
            ["replies", replies @ ..] => {
                let replies = replies.iter().map(|reply| reply_of(reply));
                self.receiver().set_replies(replies);
            }
            ["received", count] => self.receiver().wait_for(number(count)).await,
            ["outcomes", count] => self.mock.wait_for_outcomes(number(count)).await,
            ["attempts", count] => self.advance_until_attempts(number(count)).await,
            ["signed", delivery, secrets @ ..] => {
                let deliveries = self.receiver().deliveries();
                deliveries[number(delivery) - 1].assert_signed_with(secrets);
            }
            ["later", name, ..] => {
                let (_, sent) = request.split_once(name).expect("a request");
                self.send_later(name, sent.to_owned()).await;
            }
            ["pending", name] => {
                // A response that is due would arrive before these.
                for _ in 0..10 {
                    self.mock.open().get("/v1/jobs").await.expect(200);
                }
                assert!(!self.later.borrow()[*name].is_finished(), "{line}");
            }
            ["raw", bytes] => {
                let sent = self.mock.frontend().send_raw(Host::Open, bytes_of(bytes).into()).await;
                let response = sent.expect("a frontend with sockets").unwrap_or_default();
                let text = String::from_utf8_lossy(&response);
                let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
                let is_rejected = text.is_empty() || status.is_some_and(|it| it.starts_with('4'));
                let is_met = status == Some(expected) || expected == "rejected" && is_rejected;
                return (!is_met).then(|| format!("{line}\n{text}"));
            }
            ["together", count] => {
                return self.send_together(line, number(count), block, expected).await;
            }
            ["until", words @ ..] => {
                return self.send_until(line, words, expected, variables).await;
            }
            words if expected == "lost" => {
                let response = send(self.mock, words, false).await;
                return response.ok().map(|response| format!("{line}\n{response:?}"));
            }
            words => {
                let response = match words {
                    ["delivery", index] => {
                        let deliveries = self.receiver().deliveries();
                        let index = number(index) - 1;
                        let mut response = deliveries[index].as_response();
                        if let Some(before) = index.checked_sub(1) {
                            let span =
                                deliveries[index].timestamp() - deliveries[before].timestamp();
                            response.headers_mut().insert("after", span.into());
                        }
                        Ok(Response::new(line.to_owned(), response))
                    }
                    ["reply", name] => {
                        let later = self.later.borrow_mut().remove(*name);
                        later.expect("a request sent before").await.expect("a response")
                    }
                    words => send(self.mock, words, true).await,
                };
                return match response {
                    Ok(response) => unmet(line, &response, expected, variables),
                    Err(error) => Some(format!("{line}\n  {error}")),
                };
            }
        }
        None
    }

    async fn after_row(&self) {
        self.mock.advance(8).await;
    }
}

impl Requests<'_> {
    fn receiver(&self) -> &Receiver {
        self.receiver.expect("a receiver of webhooks")
    }

    /// Sends a request in a task of its own, and waits until the mock has received it.
    async fn send_later(&self, name: &str, request: String) {
        let known = self.mock.journal(0).await.len();
        let mock = self.mock.clone();
        // Control requests are not in the journal: whether they were received is not known.
        let is_logged = !request.trim_start().starts_with("control");
        let sent = async move { send(&mock, &split(&request, ' '), true).await };
        self.later.borrow_mut().insert(name.to_owned(), tokio::spawn(sent));
        for _ in 0..1_000 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            if !is_logged || self.mock.journal(0).await.len() > known {
                return;
            }
        }
        panic!("{name} was not received");
    }

    /// Sends a request again and again until its response is as expected, and returns what the last one has not.
    async fn send_until(
        &self,
        line: &str,
        words: &[&str],
        expected: &str,
        variables: &mut Variables,
    ) -> Option<String> {
        let mut wrong = None;
        for _ in 0..1_000 {
            let response = match send(self.mock, words, true).await {
                Ok(response) => response,
                Err(error) => return Some(format!("{line}\n  {error}")),
            };
            wrong = unmet(line, &response, expected, variables);
            if wrong.is_none() {
                break;
            }
            // The hint may be zero between the end of a job and the moment at which it is noticed.
            let hint = response.data()["next_poll_after_seconds"].as_f64().unwrap_or(0.02);
            tokio::time::sleep(Duration::from_secs_f64(hint.max(0.005))).await;
        }
        wrong
    }

    /// Sends each of the requests `count` times, all at once.
    async fn send_together(
        &self,
        line: &str,
        count: usize,
        requests: &[String],
        expected: &str,
    ) -> Option<String> {
        let mut sending = JoinSet::new();
        for line in requests.iter().cycle().take(count * requests.len()) {
            let (mock, line) = (self.mock.clone(), line.clone());
            sending.spawn(async move { request(&mock, &line).await });
        }
        let mut found = BTreeMap::<String, usize>::new();
        for response in sending.join_all().await {
            let id = response.header("x-svc-request-id").unwrap_or_default().to_owned();
            let is_new = id.starts_with("req_") && self.ids.borrow_mut().insert(id);
            assert!(is_new, "not its own id: {response:?}");
            let answer = match response.status() {
                status @ 400.. => format!("{status}:{}", response.code()),
                status => status.to_string(),
            };
            *found.entry(answer).or_default() += 1;
        }
        let expected: Vec<_> = expected
            .split(' ')
            .map(|word| word.split_once('*').map_or((word, None), |(it, n)| (it, Some(number(n)))))
            .collect();
        let is_met = expected
            .iter()
            .all(|(answer, count)| count.is_none_or(|count| found.get(*answer) == Some(&count)))
            && found.keys().all(|found| expected.iter().any(|(answer, _)| found == answer));
        (!is_met).then(|| format!("{line}\n{found:?}"))
    }

    /// Advances the clock by an hour at a time, the longest delay between two attempts, until the
    /// receiver has `count` deliveries.
    async fn advance_until_attempts(&self, count: usize) {
        let received = || self.receiver().deliveries().len();
        for _ in 0..4 * count {
            let before = received();
            if before >= count {
                break;
            }
            self.mock.advance(3_600).await;
            self.mock.wait_for_outcomes(before + 1).await;
        }
        assert_eq!(received(), count);
        self.mock.wait_for_outcomes(count).await;
    }
}

fn number(word: &str) -> usize {
    word.parse().unwrap_or_else(|_| panic!("not a number: {word}"))
}

fn reply_of(word: &str) -> Reply {
    match word.split_once(':') {
        None if word == "close" => Reply::Close,
        None if word == "hang" => Reply::Hang,
        None => Reply::Status(word.parse().expect("a status")),
        Some((status, header)) => {
            let (name, value) = header.split_once('=').expect("a header");
            let status = status.parse().expect("a status");
            Reply::StatusWithHeader(status, name.to_owned(), value.to_owned())
        }
    }
}

/// Returns the conditions of a line that a response does not meet.
fn unmet(
    line: &str,
    response: &Response,
    expected: &str,
    variables: &mut Variables,
) -> Option<String> {
    let mut wrong = String::new();
    for (index, condition) in split(expected, ' ').into_iter().enumerate() {
        let is_field = index == 2 && !condition.contains('=') && !condition.starts_with('!');
        let field = format!("details.field={condition}");
        let condition = if is_field { &field } else { condition };
        let condition = &repeated(&substitute(condition, variables));
        if let Some(difference) = difference(response, condition, variables) {
            wrong += &format!("\n  not {condition}, but {difference}");
        }
    }
    (!wrong.is_empty()).then(|| format!("{line}{wrong}\n{response:.1500?}"))
}

/// Returns what a response has instead of what a condition says.
fn difference(response: &Response, condition: &str, variables: &mut Variables) -> Option<String> {
    let status = response.status().to_string();
    if condition == "served" {
        return (response.status() >= 500).then_some(status);
    }
    let is_status = |pattern: &str| pattern == status || pattern == format!("{}xx", &status[..1]);
    if condition.starts_with(|first: char| first.is_ascii_digit()) && !condition.contains('=') {
        return (!is_status(condition)).then_some(status);
    }
    let json = if response.is_json() { response.json() } else { Value::Null };
    let field = if response.status() < 300 { "data" } else { "error" };
    let root = json.get(field).unwrap_or(&json);
    if let Some(name) = condition.strip_prefix("fixture=") {
        return fixture_difference(root, name);
    }
    if !condition.contains('=') && !condition.starts_with('!') {
        return (root["code"] != condition).then(|| root["code"].to_string());
    }
    check(condition, variables, |left| {
        if left == "%" {
            Some(Value::String(response.text()))
        } else if left == "@" {
            Some(Value::String(response.header_text()))
        } else if let Some(name) = left.strip_prefix('@') {
            response.header(name).map(Value::from)
        } else if let Some(path) = left.strip_prefix("file.") {
            at(&file_facts(response.body()), path)
        } else if let Some(path) = left.strip_prefix('/') {
            at(&json, path)
        } else {
            at(root, left)
        }
    })
}

/// Returns the fields that an object has in another way than the `data` of a fixture.
fn fixture_difference(actual: &Value, name: &str) -> Option<String> {
    let path = format!("{}/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let expected = parse(&text)["response"]["body"]["data"].take();
    let (Some(actual), Some(expected)) = (actual.as_object(), expected.as_object()) else {
        return Some("not an object".to_owned());
    };
    let differs = |name: &&String| match (actual.get(*name), expected.get(*name)) {
        (Some(Value::Null), Some(_)) | (Some(_), Some(Value::Null)) => false,
        (Some(one), Some(other)) => discriminant(one) != discriminant(other),
        _ => true,
    };
    let names: Vec<_> = actual.keys().chain(expected.keys()).filter(differs).collect();
    (!names.is_empty()).then(|| format!("differs in {names:?}"))
}

async fn send(mock: &Mock, words: &[&str], is_checked: bool) -> Result<Response, TransportError> {
    let (client, words) = words.split_first().expect("a host");
    let mut client = client_of(mock, client);
    let (mut method, mut path, mut json, mut raw) = (None, None, None, None);
    let (mut content_type, mut is_checked) = (Some("application/json".to_owned()), is_checked);
    for word in words {
        let short = SHORT.lines().find_map(|line| line.strip_prefix(*word)?.strip_prefix(' '));
        if let Some(short) = short {
            let (of_word, fields) = short.split_once(' ').unwrap_or((short, ""));
            path = Some(of_word.to_owned());
            json = (!fields.is_empty()).then(|| parse(fields));
        } else if *word == "untyped" {
            content_type = None;
        } else if *word == "unchecked" {
            is_checked = false;
        } else if let Some(text) = word.strip_prefix("raw=") {
            raw = Some(Bytes::from(unquoted(text)));
        } else if let Some(text) = word.strip_prefix("bytes=") {
            raw = Some(bytes_of(text));
        } else if word.starts_with('/') || word.starts_with("http") {
            let hosts = Host::ALL.iter();
            let found = hosts.copied().find_map(|host| {
                let path = word.strip_prefix(mock.base_url(host))?;
                path.starts_with('/').then(|| path.to_owned())
            });
            path = Some(repeated(&found.unwrap_or_else(|| (*word).to_owned())));
        } else if word.bytes().all(|byte| byte.is_ascii_uppercase()) {
            method = Some(*word);
        } else if let (None, Some((name, value))) = (&path, word.split_once('=')) {
            // Entity tags keep their quotes.
            let is_tag = name.starts_with("if-");
            let value = if is_tag { value } else { value.trim_matches('"') };
            match name {
                "content-type" => content_type = Some(value.to_owned()),
                "key" => client = client.idempotency_key(&repeated(value)),
                name => client = client.header(name, &repeated(value)),
            }
        } else {
            json = Some(merged(json, parse(&repeated(word))));
        }
    }
    let path = path.unwrap_or_else(|| panic!("no path in {words:?}"));
    let body = raw.or_else(|| json.map(|json| Bytes::from(json.to_string())));
    let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
    let content_type = content_type.as_deref().filter(|_| body.is_some());
    let body = body.unwrap_or_default();
    match is_checked {
        true => Ok(client.send(method, &path, content_type, body).await),
        false => client.try_send(method, &path, content_type, body).await,
    }
}

/// Returns a text in quotes without them, with its repetitions.
fn unquoted(text: &str) -> String {
    repeated(&word(&parse(text)))
}

/// Returns a byte for each character of a text in quotes.
fn bytes_of(text: &str) -> Bytes {
    unquoted(text).chars().map(|it| it as u8).collect()
}

/// Replaces each `<ab*100>` in a text by `ab` a hundred times, with `#` for the numbers from 0.
fn repeated(text: &str) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some(end) = rest.find('>') {
        let (part, after) = rest.split_at(end + 1);
        let repetition = part.rfind('<').and_then(|start| {
            let (repeated, count) = part[start + 1..end].rsplit_once('*')?;
            Some((start, repeated, count.parse::<usize>().ok()?))
        });
        match repetition {
            Some((start, repeated, count)) => {
                done += &part[..start];
                for number in 0..count {
                    done += &repeated.replace('#', &number.to_string());
                }
            }
            None => done += part,
        }
        rest = after;
    }
    done + rest
}

fn client_of(mock: &Mock, word: &str) -> Client {
    let (host, key) = match word.split_once(':') {
        Some((host, key)) => (host, Some(key)),
        None => (word, None),
    };
    let (host, default) = match host {
        "open" => (Host::Open, "svc_open_demo"),
        "developer" => (Host::Developer, "svc_dev_demo"),
        "media" => (Host::Media, ""),
        "control" => (Host::Control, ""),
        other => panic!("no host is called {other}"),
    };
    match key.unwrap_or(default) {
        "" => mock.client(host),
        key => mock.client(host).bearer(key),
    }
}

/// Returns a body with the fields of another one.
fn merged(body: Option<Value>, other: Value) -> Value {
    match (body, other) {
        (Some(Value::Object(mut fields)), Value::Object(others)) => {
            fields.extend(others);
            Value::Object(fields)
        }
        (_, other) => other,
    }
}
