//! Entries of the journal, as `svc history` shows them.

use std::error::Error;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use svc_sdk::types::{IdempotencyKey, Usd};

use crate::error::Failure;
use crate::journal::request_hash::RequestHash;
use crate::resource::{Outcome, ResourceId};
use crate::text::sanitize;

pub(super) const SURFACE: &str = "surface";
pub(super) const BASE_URL: &str = "base_url";
pub(super) const SUMMARY: &str = "summary";
pub(crate) const LABEL: &str = "label";
pub(super) const PRICE: &str = "price_usd";
pub(super) const MAX_PRICE: &str = "max_price_usd";
/// What a bulk queue was made from.
pub(crate) const SOURCE: &str = "source";
pub(super) const OUTCOME: &str = "outcome";
pub(super) const ENDED_AT: &str = "ended_at";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) request_hash: RequestHash,
    /// `open` or `developer`.
    pub(crate) surface: String,
    pub(crate) base_url: String,
    pub(crate) key_fingerprint: String,
    pub(crate) operation: String,
    /// The idempotency key, which is the same for each attempt.
    pub(crate) idempotency_key: IdempotencyKey,
    pub(crate) summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_price_usd: Option<Usd>,
    pub(crate) created_at: Timestamp,
    /// The submitted resource, once it is known.
    #[serde(flatten)]
    pub(crate) resource: Option<ResourceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// The outcome, or `None` while it is unknown.
    #[serde(default)]
    pub(crate) outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Timestamp>,
    #[serde(skip)]
    pub(crate) source: Option<Value>,
}

/// Returns what is noted of a request before it is sent.
pub(crate) fn notes(
    surface: &str,
    base_url: &str,
    summary: &str,
    price: Option<Usd>,
    max_price: Option<Usd>,
) -> Map<String, Value> {
    let mut notes = Map::new();
    notes.insert(SURFACE.to_owned(), surface.into());
    notes.insert(BASE_URL.to_owned(), base_url.into());
    notes.insert(SUMMARY.to_owned(), summary.into());
    let prices = [(PRICE, price), (MAX_PRICE, max_price)];
    let prices = prices.into_iter().filter(|(_, price)| price.is_some());
    notes.extend(prices.map(|(name, price)| (name.to_owned(), json!(price))));
    notes
}

const MAX_LABEL_CHARS: usize = 40;

/// Returns what the journal keeps of a prompt, an instruction or a name: how it begins, on one line.
pub(crate) fn label(text: &str) -> Option<String> {
    let label: String = sanitize(text).trim_start().chars().take(MAX_LABEL_CHARS).collect();
    let label = label.trim_end();
    (!label.is_empty()).then(|| label.to_owned())
}

pub(crate) fn prompt_of(body: &Map<String, Value>) -> Option<&str> {
    let text = |name: &str| body.get(name)?.as_str();
    let input = || body.get("input")?.get("prompt")?.as_str();
    let first = || body.get("items")?.get(0)?.as_object();
    text("prompt").or_else(input).or_else(|| text("instruction")).or_else(|| prompt_of(first()?))
}

/// Returns the failure of a journal without which nothing is sent: an interrupted command could be
/// paid for twice.
pub(super) fn journal_failure(verb: &str, folder: &Path, error: &(dyn Error + 'static)) -> Failure {
    let mut why = format!("cannot {verb} the journal in {}", folder.display());
    let mut next = "choose another directory with SVC_STATE_DIR";
    for cause in std::iter::successors(Some(error), |error| (*error).source()) {
        let text = cause.to_string();
        if !why.contains(&text) {
            why.push_str(": ");
            why.push_str(&text);
        }
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::StorageFull) {
            next = "free disk space, or choose another directory with SVC_STATE_DIR";
        }
    }
    Failure::other(why)
        .context("nothing was sent")
        .hint(next)
        .hint("or pass --no-journal: an interrupted command may then be paid for twice")
}
