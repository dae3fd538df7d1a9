//! Advice on refused requests: the reason, and how to make them work.

use maud::{Markup, html};
use serde_json::Value;
use svc_sdk::contract::{ErrorCode, NextAction};

use super::keys::{key_with_scope_form, plan_form};
use super::parts::{self, action, link, usd};
use super::values::{at, fields, items, number, text, whole};

/// Returns the reason and the remedy for a request of the request log that did not succeed, or that a
/// fault has changed.
pub(super) fn advice(request: &Value) -> Markup {
    let status = whole(request, &["status"]);
    let fault = text(request, &["fault"]);
    let is_error = status.is_none_or(|status| status >= 400);
    if !is_error && fault.is_empty() {
        return html! {};
    }
    let body = text(request, &["response", "body"]);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let error = body.get("error").cloned().unwrap_or_default();
    let message = text(&error, &["message"]);
    let code = ErrorCode::from(text(request, &["code"]));
    html! {
        section.callout.bad[is_error].warning[!is_error] aria-labelledby="why" {
            h3 #why {
                @if is_error { "Why it was refused" } @else { "A fault changed the response" }
            }
            @if !fault.is_empty() {
                p {
                    "A fault rule of the kind " code { (fault) } " was applied. "
                    "Rules apply once unless they say otherwise: see "
                    a href="/dashboard/faults" { "Faults" } "."
                }
                (action("DELETE /faults", "Remove all faults", "All faults are removed."))
            } @else {
                @if !message.is_empty() { p { (parts::message(message)) "." } }
                (field_errors(&error))
                @if text(request, &["request", "body"]).contains("[mock:refuse") {
                    p {
                        "A text of the request has the directive " code { "[mock:refuse=" (code) "]" }
                        ", which asks for this error. Without it, the request is handled as usual."
                    }
                } @else { (remedy(&code, request, &error)) }
            }
        }
    }
}

/// Renders the fields that an error names.
fn field_errors(error: &Value) -> Markup {
    let errors = items(error, &["details", "errors"]);
    html! {
        @if !errors.is_empty() {
            ul {
                @for error in errors {
                    li {
                        @for (name, value) in fields(error, &[]) { span.muted { (name) ": " } (value) " " }
                    }
                }
            }
        }
    }
}

fn remedy(code: &ErrorCode, request: &Value, error: &Value) -> Markup {
    let details = |name| text(error, &["details", name]).to_owned();
    let workspace = text(request, &["account", "workspace", "id"]);
    let plan = html! {
        @if !workspace.is_empty() {
            (plan_form(workspace, text(request, &["account", "workspace", "plan"])))
        }
    };
    match code {
        ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits => html! {
            p {
                "It needs " strong { (usd(error, &["details", "required_usd"])) " USD" }
                "; " (workspace) " had " strong { (usd(error, &["details", "available_usd"])) " USD" }
                ". Top it up, then send the request again."
            }
            (super::money::top_up_form(workspace, "20.00"))
        },
        ErrorCode::Unauthorized => html! {
            p {
                @if at(request, &["account", "revoked"]).and_then(Value::as_bool) == Some(true) {
                    "The key is revoked. "
                } @else if text(request, &["key"]).is_empty() {
                    "The mock does not know the key that was sent, or none was sent. "
                } @else {
                    "The key exists, but belongs to the other host: keys that start with "
                    code { "svc_open" } " are for the open surface, all others for the developer surface. "
                }
                a href="/dashboard/keys" { "Keys and workspaces" } " lists the valid ones and makes new ones."
            }
        },
        ErrorCode::InsufficientScope => {
            let scope = details("required_scope");
            html! {
                p {
                    @if scope.is_empty() { "The kind of key does not allow this operation. " }
                    a href="/dashboard/keys" { "Keys and workspaces" } " lists the keys with their scopes."
                }
                @if !scope.is_empty() { (key_with_scope_form(workspace, &scope)) }
            }
        }
        ErrorCode::OpenKeyRequired => html! {
            p { "Send it with a key of the open surface: " a href="/dashboard/keys" { "Keys and workspaces" } " lists them." }
        },
        ErrorCode::RateLimited => html! {
            p {
                "The " (details("scope")) " budget of the key is used up"
                @if let Some(wait) = number(error, &["retry_after_seconds"]) {
                    "; its next window starts in " (wait) " s"
                }
                ". Wait, advance the " a href="/dashboard/clock" { "clock" }
                ", or give the workspace a larger plan. "
                a href="/dashboard/limits" { "Limits" } " shows what is left."
            }
            (plan)
        },
        ErrorCode::ConcurrencyLimitReached => html! {
            p {
                "Too many jobs of " (workspace) " are in flight. Let them end, end some under "
                a href=(link("/dashboard/jobs", &[("show", "active")])) { "Jobs and runs" }
                ", advance the " a href="/dashboard/clock" { "clock" }
                ", or give the workspace a larger plan."
            }
            (plan)
        },
        ErrorCode::IdempotencyConflict => html! {
            p {
                "The idempotency key " code { (text(request, &["idempotency_key"])) }
                " belongs to an earlier request with another body. Send the same body again, or use a new key. "
                a href=(link("/dashboard/requests", &[("show", "writes")])) { "Show the writes" }
            }
        },
        ErrorCode::JobNotCompleted
        | ErrorCode::RunNotCompleted
        | ErrorCode::JobNotTerminal
        | ErrorCode::RunNotTerminal => html! {
            p {
                "It has not ended yet (" (details("status")) "). Poll its status until it is terminal, or advance the "
                a href="/dashboard/clock" { "clock" } "."
            }
        },
        ErrorCode::PayloadTooLarge => html! {
            p { "The body may have " (whole(error, &["details", "limit_bytes"]).unwrap_or_default()) " bytes." }
        },
        ErrorCode::NotFound if text(request, &["operation"]).is_empty() => html! {
            p {
                "No operation of the " (text(request, &["surface"])) " surface has this path. "
                code { "GET /v1/openapi.json" } " describes them all."
            }
        },
        ErrorCode::JobNotFound | ErrorCode::FormatRunNotFound | ErrorCode::ActionRunNotFound => {
            html! {
                p {
                    "Compare the ID with those under " a href="/dashboard/jobs" { "Jobs and runs" }
                    ", and the workspace of the key with that of the job or run."
                }
            }
        }
        code => {
            let defaults = code.defaults();
            match defaults.map(|defaults| defaults.next_action.clone()) {
                Some(NextAction::FixInput) if !text(request, &["request", "body"]).is_empty() => {
                    html! { p { "Correct the request: its body is below." } }
                }
                Some(NextAction::RetryLater) => {
                    html! { p { "Send the same request again later." } }
                }
                Some(NextAction::PollStatus) => {
                    html! { p { "Poll the status until it is terminal." } }
                }
                _ => html! {},
            }
        }
    }
}
