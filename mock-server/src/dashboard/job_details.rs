//! The details of a job or run: its timeline, its artifacts, its cost and its webhook.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{Tone, action, badge, date_time, facts, link, status, time, usd};
use super::values::{at, id_of, items, kind_of, text, whole};
use super::{json_text, parts};
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
    let state = text(&item, &["status"]);
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
    let code = text(item, &["error", "code"]);
    let details = at(item, &["error", "details"]).map(Value::to_string);
    html! {
        @if !code.is_empty() {
            section.callout.bad aria-labelledby="why" {
                h3 #why { "Why it did not complete" }
                p { strong.mono { (code) } ": " (parts::message(text(item, &["error", "message"]))) "." }
                (cause(item))
                @if let Some(details) = details {
                    pre.body tabindex="0" aria-label="Error details" { code { (json_text::body(&details)) } }
                }
            }
        }
    }
}

/// Explains why the mock let a job or run fail, and what to do.
fn cause(item: &Value) -> Markup {
    let micros = |name| whole(item, &["usage", name]);
    let cap = micros("generation_spend_cap_usd_micros");
    let is_capped = cap.is_some() && cap <= micros("billable_amount_usd_micros");
    let submit = link("/dashboard/requests", &[("q", text(item, &["request_id"]))]);
    html! {
        @if is_capped {
            p {
                "It has spent all of its cap. Send it again with a higher "
                code { "generation_spend_cap_usd" } "."
            }
        } @else if text(item, &["status"]) == "failed" {
            p {
                "In the mock, jobs and runs fail because the " a href=(submit) { "submit" }
                " has a directive such as " code { "[mock:fail]" }
                " in a text, or because they were ended with the control API. "
                "Without it, the same request completes."
            }
        }
    }
}

/// A step of a timeline: its name, its time, and whether it has happened.
struct Step {
    name: &'static str,
    at: Time,
    is_done: bool,
}

fn timeline(item: &Value, now: Time) -> Markup {
    let parse = |path: &[&str]| parts::parse_time(text(item, path));
    let is_terminal = is_terminal(item);
    let (Some(created), Some(updated)) =
        (parse(&["timeline", "created_at"]), parse(&["updated_at"]))
    else {
        return html! {};
    };
    let until = if is_terminal { updated } else { now };
    let planned = [
        ("Submitted", Some(created)),
        ("Started", parse(&["timeline", "starts_at"])),
        ("Generating", parse(&["timeline", "generation_starts_at"])),
    ];
    let mut steps: Vec<_> = planned
        .into_iter()
        .filter_map(|(name, at)| Some((name, at?)))
        .map(|(name, at)| Step { name, at, is_done: at <= until })
        // What has ended early never reaches its later steps.
        .filter(|step| !is_terminal || step.is_done)
        .collect();
    let end = if is_terminal { Some(updated) } else { parse(&["timeline", "ends_at"]) };
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
                            @if step.name == "Ended" && is_terminal { (capitalized(text(item, &["status"]))) }
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
    !["queued", "processing", "running"].contains(&text(item, &["status"]))
}

fn artifacts(item: &Value) -> Markup {
    let of_job = items(item, &["result", "artifacts"]);
    let artifacts = if of_job.is_empty() { items(item, &["artifacts"]) } else { of_job };
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
    let url = text(artifact, &["url"]);
    let file = url.rsplit('/').next().unwrap_or_default();
    let source = format!("/dashboard/media/{file}");
    let kind = text(artifact, &["media_type"]);
    html! {
        figure data-key=(file) {
            @match kind {
                "image" => img src=(source) alt="The generated picture, a test card" loading="lazy" {},
                "video" => video src=(source) controls preload="metadata" aria-label="The generated video" {},
                "audio" => audio src=(source) controls preload="metadata" aria-label="The generated sound" {},
                _ => {},
            }
            figcaption {
                span { (text(artifact, &["content_type"])) }
                " · " a href=(source) download=(file) { "Save" }
                " · " a href=(url) rel="noopener" target="_blank" { "On the media host" }
            }
        }
    }
}

fn properties(item: &Value) -> Markup {
    let spent = |name| whole(item, &["usage", name]).map(|micros| micros as f64 / 1e6);
    let mut rows = vec![
        ("Workspace", html! { span.mono { (text(item, &["workspace"])) } }),
        ("Created", date_time(text(item, &["created_at"]))),
        ("Updated", date_time(text(item, &["updated_at"]))),
    ];
    if at(item, &["price_usd"]).is_some() {
        rows.push(("Price", html! { (usd(item, &["price_usd"])) " USD" }));
    }
    if let Some(billable) = spent("billable_amount_usd_micros") {
        rows.push(("Spent", html! {
            (billable) " USD"
            @if let Some(cap) = spent("generation_spend_cap_usd_micros") { span.muted { " of at most " (cap) } }
        }));
    }
    let queue = text(item, &["queue_id"]);
    if !queue.is_empty() {
        let index = whole(item, &["item_index"]).unwrap_or_default();
        rows.push(("Bulk queue", html! { span.mono { (queue) } ", item " (index) }));
    }
    if let Some(metadata) =
        at(item, &["metadata"]).filter(|metadata| **metadata != serde_json::json!({}))
    {
        rows.push(("Metadata", html! { span.mono { (metadata) } }));
    }
    let id = id_of(item);
    let webhook_url = text(item, &["webhook_url"]);
    if !webhook_url.is_empty() {
        let delivery = text(item, &["webhook_delivery", "status"]);
        rows.push(("Webhook", html! {
            a.mono href={ "/dashboard/webhooks/" (id) } { (webhook_url) }
            @if delivery.is_empty() { " " (badge(Tone::Neutral, "when it ends")) } @else { " " (status(delivery)) }
        }));
    }
    let requests = html! {
        a href=(link("/dashboard/requests", &[("q", id)])) { "all that name it" }
        ", "
        a href=(link("/dashboard/requests", &[("q", text(item, &["request_id"]))])) { "the submit" }
    };
    rows.push(("Requests", requests));
    facts(&rows)
}

/// Ends a job that has not ended.
fn controls(item: &Value) -> Markup {
    let is_job = text(item, &["run_id"]).is_empty();
    let id = id_of(item);
    let has_delivery = at(item, &["webhook_delivery"]).is_some();
    html! {
        @if is_job && !is_terminal(item) {
            form.inline data-send={ "POST /jobs/" (id) } data-done="The job has ended." {
                span { "End it now:" }
                button type="submit" name="status" value="completed" { "Complete" }
                button type="submit" name="status" value="failed" { "Fail" }
                button type="submit" name="status" value="canceled" { "Cancel" }
                span.problem role="alert" {}
            }
        }
        @if has_delivery {
            (action(&format!("POST /deliveries/{id}"), "Redeliver the webhook", "The webhook is sent again."))
        }
    }
}

fn output(item: &Value) -> Markup {
    html! {
        @if let Some(output) = at(item, &["output"]) {
            section {
                h3 { "Output" }
                pre.body tabindex="0" aria-label="Output" { code { (json_text::body(&output.to_string())) } }
            }
        }
    }
}

fn events(item: &Value) -> Markup {
    let events = items(item, &["events"]);
    html! {
        @if !events.is_empty() {
            section {
                h3 { "Events" }
                ol.events {
                    @for event in events {
                        li {
                            (time(text(event, &["created_at"]))) " "
                            strong { (text(event, &["phase"]).replace('_', " ")) } " "
                            span.muted { (text(event, &["status"])) " " (text(event, &["message"])) }
                        }
                    }
                }
            }
        }
    }
}
