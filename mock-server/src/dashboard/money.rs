//! The view of money: the ledger, balances and top-ups.

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use svc_sdk::types::Usd;

use super::page::page;
use super::parts::{
    amount, cell, date_time, form, link, prose, row_link, status, subject_link, table,
};
use super::values::{at, first_text, text};
use super::view::View;
use crate::addresses::DEMO_WORKSPACE;
use crate::engine::ledger::ControlEntry;
use crate::service::Service;

/// The maximum number of ledger entries on the page.
const MAX_ROWS: usize = 200;

/// The selected workspace, in the URL.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WorkspaceSelection {
    workspace: Option<String>,
}

pub(super) async fn view(
    State(service): State<Service>,
    Query(selection): Query<WorkspaceSelection>,
) -> Markup {
    let selected = selection.workspace.unwrap_or_else(|| DEMO_WORKSPACE.to_owned());
    let (workspaces, top_ups, entries) = service.read(|state| {
        let simulator = &state.simulator;
        let entries = simulator.state.ledger.newest_first(&selected, None).take(MAX_ROWS);
        let entries: Vec<_> =
            entries.map(|(seq, entry)| json!(ControlEntry::Entry(seq, entry))).collect();
        (simulator.workspaces(), simulator.top_ups(), entries)
    });
    let is_known = workspaces.iter().any(|workspace| text(workspace, "/id") == selected);
    let columns = [
        ("Workspace", "subject"),
        ("Available", "amount end"),
        ("Reserved", "amount end"),
        ("At the start", "amount end second"),
        ("Plan", "name third"),
    ];
    let content = html! {
        div.heading {
            h2 { "Ledger of " (selected) }
            form.filters method="get" action=(View::Money.path()) {
                label { "Workspace "
                    select name="workspace" {
                        @for workspace in &workspaces {
                            @let id = text(workspace, "/id");
                            option value=(id) selected[id == selected] { (id) }
                        }
                    }
                }
                button.hidden type="submit" { "Show" }
            }
            @if is_known { (top_up_form(&selected)) }
        }
        (ledger(&entries))
        h2 { "Balances in USD" }
        (table("Balances", &columns, &html! {
            @for workspace in &workspaces { (balance_of(workspace, &selected)) }
        }))
        h2 { "Top-ups" }
        (top_ups_of(&top_ups))
    };
    page(&service, View::Money, "", &content)
}

fn balance_of(workspace: &Value, selected: &str) -> Markup {
    let id = text(workspace, "/id");
    let is_selected = id == selected;
    let href = link(View::Money.path(), &[("workspace", id)]);
    html! {
        tr data-key=(id) class=[is_selected.then_some("selected")] {
            td.subject.mono { (row_link(&href, is_selected, &html! { (id) })) }
            td.amount.end.mono { (amount(text(workspace, "/available_usd"))) }
            td.amount.end.mono { (amount(text(workspace, "/reserved_usd"))) }
            td.amount.end.mono.second { (amount(text(workspace, "/opening_usd"))) }
            (cell("name third", text(workspace, "/plan")))
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
    let columns = [
        ("Created (UTC)", "date second"),
        ("Top-up", ""),
        ("Workspace", "name third"),
        ("USD", "amount end"),
        ("Status", "settle"),
    ];
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
    let cents = at(top_up, "/amount_usd_cents").and_then(Value::as_i64).unwrap_or_default();
    html! {
        tr data-key=(id) {
            td.date.second { (date_time(text(top_up, "/created_at"))) }
            (cell("mono", id))
            (cell("mono name third", text(top_up, "/workspace")))
            td.amount.end.mono { (amount(&Usd::from_micros(cents * 10_000).to_string())) }
            td.settle {
                @if text(top_up, "/status") == "pending" {
                    (form(&format!("POST /top-ups/{id}"), "The top-up is settled.", &html! {
                        button type="submit" name="status" value="paid" { "Pay" }
                        button type="submit" name="status" value="failed" { "Fail" }
                        button type="submit" name="status" value="expired" { "Expire" }
                    }))
                } @else { (status(text(top_up, "/status"))) }
            }
        }
    }
}

fn ledger(entries: &[Value]) -> Markup {
    let columns =
        [("Time (UTC)", "date"), ("Entry", ""), ("USD", "amount end"), ("For", "id second")];
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
            td.date { (date_time(text(entry, "/created_at"))) }
            td { (kind.replace('_', " ")) }
            td.amount.end.mono { (sign) (amount(text(entry, "/amount_usd"))) }
            td.id.second {
                @match first_text(entry, &["/job_id", "/run_id"]) {
                    "" => span.mono { (text(entry, "/top_up_id")) },
                    id => (subject_link(id)),
                }
            }
        }
    }
}
