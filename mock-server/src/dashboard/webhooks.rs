//! The view of webhooks: the deliveries, each with its attempts, and their redelivery.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use serde_json::Value;

use super::page::{columns, page};
use super::parts::{
    ListCount, action, body, cell, date_time, facts, form, headers, http_status, prose, row_link,
    search_form, status, status_cell, subject_link, table, time,
};
use super::search::{ListSelection, Search};
use super::values::{count, text};
use super::view::View;
use crate::engine::webhooks::log::DeliveryRecord;
use crate::service::Service;
use crate::webhook_route::ActiveRoute;

/// The maximum number of deliveries on a page, and of attempts in the details of one.
const MAX_ROWS: usize = 100;
/// The place of an id in the URL of test deliveries, which belong to no job or run.
const TEST: &str = "test";
/// The properties by which deliveries are found.
const PROPERTIES: [&str; 4] = ["status", "event", "id", "error"];

/// A delivery with its attempts, newest first.
struct DeliveryGroup {
    id: String,
    /// The JSON object `webhook_delivery` of the job or run; null for test deliveries.
    state: Value,
    attempts: Vec<Arc<DeliveryRecord>>,
}

/// `GET /dashboard/webhooks`, with the id of a job or run, whose attempts are shown, or without.
pub(super) async fn view(
    State(service): State<Service>,
    id: Option<Path<String>>,
    Query(selection): Query<ListSelection>,
) -> Markup {
    let id = id.map(|Path(id)| id);
    let groups = groups(&service);
    let list = list_of(&service, &groups, &selection, id.as_deref().unwrap_or_default());
    let close = selection.link(View::Webhooks.path());
    let details = id.as_ref().map(|id| {
        let group = groups.iter().find(|group| group.id == *id);
        let state = service.read(|state| state.simulator.state.webhook_queue.view(id));
        let attempts = group.map_or(&[][..], |group| &group.attempts);
        ("Webhook", &*close, details_of(id, &state.unwrap_or_default(), attempts))
    });
    page(&service, View::Webhooks, id.as_deref().unwrap_or_default(), &columns(&list, details))
}

/// Returns the deliveries, sorted by their first attempts, newest first.
fn groups(service: &Service) -> Vec<DeliveryGroup> {
    service.read(|state| {
        let mut by_id: HashMap<&str, Vec<Arc<DeliveryRecord>>> = HashMap::new();
        let mut ids = Vec::new();
        let attempts: Vec<_> = state.simulator.state.delivery_log.newest_first().collect();
        for attempt in attempts.into_iter().rev() {
            let id = attempt.subject_id.as_deref().unwrap_or(TEST);
            let attempts = by_id.entry(id).or_insert_with(|| {
                ids.push(id);
                Vec::new()
            });
            attempts.push(attempt.clone());
        }
        let group = |id: &str| DeliveryGroup {
            id: id.to_owned(),
            state: state.simulator.state.webhook_queue.view(id).unwrap_or_default(),
            attempts: by_id.get(id).into_iter().flatten().rev().cloned().collect(),
        };
        ids.into_iter().rev().map(group).collect()
    })
}

impl DeliveryGroup {
    /// Returns the status of the delivery, or what became of the newest test delivery.
    fn status(&self) -> &str {
        let newest = self.attempts.first();
        match text(&self.state, "/status") {
            "" if newest.is_some_and(|attempt| attempt.error.is_none()) => "delivered",
            "" => "failed",
            status => status,
        }
    }

    fn matches(&self, selection: &ListSelection, search: &Search) -> bool {
        let status = self.status();
        let is_shown = match selection.show.as_str() {
            "open" => ["pending", "retrying"].contains(&status),
            "failed" => ["failed", "exhausted"].contains(&status),
            _ => true,
        };
        let matches = |attempt: &Arc<DeliveryRecord>| {
            let response = attempt.status.map(|status| status.to_string()).unwrap_or_default();
            let properties = [
                ("status", status),
                ("status", &response),
                ("event", &attempt.event),
                ("id", &self.id),
                ("error", attempt.error.as_deref().unwrap_or_default()),
            ];
            let received = attempt.response_body.as_deref().unwrap_or_default();
            search.matches(&properties, &[&attempt.url, &attempt.body, received])
        };
        is_shown && self.attempts.iter().any(matches)
    }
}

fn list_of(
    service: &Service,
    groups: &[DeliveryGroup],
    selection: &ListSelection,
    selected: &str,
) -> Markup {
    // The id of the newest delivery that is shown. An id that no delivery has is from before a reset.
    let first_seen = groups.iter().position(|group| group.id == selection.seen).unwrap_or(0);
    let (newer, shown) = groups.split_at(first_seen);
    let search = Search::parse(&selection.q, &PROPERTIES);
    let matches = |group: &&DeliveryGroup| group.matches(selection, &search);
    let rows: Vec<_> = shown.iter().filter(matches).collect();
    let fresh = newer.iter().filter(matches).count();
    let count = ListCount {
        found: rows.len(),
        total: shown.len(),
        fresh,
        nouns: ["delivery", "deliveries"],
    };
    let columns = [
        ("First (UTC)", "time"),
        ("Event", ""),
        ("Delivery", "status"),
        ("Attempts", "short end"),
        ("Last response", "status second"),
        ("URL", "prompt third"),
        ("Job or run", "id fourth"),
    ];
    let shows = [("", "All"), ("open", "Open"), ("failed", "Failed")];
    html! {
        section.list aria-label="All deliveries" data-seen=[shown.first().map(|group| &group.id)] {
            (search_form(View::Webhooks, "Search, or status:retrying event:job.completed", &selection.q, &shows, &selection.show))
            (count)
            @if groups.is_empty() {
                div.first-steps {
                    h2 { "No webhooks yet" }
                    p { (prose("Jobs and runs that were submitted with a `webhook_url` send one when they end.")) }
                }
            } @else if rows.is_empty() {
                p.empty { "Nothing matches. " a href=(View::Webhooks.path()) { "Show all" } }
            } @else {
                (table("Deliveries, newest first", &columns, &html! {
                    @for group in rows.iter().take(MAX_ROWS) { (row_of(group, selection, group.id == selected)) }
                }))
                @if rows.len() > MAX_ROWS { p.muted { "The newest " (MAX_ROWS) " are shown." } }
            }
            (routes(service))
        }
    }
}

