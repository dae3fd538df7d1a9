//! The view of limits: what is left of the rate limits and of the concurrent jobs.

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;

use super::page::page;
use super::parts::{cell, prose, table, time};
use super::values::{count, first_text, text};
use super::view::View;
use crate::service::Service;

pub(super) async fn view(State(service): State<Service>) -> Markup {
    let (limits, workspaces) =
        service.read(|state| (state.simulator.limits(), state.simulator.workspaces()));
    let rates = html! {
        @for limit in &limits {
            @let name = first_text(limit, &["/key", "/address"]);
            tr data-key=(name) {
                (cell("mono", name))
                (cell("mono name third", text(limit, "/workspace")))
                @for bucket in ["read", "write"] { td { (bucket_of(&limit[bucket], bucket, name)) } }
            }
        }
    };
    let in_flight = html! {
        @for workspace in &workspaces {
            @let id = text(workspace, "/id");
            tr data-key=(id) {
                (cell("mono", id))
                (cell("name second", text(workspace, "/plan")))
                td { (gauge(count(workspace, "/in_flight"), count(workspace, "/concurrent_jobs"), &format!("Jobs in flight of {id}"))) }
            }
        }
    };
    let rate_columns = [
        ("Key or address", ""),
        ("Workspace", "name third"),
        ("Reads", "gauges"),
        ("Writes", "gauges"),
    ];
    let columns = [("Workspace", ""), ("Plan", "name second"), ("In flight", "gauges")];
    let content = html! {
        h2 { "Requests per minute of service time" }
        (table("Rate limits", &rate_columns, &rates))
        h2 { "Jobs in flight" }
        (table("Jobs in flight", &columns, &in_flight))
        p.muted {
            (prose("The limits follow from the plan of the workspace, which can be changed under \
                [Keys and workspaces], and from `--writes-per-minute`, `--read-multiple` and \
                `--concurrent-jobs`."))
        }
    };
    page(&service, View::Limits, "", &content)
}

fn bucket_of(bucket: &Value, name: &str, key: &str) -> Markup {
    let resets_at = text(bucket, "/resets_at");
    html! {
        (gauge(count(bucket, "/used"), count(bucket, "/limit"), &format!("{name}s used by {key}")))
        @if !resets_at.is_empty() { span.muted.wide { " until " (time(resets_at)) } }
    }
}

fn gauge(used: u64, limit: u64, label: &str) -> Markup {
    // The browser colours a meter by these bounds.
    let (low, high) = (limit * 3 / 4, limit * 9 / 10);
    html! {
        span.gauge {
            meter min="0" max=(limit) low=(low) high=(high) optimum="0" value=(used) aria-label=(label) { (used) " of " (limit) }
            span { (used) " of " (limit) }
        }
    }
}
