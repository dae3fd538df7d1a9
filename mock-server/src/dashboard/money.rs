//! The view of money: balances, top-ups and the ledger.

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::page::{View, page};
use super::parts::{date_time, link, status, subject_link, usd};
use super::values::{text, whole};
use crate::addresses::DEMO_WORKSPACE;
use crate::service::Service;

/// The maximum number of ledger entries on the page.
const MAX_ROWS: usize = 200;

/// The selected workspace, in the URL.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WorkspaceSelection {
    workspace: Option<String>,
}

/// `GET /dashboard/money`.
pub(super) async fn view(
    State(service): State<Service>,
    query: Query<WorkspaceSelection>,
) -> Markup {
    let Query(WorkspaceSelection { workspace }) = query;
    let selected = workspace.unwrap_or_else(|| DEMO_WORKSPACE.to_owned());
    let (workspaces, top_ups, entries) = service.read(|state| {
        let simulator = &state.simulator;
        (simulator.workspaces(), simulator.top_ups(), simulator.newest_entries(&selected, MAX_ROWS))
    });
    let is_selected = |workspace: &Value| text(workspace, &["id"]) == selected;
    let content = html! {
        h2 { "Balances" }
        ul.cards {
            @for workspace in &workspaces { (balance_of(workspace, &selected)) }
        }
        @if workspaces.iter().any(is_selected) {
            h2 { "Top up " (selected) }
            (top_up_form(&selected, "20.00"))
        }
        (top_ups_of(&top_ups))
        h2 { "Ledger of " (selected) }
        (ledger(&entries))
    };
    page(&service, View::Money, "", false, content)
}

fn balance_of(workspace: &Value, selected: &str) -> Markup {
    let id = text(workspace, &["id"]);
    html! {
        li data-key=(id) {
            a.card href=(link(View::Money.path(), &[("workspace", id)]))
                aria-current=[(id == selected).then_some("true")] {
                strong.mono { (id) }
                span.figure { (usd(workspace, &["available_usd"])) span.muted { " USD" } }
                span.muted { "available" }
                span.muted { (usd(workspace, &["reserved_usd"])) " reserved" }
                span.muted { (usd(workspace, &["opening_usd"])) " at the start" }
            }
        }
    }
}

pub(super) fn top_up_form(workspace: &str, amount: &str) -> Markup {
    html! {
        form.inline data-keep data-send="POST /top-ups" data-done="The balance is topped up." {
            input type="hidden" name="workspace" value=(workspace);
            label {
                "Amount in USD "
                input type="text" name="amount_usd" value=(amount) inputmode="decimal" size="8" required;
            }
            button type="submit" { "Top up " (workspace) }
            span.problem role="alert" {}
        }
    }
}

fn top_ups_of(top_ups: &[Value]) -> Markup {
    html! {
        h2 { "Top-ups" }
        @if top_ups.is_empty() {
            p.empty { "No top-ups. A client makes one with " code { "POST /v1/open/top-ups" } "; pay it here." }
        } @else {
            table.rows {
                caption.hidden { "Top-ups" }
                thead { tr { th scope="col" { "Top-up" } th.end scope="col" { "Amount" } th scope="col" { "Status" } th scope="col" { "Payer" } } }
                tbody {
                    @for top_up in top_ups.iter().rev().take(MAX_ROWS) { (top_up_of(top_up)) }
                }
            }
        }
    }
}

fn top_up_of(top_up: &Value) -> Markup {
    let id = text(top_up, &["id"]);
    let cents = whole(top_up, &["amount_usd_cents"]).unwrap_or_default();
    let is_pending = text(top_up, &["status"]) == "pending";
    html! {
        tr data-key=(id) {
            td { span.mono { (id) } div.muted { (text(top_up, &["workspace"])) " · " (date_time(text(top_up, &["created_at"]))) } }
            td.end.mono { (cents / 100) "." (format!("{:02}", cents % 100)) " USD" }
            td { (status(text(top_up, &["status"]))) }
            td {
                @if is_pending {
                    form.inline data-send={ "POST /top-ups/" (id) } data-done="The top-up is settled." {
                        button type="submit" name="status" value="paid" { "Pay" }
                        button type="submit" name="status" value="failed" { "Fail" }
                        button type="submit" name="status" value="expired" { "Expire" }
                        span.problem role="alert" {}
                    }
                } @else { span.muted { "settled" } }
            }
        }
    }
}

fn ledger(entries: &[Value]) -> Markup {
    html! {
        @if entries.is_empty() {
            p.empty { "No entries yet: nothing was reserved, charged or paid in." }
        } @else {
            table.rows {
                caption.hidden { "Ledger entries, newest first" }
                thead { tr { th scope="col" { "Time" } th scope="col" { "Entry" } th.end scope="col" { "USD" } th scope="col" { "For" } } }
                tbody { @for entry in entries { (entry_of(entry)) } }
            }
            @if entries.len() == MAX_ROWS { p.muted { "The newest " (MAX_ROWS) " entries. " code { "GET /ledger" } " has all." } }
        }
    }
}

fn entry_of(entry: &Value) -> Markup {
    let kind = text(entry, &["kind"]);
    let sign = match kind {
        "reservation" => "−",
        "refund" | "top_up" => "+",
        _ => "",
    };
    let subject = ["job_id", "run_id"].map(|name| text(entry, &[name]));
    let subject = subject.into_iter().find(|id| !id.is_empty());
    html! {
        tr data-key=(text(entry, &["id"])) {
            td { (date_time(text(entry, &["created_at"]))) }
            td { (kind.replace('_', " ")) }
            td.end.mono { (sign) (usd(entry, &["amount_usd"])) }
            td {
                @if let Some(id) = subject { (subject_link(id)) }
                @else { span.mono { (text(entry, &["top_up_id"])) } }
            }
        }
    }
}
