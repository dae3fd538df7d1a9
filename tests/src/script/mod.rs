//! Scripts of requests: one line each, with what the response must have.
//!
//! ```text
//! open video {"prompt": "[mock:seconds=100]"} => 202 job.id=<id> job.status=queued
//! advance 30
//! open POST /v1/jobs/<id>/cancel => 409 job_generation_already_started
//! for <end> in status result
//!   developer:svc_dev_other /v1/jobs/<id>/<end> => 404 job_not_found
//! ```
//!
//! A request is a host with its default key (`open:KEY` has another key, `open:` none), headers as
//! `name=value` (`key=` is the idempotency key), a method if it is not `POST` with a body and `GET`
//! without one, a path or a URL of the mock, and a JSON body. A word of [`SHORT`] stands for a path and
//! a body, to which the fields of the line's body are added. `advance N` moves the clock, `ledger ID = …`
//! lists all entries of a job, run or top-up, `available N` is
//! the balance, below 7.5 USD, and `restore` restores the state that the mock has.
//!
//! With a receiver of webhooks, `replies` sets its replies (statuses, `429:retry-after=5`, `close`, `hang`),
//! `received N` and `outcomes N` wait until it has N deliveries and the mock N outcomes, `attempts N` moves
//! the clock until then, `signed N SECRET …` checks the signature of the N-th delivery, and `delivery N =>`
//! has conditions on it, with the headers `@path` and `@method`.
//!
//! After `=>` come the status (`4xx` is any), the error code, and conditions. A condition's left side is
//! a path in `data` or `error` (or the body, if it has neither): fields and indexes joined by dots, `*`
//! for each item, `#` for the number of items; `/path` starts at the body, `@name` is a header, `%` the
//! text. The operators are `=`, `!=`, `^=` (starts with), `$=` (ends with) and `*=` (contains), and
//! `!path` says that the field is absent. A value is JSON or a word; `=<some>`, `=<string>`, `=<number>`,
//! `=<object>` and `=<array>` are any of that type. `null` is also an absent field.
//!
//! A second word after the error code is the field that the details name. `=<name>` sets a variable that is
//! not set, for the lines below. `for <name> … in` repeats the indented lines for each of the values, which
//! are separated by commas (or by spaces, for one name) or are lines that start with `|`. `repeat N` repeats
//! them as they are. After a line `= HOST PATH + BODY` rows are bodies or paths alone;
//! all rows are sent before any difference is reported, and after each the clock moves on by 8 seconds.

mod condition;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use serde_json::{Value, json};

use self::condition::{check, parse, split, word};
use crate::client::Client;
use crate::frontend::Host;
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

/// A line of a script: its indentation and its text.
type Line<'s> = (usize, &'s str);
type Variables = BTreeMap<String, String>;
type Differences = Vec<String>;

/// Runs a script against a mock, and the receiver of its webhooks if there is one.
pub async fn run_script(mock: &Mock, receiver: Option<&Receiver>, script: &str) {
    let runner = Runner { mock, receiver };
    let lines: Vec<Line<'_>> = script
        .lines()
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .filter(|(_, text)| !text.is_empty() && !text.starts_with("# "))
        .collect();
    let mut variables = Variables::new();
    for host in Host::ALL {
        let name = format!("{host:?}").to_uppercase();
        variables.insert(name, mock.base_url(host).to_owned());
    }
    if let Some(receiver) = receiver {
        let url = format!("http://127.0.0.1:{}", receiver.port());
        variables.insert("RECEIVER".to_owned(), url);
    }
    let mut differences = Vec::new();
    runner.run_block(&lines, &mut variables, &mut differences).await;
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// What a script is run with.
#[derive(Clone, Copy)]
struct Runner<'m> {
    mock: &'m Mock,
    receiver: Option<&'m Receiver>,
}

