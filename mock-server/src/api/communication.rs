//! Communication fields of submits: how the caller learns of the end of a job, and the metadata that
//! is stored with it.

use std::time::Duration;

use serde_json::{Map, Value};
use svc_sdk::contract::limits::WAIT_TIMEOUT_SECONDS_RANGE;

use super::api_error::ApiError;
use super::fields::Fields;

/// How long `sync` and `subscribe` wait if the request has no `wait_timeout_seconds`.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);

/// Returns an error if a submit has a field that is neither one of its own nor one that every submit
/// accepts. `owner` is what the fields belong to.
pub(super) fn deny_unknown(
    fields: Fields<'_>,
    is_own: impl Fn(&str) -> bool,
    owner: &str,
) -> Result<(), ApiError> {
    const COMMON: [&str; 4] = ["mode", "webhook_url", "wait_timeout_seconds", "metadata"];
    fields.deny_unknown(|name| is_own(name) || COMMON.contains(&name), owner)
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct CommunicationOptions {
    /// How long the response waits for the end of the job, in the time of clients. Set for `sync`
    /// and `subscribe`.
    pub(super) wait: Option<Duration>,
    pub(super) webhook_url: Option<String>,
    pub(super) metadata: Map<String, Value>,
}

impl CommunicationOptions {
    pub(super) fn parse(fields: Fields<'_>) -> Result<Self, ApiError> {
        let mode = fields.one_of("mode", &["async", "webhook", "sync", "subscribe"])?;
        let webhook_url = fields.webhook_url("webhook_url")?;
        let wait = fields.integer("wait_timeout_seconds", WAIT_TIMEOUT_SECONDS_RANGE)?;
        let metadata = fields.object("metadata")?;
        match (mode == Some("webhook"), webhook_url) {
            (true, None) => {
                return Err(fields.error("webhook_url", "is required if `mode` is webhook"));
            }
            (false, Some(_)) => {
                return Err(fields.error("webhook_url", "requires `mode` to be webhook"));
            }
            (true, Some(_)) | (false, None) => {}
        }
        let waits = matches!(mode, Some("sync" | "subscribe"));
        Ok(Self {
            wait: waits.then(|| wait.map_or(DEFAULT_WAIT, Duration::from_secs)),
            webhook_url: webhook_url.map(str::to_owned),
            metadata: metadata.cloned().unwrap_or_default(),
        })
    }
}
