//! The frame of all pages: the header with the clock, the navigation, and the help.

use axum::extract::State;
use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::parts;
use super::values::{number, text};
use super::view::View;
use crate::control;
use crate::service::Service;

/// The keyboard shortcuts, with what they do.
const SHORTCUTS: [(&str, &str); 9] = [
    ("1 … 9", "Open a view"),
    ("j, k", "Select the next or previous row"),
    ("Esc", "Close the details"),
    ("/", "Search"),
    ("n", "Show the new rows"),
    ("c", "Copy the request as curl"),
    ("r", "Send the request again"),
    ("p", "Pause or resume the updates"),
    ("?", "Show the shortcuts"),
];

pub(super) fn page(service: &Service, view: View, title: &str, content: &Markup) -> Markup {
    let (_, name) = view.named();
    let (clock, faults, totals) = service.read(|state| {
        let simulator = &state.simulator;
        let (jobs, runs) = simulator.submitted();
        let totals = [
            (
                View::Requests,
                usize::try_from(simulator.state.request_log.last_seq()).unwrap_or(usize::MAX),
            ),
            (View::Jobs, jobs + runs),
            (View::Webhooks, simulator.state.delivery_log.newest_first().count()),
        ];
        (control::clock_view(state), state.simulator.state.fault_rules.all().len(), totals)
    });
    let total = |view| totals.iter().find(|(of, _)| *of == view).map(|(_, total)| total);
    let title = match title {
        "" => format!("{name} · svc mock"),
        title => format!("{title} · {name} · svc mock"),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="/dashboard/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/dashboard/assets/dashboard.css";
                script type="module" src="/dashboard/assets/app.js" {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                div #app {
                    (header(&clock))
                    nav #views aria-label="Views" {
                        ul {
                            @for (number, (item, path, name)) in (1..).zip(View::ALL) {
                                li {
                                    a href=(path) data-key=(number) data-total=[total(item)]
                                        aria-current=[(item == view).then_some("page")] {
                                        (view_name(name))
                                        span.count hidden { span.number {} span.hidden { " unread" } }
                                        @if item == View::Faults && faults > 0 {
                                            span.count.warning { (faults) span.hidden { " active" } }
                                        }
                                        kbd aria-hidden="true" { (number) }
                                    }
                                }
                            }
                        }
                        a.more href="#views" { "More" span.hidden { " views" } }
                    }
                    main #main tabindex="-1" {
                        noscript {
                            p.callout { "Without JavaScript, this page does not update, and nothing can be changed." }
                        }
                        h1 { (name) }
                        (content)
                    }
                }
                div #status role="status" {}
                (help())
            }
        }
    }
}

/// Returns the name of a view, of which a phone shows the first word.
fn view_name(name: &str) -> Markup {
    let (first, rest) = name.split_once(' ').unwrap_or((name, ""));
    html! { span { (first) @if !rest.is_empty() { span.long { " " (rest) } } } }
}

fn header(clock: &Value) -> Markup {
    let mode = text(clock, "/mode");
    let speed = number(clock, "/speed");
    html! {
        header #top {
            a.brand href="/" { "svc mock" }
            a.clock href=(View::Clock.path()) data-clock=(mode) data-now=(text(clock, "/now"))
                data-speed=[speed] {
                span.hidden { "Service time " }
                span data-clock-text { (text(clock, "/now").get(..19).unwrap_or_default().replace('T', " ")) }
                " UTC "
                @match (mode, speed) {
                    ("manual", _) => (parts::badge("warning", "clock paused")),
                    (_, Some(speed)) if speed != 1.0 => (parts::badge("neutral", format!("{speed} ×"))),
                    _ => {},
                }
            }
            div #live data-keep="always" {
                span.live-text { "Connecting…" }
                button #pause type="button" aria-pressed="false" { "Pause" span.wide { " updates" } " " kbd aria-hidden="true" { "p" } }
                button #help-button type="button" aria-haspopup="dialog" { span.wide { "Shortcuts " } kbd aria-hidden="true" { "?" } }
            }
        }
    }
}

fn help() -> Markup {
    html! {
        dialog #help aria-labelledby="help-title" {
            h2 #help-title { "Shortcuts" }
            dl.facts {
                @for (key, action) in SHORTCUTS {
                    div { dt { kbd { (key) } } dd { (action) } }
                }
            }
            p.muted {
                "Searches find words in paths, bodies, prompts, keys and workspaces, and properties: "
                (parts::prose("`status:409 op:jobs_status ws:ws_demo key:order-1`."))
            }
            label.check {
                input #keys-enabled type="checkbox" checked;
                " Use these shortcuts"
            }
            form method="dialog" { button type="submit" { "Close" } }
        }
    }
}

/// Returns a list, and beside it the details of what is selected: their label, the link that closes
/// them, and their content.
pub(super) fn columns(list: &Markup, details: Option<(&str, &str, Markup)>) -> Markup {
    html! {
        div.columns {
            (list)
            @if let Some((label, close, content)) = details {
                section.details aria-label=(label) {
                    a.back href=(close) data-close { "Close" " " kbd aria-hidden="true" { "Esc" } }
                    (content)
                }
            }
        }
    }
}

pub(super) async fn not_found(State(service): State<Service>) -> (StatusCode, Markup) {
    let content = html! { p { "No page has this address. The navigation lists all views." } };
    (StatusCode::NOT_FOUND, page(&service, View::Requests, "Not found", &content))
}
