//! The view of limits: what is left of the rate limits and of the concurrent jobs.

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;

use super::page::{View, page};
use super::parts::{prose, table, time};
use super::values::{count, first_text, text};
use crate::service::Service;

/// `GET /dashboard/limits`.
pub(super) async fn view(State(service): State<Service>) -> Markup {
    let (limits, workspaces) =
        service.read(|state| (state.simulator.limits(), state.simulator.workspaces()));
    let rates = html! {
        @for limit in &limits {
            @let name = first_text(limit, &["/key", "/address"]);
            tr data-key=(name) {
                td { span.mono { (name) } div.muted.mono { (text(limit, "/workspace")) } }
                @for bucket in ["read", "write"] { td { (bucket_of(&limit[bucket], bucket, name)) } }
            }
        }
    };
    let in_flight = html! {
        @for workspace in &workspaces {
            @let id = text(workspace, "/id");
            tr data-key=(id) {
                td.mono { (id) }
                td { (text(workspace, "/plan")) }
                td { (gauge(count(workspace, "/in_flight"), count(workspace, "/concurrent_jobs"), &format!("Jobs in flight of {id}"))) }
            }
        }
    };
    let content = html! {
        h2 { "Requests per minute of service time" }
        (table("Rate limits", &[("Key or address", ""), ("Reads", ""), ("Writes", "")], &rates))
        h2 { "Jobs in flight" }
        (table("Jobs in flight", &[("Workspace", ""), ("Plan", ""), ("In flight", "")], &in_flight))
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
        div.muted {
            (count(bucket, "/remaining")) " left"
            @if !resets_at.is_empty() { ", resets at " (time(resets_at)) }
        }
    }
}

fn gauge(used: u64, limit: u64, label: &str) -> Markup {
    // The browser colours a meter by these bounds.
    let (low, high) = (limit * 3 / 4, limit * 9 / 10);
    html! {
        div.gauge {
            meter min="0" max=(limit) low=(low) high=(high) optimum="0" value=(used) aria-label=(label) { (used) " of " (limit) }
            span { (used) " of " (limit) }
        }
    }
}
