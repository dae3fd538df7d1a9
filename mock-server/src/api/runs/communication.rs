//! Communication fields of runs, at the top level or in `communication`. Responses never wait for a
//! run, so only the webhook URL has an effect.

use svc_sdk::contract::limits::WAIT_TIMEOUT_SECONDS_RANGE;

use crate::api::api_error::ApiError;
use crate::api::fields::Fields;

/// The communication fields, and the object that may contain them.
pub(in crate::api) const FIELDS: [&str; 4] = [
    "mode",
    "webhook_url",
    "wait_timeout_seconds",
    "communication",
];

/// Reads the communication fields and returns the webhook URL.
pub(in crate::api) fn webhook_url(fields: Fields<'_>) -> Result<Option<String>, ApiError> {
    let mode = mode(fields)?;
    let url = fields.webhook_url("webhook_url")?;
    let Some(inner) = fields.object("communication")? else {
        return check_mode(fields, mode, url);
    };
    let inner = fields.within("communication.", inner);
    let is_known = |name: &str| FIELDS.contains(&name) && name != "communication";
    inner.deny_unknown(is_known, "the communication fields")?;
    let (inner_mode, inner_url) = (self::mode(inner)?, inner.webhook_url("webhook_url")?);
    for name in inner.names() {
        // Equal values in both places are allowed.
        let outer = fields.value(name);
        if outer.is_some() && outer != inner.value(name) {
            let problem = format!("must not differ from `{name}`");
            return Err(inner.error(name, &problem));
        }
    }
    check_mode(fields, mode.or(inner_mode), url.or(inner_url))
}

/// Reads `mode`, which cannot be `sync` or `subscribe` for runs. `wait_timeout_seconds` is validated
/// but has no effect.
fn mode<'b>(fields: Fields<'b>) -> Result<Option<&'b str>, ApiError> {
    fields.integer("wait_timeout_seconds", WAIT_TIMEOUT_SECONDS_RANGE)?;
    fields.one_of("mode", &["async", "webhook"])
}

fn check_mode(
    fields: Fields<'_>,
    mode: Option<&str>,
    url: Option<&str>,
) -> Result<Option<String>, ApiError> {
    if mode == Some("webhook") && url.is_none() {
        return Err(fields.error("webhook_url", "is required if `mode` is webhook"));
    }
    Ok(url.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(body: &Value) -> Result<Option<String>, ApiError> {
        webhook_url(Fields::of_test_body(body).unwrap())
    }

    const HOOK: &str = "https://hooks.example/in";

    #[test]
    fn the_webhook_url_is_accepted_in_either_place() {
        for body in [
            json!({"webhook_url": HOOK}),
            json!({"mode": "webhook", "webhook_url": HOOK}),
            json!({"communication": {"webhook_url": HOOK}}),
            json!({"mode": "webhook", "communication": {"webhook_url": HOOK}}),
            json!({"webhook_url": HOOK, "communication": {"webhook_url": HOOK, "mode": "webhook"}}),
            json!({"communication": {"webhook_url": HOOK, "wait_timeout_seconds": 5}}),
        ] {
            assert_eq!(read(&body), Ok(Some(HOOK.to_owned())), "{body}");
        }
        for body in [
            json!({}),
            json!({"mode": "async"}),
            json!({"communication": {}}),
        ] {
            assert_eq!(read(&body), Ok(None), "{body}");
        }
    }

    #[test]
    fn invalid_and_conflicting_fields_are_rejected() {
        for (body, field) in [
            (json!({"mode": "webhook"}), "webhook_url"),
            (json!({"mode": "sync"}), "mode"),
            (
                json!({"communication": {"mode": "subscribe"}}),
                "communication.mode",
            ),
            (
                json!({"communication": {"colour": 1}}),
                "communication.colour",
            ),
            (json!({"communication": "webhook"}), "communication"),
            (json!({"wait_timeout_seconds": 31}), "wait_timeout_seconds"),
            (
                json!({"webhook_url": "http://hooks.example/"}),
                "webhook_url",
            ),
            (
                json!({"communication": {"webhook_url": "https://127.0.0.1/"}}),
                "communication.webhook_url",
            ),
            (
                json!({"webhook_url": format!("{HOOK}/{}", "x".repeat(2048))}),
                "webhook_url",
            ),
            (
                json!({"webhook_url": HOOK, "communication": {"webhook_url": "https://other.example/"}}),
                "communication.webhook_url",
            ),
            (
                json!({"mode": "async", "communication": {"mode": "webhook", "webhook_url": HOOK}}),
                "communication.mode",
            ),
        ] {
            let error = read(&body).expect_err(&body.to_string());
            assert_eq!(
                (error.status(), error.field_name()),
                (400, Some(field)),
                "{body}"
            );
        }
    }
}
