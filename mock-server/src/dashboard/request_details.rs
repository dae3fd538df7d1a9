//! The details of a request: what the service made of it, why it was refused, and what to do.

use maud::{Markup, html};
use serde_json::Value;

use super::advice::advice;
use super::parts::{
    Tone, badge, copyable, duration, facts, headers, http_status, subject_link, time, usd,
};
use super::values::{at, fields, number, text, whole};
use super::{curl, json_text};
use crate::control::request_view;
use crate::engine::Host;
use crate::service::Service;

/// Returns the title and the content of the details.
pub(super) fn details(service: &Service, seq: u64) -> (String, Markup) {
    let found = service.read(|state| {
        let request = request_view(state, seq)?;
        let secret = state.simulator.secret(text(&request, &["key"]));
        let secret = secret.map(str::to_owned);
        Some((request, secret))
    });
    let Some((request, secret)) = found else {
        let content = html! {
            h2 { "Request " (seq) }
            p.empty { "This request is not in the journal, which has the newest 10,000." }
        };
        return (format!("Request {seq}"), content);
    };
    let host = serde_json::from_value(request.get("surface").cloned().unwrap_or_default());
    let base = service.hosts().base(host.unwrap_or(Host::Open));
    let command = curl::command(base, &request, secret.as_deref());
    let status = whole(&request, &["status"]);
    let code = text(&request, &["code"]);
    let summary = status.map_or("closed".to_owned(), |status| status.to_string());
    let title = format!("{summary} {code}").trim().to_owned();
    let content = html! {
        h2 {
            span.method { (text(&request, &["method"])) } " "
            span.path { (text(&request, &["path"])) }
        }
        p.summary {
            (http_status(status)) " "
            @if !code.is_empty() { strong.mono { (code) } " " }
            span.muted {
                (time(text(&request, &["at"]))) " · " (duration(number(&request, &["duration_ms"])))
            }
        }
        (advice(&request))
        (created(&request))
        (account(&request))
        section {
            h3 { "The same request with curl" }
            (copyable("curl command", &command))
            @if at(&request, &["request", "truncated"]).and_then(Value::as_bool) == Some(true) {
                p.muted { "The body is longer than what is stored: put the complete one in its place." }
            }
        }
        (message("Request", &request, "request", &["headers"]))
        (message("Response", &request, "response", &["response", "headers"]))
    };
    (title, content)
}

/// Links to the resource that a successful submit created.
fn created(request: &Value) -> Markup {
    let body = text(request, &["response", "body"]);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let paths: [&[&str]; 4] =
        [&["data", "job", "id"], &["data", "run_id"], &["data", "job_id"], &["data", "id"]];
    let mut ids = paths.into_iter().map(|path| text(&body, path));
    let id = ids.find(|id| id.starts_with("job_") || id.starts_with("run_"));
    html! {
        @if let Some(id) = id {
            p.callout.good {
                @if text(request, &["method"]) == "POST" { "Made " } @else { "Shows " }
                (subject_link(id))
                ": see its timeline and its files."
            }
        }
    }
}

/// Renders the balance and the limits at the time of the request.
fn account(request: &Value) -> Markup {
    let limit = |name: &str| text(request, &["response", "headers", name]).to_owned();
    let (remaining, of) = (limit("ratelimit-remaining"), limit("ratelimit-limit"));
    let account = request.get("account").cloned().unwrap_or_default();
    let workspace = |name| text(&account, &["workspace", name]).to_owned();
    let jobs = |name| whole(&account, &["workspace", name]).unwrap_or_default();
    let mut rows = vec![
        ("Surface", html! { (text(request, &["surface"])) }),
        ("Operation", html! { span.mono { (or_dash(text(request, &["operation"]))) } }),
        ("Request ID", html! { span.mono { (text(request, &["request_id"])) } }),
        ("Idempotency key", html! { span.mono { (or_dash(text(request, &["idempotency_key"]))) } }),
    ];
    if account.is_object() {
        let revoked = at(&account, &["revoked"]).and_then(Value::as_bool) == Some(true);
        rows.extend([
            ("Key", html! {
                a.mono href="/dashboard/keys" { (text(&account, &["key"])) }
                @if revoked { " " (badge(Tone::Bad, "revoked")) }
            }),
            ("Workspace", html! { span.mono { (workspace("id")) } " (" (workspace("plan")) ")" }),
            ("Balance then", html! {
                a href=(super::parts::link("/dashboard/money", &[("workspace", &workspace("id"))])) {
                    (usd(&account, &["workspace", "available_usd"])) " USD"
                }
                ", " (usd(&account, &["workspace", "reserved_usd"])) " reserved"
            }),
            ("Jobs in flight then", html! { (jobs("in_flight")) " of " (jobs("concurrent_jobs")) }),
        ]);
    } else if !text(request, &["key"]).is_empty() {
        rows.push(("Key", html! { span.mono { (text(request, &["key"])) } }));
    }
    if !of.is_empty() {
        rows.push((
            "Rate limit then",
            html! { a href="/dashboard/limits" { (remaining) " of " (of) " left" } },
        ));
    }
    html! { (facts(&rows)) }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

fn message(title: &str, request: &Value, part: &str, headers_path: &[&str]) -> Markup {
    let content = at(request, &[part]);
    let body = text(request, &[part, "body"]);
    let size = whole(request, &[part, "size"]).unwrap_or_default();
    let content_type = text(request, &[part, "content_type"]);
    html! {
        section.message {
            h3 { (title) }
            @if content.is_none() && part == "response" {
                p.muted {
                    @if whole(request, &["status"]).is_some() { "The response is not stored." }
                    @else { "The connection was closed without a response." }
                }
            } @else {
                (headers(&format!("{title} headers"), &fields(request, headers_path)))
                @if !body.is_empty() {
                    pre.body tabindex="0" aria-label={ (title) " body" } { code { (json_text::body(body)) } }
                    @if at(request, &[part, "truncated"]).and_then(Value::as_bool) == Some(true) {
                        p.muted { "The first " (body.len()) " of " (size) " bytes." }
                    }
                } @else if size > 0 {
                    p.muted { (size) " bytes of " (or_dash(content_type)) "." }
                } @else {
                    p.muted { "No body." }
                }
            }
        }
    }
}
