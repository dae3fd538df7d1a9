//! Communication fields of runs, at the top level or in `communication`. Responses never wait for a
//! run, so only the webhook URL has an effect.

use svc_sdk::contract::limits::WAIT_TIMEOUT_SECONDS_RANGE;

use crate::api::api_error::ApiError;
use crate::api::fields::Fields;

/// The communication fields, and the object that may contain them.
pub(in crate::api) const FIELDS: [&str; 4] =
    ["mode", "webhook_url", "wait_timeout_seconds", "communication"];

pub(in crate::api) fn webhook_url(fields: Fields<'_>) -> Result<Option<String>, ApiError> {
    let mode = mode(fields)?;
    let url = fields.webhook_url("webhook_url")?;
    let Some(inner) = fields.object("communication")? else { return check_mode(fields, mode, url) };
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
