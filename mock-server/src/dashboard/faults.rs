//! The view of faults: the rules that make requests fail.

use axum::extract::State;
use maud::{Markup, html};
use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, Operation};

use super::logged_exchanges::entries;
use super::page::page;
use super::parts::{action, cell, link, problem, table};
use super::requests;
use super::values::{at, count, text};
use super::view::View;
use crate::engine::FaultTarget;
use crate::service::Service;

/// The kinds of faults, with what they do.
const KINDS: [(&str, &str); 15] = [
    ("status_503", "respond 503 database_busy"),
    ("status_429", "respond 429 rate_limited"),
    ("error", "respond with the error code below"),
    ("status_502_html", "respond with the HTML page of a proxy"),
    ("drop_before", "close the connection, do nothing"),
    ("drop_after", "process, then close the connection"),
    ("truncate", "close after half of the response"),
    ("stall", "pause after half of the response"),
    ("garbage", "respond 200 with a body that is not JSON"),
    ("delay", "delay the response"),
    ("status_403", "download: respond 403"),
    ("status_404", "download: respond 404"),
    ("status_416", "download: respond 416"),
    ("wrong_length", "download: send half, as if it were all"),
    ("changed_etag", "download: as if the file had changed"),
];

/// The maximum number of requests that were hit, on the page.
const MAX_HIT: usize = 20;

pub(super) async fn view(State(service): State<Service>) -> Markup {
    let faults = service.read(|state| json!(state.simulator.state.fault_rules.all()));
    let faults = faults.as_array().map_or(&[][..], Vec::as_slice);
    let columns = [
        ("Kind", ""),
        ("Applies to", ""),
        ("Left", "short second"),
        ("Hits", "short end second"),
        ("Options", "prompt third"),
        ("Remove", "short end"),
    ];
    let entries = entries(&service);
    let mut hit = entries.iter().filter(|entry| entry.request.fault.is_some()).peekable();
    let content = html! {
        h2 { "Active rules" }
        @if faults.is_empty() {
            p.empty { "No faults: every request is handled as the service would." }
        } @else {
            (table("Active rules", &columns, &html! { @for fault in faults { (rule_of(fault)) } }))
            (action("DELETE /faults", "Remove all faults", "All faults are removed."))
        }
        h2 { "Add a rule" }
        p { "The next requests that match fail, in the order of the rules." }
        (form())
        h2 { "Requests that were hit" }
        @if hit.peek().is_none() {
            p.empty { "No request was hit by a fault." }
        } @else {
            (table("Requests that were hit, newest first", &requests::COLUMNS, &html! {
                @for entry in hit.take(MAX_HIT) {
                    (requests::row_of(entry, &format!("{}/{}", View::Requests.path(), entry.request.seq), None))
                }
            }))
            p { a href=(link(View::Requests.path(), &[("show", "errors")])) { "All requests that failed" } }
        }
    };
    page(&service, View::Faults, "", &content)
}

fn rule_of(fault: &Value) -> Markup {
    let id = text(fault, "/id");
    let kind = [text(fault, "/kind"), text(fault, "/code")].join(" ");
    let or = |path, otherwise| match text(fault, path) {
        "" => otherwise,
        text => text,
    };
    let mut hits =
        format!("{} on {}", or("/operation", "any operation"), or("/surface", "any surface"));
    for (path, name) in
        [("/workspace", "of"), ("/key", "with the key"), ("/match", "with the text")]
    {
        let value = text(fault, path);
        if !value.is_empty() {
            hits = format!("{hits} {name} {value}");
        }
    }
    let left = at(fault, "/remaining").map(|times| format!("{times} ×"));
    let options = ["probability", "retry_after_seconds", "delay_ms"];
    let options = options.map(|name| Some(format!("{name} {}", fault.get(name)?)));
    let options: Vec<_> = options.into_iter().flatten().collect();
    html! {
        tr data-key=(id) {
            (cell("mono", kind.trim()))
            (cell("", &hits))
            td.short.second { (left.as_deref().unwrap_or("unlimited")) }
            td.short.end.second {
                a href=(link(View::Requests.path(), &[("q", &format!("fault:{id}"))])) { (count(fault, "/hits")) }
            }
            (cell("prompt third", &options.join(", ")))
            td.short.end {
                (action(&format!("DELETE /faults/{id}"), "Remove", "The fault is removed."))
            }
        }
    }
}

fn form() -> Markup {
    let operations = Operation::ALL.iter().map(|operation| operation.name());
    let media = [FaultTarget::Artifact, FaultTarget::Checkout];
    let operations = operations.chain(media.map(FaultTarget::name));
    html! {
        form.fields data-send="POST /faults" data-done="The fault is active." {
            label { "Kind"
                select name="kind" {
                    @for (kind, effect) in KINDS { option value=(kind) { (kind) " – " (effect) } }
                }
            }
            label { "Surface"
                select name="surface" {
                    option value="" { "any" }
                    @for surface in ["open", "developer", "mcp", "media"] { option value=(surface) { (surface) } }
                }
            }
            label { "Operation"
                input type="text" name="operation" list="operations" placeholder="any" autocomplete="off";
            }
            label { "Error code (kind error)"
                input type="text" name="code" list="codes" placeholder="insufficient_funds" autocomplete="off";
            }
            label { "Workspace"
                input type="text" name="workspace" placeholder="any" autocomplete="off";
            }
            label { "Key ID" input type="text" name="key" placeholder="any" autocomplete="off"; }
            label { "Text in the body" input type="text" name="match" placeholder="any" autocomplete="off"; }
            label { "Times" input type="number" name="times" min="1" placeholder="1"; }
            label { "Probability" input type="number" name="probability" min="0" max="1" step="any" placeholder="1"; }
            label { "Retry-After in seconds" input type="number" name="retry_after_seconds" min="0"; }
            label { "Delay in milliseconds" input type="number" name="delay_ms" min="0"; }
            datalist #operations { @for operation in operations { option value=(operation) {} } }
            datalist #codes { @for code in ErrorCode::KNOWN { option value=(code.as_str()) {} } }
            div.buttons { button.primary type="submit" { "Add the rule" } (problem()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::FaultKind;

    #[test]
    fn every_kind_can_be_selected() {
        for (kind, _) in KINDS {
            assert!(serde_json::from_value::<FaultKind>(json!(kind)).is_ok(), "{kind}");
        }
        let message = serde_json::from_value::<FaultKind>(json!("x")).unwrap_err().to_string();
        assert_eq!(message.matches('`').count() / 2 - 1, KINDS.len(), "{message}");
    }
}
