//! The details of a request: what the service made of it, why it was refused, and what to do.

use bytes::Bytes;
use maud::{Markup, html};
use serde_json::Value;

use super::advice::advice;
use super::code::SentRequest;
use super::logged_exchanges::prompt_of;
use super::parts::{
    badge, body as body_of, copyable, duration, facts, form, headers, http_status, link, prompt,
    subject_link, time,
};
use super::values::{at, count, fields, is_true, number, text};
use super::view::View;
use crate::control::request_view;
use crate::engine::{Host, HostRequest};
use crate::service::Service;

/// A request of the request log, and the secret of its key.
struct StoredRequest {
    request: Value,
    host: Host,
    secret: Option<String>,
}

impl StoredRequest {
    fn read(service: &Service, seq: u64) -> Option<Self> {
        service.read(|state| {
            let request = request_view(state, seq)?;
            let secret = state.simulator.secret(text(&request, "/key")).map(str::to_owned);
            let host = serde_json::from_value(request.get("surface")?.clone()).ok()?;
            Some(Self { request, host, secret })
        })
    }

    fn sent<'r>(&'r self, service: &'r Service) -> SentRequest<'r> {
        let base = service.hosts().base(self.host);
        SentRequest::new(base, &self.request, self.secret.as_deref())
    }

    /// Returns whether the whole body is stored, or that there is none.
    fn is_complete(&self) -> bool {
        let stored = text(&self.request, "/request/body").len();
        let size = count(&self.request, "/request/size");
        at(&self.request, "/request").is_some() && usize::try_from(size) == Ok(stored)
    }
}

/// Returns a request of the request log, to be sent again; `None` unless all of it is stored.
pub(super) fn stored_call(service: &Service, seq: u64) -> Option<HostRequest> {
    let stored = StoredRequest::read(service, seq).filter(StoredRequest::is_complete)?;
    let sent = stored.sent(service);
    let mut request = http::Request::builder().method(sent.method).uri(sent.path);
    for (name, value) in &sent.headers {
        request = request.header(name, value);
    }
    let request = request.body(Bytes::copy_from_slice(sent.body.as_bytes())).ok()?;
    Some(HostRequest { host: stored.host, peer: [127, 0, 0, 1].into(), request })
}

/// Returns the title and the content of the details.
pub(super) fn details(service: &Service, seq: u64) -> (String, Markup) {
    let Some(stored) = StoredRequest::read(service, seq) else {
        let content = html! {
            h2 { "Request " (seq) }
            p.empty { "This request is not in the journal, which has the newest 10,000." }
        };
        return (format!("Request {seq}"), content);
    };
    let request = &stored.request;
    let code = text(request, "/code");
    let status = at(request, "/status").map_or("closed".to_owned(), Value::to_string);
    let title = format!("{status} {code}").trim().to_owned();
    let codes = stored.sent(service).codes();
    let content = html! {
        h2 {
            span.method { (text(request, "/method")) } " "
            span.path { (text(request, "/path")) }
        }
        p.summary {
            (http_status(at(request, "/status").and_then(Value::as_u64), "closed")) " "
            @if !code.is_empty() { strong.mono { (code) } " " }
            span.muted {
                (time(text(request, "/at"))) " · " (duration(number(request, "/duration_ms")))
            }
        }
        (prompt(&prompt_of(text(request, "/request/body"), None)))
        (advice(request))
        (created(request))
        (actions(&stored, seq, &codes))
        (account(request))
        (message("Request", request, "/request", &fields(request, "/headers")))
        (message("Response", request, "/response", &fields(request, "/response/headers")))
        section.message {
            h3 { "As code" }
            @for (language, code) in &codes {
                details {
                    summary { (language) }
                    (copyable(&code_id(language), &format!("{language} code"), code))
                }
            }
            @if is_true(request, "/request/truncated") {
                p.muted { "The body is longer than what is stored: put the complete one in its place." }
            }
        }
    };
    (title, content)
}

fn code_id(language: &str) -> String {
    format!("code-{}", language.to_lowercase())
}

