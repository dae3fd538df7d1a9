//! Errors about unknown fields, with suggestions for misspelled names.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use crate::api::api_error::ApiError;
use crate::api::fields::Fields;

const MAX_NAME_CHARS: usize = 100;

const MAX_ERRORS: usize = 100;

/// Names that other services use, with the names of this service.
const ALIASES: [(&str, &str); 12] = [
    ("thread_id", "previous_run_id"),
    ("run_id", "previous_run_id"),
    ("continue_from", "previous_run_id"),
    ("prompt", "instruction"),
    ("message", "instruction"),
    ("messages", "instruction"),
    ("schema", "output_schema"),
    ("files", "attachments"),
    ("spend_cap_usd", "generation_spend_cap_usd"),
    ("max_spend_usd", "generation_spend_cap_usd"),
    ("callback_url", "webhook_url"),
    ("runs", "items"),
];

/// Returns an error if there are unknown fields. `owner` is what the fields belong to.
pub(in crate::api) fn deny_unknown(
    fields: Fields<'_>,
    known: &[&str],
    owner: &str,
) -> Result<(), ApiError> {
    let errors: Vec<Value> = fields
        .names()
        .filter(|name| !known.contains(name))
        .take(MAX_ERRORS)
        .map(|name| unknown_field(name, known, owner))
        .collect();
    let Some(message) = errors.first().and_then(|error| error.get("message")?.as_str()) else {
        return Ok(());
    };
    let error = ApiError::new(ErrorCode::UnknownParameter, message);
    Err(error.detail("errors", json!(errors)))
}

fn unknown_field(name: &str, known: &[&str], owner: &str) -> Value {
    let suggestion = suggestion(name, known);
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let message = match (name.as_str(), suggestion) {
        ("workspace_id" | "owner_user_id" | "user_id", _) => {
            format!("`{name}` is determined by the API key and must not be in the body")
        }
        (_, Some(suggestion)) => {
            format!("`{name}` is not a field of {owner}: did you mean `{suggestion}`?")
        }
        (_, None) => format!("`{name}` is not a field of {owner}"),
    };
    json!({"field": name, "message": message, "suggestion": suggestion})
}

/// Returns the known name that is most similar to an unknown one.
fn suggestion<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // No known name is that long, and computing the distance to a long name is slow.
    if name.len() > MAX_NAME_CHARS {
        return None;
    }
    let normalized = name.to_ascii_lowercase().replace('-', "_");
    let alias = ALIASES.iter().find(|(alias, _)| *alias == normalized);
    if let Some(field) = alias.and_then(|(_, field)| known.iter().find(|name| *name == field)) {
        return Some(field);
    }
    let distances = known.iter().map(|known| (strsim::levenshtein(&normalized, known), *known));
    distances
        .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
