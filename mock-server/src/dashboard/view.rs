//! The views of the dashboard.

use maud::{Markup, html};

/// The views, in the order of the navigation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum View {
    Requests,
    Jobs,
    Money,
    Webhooks,
    Limits,
    Clock,
    Faults,
    Keys,
    State,
}

impl View {
    /// The views with their paths and names.
    pub(super) const ALL: [(Self, &str, &str); 9] = [
        (Self::Requests, "/dashboard/requests", "Requests"),
        (Self::Jobs, "/dashboard/jobs", "Jobs and runs"),
        (Self::Money, "/dashboard/money", "Money"),
        (Self::Webhooks, "/dashboard/webhooks", "Webhooks"),
        (Self::Limits, "/dashboard/limits", "Limits"),
        (Self::Clock, "/dashboard/clock", "Clock"),
        (Self::Faults, "/dashboard/faults", "Faults"),
        (Self::Keys, "/dashboard/keys", "Keys and workspaces"),
        (Self::State, "/dashboard/state", "State"),
    ];

    pub(super) fn named(self) -> (&'static str, &'static str) {
        let found = Self::ALL.iter().find(|(view, ..)| *view == self);
        found.map_or(("/", ""), |(_, path, name)| (path, name))
    }

    pub(super) fn path(self) -> &'static str {
        self.named().0
    }

    /// Returns a link to the view with a name; the bracketed name if there is none.
    pub(super) fn link(name: &str) -> Markup {
        let found = Self::ALL.iter().find(|(.., known)| *known == name);
        html! {
            @match found {
                Some((_, path, name)) => a href=(path) { (name) },
                None => { "[" (name) "]" },
            }
        }
    }
}
