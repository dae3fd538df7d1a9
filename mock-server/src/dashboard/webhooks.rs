//! The view of webhooks: each attempt to deliver one, and its redelivery.

use axum::extract::{Path, State};
use maud::{Markup, html};
use serde_json::Value;

use super::page::{View, page};
use super::parts::{
    Tone, action, badge, copyable, date_time, facts, headers, http_status, status, subject_link,
    time,
};
use super::values::{at, fields, text, whole};
use super::{json_text, parts};
use crate::service::Service;

/// The maximum number of attempts on a page.
const MAX_ROWS: usize = 100;
/// The place of an id in the URL of test deliveries, which belong to no job or run.
const TEST: &str = "test";

/// `GET /dashboard/webhooks`.
pub(super) async fn list(State(service): State<Service>) -> Markup {
    let content = html! { div.columns { (list_of(&service, "")) } };
    page(&service, View::Webhooks, "", false, content)
}

/// `GET /dashboard/webhooks/{id}`: the attempts for a job or run.
pub(super) async fn details(State(service): State<Service>, Path(id): Path<String>) -> Markup {
    let content = html! {
        div.columns {
            (list_of(&service, &id))
            section.details aria-label="Webhook" {
                a.back href=(View::Webhooks.path()) data-close { "Close" }
                (details_of(&service, &id))
            }
        }
    };
    page(&service, View::Webhooks, &id, true, content)
}

fn list_of(service: &Service, selected: &str) -> Markup {
    let attempts = service.read(|state| state.simulator.newest_deliveries(MAX_ROWS, |_| true));
    let routes = service.webhook_routes();
    html! {
        section.list aria-label="All attempts" {
            @if attempts.is_empty() {
                div.first-steps {
                    h2 { "No webhooks yet" }
                    p {
                        "Jobs and runs that were submitted with a " code { "webhook_url" }
                        " send one when they end."
                    }
                }
            } @else {
                table.rows {
                    caption.hidden { "Attempts, newest first" }
                    thead { tr { th scope="col" { "Time" } th scope="col" { "Event" } th scope="col" { "Response" } } }
                    tbody {
                        @for attempt in &attempts { (row_of(attempt, selected)) }
                    }
                }
            }
            h2 { "Routes" }
            @if routes.is_empty() {
                p {
                    "Webhooks never leave this machine. Without a route, each attempt fails with "
                    code { "no_route" } ". Start the mock with a route to your receiver:"
                }
                (copyable("option", "--webhook-route https://hooks.example.com=http://127.0.0.1:9000"))
            } @else {
                ul { @for route in &routes { li.mono { (route) } } }
            }
        }
    }
}

fn subject_of(attempt: &Value) -> &str {
    match text(attempt, &["subject_id"]) {
        "" => TEST,
        id => id,
    }
}

fn row_of(attempt: &Value, selected: &str) -> Markup {
    let subject = subject_of(attempt);
    html! {
        tr class=[(subject == selected).then_some("selected")] {
            td { (time(text(attempt, &["at"]))) }
            td {
                a.row href={ "/dashboard/webhooks/" (subject) }
                    aria-current=[(subject == selected).then_some("true")] { (text(attempt, &["event"])) }
                div.muted.mono { (text(attempt, &["url"])) }
            }
            td { (outcome(attempt)) }
        }
    }
}

fn outcome(attempt: &Value) -> Markup {
    let error = text(attempt, &["error"]);
    html! {
        @match whole(attempt, &["status"]) {
            Some(status) => (http_status(Some(status))),
            None => (badge(Tone::Bad, "no response")),
        }
        @if !error.is_empty() { (parts::code(error)) }
    }
}

fn details_of(service: &Service, id: &str) -> Markup {
    let subject = (id != TEST).then_some(id);
    let (attempts, delivery) = service.read(|state| {
        let simulator = &state.simulator;
        let attempts = simulator.newest_deliveries(MAX_ROWS, |attempt| attempt.is_for(subject));
        (attempts, subject.and_then(|id| simulator.webhook_delivery(id)))
    });
    let problem = attempts.first().map(|attempt| text(attempt, &["error"]));
    html! {
        h2 { @if subject.is_some() { "Webhook of " (subject_link(id)) } @else { "Test deliveries" } }
        @if let Some(delivery) = &delivery {
            (facts(&[
                ("Delivery", status(text(delivery, &["status"]))),
                ("Automatic attempts", html! { (whole(delivery, &["attempts"]).unwrap_or_default()) " of 10" }),
                ("Next attempt", date_time(text(delivery, &["next_attempt_at"]))),
                ("Secret fingerprint", html! { span.mono { (text(delivery, &["signing_secret_fingerprint"])) } }),
            ]))
            @if let Some(problem) = problem.filter(|problem| !problem.is_empty()) { (explain(problem)) }
            (action(&format!("POST /deliveries/{id}"), "Redeliver", "The webhook is sent again."))
        }
        @if attempts.is_empty() { p.empty { "No attempt was made yet." } }
        @for (index, attempt) in attempts.iter().enumerate() {
            section.message {
                h3 { "Attempt at " (date_time(text(attempt, &["at"]))) }
                p { (outcome(attempt)) " " span.mono { "POST " (text(attempt, &["url"])) } }
                (response_body(attempt))
                (headers("Request headers", &fields(attempt, &["headers"])))
                details open[index == 0] {
                    summary { "Request body" }
                    pre.body tabindex="0" aria-label="Request body" { code { (json_text::body(text(attempt, &["body"]))) } }
                }
            }
        }
    }
}

/// Renders the response of the receiver, if there was one.
fn response_body(attempt: &Value) -> Markup {
    let body = text(attempt, &["response_body"]);
    html! {
        @if !body.is_empty() {
            p.muted { "Response body" }
            pre.body tabindex="0" aria-label="Response body" { code { (json_text::body(body)) } }
        } @else if at(attempt, &["status"]).is_some() {
            p.muted { "The response has no body." }
        }
    }
}

/// Explains why a delivery failed, and what to do.
fn explain(problem: &str) -> Markup {
    let text = match problem {
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
    };
    html! { p.callout.warning { (text) } }
}
