//! Idempotency keys: one key, one create.
//!
//! Only a create that succeeded is kept, so a failed one releases its key by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_sdk::contract::limits::IDEMPOTENCY_RETENTION;

use super::{Time, serde_pairs};

/// Where a key is kept: another workspace or operation may use the same one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdempotencyKey {
    pub(crate) workspace: String,
    pub(crate) operation: String,
    pub(crate) key: String,
}

/// What a key was used for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReceipt {
    /// The canonical form's digest of the body that it came with.
    #[serde(rename = "body")]
    body_digest: String,
    receipt: Value,
}

/// The keys of the last 24 hours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Idempotency {
    #[serde(rename = "uses", with = "serde_pairs")]
    receipts: BTreeMap<IdempotencyKey, StoredReceipt>,
    /// In the order in which they expire.
    expiring: VecDeque<(Time, IdempotencyKey)>,
}

/// What a key says of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyLookup {
    /// It was not used.
    Unused,
    /// It was used for the same request, which was answered with this.
    Replay(Value),
    /// It was used for another request, which was answered with this.
    Conflict(Value),
}

impl Idempotency {
    pub(crate) fn look_up(&self, key: &IdempotencyKey, body_digest: &str) -> KeyLookup {
        match self.receipts.get(key) {
            None => KeyLookup::Unused,
            Some(used) if used.body_digest == body_digest => {
                KeyLookup::Replay(used.receipt.clone())
            }
            Some(used) => KeyLookup::Conflict(used.receipt.clone()),
        }
    }

    pub(crate) fn store(
        &mut self,
        key: IdempotencyKey,
        body_digest: String,
        receipt: Value,
        now: Time,
    ) {
        self.expiring
            .push_back((now.after(IDEMPOTENCY_RETENTION), key.clone()));
        self.receipts.insert(
            key,
            StoredReceipt {
                body_digest,
                receipt,
            },
        );
    }

    /// Forgets what has expired. The retention is the same for all, so the oldest is in front.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some((due, key)) = self.expiring.front() {
            if *due > now {
                return;
            }
            self.receipts.remove(key);
            self.expiring.pop_front();
        }
    }

    /// Whether each key expires, once, and the oldest first.
    pub(crate) fn check(&self) -> Result<(), String> {
        let expiring: BTreeSet<_> = self.expiring.iter().map(|(_, key)| key).collect();
        let each =
            expiring.len() == self.expiring.len() && expiring.into_iter().eq(self.receipts.keys());
        if each && self.expiring.iter().is_sorted_by_key(|(due, _)| *due) {
            return Ok(());
        }
        Err("an idempotency key expires at no moment, or out of turn".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(workspace: &str, operation: &str) -> IdempotencyKey {
        IdempotencyKey {
            workspace: workspace.to_owned(),
            operation: operation.to_owned(),
            key: "order-1".to_owned(),
        }
    }

    #[test]
    fn a_key_is_kept_per_workspace_and_operation() {
        let mut keys = Idempotency::default();
        let receipt = json!({"job": "job_1"});
        keys.store(
            key("ws_a", "video_generate"),
            "b1".to_owned(),
            receipt.clone(),
            Time::default(),
        );
        let look = |workspace, operation, body| keys.look_up(&key(workspace, operation), body);
        assert_eq!(
            look("ws_a", "video_generate", "b1"),
            KeyLookup::Replay(receipt.clone())
        );
        assert_eq!(
            look("ws_a", "video_generate", "b2"),
            KeyLookup::Conflict(receipt)
        );
        assert_eq!(look("ws_b", "video_generate", "b1"), KeyLookup::Unused);
        assert_eq!(look("ws_a", "image_generate", "b1"), KeyLookup::Unused);
    }

    #[test]
    fn a_key_is_free_again_after_24_hours() {
        let mut keys = Idempotency::default();
        let start = Time::from_micros(5);
        keys.store(key("ws_a", "op"), "b".to_owned(), json!(1), start);
        keys.expire(start.after(IDEMPOTENCY_RETENTION - std::time::Duration::from_micros(1)));
        assert_eq!(
            keys.look_up(&key("ws_a", "op"), "b"),
            KeyLookup::Replay(json!(1))
        );
        keys.expire(start.after(IDEMPOTENCY_RETENTION));
        assert_eq!(keys.look_up(&key("ws_a", "op"), "b"), KeyLookup::Unused);
        assert!(keys.expiring.is_empty());
    }
}
