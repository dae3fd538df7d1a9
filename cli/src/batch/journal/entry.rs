//! Entries of a batch's journal.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_sdk::contract::{Operation, Surface};
use svc_sdk::types::{IdempotencyKey, Usd};

use crate::download::StoredFile;
use crate::types::ResourceId;

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::batch) enum Status {
    /// The job or run completed.
    Completed,
    /// It failed, or the service rejected the request.
    Failed,
    /// It was canceled or skipped.
    Canceled,
    /// It is unknown whether the request was carried out.
    Ambiguous,
    /// It was not submitted, because the batch ended before.
    NotSubmitted,
    /// The batch ended while the job or run was running.
    TimedOut,
}

impl Status {
    /// Returns the status in the output.
    pub(in crate::batch) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Ambiguous => "ambiguous",
            Self::NotSubmitted => "not_submitted",
            Self::TimedOut => "timed_out",
        }
    }

    /// Returns the status in text for people.
    pub(in crate::batch) fn words(self) -> String {
        status_words(self.as_str())
    }
}

/// Returns a status of the output as text for people.
pub(in crate::batch) fn status_words(status: &str) -> String {
    match status {
        "submitted" => "in flight".to_owned(),
        status => status.replace('_', " "),
    }
}

/// A request that is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::batch) struct Intent {
    pub(in crate::batch) id: String,
    /// The hash of the operation and the body.
    #[serde(with = "hex_hash")]
    pub(in crate::batch) hash: u64,
    pub(in crate::batch) operation: String,
    pub(in crate::batch) idempotency_key: IdempotencyKey,
    /// The estimate or the cap, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::batch) price_usd: Option<Usd>,
    pub(in crate::batch) base_url: String,
    pub(in crate::batch) key_fingerprint: String,
    pub(in crate::batch) at: Timestamp,
}

/// The receipt of a submit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::batch) struct Receipt {
    pub(in crate::batch) id: String,
    #[serde(flatten)]
    pub(in crate::batch) resource: ResourceId,
    /// The charge, if the receipt has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::batch) price_usd: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::batch) request_id: Option<String>,
}

/// What is left of the write quota of an API key, so that a process that is killed does not leave the
/// next one without that knowledge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::batch) struct Quota {
    /// The operation whose response said so.
    pub(in crate::batch) operation: String,
    pub(in crate::batch) limit: u32,
    pub(in crate::batch) remaining: u32,
    pub(in crate::batch) resets_at: Timestamp,
}

impl Quota {
    /// Returns the surface whose API key has the quota.
    pub(in crate::batch) fn surface(&self) -> Option<Surface> {
        Operation::from_name(&self.operation).map(Operation::surface)
    }
}

/// The end of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::batch) struct Outcome {
    pub(in crate::batch) id: String,
    pub(in crate::batch) status: Status,
    /// What it cost in the end, after a refund.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::batch) price_usd: Option<Usd>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::batch) files: Vec<StoredFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::batch) error: Option<Value>,
    pub(in crate::batch) at: Timestamp,
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::batch) enum Entry {
    /// A run of the batch begins.
    Batch {
        version: u32,
        /// The number of items in the manifest.
        total: u32,
        /// The command that continues the batch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        at: Timestamp,
    },
    /// A request is about to be sent.
    Intent(Box<Intent>),
    /// The request was not carried out, and will be sent again.
    Released { id: String },
    /// The service accepted the request.
    Receipt(Box<Receipt>),
    /// The item ended.
    Outcome(Box<Outcome>),
    /// A response said how many requests are left.
    Quota(Quota),
}

/// The version of the format that this program writes.
pub(super) const VERSION: u32 = 1;

mod hex_hash {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{hash:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(de::Error::custom)
    }
}
