//! The frame of all pages: the header with the clock, the navigation, and the help.

use axum::extract::State;
use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::parts;
use super::values::{number, text};
use crate::control;
use crate::service::Service;

/// Declares the views, each with its path and its name.
macro_rules! views {
    ($($view:ident => $path:literal, $name:literal;)+) => {
        /// The views, in the order of the navigation.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) enum View {
            $($view,)+
        }

        impl View {
            const ALL: &[Self] = &[$(Self::$view),+];

            pub(super) const fn path(self) -> &'static str {
                match self {
                    $(Self::$view => $path,)+
                }
            }

            const fn name(self) -> &'static str {
                match self {
                    $(Self::$view => $name,)+
                }
            }
        }
    };
}

views! {
    Requests => "/dashboard/requests", "Requests";
    Jobs => "/dashboard/jobs", "Jobs and runs";
    Money => "/dashboard/money", "Money";
    Webhooks => "/dashboard/webhooks", "Webhooks";
    Limits => "/dashboard/limits", "Limits";
    Clock => "/dashboard/clock", "Clock";
    Faults => "/dashboard/faults", "Faults";
    Keys => "/dashboard/keys", "Keys and workspaces";
    State => "/dashboard/state", "State";
}

/// The keyboard shortcuts, with what they do.
const SHORTCUTS: [(&str, &str); 7] = [
    ("1 … 9", "Open a view"),
    ("j, k", "Select the next or previous row"),
    ("Esc", "Close the details"),
    ("/", "Search"),
    ("c", "Copy the request as curl"),
    ("p", "Pause or resume the updates"),
    ("?", "Show the shortcuts"),
];

/// Returns a complete page. With `has_details`, small screens show only the details of a list.
pub(super) fn page(
    service: &Service,
    view: View,
    title: &str,
    has_details: bool,
    content: Markup,
) -> Markup {
    let (clock, faults) =
        service.read(|state| (control::clock_view(state), state.simulator.faults().len()));
    let title = match title {
        "" => format!("{} · svc mock", view.name()),
        title => format!("{title} · {} · svc mock", view.name()),
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
                            @for (number, item) in (1..).zip(View::ALL.iter().copied()) {
                                li {
                                    a href=(item.path()) data-key=(number)
                                        aria-current=[(item == view).then_some("page")] {
                                        span { (item.name()) }
                                        @if item == View::Faults && faults > 0 {
                                            span.count { (faults) span.hidden { " active" } }
                                        }
                                        kbd aria-hidden="true" { (number) }
                                    }
                                }
                            }
                        }
                    }
                    main #main tabindex="-1" class=[has_details.then_some("has-details")] {
                        h1 { (view.name()) }
                        noscript {
                            p.callout { "Without JavaScript, this page does not update, and nothing can be changed." }
                        }
                        (content)
                    }
                }
                div #status role="status" {}
                (help())
            }
        }
    }
}

fn header(clock: &Value) -> Markup {
    let mode = text(clock, &["mode"]);
    let speed = number(clock, &["speed"]);
    html! {
        header #top {
            a.brand href="/" { "svc mock" }
            a.clock href=(View::Clock.path()) data-clock=(mode) data-now=(text(clock, &["now"]))
                data-speed=[speed] {
                span.hidden { "Service time " }
                span data-clock-text { (parts::date_time(text(clock, &["now"]))) }
                " "
                @match (mode, speed) {
                    ("manual", _) => span.badge.warning { "clock paused" },
                    (_, Some(speed)) if speed != 1.0 => span.badge.neutral { (speed) "×" },
                    _ => {},
                }
            }
            div #live data-keep="always" {
                span.live-text { "Connecting…" }
                button #pause type="button" aria-pressed="false" { "Pause updates" }
                button #help-button type="button" aria-haspopup="dialog" { "Shortcuts" }
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
            label.check {
                input #keys-enabled type="checkbox" checked;
                " Use these shortcuts"
            }
            form method="dialog" { button type="submit" { "Close" } }
        }
    }
}

/// Renders the page for unknown paths.
pub(super) async fn not_found(State(service): State<Service>) -> (StatusCode, Markup) {
    let content = html! {
        p { "No page has this address. The navigation lists all views." }
    };
    let page = page(&service, View::Requests, "Not found", false, content);
    (StatusCode::NOT_FOUND, page)
}
