//! Finished queues and their items.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::ser::Error;
use serde_json::{Value, json};
use svc_sdk::contract::RunStatus;
use svc_sdk::types::{QueueCounts, QueueItem, RunReceipt};

use crate::download::StoredFile;
use crate::error::Failure;
use crate::tables::error_text;

/// The result of a queue: its items, in order.
#[derive(Debug)]
pub(crate) struct FinishedQueue {
    pub(crate) counts: QueueCounts,
    pub(crate) items: Vec<FinishedItem>,
}

/// The result of an item.
#[derive(Debug)]
pub(crate) struct FinishedItem {
    pub(crate) index: u64,
    pub(crate) item: QueueItem,
    /// The receipt, unless the run was never started or could not be read.
    pub(crate) receipt: Option<RunReceipt>,
    /// The downloaded files.
    pub(crate) files: Option<Vec<StoredFile>>,
    /// A failure of this program while reading or downloading the item.
    pub(crate) failure: Option<Failure>,
}

impl FinishedItem {
    /// Returns the status in the receipt, or else the queue's status of the item.
    pub(super) fn status(&self) -> &RunStatus {
        match &self.receipt {
            Some(receipt) => &receipt.status,
            None => &self.item.status,
        }
    }

    /// Returns the subfolder of the item's files.
    pub(super) fn folder(&self, folder: &Path) -> PathBuf {
        folder.join(self.index.to_string())
    }

    /// Returns the error in the receipt.
    pub(super) fn error(&self) -> Option<String> {
        let receipt = self.receipt.as_ref()?;
        let error = receipt.error.as_ref().or(receipt.output_error.as_ref())?;
        Some(error_text(error))
    }
}

/// Serializes the index, the fields of the receipt, and the files.
impl Serialize for FinishedItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            index: u64,
            #[serde(flatten)]
            run: &'a Value,
            #[serde(skip_serializing_if = "Option::is_none")]
            files: Option<&'a Vec<StoredFile>>,
            /// What this program could not read or download, unless the run has an error.
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<Value>,
        }
        let mut run = match &self.receipt {
            Some(receipt) => serde_json::to_value(receipt).map_err(S::Error::custom)?,
            None => json!({"run_id": self.item.run_id, "status": self.item.status}),
        };
        let failure = self.failure.as_ref();
        let failure = failure.filter(|_| run.get("error").is_none_or(Value::is_null));
        if let (Some(_), Some(fields)) = (failure, run.as_object_mut()) {
            fields.remove("error");
        }
        let error = failure.map(Failure::to_json);
        Line {
            index: self.index,
            run: &run,
            files: self.files.as_ref(),
            error: error.and_then(|mut json| Some(json.get_mut("error")?.take())),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_serialized_with_its_index_and_its_receipt() {
        let item = FinishedItem {
            index: 3,
            item: serde_json::from_value(json!({"status": "failed", "run_id": "run_1"})).unwrap(),
            receipt: serde_json::from_value(
                json!({"run_id": "run_1", "status": "failed", "output": null, "item_index": 3}),
            )
            .unwrap(),
            files: Some(vec![StoredFile {
                path: "out/3/a.png".into(),
                bytes: 7,
                status: "created".into(),
            }]),
            failure: None,
        };
        assert_eq!(
            serde_json::to_value(&item).unwrap(),
            json!({
                "index": 3, "run_id": "run_1", "status": "failed", "output": null, "item_index": 3,
                "files": [{"path": "out/3/a.png", "bytes": 7, "status": "created"}]
            })
        );
    }
}
