//! The headers of responses.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Returns references to the headers that every response has.
pub(crate) fn common() -> BTreeMap<&'static str, Value> {
    let names = ["x-svc-request-id", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
    names.map(|name| (name, reference(name))).into()
}

pub(crate) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/headers/{name}")})
}

pub(crate) fn components() -> Value {
    let number = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "x-svc-request-id": {
            "description": "Identifies the request.",
            "required": true,
            "schema": {"type": "string"},
        },
        "ratelimit-limit": number("The number of requests allowed in the current window of the request's rate-limit bucket."),
        "ratelimit-remaining": number("The number of requests left in the window."),
        "ratelimit-reset": number("Seconds until the window ends."),
        "retry-after": number("Seconds to wait."),
    })
}
