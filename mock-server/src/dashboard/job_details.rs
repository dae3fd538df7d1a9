//! The details of a job or run: its timeline, its artifacts, its cost and its webhook.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::page::View;
use super::parts::{
    action, badge, body, date_time, facts, form, link, parse_time, prose, status, time, usd,
};
use super::values::{at, count, id_of, items, kind_of, text};
use crate::engine::Time;
use crate::service::Service;

/// The width of the timeline in units of its drawing.
const WIDTH: f64 = 1_000.0;

pub(super) fn details(service: &Service, id: &str) -> Markup {
    let (item, now) = service.read(|state| {
        let now = state.simulator.now();
        (state.simulator.job_or_run(id), now)
    });
    let Some(item) = item else {
        return html! {
            h2 { (id) }
            p.empty { "No job or run has this ID." }
        };
    };
    let (kind, subject) = kind_of(&item);
    let state = text(&item, "/status");
    html! {
        h2 { (kind) " " span.muted { (subject) } }
        p.summary { (status(state)) " " span.mono { (id_of(&item)) } }
        (error(&item))
        (timeline(&item, now))
        (artifacts(&item))
        (properties(&item))
        (controls(&item))
        (output(&item))
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

/// A step of a timeline: its name, its time, and whether it has happened.
struct Step {
    name: &'static str,
    at: Time,
    is_done: bool,
}

fn timeline(item: &Value, now: Time) -> Markup {
    let parse = |path| parse_time(text(item, path));
    let is_terminal = is_terminal(item);
    let (Some(created), Some(updated)) = (parse("/timeline/created_at"), parse("/updated_at"))
    else {
        return html! {};
    };
    let until = if is_terminal { updated } else { now };
    let planned = [
        ("Submitted", Some(created)),
        ("Started", parse("/timeline/starts_at")),
        ("Generating", parse("/timeline/generation_starts_at")),
    ];
    let mut steps: Vec<_> = planned
        .into_iter()
        .filter_map(|(name, at)| Some((name, at?)))
        .map(|(name, at)| Step { name, at, is_done: at <= until })
        // What has ended early never reaches its later steps.
        .filter(|step| !is_terminal || step.is_done)
        .collect();
    let end = if is_terminal { Some(updated) } else { parse("/timeline/ends_at") };
    if let Some(at) = end {
        steps.push(Step { name: "Ended", at, is_done: is_terminal });
    }
    let last = end.unwrap_or(until).max(until);
    let total = last.since(created).as_secs_f64().max(0.001);
    let x = |at: Time| (at.since(created).as_secs_f64() / total * WIDTH).min(WIDTH);
    html! {
        section.timeline aria-labelledby="timeline-title" {
            h3 #timeline-title { "Timeline" }
            svg viewBox="-8 0 1016 24" preserveAspectRatio="none" aria-hidden="true" {
                rect.track x="0" y="9" width=(WIDTH) height="6" rx="3" {}
                rect.passed x="0" y="9" width=(x(until)) height="6" rx="3" {}
                @for step in &steps {
                    rect class=(if step.is_done { "step done" } else { "step" }) x=(x(step.at) - 2.0) y="4" width="4" height="16" {}
                }
            }
            ol {
                @for step in &steps {
                    li class=[step.is_done.then_some("done")] {
                        strong {
                            @if step.name == "Ended" && is_terminal { (capitalized(text(item, "/status"))) }
                            @else { (step.name) }
                        }
                        " " (time(&step.at.to_string()))
                        span.muted {
                            " +" (format!("{:.1}", step.at.since(created).as_secs_f64())) " s"
                            @if !step.is_done { " planned" }
                        }
                    }
                }
                @if end.is_none() { li { strong { "Never ends" } span.muted { " as its prompt says" } } }
            }
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn is_terminal(item: &Value) -> bool {
    !["queued", "processing", "running"].contains(&text(item, "/status"))
}

fn artifacts(item: &Value) -> Markup {
    let of_job = items(item, "/result/artifacts");
    let artifacts = if of_job.is_empty() { items(item, "/artifacts") } else { of_job };
    html! {
        @if !artifacts.is_empty() {
            section.artifacts aria-labelledby="artifacts-title" {
                h3 #artifacts-title { "Files" }
                @for artifact in artifacts { (artifact_of(artifact)) }
            }
        }
    }
}

fn artifact_of(artifact: &Value) -> Markup {
    let url = text(artifact, "/url");
    let file = url.rsplit('/').next().unwrap_or_default();
    let source = format!("/dashboard/media/{file}");
    let kind = text(artifact, "/media_type");
    html! {
        figure data-key=(file) {
            @match kind {
                "image" => img src=(source) alt="The generated picture, a test card" loading="lazy" {},
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
    let usd_of = |path| {
        let micros = at(item, path)?.as_u64()?;
        Some(micros as f64 / 1e6)
    };
    let id = id_of(item);
    let mut rows = vec![
        ("Workspace", html! { span.mono { (text(item, "/workspace")) } }),
        ("Created", date_time(text(item, "/created_at"))),
        ("Updated", date_time(text(item, "/updated_at"))),
    ];
    if at(item, "/price_usd").is_some() {
        rows.push(("Price", html! { (usd(item, "/price_usd")) " USD" }));
    }
    if let Some(billable) = usd_of("/usage/billable_amount_usd_micros") {
        let cap = usd_of("/usage/generation_spend_cap_usd_micros");
        rows.push((
            "Spent",
            html! {
                (billable) " USD"
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

fn output(item: &Value) -> Markup {
    html! {
        @if let Some(output) = at(item, "/output") {
            section { h3 { "Output" } (body("Output", &output.to_string())) }
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
