//! The view of keys and workspaces.

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;
use svc_sdk::contract::Scope;

use super::page::page;
use super::parts::{action, amount, badge, cell, date_time, form, link, problem, table};
use super::values::{is_true, items, text};
use super::view::View;
use crate::service::Service;

/// The plans, smallest first.
const PLANS: [&str; 5] = ["free", "pro", "startup", "scale", "enterprise"];

pub(super) async fn view(State(service): State<Service>) -> Markup {
    let (keys, workspaces) =
        service.read(|state| (state.simulator.keys(), state.simulator.workspaces()));
    let columns = [
        ("Key", ""),
        ("", "copying"),
        ("Kind", "name second"),
        ("Workspace", "name"),
        ("Scopes", "prompt third"),
        ("Last used (UTC)", "date fourth"),
        ("ID", "id fifth"),
        ("Change", "name end second"),
    ];
    let workspace_columns = [
        ("Workspace", ""),
        ("Kind", "name third"),
        ("USD available", "amount end"),
        ("Plan", "settle second"),
    ];
    let content = html! {
        h2 { "Keys" }
        (table("Keys", &columns, &html! { @for key in &keys { (key_of(key)) } }))
        h2 { "Add a key" }
        (key_form(&workspaces))
        h2 { "Workspaces" }
        (table("Workspaces", &workspace_columns, &html! {
            @for workspace in &workspaces {
                @let id = text(workspace, "/id");
                tr data-key=(id) {
                    td.mono { a href=(link(View::Money.path(), &[("workspace", id)])) { (id) } }
                    (cell("name third", text(workspace, "/kind")))
                    td.amount.end.mono { (amount(text(workspace, "/available_usd"))) }
                    td.settle.second { (plan_form(id, text(workspace, "/plan"))) }
                }
            }
        }))
    };
    page(&service, View::Keys, "", &content)
}

fn key_of(key: &Value) -> Markup {
    let scopes = items(key, "/scopes");
    let is_revoked = is_true(key, "/revoked");
    let (id, secret) = (text(key, "/id"), text(key, "/key"));
    let scopes = match scopes.len() {
        0 => "none".to_owned(),
        count if count == Scope::KNOWN.len() => "all".to_owned(),
        _ => scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
    };
    html! {
        tr data-key=(id) {
            (cell("mono", secret))
            td.copying { button.copy type="button" data-copy=(secret) aria-label={ "Copy the key " (secret) } { "Copy" } }
            (cell("name second", &text(key, "/kind").replace('_', " ")))
            (cell("mono name", text(key, "/workspace")))
            (cell("prompt third", &scopes))
            td.date.fourth { (date_time(text(key, "/last_used_at"))) }
            (cell("mono id fifth", id))
            td.name.end.second {
                @if is_revoked { (badge("bad", "revoked")) }
                @else { (action(&format!("DELETE /keys/{id}"), "Revoke", "The key is revoked.")) }
            }
        }
    }
}

/// Returns the form that changes the plan of a workspace, on which its limits depend.
pub(super) fn plan_form(workspace: &str, plan: &str) -> Markup {
    let done = format!("The plan of {workspace} is changed.");
    let fields = html! {
        select name="plan" aria-label={ "Plan of " (workspace) } {
            @for name in PLANS { option value=(name) selected[name == plan] { (name) } }
        }
        button type="submit" { "Change" span.hidden { " the plan" } }
    };
    form(&format!("POST /workspaces/{workspace}"), &done, &fields)
}

/// Returns the button that makes a key of the developer surface with a scope.
pub(super) fn key_with_scope_form(workspace: &str, scope: &str) -> Markup {
    let fields = html! {
        input type="hidden" name="kind" value="developer";
        input type="hidden" name="workspace" value=(workspace);
        input type="hidden" name="scopes[]" value=(scope);
        button type="submit" { "Make a key with " (scope) }
    };
    form("POST /keys", "The key is made: {key}", &fields)
}

fn key_form(workspaces: &[Value]) -> Markup {
    html! {
        form.fields data-send="POST /keys" data-done="The key is made: it is in the list." {
            label { "Kind"
                select name="kind" {
                    @for kind in ["open", "developer", "service_account"] {
                        option value=(kind) { (kind.replace('_', " ")) }
                    }
                }
            }
            label { "Workspace"
                input type="text" name="workspace" list="workspaces" placeholder="ws_demo" autocomplete="off";
            }
            label { "Plan of a new workspace"
                select name="plan" {
                    option value="" { "as the mock" }
                    @for plan in PLANS { option value=(plan) { (plan) } }
                }
            }
            fieldset {
                legend { "Scopes (none selected: all)" }
                @for scope in Scope::KNOWN {
                    label.check { input type="checkbox" name="scopes[]" value=(scope); " " (scope) }
                }
            }
            datalist #workspaces { @for workspace in workspaces { option value=(text(workspace, "/id")) {} } }
            div.buttons { button.primary type="submit" { "Add the key" } (problem()) }
        }
    }
}