impl Runner<'_> {
    fn run_block<'a>(
        &'a self,
        lines: &'a [Line<'a>],
        variables: &'a mut Variables,
        differences: &'a mut Differences,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            let mut rest = lines;
            let mut head = "";
            while let Some(((indent, text), after)) = rest.split_first() {
                let end = after.iter().position(|line| line.0 <= *indent);
                let (mut block, next) = after.split_at(end.unwrap_or(after.len()));
                rest = next;
                if let Some(line) = text.strip_prefix("= ") {
                    head = line;
                } else if text.starts_with(['{', '/']) {
                    let row = format!("{head} {text}").replacen(" + ", " ", 1);
                    self.run_line(&row, variables, differences).await;
                    self.mock.advance(8).await;
                } else if let Some(line) = text.strip_prefix("for ") {
                    let (names, values) = line.split_once(" in").unwrap_or((line, ""));
                    let names: Vec<_> = names.split(' ').collect();
                    let separator = if names.len() == 1 { ' ' } else { ',' };
                    let values = substitute(values, variables);
                    let mut rows = split(&values, separator);
                    while let [(_, row), others @ ..] = block
                        && let Some(row) = row.strip_prefix("| ")
                    {
                        rows.push(row);
                        block = others;
                    }
                    assert!(!rows.is_empty(), "no values in {text}");
                    for row in rows {
                        let mut inner = variables.clone();
                        let row = substitute(row, variables);
                        let values = split(&row, ' ');
                        assert_eq!(names.len(), values.len(), "{text}: {row}");
                        for (name, value) in names.iter().zip(values) {
                            let value = value.strip_prefix('"').map_or(value.to_owned(), |_| {
                                serde_json::from_str(value).unwrap_or(value.to_owned())
                            });
                            inner.insert(name.trim_matches(['<', '>']).to_owned(), value);
                        }
                        self.run_block(block, &mut inner, differences).await;
                    }
                } else if let Some(count) = text.strip_prefix("repeat ") {
                    let count = substitute(count, variables).parse();
                    for _ in 0..count.expect("a number of repetitions") {
                        self.run_block(block, &mut variables.clone(), differences).await;
                    }
                } else {
                    self.run_line(text, variables, differences).await;
                    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
                }
            }
        })
    }

    /// Sends the request of a line, and adds what its response has not.
    async fn run_line(&self, line: &str, variables: &mut Variables, differences: &mut Differences) {
        let line = substitute(line, variables);
        let (request, expected) = line.split_once(" => ").unwrap_or((&line, "2xx"));
        let words = split(request, ' ');
        match words.as_slice() {
            ["advance", seconds] => {
                let seconds: Value = serde_json::from_str(seconds).expect("a number of seconds");
                self.mock.advance(seconds).await;
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
            ["received", count] => drop(self.receiver().wait_for(number(count)).await),
            ["outcomes", count] => drop(self.mock.wait_for_outcomes(number(count)).await),
            ["attempts", count] => self.advance_until_attempts(number(count)).await,
            ["signed", delivery, secrets @ ..] => {
                let deliveries = self.receiver().deliveries();
                deliveries[number(delivery) - 1].assert_signed_with(secrets);
            }
            _ => {
                let response = match words.as_slice() {
                    ["delivery", index] => {
                        let deliveries = self.receiver().deliveries();
                        let delivery = &deliveries[number(index) - 1];
                        Response::new(line.clone(), delivery.as_response())
                    }
                    words => send(self.mock, words).await,
                };
                let mut wrong = String::new();
                for (index, condition) in split(expected, ' ').into_iter().enumerate() {
                    let is_field =
                        index == 2 && !condition.contains('=') && !condition.starts_with('!');
                    let field = format!("details.field={condition}");
                    let condition = if is_field { &field } else { condition };
                    let condition = &substitute(condition, variables);
                    if let Some(difference) = check(&response, condition, variables) {
                        wrong += &format!("\n  not {condition}, but {difference}");
                    }
                }
                if !wrong.is_empty() {
                    differences.push(format!("{line}{wrong}\n{response:.1500?}"));
                }
            }
        }
    }

    fn receiver(&self) -> &Receiver {
        self.receiver.expect("a receiver of webhooks")
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

fn substitute(line: &str, variables: &Variables) -> String {
    let names = variables.iter();
    names.fold(line.to_owned(), |line, (name, value)| line.replace(&format!("<{name}>"), value))
}

async fn send(mock: &Mock, words: &[&str]) -> Response {
    let (client, words) = words.split_first().expect("a host");
    let mut client = client_of(mock, client);
    let (mut method, mut path, mut body) = (None, None, None);
    for word in words {
        let short = SHORT.lines().find_map(|line| line.strip_prefix(*word)?.strip_prefix(' '));
        if let Some(short) = short {
            let (of_word, fields) = short.split_once(' ').unwrap_or((short, ""));
            path = Some(of_word.to_owned());
            body = (!fields.is_empty()).then(|| parse(fields));
        } else if word.starts_with('/') || word.starts_with("http") {
            let hosts = Host::ALL.iter();
            let found = hosts.copied().find_map(|host| {
                let path = word.strip_prefix(mock.base_url(host))?;
                path.starts_with('/').then(|| path.to_owned())
            });
            path = Some(found.unwrap_or_else(|| (*word).to_owned()));
        } else if word.bytes().all(|byte| byte.is_ascii_uppercase()) {
            method = Some(*word);
        } else if let (None, Some((name, value))) = (&path, word.split_once('=')) {
            let name = if name == "key" { "idempotency-key" } else { name };
            // Entity tags keep their quotes.
            let is_tag = name.starts_with("if-");
            let value = if is_tag { value } else { value.trim_matches('"') };
            client = client.header(name, value);
        } else {
            body = Some(merged(body, parse(word)));
        }
    }
    let path = path.unwrap_or_else(|| panic!("no path in {words:?}"));
    let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
    let content_type = body.as_ref().map(|_| "application/json");
    let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    client.send(method, &path, content_type, body).await
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
