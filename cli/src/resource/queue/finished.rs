//! Finished queues and their items.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;
use svc_sdk::contract::RunStatus;
use svc_sdk::types::{QueueCounts, QueueItem, RunReceipt};

use crate::error::Failure;
use crate::resource::StoredFile;
use crate::resource::run::summary;

/// What a queue came to: each of its items, in order.
#[derive(Debug)]
pub(crate) struct FinishedQueue {
    pub(crate) counts: QueueCounts,
    pub(crate) items: Vec<FinishedItem>,
}

/// What an item came to.
#[derive(Debug)]
pub(crate) struct FinishedItem {
    pub(crate) index: u64,
    pub(crate) item: QueueItem,
    /// None where its run was never started, or could not be read.
    pub(crate) receipt: Option<RunReceipt>,
    /// Where they were downloaded.
    pub(crate) files: Option<Vec<StoredFile>>,
    /// What went wrong on this side.
    pub(crate) failure: Option<Failure>,
}

impl FinishedItem {
    pub(super) fn status(&self) -> &RunStatus {
        match &self.receipt {
            Some(receipt) => &receipt.status,
            None => &self.item.status,
        }
    }

    /// Where in the folder its files are.
    pub(super) fn folder(&self, folder: &Path) -> PathBuf {
        folder.join(self.index.to_string())
    }

    pub(super) fn why(&self) -> Option<String> {
        let receipt = self.receipt.as_ref()?;
        let error = receipt.error.as_ref().or(receipt.output_error.as_ref())?;
        Some(summary::error_line(error))
    }
}

/// An item's line: its index, its receipt's fields, its files.
impl Serialize for FinishedItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a, T> {
            index: u64,
            #[serde(flatten)]
            run: &'a T,
            #[serde(skip_serializing_if = "Option::is_none")]
            files: Option<&'a Vec<StoredFile>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            trouble: Option<String>,
        }
        let trouble = self.failure.as_ref().map(Failure::headline);
        let files = self.files.as_ref();
        match &self.receipt {
            Some(run) => Line {
                index: self.index,
                run,
                files,
                trouble,
            }
            .serialize(serializer),
            None => Line {
                index: self.index,
                run: &json!({"run_id": self.item.run_id, "status": self.item.status}),
                files,
                trouble,
            }
            .serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_items_line_has_its_index_beside_its_receipt() {
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
            }]),
            failure: None,
        };
        assert_eq!(
            serde_json::to_value(&item).unwrap(),
            json!({
                "index": 3, "run_id": "run_1", "status": "failed", "output": null, "item_index": 3,
                "files": [{"path": "out/3/a.png", "bytes": 7}]
            })
        );
    }
}
