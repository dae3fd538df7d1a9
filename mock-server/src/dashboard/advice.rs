//! Advice on refused requests: the reason, and how to make them work.

use maud::{Markup, html};
use serde_json::Value;
use svc_sdk::contract::{ErrorCode, NextAction};

use super::keys::{key_with_scope_form, plan_form};
use super::money::top_up_form;
use super::parts::{action, link, prose};
use super::values::{count, fields, is_true, items, number, text};
use super::view::View;

/// Returns the reason and the remedy for a request of the request log that did not succeed, or that a
/// fault has changed.
pub(super) fn advice(request: &Value) -> Markup {
    let fault = text(request, "/fault");
    let is_error = number(request, "/status").is_none_or(|status| status >= 400.0);
    if !is_error && fault.is_empty() {
        return html! {};
    }
    let body: Value = serde_json::from_str(text(request, "/response/body")).unwrap_or_default();
    let error = body.get("error").cloned().unwrap_or_default();
    let message = text(&error, "/message");
    let code = ErrorCode::from(text(request, "/code"));
    html! {
        section.callout.bad[is_error].warning[!is_error] aria-labelledby="why" {
            h3 #why {
                @if is_error { "Why it was refused" } @else { "A fault changed the response" }
            }
            @if !fault.is_empty() {
                p {
                    "A fault rule of the kind " code { (fault) } " was applied. "
                    (prose("Rules apply once unless they say otherwise: see [Faults]."))
                }
                (action("DELETE /faults", "Remove all faults", "All faults are removed."))
            } @else {
                @if !message.is_empty() { p { (prose(message)) "." } }
                (field_errors(&error))
                @if text(request, "/request/body").contains("[mock:refuse") {
                    p {
                        "A text of the request has the directive " code { "[mock:refuse=" (code) "]" }
                        ", which asks for this error. Without it, the request is handled as usual."
                    }
                } @else {
                    p { (remedy(&code, request, &error)) }
                    (remedy_form(&code, request, &error))
                }
            }
        }
    }
}

fn field_errors(error: &Value) -> Markup {
    let errors = items(error, "/details/errors");
    html! {
        @if !errors.is_empty() {
            ul {
                @for error in errors {
                    li {
                        @for (name, value) in fields(error, "") { span.muted { (name) ": " } (value) " " }
                    }
                }
            }
        }
    }
}

fn remedy(code: &ErrorCode, request: &Value, error: &Value) -> Markup {
    let workspace = text(request, "/account/workspace/id");
    let text_of = match code {
        ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits => {
            let amount = |name| text(error, &format!("/details/{name}_usd"));
            return html! {
                "It needs " strong { (amount("required")) " USD" }
                "; " (workspace) " had " strong { (amount("available")) " USD" }
                ". Top it up, then send the request again."
            };
        }
        ErrorCode::Unauthorized => {
            let reason = if is_true(request, "/account/revoked") {
                "The key is revoked."
            } else if text(request, "/key").is_empty() {
                "The mock does not know the key that was sent, or none was sent."
            } else {
                "The key exists, but belongs to the other host: keys that start with `svc_open` are for \
                 the open surface, all others for the developer surface."
            };
            format!("{reason} [Keys and workspaces] lists the valid ones and makes new ones.")
        }
        ErrorCode::InsufficientScope => {
            let reason = match text(error, "/details/required_scope") {
                "" => "The kind of key does not allow this operation. ",
                _ => "",
            };
            format!("{reason}[Keys and workspaces] lists the keys with their scopes.")
        }
        ErrorCode::OpenKeyRequired => {
            "Send it with a key of the open surface: [Keys and workspaces] lists them.".to_owned()
        }
        ErrorCode::RateLimited => {
            let wait = number(error, "/retry_after_seconds");
            let wait = wait.map(|wait| format!("; its next window starts in {wait} s"));
            format!(
                "The {} budget of the key is used up{}. Wait, advance the [Clock], or give the \
                 workspace a larger plan. [Limits] shows what is left.",
                text(error, "/details/scope"),
                wait.unwrap_or_default()
            )
        }
        ErrorCode::ConcurrencyLimitReached => format!(
            "Too many jobs of {workspace} are in flight. Let them end, end some under \
             [Jobs and runs], advance the [Clock], or give the workspace a larger plan."
        ),
        ErrorCode::IdempotencyConflict => {
            let key = text(request, "/idempotency_key");
            return html! {
                "The idempotency key " code { (key) } " belongs to an earlier request with another body. "
                "Send the same body again, or use a new key. "
                a href=(link(View::Requests.path(), &[("show", "writes")])) { "Show the writes" }
            };
        }
        ErrorCode::JobNotCompleted
        | ErrorCode::RunNotCompleted
        | ErrorCode::JobNotTerminal
        | ErrorCode::RunNotTerminal => format!(
            "It has not ended yet ({}). Poll its status until it is terminal, or advance the [Clock].",
            text(error, "/details/status")
        ),
        ErrorCode::PayloadTooLarge => {
            format!("The body may have {} bytes.", count(error, "/details/limit_bytes"))
        }
        ErrorCode::NotFound if text(request, "/operation").is_empty() => format!(
            "No operation of the {} surface has this path. `GET /v1/openapi.json` describes them all.",
            text(request, "/surface")
        ),
        ErrorCode::JobNotFound | ErrorCode::FormatRunNotFound | ErrorCode::ActionRunNotFound => {
            "Compare the ID with those under [Jobs and runs], and the workspace of the key with that \
             of the job or run."
                .to_owned()
        }
        code => {
            let has_body = !text(request, "/request/body").is_empty();
            let text = match code.defaults().map(|defaults| defaults.next_action.clone()) {
                Some(NextAction::FixInput) if has_body => "Correct the request: its body is below.",
                Some(NextAction::RetryLater) => "Send the same request again later.",
                Some(NextAction::PollStatus) => "Poll the status until it is terminal.",
                _ => "",
            };
            text.to_owned()
        }
    };
    prose(&text_of)
}

/// Returns the form that makes the request work, if there is one.
fn remedy_form(code: &ErrorCode, request: &Value, error: &Value) -> Markup {
    let workspace = text(request, "/account/workspace/id");
    let scope = text(error, "/details/required_scope");
    match code {
        ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits => top_up_form(workspace),
        ErrorCode::InsufficientScope if !scope.is_empty() => key_with_scope_form(workspace, scope),
        ErrorCode::RateLimited | ErrorCode::ConcurrencyLimitReached if !workspace.is_empty() => {
            plan_form(workspace, text(request, "/account/workspace/plan"))
        }
        _ => html! {},
    }
}