fn actions(stored: &StoredRequest, seq: u64, codes: &[(&str, String)]) -> Markup {
    let path = format!("{}/{seq}/replay", View::Requests.path());
    html! {
        div.actions {
            span aria-hidden="true" { "Copy as" }
            @for (index, (language, _)) in codes.iter().enumerate() {
                button type="button" data-copy-from=(code_id(language)) {
                    span.hidden { "Copy as " } (language)
                    @if index == 0 { " " kbd aria-hidden="true" { "c" } }
                }
            }
            @if stored.is_complete() {
                (form(&format!("POST {path}"), "Sent again: this is the new request.", &html! {
                    button type="submit" data-visit={ (View::Requests.path()) "/{seq}" } {
                        "Replay " kbd aria-hidden="true" { "r" }
                    }
                }))
            }
        }
    }
}

/// Links to the resource that a successful submit created.
fn created(request: &Value) -> Markup {
    let body = text(request, "/response/body");
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let ids = ["/data/job/id", "/data/run_id", "/data/job_id", "/data/id"];
    let mut ids = ids.into_iter().map(|path| text(&body, path));
    let id = ids.find(|id| id.starts_with("job_") || id.starts_with("run_"));
    html! {
        @if let Some(id) = id {
            p.callout.good {
                @if text(request, "/method") == "POST" { "Made " } @else { "Shows " }
                (subject_link(id))
                ": see its timeline and its files."
            }
        }
    }
}

/// Renders the balance and the limits at the time of the request.
fn account(request: &Value) -> Markup {
    let mono = |path| html! { span.mono { (or_dash(text(request, path))) } };
    let mut rows = vec![
        ("Surface", html! { (text(request, "/surface")) }),
        ("Operation", mono("/operation")),
        ("Request ID", mono("/request_id")),
        ("Idempotency key", mono("/idempotency_key")),
    ];
    if let Some(account) = at(request, "/account") {
        let workspace = text(account, "/workspace/id");
        let money = link(View::Money.path(), &[("workspace", workspace)]);
        rows.extend([
            ("Key", html! {
                a.mono href=(View::Keys.path()) { (text(account, "/key")) }
                @if is_true(account, "/revoked") { " " (badge("bad", "revoked")) }
            }),
            ("Workspace", html! { span.mono { (workspace) } " (" (text(account, "/workspace/plan")) ")" }),
            ("Balance then", html! {
                a href=(money) { (text(account, "/workspace/available_usd")) " USD" }
                ", " (text(account, "/workspace/reserved_usd")) " reserved"
            }),
            ("Jobs in flight then", html! {
                (count(account, "/workspace/in_flight")) " of " (count(account, "/workspace/concurrent_jobs"))
            }),
        ]);
    } else if at(request, "/key").is_some() {
        rows.push(("Key", mono("/key")));
    }
    let limit = |name: &str| text(request, &format!("/response/headers/ratelimit-{name}"));
    let (remaining, of) = (limit("remaining"), limit("limit"));
    if !of.is_empty() {
        let left = html! { a href=(View::Limits.path()) { (remaining) " of " (of) " left" } };
        rows.push(("Rate limit then", left));
    }
    facts(&rows)
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

fn message(title: &str, request: &Value, path: &str, header_fields: &[(String, String)]) -> Markup {
    let message = at(request, path).unwrap_or(&Value::Null);
    let body = text(message, "/body");
    let size = count(message, "/size");
    html! {
        section.message {
            h3 { (title) }
            @if message.is_null() && path == "/response" {
                p.muted {
                    @if at(request, "/status").is_some() { "The response is not stored." }
                    @else { "The connection was closed without a response." }
                }
            } @else {
                (headers(&format!("{title} headers"), header_fields))
                @if !body.is_empty() {
                    (body_of(&format!("{title} body"), body))
                    @if is_true(message, "/truncated") {
                        p.muted { "The first " (body.len()) " of " (size) " bytes." }
                    }
                } @else if size > 0 {
                    p.muted { (size) " bytes of " (or_dash(text(message, "/content_type"))) "." }
                } @else {
                    p.muted { "No body." }
                }
            }
        }
    }
}
