//! The view of requests: those that came in, newest first, and the details of the selected one.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde_json::json;

use super::logged_exchanges::{LoggedExchange, entries};
use super::page::{columns, page};
use super::parts::{
    ListCount, cell, copyable, duration, http_status, row_link, search_form, status_cell, table,
    time,
};
use super::search::{ListSelection, Search};
use super::view::View;
use super::{code, request_details};
use crate::addresses::OPEN_API_KEY;
use crate::engine::request_log::LoggedRequest;
use crate::service::Service;

/// The maximum number of requests on a page.
const MAX_ROWS: usize = 100;
/// The columns of requests, with their classes.
pub(super) const COLUMNS: [(&str, &str); 7] = [
    ("Time (UTC)", "time"),
    ("Request", ""),
    ("Status", "status"),
    ("Operation", "name third"),
    ("Workspace", "name fourth"),
    ("Prompt", "prompt second"),
    ("Duration", "short end third"),
];

/// `GET /dashboard/requests` with the number of a request or without, and `GET /` for browsers.
pub(super) async fn view(
    State(service): State<Service>,
    seq: Option<Path<u64>>,
    Query(selection): Query<ListSelection>,
) -> Markup {
    let seq = seq.map(|Path(seq)| seq);
    let list = list_of(&service, &selection, seq);
    let close = selection.link(View::Requests.path());
    let (title, details) =
        seq.map(|seq| request_details::details(&service, seq)).unwrap_or_default();
    let content = columns(&list, seq.map(|_| ("Request", &*close, details)));
    page(&service, View::Requests, &title, &content)
}

/// `POST /dashboard/requests/{seq}/replay`: sends a request of the request log again.
pub(super) async fn replay(State(service): State<Service>, Path(seq): Path<u64>) -> Response {
    let Some(call) = request_details::stored_call(&service, seq) else {
        let message = "the complete request is not stored";
        let body = json!({"error": {"code": "conflict", "message": message}});
        return (StatusCode::CONFLICT, body.to_string()).into_response();
    };
    let reply = service.call(call).await;
    let id = reply.response.headers().get("x-svc-request-id");
    let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
    let seq = service.read(|state| {
        let simulator = &state.simulator;
        let sent =
            simulator.state.request_log.newest_first().find(|request| request.request_id == id);
        sent.map_or_else(|| simulator.state.request_log.last_seq(), |request| request.seq)
    });
    json!({"seq": seq}).to_string().into_response()
}

fn includes(show: &str, request: &LoggedRequest) -> bool {
    match show {
        "errors" => request.status.is_none_or(|status| status >= 400) || request.fault.is_some(),
        "writes" => request.method != "GET" && request.method != "HEAD",
        _ => true,
    }
}

fn list_of(service: &Service, selection: &ListSelection, selected: Option<u64>) -> Markup {
    let entries = entries(service);
    let newest = entries.first().map_or(0, |entry| entry.request.seq);
    // A larger number is from before a reset.
    let seen = selection.seen.parse().ok().filter(|seen| *seen <= newest).unwrap_or(newest);
    let before = selection.before.unwrap_or(u64::MAX);
    let search = Search::parse(&selection.q, &LoggedExchange::PROPERTIES);
    let total = entries.iter().filter(|entry| entry.request.seq <= seen).count();
    let mut found: Vec<_> = entries
        .iter()
        .filter(|entry| includes(&selection.show, &entry.request))
        .filter(|entry| search.is_empty() || entry.matches(&search))
        .collect();
    let fresh = found.partition_point(|entry| entry.request.seq > seen);
    found.drain(..fresh);
    let count = ListCount { found: found.len(), total, fresh, nouns: ["request", "requests"] };
    let rows: Vec<_> = found.into_iter().filter(|entry| entry.request.seq < before).collect();
    let path = View::Requests.path();
    let shows = [("", "All"), ("errors", "Errors"), ("writes", "Writes")];
    html! {
        section.list aria-label="All requests" data-seen=(seen) {
            (search_form(View::Requests, "Search, or status:409 op:jobs_status ws:ws_demo", &selection.q, &shows, &selection.show))
            (count)
            @if let Some(before) = selection.before {
                p.muted {
                    "Requests before number " (before) ". "
                    a href=(selection.link_before(path, None)) { "Newest requests" }
                }
            }
            @if rows.is_empty() && total == 0 {
                (first_steps(service))
            } @else if rows.is_empty() {
                p.empty { "No request matches. " a href=(path) { "Show all requests" } }
            } @else {
                (table("Requests, newest first", &COLUMNS, &html! {
                    @for entry in rows.iter().take(MAX_ROWS) {
                        (row_of(entry, &selection.link(&format!("{path}/{}", entry.request.seq)), selected))
                    }
                }))
                @if let Some(last) = rows.get(MAX_ROWS - 1).filter(|_| rows.len() > MAX_ROWS) {
                    p { a href=(selection.link_before(path, Some(last.request.seq))) { "Older requests" } }
                }
            }
        }
    }
}

pub(super) fn row_of(entry: &LoggedExchange, href: &str, selected: Option<u64>) -> Markup {
    let LoggedExchange { request, exchange } = entry;
    let is_selected = selected == Some(request.seq);
    let code = request.code.as_deref().unwrap_or_default();
    html! {
        tr data-key=(request.seq) class=[is_selected.then_some("selected")] {
            td.time { (time(&request.at.to_string())) }
            td title={ (request.method) " " (request.path) } {
                (row_link(href, is_selected, &html! {
                    span.method { (request.method) } " "
                    span.path { (request.path) }
                }))
            }
            (status_cell("status", &http_status(request.status, "closed"), code, request.fault.is_some()))
            (cell("mono name third", request.operation.as_deref().unwrap_or_default()))
            (cell("mono name fourth", request.workspace.as_deref().unwrap_or_default()))
            (cell("prompt second", &entry.prompt()))
            td.mono.short.end.third { (duration(exchange.duration_ms)) }
        }
    }
}

/// Renders the first steps, which are shown before there are any requests.
fn first_steps(service: &Service) -> Markup {
    let base = service.base_url();
    let body = r#"{"model": "image-i", "prompt": "a red fox in snow"}"#;
    let submit = format!(
        "curl -sS {base}/v1/image-router/generate \\\n  -H 'authorization: Bearer {OPEN_API_KEY}' \\\n  \
         -H 'content-type: application/json' \\\n  --data-raw {}",
        code::quote(body)
    );
    let environment = service.environment().map(|(name, value)| format!("export {name}='{value}'"));
    html! {
        div.first-steps {
            h2 { "No requests yet" }
            p { "Send one to see it here:" }
            (copyable("first-command", "command", &submit))
            p { "Or point your client at this mock. Its addresses and keys:" }
            (copyable("environment", "environment variables", &environment.join("\n")))
        }
    }
}
