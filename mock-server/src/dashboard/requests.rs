//! The view of requests: those that came in, newest first, and the details of the selected one.

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::page::{View, columns, page};
use super::parts::{
    code as code_of, copyable, duration, http_status, link, row_link, search_form, table, time,
};
use super::values::{count, text};
use super::{curl, request_details};
use crate::addresses::OPEN_API_KEY;
use crate::engine::request_log::LoggedRequest;
use crate::service::Service;

/// The maximum number of requests on a page.
const MAX_ROWS: usize = 100;

/// The selection of requests, in the URL.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RequestSelection {
    /// A text that the method, path, operation, status, code or key contains.
    #[serde(default)]
    q: String,
    /// `errors` or `writes`.
    #[serde(default)]
    show: String,
    /// The sequence number that all requests are before.
    before: Option<u64>,
}

/// `GET /dashboard/requests`, and `GET /` for browsers.
pub(super) async fn list(
    State(service): State<Service>,
    Query(selection): Query<RequestSelection>,
) -> Markup {
    let list = list_of(&service, &selection, None);
    page(&service, View::Requests, "", &columns(&list, None))
}

/// `GET /dashboard/requests/{seq}`.
pub(super) async fn details(
    State(service): State<Service>,
    Path(seq): Path<u64>,
    Query(selection): Query<RequestSelection>,
) -> Markup {
    let (title, details) = request_details::details(&service, seq);
    let list = list_of(&service, &selection, Some(seq));
    let close = selection.link(View::Requests.path(), selection.before);
    let content = columns(&list, Some(("Request", &close, details)));
    page(&service, View::Requests, &title, &content)
}

impl RequestSelection {
    /// Returns a link with the search, to the requests before a sequence number.
    fn link(&self, path: &str, before: Option<u64>) -> String {
        let before = before.map(|seq| seq.to_string()).unwrap_or_default();
        link(path, &[("q", &self.q), ("show", &self.show), ("before", &before)])
    }

    fn matches(&self, entry: &LoggedRequest) -> bool {
        let is_shown = match self.show.as_str() {
            "errors" => entry.status.is_none_or(|status| status >= 400) || entry.fault.is_some(),
            "writes" => entry.method != "GET" && entry.method != "HEAD",
            _ => true,
        };
        is_shown && self.q.split_whitespace().all(|word| contains(entry, word))
    }
}

fn contains(entry: &LoggedRequest, word: &str) -> bool {
    let status = entry.status.map(|status| status.to_string());
    let optional = [
        entry.operation.as_deref(),
        entry.code.as_deref(),
        entry.key.as_deref(),
        status.as_deref(),
    ];
    let texts = [&*entry.method, &entry.path, &entry.request_id];
    let mut texts = texts.into_iter().chain(optional.into_iter().flatten());
    let word = word.to_lowercase();
    texts.any(|text| text.to_lowercase().contains(&word))
}

fn list_of(service: &Service, selection: &RequestSelection, selected: Option<u64>) -> Markup {
    let before = selection.before.unwrap_or(u64::MAX);
    let (rows, has_requests) = service.read(|state| {
        let simulator = &state.simulator;
        let matches = |entry: &LoggedRequest| selection.matches(entry);
        let rows = simulator.newest_requests(before, MAX_ROWS + 1, matches);
        let with_duration = |row: Value| {
            let millis = state.exchanges.duration_ms(count(&row, "/seq"));
            (row, millis)
        };
        let rows: Vec<_> = rows.into_iter().map(with_duration).collect();
        (rows, simulator.last_seq() > 0)
    });
    let older = rows.get(MAX_ROWS - 1).filter(|_| rows.len() > MAX_ROWS);
    let columns =
        [("Time", ""), ("Request", ""), ("Status", ""), ("Key", "wide"), ("Duration", "wide end")];
    let path = View::Requests.path();
    let shows = [("", "All"), ("errors", "Errors"), ("writes", "Writes")];
    html! {
        section.list aria-label="All requests" {
            (search_form(View::Requests, "Path, operation, status, key…", &selection.q, &shows, &selection.show))
            @if let Some(before) = selection.before {
                p.muted {
                    "Requests before number " (before) ". "
                    a href=(selection.link(path, None)) { "Newest requests" }
                }
            }
            @if rows.is_empty() && !has_requests {
                (first_steps(service))
            } @else if rows.is_empty() {
                p.empty { "No request matches. " a href=(path) { "Show all requests" } }
            } @else {
                (table("Requests, newest first", &columns, &html! {
                    @for (row, millis) in rows.iter().take(MAX_ROWS) {
                        (row_of(row, *millis, selection, selected))
                    }
                }))
                @if let Some((older, _)) = older {
                    p { a href=(selection.link(path, Some(count(older, "/seq")))) { "Older requests" } }
                }
            }
        }
    }
}

fn row_of(
    row: &Value,
    millis: Option<f64>,
    selection: &RequestSelection,
    selected: Option<u64>,
) -> Markup {
    let seq = count(row, "/seq");
    let is_selected = selected == Some(seq);
    let href = selection.link(&format!("{}/{seq}", View::Requests.path()), selection.before);
    let operation = text(row, "/operation");
    html! {
        tr data-key=(seq) class=[is_selected.then_some("selected")] {
            td { (time(text(row, "/at"))) }
            td {
                (row_link(&href, is_selected, &html! {
                    span.method { (text(row, "/method")) } " "
                    span.path { (text(row, "/path")) }
                }))
                div.muted {
                    (text(row, "/surface"))
                    @if !operation.is_empty() { " · " (operation) }
                }
            }
            td {
                (http_status(row, "/status", "closed"))
                (code_of(text(row, "/code")))
                @if !text(row, "/fault").is_empty() { div.muted { "fault" } }
            }
            td.wide.mono { (text(row, "/key")) }
            td.wide.end.mono { (duration(millis)) }
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
        curl::quote(body)
    );
    let environment = service.environment().map(|(name, value)| format!("export {name}='{value}'"));
    html! {
        div.first-steps {
            h2 { "No requests yet" }
            p { "Send one to see it here:" }
            (copyable("command", &submit))
            p { "Or point your client at this mock. Its addresses and keys:" }
            (copyable("environment variables", &environment.join("\n")))
        }
    }
}
