//! What a batch notes in its journal beside its submissions.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_sdk::contract::NextAction;
use svc_sdk::types::Usd;

use crate::download::StoredFile;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Completed,
    /// It failed, or the service rejected the request.
    Failed,
    Canceled,
    Skipped,
    /// It ended with a status that this version does not know.
    #[serde(rename = "unknown_status")]
    Unknown,
    Ambiguous,
    /// It was not submitted, because the batch ended before.
    NotSubmitted,
    /// The batch ended while the job or run was running.
    TimedOut,
}

impl Status {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown_status",
            Self::Ambiguous => "ambiguous",
            Self::NotSubmitted => "not_submitted",
            Self::TimedOut => "timed_out",
        }
    }

    /// Returns whether the item ended, and did not complete.
    pub(crate) const fn has_failed(self) -> bool {
        matches!(self, Self::Failed | Self::Canceled | Self::Skipped | Self::Unknown)
    }
}

pub(crate) fn status_words(status: &str) -> String {
    match status {
        "submitted" => "in flight".to_owned(),
        status => status.replace('_', " "),
    }
}

pub(crate) const DOWNLOAD_FAILED: &str = "download_failed";

/// What is left of the write quota of an API key, for the process after one that is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quota {
    pub(crate) operation: String,
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) resets_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ItemResult {
    pub(crate) status: Status,
    /// What it cost in the end, after a refund, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
    /// `None` if they were not downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Value>,
    #[serde(skip)]
    pub(crate) artifacts: Vec<Value>,
}

impl ItemResult {
    pub(crate) fn error(status: Status, price_usd: Option<Usd>, error: Value) -> Self {
        Self { status, price_usd, files: None, error: Some(error), artifacts: Vec::new() }
    }

    /// Returns whether it is the end of a completed item that has no files in a folder, or not all.
    pub(super) fn lacks_files_in(&self, folder: &Path) -> bool {
        let is_there = |file: &StoredFile| {
            Path::new(&file.path).file_name().is_some_and(|name| folder.join(name).exists())
        };
        let has_all = self.files.as_ref().is_some_and(|files| files.iter().all(is_there));
        self.status == Status::Completed && !has_all
    }

    /// Returns whether the request was rejected, and would be again as it is.
    pub(crate) fn is_rejection(&self) -> bool {
        let status = self.error.as_ref().and_then(|error| error.get("status")?.as_u64());
        match self.error_text("next_action") {
            Some(action) => action == NextAction::FixInput.as_str(),
            None => status == Some(400),
        }
    }

    pub(crate) fn error_text(&self, name: &str) -> Option<&str> {
        self.error.as_ref()?.get(name)?.as_str()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ItemEnd {
    pub(crate) id: String,
    /// The generation of the latest submission, or 0 if there is none.
    #[serde(default)]
    pub(crate) generation: u32,
    #[serde(flatten)]
    pub(crate) result: ItemResult,
    pub(crate) at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Note {
    Batch {
        version: u32,
        total: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        at: Timestamp,
    },
    Outcome(Box<ItemEnd>),
    /// Items that had not been submitted before did not fit into the limit.
    OverBudget {
        count: usize,
    },
    Quota(Quota),
    /// A journal of an earlier version has a charge above its estimate.
    Overcharged {},
}

/// The version of the notes that this program writes. Before 3, files were named by their ids.
pub(super) const VERSION: u32 = 3;