/// Renders the routes to local receivers, and how to change them.
fn routes(service: &Service) -> Markup {
    let routes: Vec<_> =
        service.read(|state| state.dispatch.routes.iter().map(ActiveRoute::view).collect());
    let columns = [
        ("Origin", ""),
        ("Delivered to", ""),
        ("Workspace", "name second"),
        ("Remove", "short end"),
    ];
    let fields = html! {
        label { "Origin " input type="url" name="origin" placeholder="https://hooks.example.com" required; }
        label { "deliver to " input type="url" name="to" placeholder="http://127.0.0.1:9000" required; }
        label { "Workspace " input type="text" name="workspace" placeholder="any" size="10" autocomplete="off"; }
        button type="submit" { "Add the route" }
    };
    html! {
        h2 { "Routes" }
        p { (prose("Webhooks never leave this machine. Without a route, each attempt fails with `no_route`.")) }
        @if !routes.is_empty() {
            (table("Routes", &columns, &html! {
                @for route in &routes {
                    @let id = text(route, "/id");
                    tr data-key=(id) {
                        (cell("mono", text(route, "/origin")))
                        (cell("mono", text(route, "/to")))
                        (cell("mono name second", text(route, "/workspace")))
                        td.short.end { (action(&format!("DELETE /webhook-routes/{id}"), "Remove", "The route is removed.")) }
                    }
                }
            }))
        }
        (form("POST /webhook-routes", "The route is added.", &fields))
    }
}

fn row_of(group: &DeliveryGroup, selection: &ListSelection, is_selected: bool) -> Markup {
    let DeliveryGroup { id, attempts, .. } = group;
    let href = selection.link(&format!("{}/{id}", View::Webhooks.path()));
    html! {
        @if let (Some(newest), Some(first)) = (attempts.first(), attempts.last()) {
            tr data-key=(id) class=[is_selected.then_some("selected")] {
                td.time { (time(&first.at.to_string())) }
                td title=(newest.event) { (row_link(&href, is_selected, &html! { (newest.event) })) }
                td.status { (status(group.status())) }
                td.mono.short.end { (attempts.len()) }
                (outcome(newest))
                (cell("mono prompt third", &newest.url))
                (cell("mono id fourth", id))
            }
        }
    }
}

fn outcome(attempt: &DeliveryRecord) -> Markup {
    let error = attempt.error.as_deref().unwrap_or_default();
    status_cell("status second", &http_status(attempt.status, "no response"), error, false)
}

fn details_of(id: &str, state: &Value, attempts: &[Arc<DeliveryRecord>]) -> Markup {
    let problem = attempts.first().and_then(|attempt| attempt.error.as_deref());
    html! {
        h2 { @if id == TEST { "Test deliveries" } @else { "Webhook of " (subject_link(id)) } }
        @if !state.is_null() {
            (facts(&[
                ("Delivery", status(text(state, "/status"))),
                ("Automatic attempts", html! { (count(state, "/attempts")) " of 10" }),
                ("Next attempt", date_time(text(state, "/next_attempt_at"))),
                ("Secret fingerprint", html! { span.mono { (text(state, "/signing_secret_fingerprint")) } }),
            ]))
            @if let Some(problem) = problem { p.callout.warning { (explanation(problem)) } }
            (action(&format!("POST /deliveries/{id}"), "Redeliver", "The webhook is sent again."))
        }
        @if attempts.is_empty() { p.empty { "No attempt was made yet." } }
        ol.attempts {
            @for (index, attempt) in attempts.iter().take(MAX_ROWS).enumerate() {
                li data-key=(attempts.len() - index) { (attempt_of(attempt, attempts.len() - index, index == 0)) }
            }
        }
    }
}

fn attempt_of(attempt: &DeliveryRecord, number: usize, is_newest: bool) -> Markup {
    html! {
        details open[is_newest] {
            summary {
                "Attempt " (number) " "
                (http_status(attempt.status, "no response")) " "
                @if let Some(error) = &attempt.error { span.mono { (error) } " " }
                span.muted { (date_time(&attempt.at.to_string())) }
            }
            p { span.mono { "POST " (attempt.url) } }
            @match attempt.response_body.as_deref() {
                None => {},
                Some("") => p.muted { "The response has no body." },
                Some(response) => {
                    p.muted { "Response body" }
                    (body("Response body", response))
                }
            }
            (headers("Request headers", &attempt.headers))
            p.muted { "Request body" }
            (body("Request body", &attempt.body))
        }
    }
}

/// Explains why a delivery failed, and what to do.
fn explanation(problem: &str) -> &'static str {
    match problem {
        "no_route" => "No route leads to a local receiver: add one for this origin, under Routes.",
        "connection_failed" => {
            "Nothing accepts connections at the target of the route, or the connection broke."
        }
        "timeout" => "The receiver did not respond within ten seconds.",
        "redirect" => "The receiver responded with a redirect, which is not followed.",
        "url_not_public" => "The URL is not a public HTTPS address.",
        _ => "The receiver responded with an error, which is below.",
    }
}
