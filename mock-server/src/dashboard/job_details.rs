//! The details of a job or run: its prompt, its timeline, its files, its cost and its webhook.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::logged_exchanges::SubmitBodies;
use super::parts::{
    action, badge, body, date_time, facts, form, link, prompt, prose, status, time,
};
use super::timeline::TimelineChart;
use super::values::{
    amount_at, artifacts_of, at, count, file_of, id_of, is_terminal, items, kind_of, spent, text,
};
use super::view::View;
use crate::service::Service;

pub(super) fn details(service: &Service, id: &str) -> Markup {
    let submits = SubmitBodies::of(service);
    let found = service.read(|state| {
        let simulator = &state.simulator;
        let item = simulator.job_or_run(id)?;
        let timeline = TimelineChart::read(simulator, &item);
        Some((item, timeline))
    });
    let Some((item, timeline)) = found else {
        return html! {
            h2 { (id) }
            p.empty { "No job or run has this ID." }
        };
    };
    let (kind, subject) = kind_of(&item);
    html! {
        h2 { (kind) " " span.muted { (subject) } }
        (prompt(&submits.prompt_of(&item)))
        p.summary { (status(text(&item, "/status"))) " " span.mono { (id_of(&item)) } }
        (error(&item))
        @if let Some(timeline) = timeline { (timeline) }
        @let artifacts = artifacts_of(&item);
        @if !artifacts.is_empty() {
            section.artifacts aria-labelledby="artifacts-title" {
                h3 #artifacts-title { "Files" }
                @for artifact in artifacts { (artifact_of(artifact)) }
            }
        }
        (properties(&item))
        (controls(&item))
        @if let Some(output) = at(&item, "/output") {
            section { h3 { "Output" } (body("Output", &output.to_string())) }
        }
        (events(&item))
    }
}

fn error(item: &Value) -> Markup {
    let code = text(item, "/error/code");
    html! {
        @if !code.is_empty() {
            section.callout.bad aria-labelledby="why" {
                h3 #why { "Why it did not complete" }
                p { strong.mono { (code) } ": " (prose(text(item, "/error/message"))) "." }
                (cause(item))
                @if let Some(details) = at(item, "/error/details") {
                    (body("Error details", &details.to_string()))
                }
            }
        }
    }
}

/// Explains why the mock let a job or run fail, and what to do.
fn cause(item: &Value) -> Markup {
    let cap = at(item, "/usage/generation_spend_cap_usd_micros").and_then(Value::as_u64);
    let is_capped = cap.is_some_and(|cap| cap <= count(item, "/usage/billable_amount_usd_micros"));
    html! {
        @if is_capped {
            p { (prose("It has spent all of its cap. Send it again with a higher `generation_spend_cap_usd`.")) }
        } @else if text(item, "/status") == "failed" {
            p {
                "In the mock, jobs and runs fail because the " a href=(submit_of(item)) { "submit" }
                (prose(" has a directive such as `[mock:fail]` in a text, or because they were ended \
                    with the control API. Without it, the same request completes."))
            }
        }
    }
}

/// Returns the link to the request that submitted a job or run.
fn submit_of(item: &Value) -> String {
    link(View::Requests.path(), &[("q", text(item, "/request_id"))])
}

fn artifact_of(artifact: &Value) -> Markup {
    let url = text(artifact, "/url");
    let file = file_of(artifact);
    let source = format!("/dashboard/media/{file}");
    let kind = text(artifact, "/media_type");
    html! {
        figure data-key=(file) {
            @match kind {
                "image" => { img src=(source) alt="The generated picture, a test card" loading="lazy"; }
                "video" => video src=(source) controls preload="metadata" aria-label="The generated video" {},
                "audio" => audio src=(source) controls preload="metadata" aria-label="The generated sound" {},
                _ => {},
            }
            figcaption {
                span { (text(artifact, "/content_type")) }
                " · " a href=(source) download=(file) { "Save" }
                " · " a href=(url) rel="noopener" target="_blank" { "On the media host" }
            }
        }
    }
}

fn properties(item: &Value) -> Markup {
    let id = id_of(item);
    let mut rows = vec![
        ("Workspace", html! { span.mono { (text(item, "/workspace")) } }),
        ("Created", date_time(text(item, "/created_at"))),
        ("Updated", date_time(text(item, "/updated_at"))),
    ];
    if at(item, "/price_usd").is_some() {
        rows.push(("Price", html! { (text(item, "/price_usd")) " USD" }));
    }
    if let Some(spent) = spent(item) {
        let cap = amount_at(item, "/usage/generation_spend_cap_usd_micros");
        rows.push((
            "Spent",
            html! {
                (spent) " USD"
                @if let Some(cap) = cap { span.muted { " of at most " (cap) } }
            },
        ));
    }
    if let Some(queue) = at(item, "/queue_id").and_then(Value::as_str) {
        let index = count(item, "/item_index");
        rows.push(("Bulk queue", html! { span.mono { (queue) } ", item " (index) }));
    }
    if let Some(metadata) = at(item, "/metadata").filter(|metadata| **metadata != json!({})) {
        rows.push(("Metadata", html! { span.mono { (metadata) } }));
    }
    let webhook_url = text(item, "/webhook_url");
    if !webhook_url.is_empty() {
        let delivery = text(item, "/webhook_delivery/status");
        rows.push(("Webhook", html! {
            a.mono href={ (View::Webhooks.path()) "/" (id) } { (webhook_url) } " "
            @if delivery.is_empty() { (badge("neutral", "when it ends")) } @else { (status(delivery)) }
        }));
    }
    rows.push((
        "Requests",
        html! {
            a href=(link(View::Requests.path(), &[("q", id)])) { "all that name it" } ", "
            a href=(submit_of(item)) { "the submit" }
        },
    ));
    facts(&rows)
}

/// Ends a job that has not ended.
fn controls(item: &Value) -> Markup {
    let id = id_of(item);
    html! {
        @if text(item, "/run_id").is_empty() && !is_terminal(item) {
            (form(&format!("POST /jobs/{id}"), "The job has ended.", &html! {
                span { "End it now:" }
                button type="submit" name="status" value="completed" { "Complete" }
                button type="submit" name="status" value="failed" { "Fail" }
                button type="submit" name="status" value="canceled" { "Cancel" }
            }))
        }
        @if at(item, "/webhook_delivery").is_some() {
            (action(&format!("POST /deliveries/{id}"), "Redeliver the webhook", "The webhook is sent again."))
        }
    }
}

fn events(item: &Value) -> Markup {
    let events = items(item, "/events");
    html! {
        @if !events.is_empty() {
            section {
                h3 { "Events" }
                ol.events {
                    @for event in events {
                        li {
                            (time(text(event, "/created_at"))) " "
                            strong { (text(event, "/phase").replace('_', " ")) } " "
                            span.muted { (text(event, "/status")) " " (text(event, "/message")) }
                        }
                    }
                }
            }
        }
    }
}
