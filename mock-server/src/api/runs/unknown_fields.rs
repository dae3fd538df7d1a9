//! Fields that nobody knows, and what was probably meant.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use crate::api::api_error::ApiError;
use crate::api::fields::Fields;

/// How many characters of a field's name are repeated.
const MAX_NAME_CHARS: usize = 100;

/// How many fields are complained of at once.
const MAX_ERRORS: usize = 100;

/// What other services call it, and what it is called here.
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

/// Refuses fields that are not known; `whose` says whose fields they are.
pub(in crate::api) fn deny_unknown(
    fields: Fields<'_>,
    known: &[&str],
    whose: &str,
) -> Result<(), ApiError> {
    let unknown = fields.names().filter(|name| !known.contains(name));
    let unknown = unknown.take(MAX_ERRORS);
    let errors: Vec<Value> = unknown
        .map(|name| unknown_field(name, known, whose))
        .collect();
    let Some(message) = errors
        .first()
        .and_then(|error| error.get("message")?.as_str())
    else {
        return Ok(());
    };
    let error = ApiError::new(ErrorCode::UnknownParameter, message);
    Err(error.detail("errors", json!(errors)))
}

fn unknown_field(name: &str, known: &[&str], whose: &str) -> Value {
    let suggestion = suggestion(name, known);
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let message = match (name.as_str(), suggestion) {
        ("workspace_id" | "owner_user_id" | "user_id", _) => {
            format!("`{name}` comes from the API key and must not be in the body")
        }
        (_, Some(likely)) => {
            format!("`{name}` is not a field of {whose}: `{likely}` may be meant")
        }
        (_, None) => format!("`{name}` is not a field of {whose}"),
    };
    json!({"field": name, "message": message, "suggestion": suggestion})
}

/// The known name that is probably meant.
fn suggestion<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // Nobody mistypes a name of that length.
    if name.len() > MAX_NAME_CHARS {
        return None;
    }
    let plain = name.to_ascii_lowercase().replace('-', "_");
    let alias = ALIASES.iter().find(|(theirs, _)| *theirs == plain);
    if let Some(ours) = alias.and_then(|(_, ours)| known.iter().find(|name| *name == ours)) {
        return Some(ours);
    }
    let distances = known
        .iter()
        .map(|known| (edit_distance(&plain, known), *known));
    let near =
        distances.filter(|(edit_distance, known)| *edit_distance <= (known.len() / 3).max(1));
    near.min_by_key(|(edit_distance, _)| *edit_distance)
        .map(|(_, known)| known)
}

/// How many letters have to be put in, taken out or changed.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        let mut next = vec![left];
        for (other, above) in to.iter().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(letter != *other);
            left = changed.min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = [
        "instruction",
        "input",
        "previous_run_id",
        "output_schema",
        "generation_spend_cap_usd",
        "webhook_url",
    ];

    #[test]
    fn the_distance_counts_letters() {
        for (from, to, letters) in [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("inptu", "input", 2),
            ("instructions", "instruction", 1),
        ] {
            assert_eq!(edit_distance(from, to), letters, "{from} {to}");
        }
    }

    #[test]
    fn what_is_near_is_suggested_and_nothing_else() {
        for (name, meant) in [
            ("thread_id", Some("previous_run_id")),
            ("instructions", Some("instruction")),
            ("Input", Some("input")),
            ("inputs", Some("input")),
            ("outputSchema", Some("output_schema")),
            ("output-schema", Some("output_schema")),
            ("generation_spend_cap", Some("generation_spend_cap_usd")),
            ("webhookUrl", Some("webhook_url")),
            ("prompt", Some("instruction")),
            ("files", None),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(suggestion(name, &KNOWN), meant, "{name}");
        }
        assert_eq!(suggestion(&"x".repeat(1_000_000), &KNOWN), None);
    }
}
