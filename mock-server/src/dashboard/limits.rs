//! The view of limits: what is left of the rate limits and of the concurrent jobs.

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;

use super::page::{View, page};
use super::parts::time;
use super::values::{text, whole};
use crate::service::Service;

/// `GET /dashboard/limits`.
pub(super) async fn view(State(service): State<Service>) -> Markup {
    let (limits, workspaces) =
        service.read(|state| (state.simulator.limits(), state.simulator.workspaces()));
    let content = html! {
        h2 { "Requests per minute of service time" }
        table.rows {
            caption.hidden { "Rate limits" }
            thead {
                tr { th scope="col" { "Key or address" } th scope="col" { "Reads" } th scope="col" { "Writes" } }
            }
            tbody {
                @for limit in &limits {
                    @let name = name_of(limit);
                    tr data-key=(name) {
                        td { span.mono { (name) } div.muted.mono { (text(limit, &["workspace"])) } }
                        td { (bucket(limit, "read", name)) }
                        td { (bucket(limit, "write", name)) }
                    }
                }
            }
        }
        h2 { "Jobs in flight" }
        table.rows {
            caption.hidden { "Jobs in flight" }
            thead { tr { th scope="col" { "Workspace" } th scope="col" { "Plan" } th scope="col" { "In flight" } } }
            tbody {
                @for workspace in &workspaces {
                    @let id = text(workspace, &["id"]);
                    tr data-key=(id) {
                        td.mono { (id) }
                        td { (text(workspace, &["plan"])) }
                        td {
                            (gauge(
                                whole(workspace, &["in_flight"]).unwrap_or_default(),
                                whole(workspace, &["concurrent_jobs"]).unwrap_or_default(),
                                &format!("Jobs in flight of {id}"),
                            ))
                        }
                    }
                }
            }
        }
        p.muted {
            "The limits follow from the plan of the workspace, which can be changed under "
            a href="/dashboard/keys" { "Keys and workspaces" } ", and from "
            code { "--writes-per-minute" } ", " code { "--read-multiple" } " and "
            code { "--concurrent-jobs" } "."
        }
    };
    page(&service, View::Limits, "", false, content)
}

fn name_of(limit: &Value) -> &str {
    match text(limit, &["key"]) {
        "" => text(limit, &["address"]),
        key => key,
    }
}

fn bucket(limit: &Value, bucket: &str, name: &str) -> Markup {
    let value = |field| whole(limit, &[bucket, field]).unwrap_or_default();
    let resets_at = text(limit, &[bucket, "resets_at"]);
    html! {
        (gauge(value("used"), value("limit"), &format!("{bucket}s used by {name}")))
        div.muted {
            (value("remaining")) " left"
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
