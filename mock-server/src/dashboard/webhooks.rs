//! The view of webhooks: each attempt to deliver one, and its redelivery.

use axum::extract::{Path, State};
use maud::{Markup, html};
use serde_json::Value;

use super::page::{View, columns, page};
use super::parts::{
    self, action, body, copyable, date_time, facts, headers, http_status, prose, row_link, status,
    subject_link, table, time,
};
use super::values::{at, count, fields, text};
use crate::service::Service;

/// The maximum number of attempts on a page.
const MAX_ROWS: usize = 100;
/// The place of an id in the URL of test deliveries, which belong to no job or run.
const TEST: &str = "test";

/// `GET /dashboard/webhooks`.
pub(super) async fn list(State(service): State<Service>) -> Markup {
    page(&service, View::Webhooks, "", &columns(&list_of(&service, ""), None))
}

/// `GET /dashboard/webhooks/{id}`: the attempts for a job or run.
pub(super) async fn details(State(service): State<Service>, Path(id): Path<String>) -> Markup {
    let details = ("Webhook", View::Webhooks.path(), details_of(&service, &id));
    let content = columns(&list_of(&service, &id), Some(details));
    page(&service, View::Webhooks, &id, &content)
}

fn list_of(service: &Service, selected: &str) -> Markup {
    let attempts = service.read(|state| state.simulator.newest_deliveries(MAX_ROWS, |_| true));
    let routes = service.webhook_routes();
    let columns = [("Time", ""), ("Event", ""), ("Response", "")];
    html! {
        section.list aria-label="All attempts" {
            @if attempts.is_empty() {
                div.first-steps {
                    h2 { "No webhooks yet" }
                    p { (prose("Jobs and runs that were submitted with a `webhook_url` send one when they end.")) }
                }
            } @else {
                (table("Attempts, newest first", &columns, &html! {
                    @for attempt in &attempts { (row_of(attempt, selected)) }
                }))
            }
            h2 { "Routes" }
            @if routes.is_empty() {
                p {
                    (prose("Webhooks never leave this machine. Without a route, each attempt fails with \
                        `no_route`. Start the mock with a route to your receiver:"))
                }
                (copyable("option", "--webhook-route https://hooks.example.com=http://127.0.0.1:9000"))
            } @else {
                ul { @for route in &routes { li.mono { (route) } } }
            }
        }
    }
}

fn row_of(attempt: &Value, selected: &str) -> Markup {
    let subject = at(attempt, "/subject_id").and_then(Value::as_str).unwrap_or(TEST);
    let is_selected = subject == selected;
    let href = format!("{}/{subject}", View::Webhooks.path());
    html! {
        tr class=[is_selected.then_some("selected")] {
            td { (time(text(attempt, "/at"))) }
            td {
                (row_link(&href, is_selected, &html! { (text(attempt, "/event")) }))
                div.muted.mono { (text(attempt, "/url")) }
            }
            td { (outcome(attempt)) }
        }
    }
}

fn outcome(attempt: &Value) -> Markup {
    html! {
        (http_status(attempt, "/status", "no response"))
        (parts::code(text(attempt, "/error")))
    }
}

fn details_of(service: &Service, id: &str) -> Markup {
    let subject = (id != TEST).then_some(id);
    let (attempts, delivery) = service.read(|state| {
        let simulator = &state.simulator;
        let attempts = simulator.newest_deliveries(MAX_ROWS, |attempt| attempt.is_for(subject));
        (attempts, subject.and_then(|id| simulator.webhook_delivery(id)))
    });
    let problem = attempts.first().map_or("", |attempt| text(attempt, "/error"));
    html! {
        h2 { @if subject.is_some() { "Webhook of " (subject_link(id)) } @else { "Test deliveries" } }
        @if let Some(delivery) = &delivery {
            (facts(&[
                ("Delivery", status(text(delivery, "/status"))),
                ("Automatic attempts", html! { (count(delivery, "/attempts")) " of 10" }),
                ("Next attempt", date_time(text(delivery, "/next_attempt_at"))),
                ("Secret fingerprint", html! { span.mono { (text(delivery, "/signing_secret_fingerprint")) } }),
            ]))
            @if !problem.is_empty() { p.callout.warning { (explanation(problem)) } }
            (action(&format!("POST /deliveries/{id}"), "Redeliver", "The webhook is sent again."))
        }
        @if attempts.is_empty() { p.empty { "No attempt was made yet." } }
        @for (index, attempt) in attempts.iter().enumerate() {
            section.message {
                h3 { "Attempt at " (date_time(text(attempt, "/at"))) }
                p { (outcome(attempt)) " " span.mono { "POST " (text(attempt, "/url")) } }
                @match text(attempt, "/response_body") {
                    "" if at(attempt, "/status").is_some() => p.muted { "The response has no body." },
                    "" => {},
                    response => {
                        p.muted { "Response body" }
                        (body("Response body", response))
                    }
                }
                (headers("Request headers", &fields(attempt, "/headers")))
                details open[index == 0] {
                    summary { "Request body" }
                    (body("Request body", text(attempt, "/body")))
                }
            }
        }
    }
}

/// Explains why a delivery failed, and what to do.
fn explanation(problem: &str) -> &'static str {
    match problem {
        "no_route" => {
            "No route leads to a local receiver: start the mock with --webhook-route for this origin."
        }
        "connection_failed" => {
            "Nothing accepts connections at the target of the route, or the connection broke."
        }
        "timeout" => "The receiver did not respond within ten seconds.",
        "redirect" => "The receiver responded with a redirect, which is not followed.",
        "url_not_public" => "The URL is not a public HTTPS address.",
        _ => "The receiver responded with an error, which is below.",
    }
}
