//! The view of money: balances, top-ups and the ledger.

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::page::{View, page};
use super::parts::{date_time, form, link, prose, status, subject_link, table, usd};
use super::values::{count, first_text, text};
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
    Query(selection): Query<WorkspaceSelection>,
) -> Markup {
    let selected = selection.workspace.unwrap_or_else(|| DEMO_WORKSPACE.to_owned());
    let (workspaces, top_ups, entries) = service.read(|state| {
        let simulator = &state.simulator;
        (simulator.workspaces(), simulator.top_ups(), simulator.newest_entries(&selected, MAX_ROWS))
    });
    let is_selected = |workspace: &Value| text(workspace, "/id") == selected;
    let content = html! {
        h2 { "Balances" }
        ul.cards {
            @for workspace in &workspaces { (balance_of(workspace, is_selected(workspace))) }
        }
        @if workspaces.iter().any(is_selected) {
            h2 { "Top up " (selected) }
            (top_up_form(&selected))
        }
        h2 { "Top-ups" }
        (top_ups_of(&top_ups))
        h2 { "Ledger of " (selected) }
        (ledger(&entries))
    };
    page(&service, View::Money, "", &content)
}

fn balance_of(workspace: &Value, is_selected: bool) -> Markup {
    let id = text(workspace, "/id");
    html! {
        li data-key=(id) {
            a.card href=(link(View::Money.path(), &[("workspace", id)]))
                aria-current=[is_selected.then_some("true")] {
                strong.mono { (id) }
                span.figure { (usd(workspace, "/available_usd")) span.muted { " USD" } }
                span.muted { "available" }
                span.muted { (usd(workspace, "/reserved_usd")) " reserved" }
                span.muted { (usd(workspace, "/opening_usd")) " at the start" }
            }
        }
    }
}

pub(super) fn top_up_form(workspace: &str) -> Markup {
    let fields = html! {
        input type="hidden" name="workspace" value=(workspace);
        label {
            "Amount in USD "
            input type="text" name="amount_usd" value="20.00" inputmode="decimal" size="8" required;
        }
        button type="submit" { "Top up " (workspace) }
    };
    form("POST /top-ups", "The balance is topped up.", &fields)
}

fn top_ups_of(top_ups: &[Value]) -> Markup {
    let columns = [("Top-up", ""), ("Amount", "end"), ("Status", ""), ("Payer", "")];
    html! {
        @if top_ups.is_empty() {
            p.empty { (prose("No top-ups. A client makes one with `POST /v1/open/top-ups`; pay it here.")) }
        } @else {
            (table("Top-ups", &columns, &html! {
                @for top_up in top_ups.iter().rev().take(MAX_ROWS) { (top_up_of(top_up)) }
            }))
        }
    }
}

fn top_up_of(top_up: &Value) -> Markup {
    let id = text(top_up, "/id");
    let cents = count(top_up, "/amount_usd_cents");
    html! {
        tr data-key=(id) {
            td { span.mono { (id) } div.muted { (text(top_up, "/workspace")) " · " (date_time(text(top_up, "/created_at"))) } }
            td.end.mono { (cents / 100) "." (format!("{:02}", cents % 100)) " USD" }
            td { (status(text(top_up, "/status"))) }
            td {
                @if text(top_up, "/status") == "pending" {
                    (form(&format!("POST /top-ups/{id}"), "The top-up is settled.", &html! {
                        button type="submit" name="status" value="paid" { "Pay" }
                        button type="submit" name="status" value="failed" { "Fail" }
                        button type="submit" name="status" value="expired" { "Expire" }
                    }))
                } @else { span.muted { "settled" } }
            }
        }
    }
}

fn ledger(entries: &[Value]) -> Markup {
    let columns = [("Time", ""), ("Entry", ""), ("USD", "end"), ("For", "")];
    html! {
        @if entries.is_empty() {
            p.empty { "No entries yet: nothing was reserved, charged or paid in." }
        } @else {
            (table("Ledger entries, newest first", &columns, &html! {
                @for entry in entries { (entry_of(entry)) }
            }))
            @if entries.len() == MAX_ROWS {
                p.muted { (prose(&format!("The newest {MAX_ROWS} entries. `GET /ledger` has all."))) }
            }
        }
    }
}

fn entry_of(entry: &Value) -> Markup {
    let kind = text(entry, "/kind");
    let sign = match kind {
        "reservation" => "−",
        "refund" | "top_up" => "+",
        _ => "",
    };
    html! {
        tr data-key=(text(entry, "/id")) {
            td { (date_time(text(entry, "/created_at"))) }
            td { (kind.replace('_', " ")) }
            td.end.mono { (sign) (usd(entry, "/amount_usd")) }
            td {
                @match first_text(entry, &["/job_id", "/run_id"]) {
                    "" => span.mono { (text(entry, "/top_up_id")) },
                    id => (subject_link(id)),
                }
            }
        }
    }
}
