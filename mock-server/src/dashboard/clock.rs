//! The view of the clock: the service time, and how it passes.

use axum::extract::State;
use maud::{Markup, html};

use super::page::page;
use super::parts::{date_time, facts, form};
use super::values::{number, text};
use super::view::View;
use crate::control;
use crate::service::Service;

/// The buttons that advance the clock: their names, and by how many seconds.
const SPANS: [(&str, u32); 6] =
    [("1 s", 1), ("10 s", 10), ("1 min", 60), ("10 min", 600), ("1 h", 3_600), ("1 day", 86_400)];

pub(super) async fn view(State(service): State<Service>) -> Markup {
    let clock = service.read(control::clock_view);
    let is_manual = text(&clock, "/mode") == "manual";
    let speed = number(&clock, "/speed").unwrap_or(1.0);
    let advanced = "The clock was advanced.";
    // The header has the service time.
    let content = html! {
        (facts(&[
            ("Runs", html! {
                @if is_manual { "only when it is advanced" }
                @else { "with real time, " (speed) " × as fast" }
            }),
            ("Started at", date_time(text(&clock, "/epoch"))),
            ("Next event", html! {
                @if text(&clock, "/next_due").is_empty() { "nothing is scheduled" }
                @else { (date_time(text(&clock, "/next_due"))) }
            }),
        ]))
        h2 { "Advance" }
        @if is_manual {
            p { "Everything that falls due happens in order: jobs, webhooks and their retries, rate limits, top-ups." }
            (form("POST /clock/advance", advanced, &html! {
                @for (label, seconds) in SPANS {
                    button type="submit" name="seconds" value=(seconds) data-number { "+" (label) }
                }
            }))
            (form("POST /clock/advance", advanced, &html! {
                label { "Seconds " input type="number" name="seconds" min="0" step="any" value="30" required; }
                button type="submit" { "Advance" }
            }))
        } @else {
            p { "A clock that runs with real time cannot be advanced. Pause it first." }
        }
        h2 { "Pause or run" }
        (form("PUT /clock", "The clock is paused.", &html! {
            input type="hidden" name="mode" value="manual";
            button type="submit" disabled[is_manual] { "Pause" }
        }))
        (form("PUT /clock", "The clock runs.", &html! {
            input type="hidden" name="mode" value="real";
            label { "Speed " input type="number" name="speed" min="0.001" max="1000000" step="any" value=(speed) required; " × real time" }
            button type="submit" { "Run" }
        }))
    };
    page(&service, View::Clock, "", &content)
}
