//! Idempotency keys and the receipts of the requests that used them.
//!
//! Only successful creates are stored, so the key of a failed one can be used again. Keys expire,
//! except those of top-ups, which are valid for as long as their top-up exists.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_sdk::contract::Operation;
use svc_sdk::contract::limits::IDEMPOTENCY_RETENTION;

use super::{Time, serde_pairs};

/// An idempotency key, scoped to a workspace and an operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdempotencyKey {
    pub(crate) workspace: String,
    pub(crate) operation: String,
    pub(crate) key: String,
}

impl IdempotencyKey {
    /// Returns whether the key can be used again for another request after the retention.
    fn expires(&self) -> bool {
        self.operation != Operation::TopUpsCreate.name()
    }
}

/// The request that used a key, and its receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredReceipt {
    /// The digest of the canonical form of the request body.
    #[serde(rename = "body")]
    body_digest: String,
    receipt: Value,
}

/// The idempotency keys that have not expired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Idempotency {
    #[serde(rename = "uses", with = "serde_pairs")]
    receipts: BTreeMap<IdempotencyKey, StoredReceipt>,
    /// The keys that expire, in the order in which they do.
    expiring: VecDeque<(Time, IdempotencyKey)>,
}

/// The result of looking up an idempotency key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyLookup {
    /// The key was not used.
    Unused,
    /// The key was used for the same request, with this receipt.
    Replay(Value),
    /// The key was used for a different request, with this receipt.
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
        if key.expires() {
            self.expiring
                .push_back((now.after(IDEMPOTENCY_RETENTION), key.clone()));
        }
        self.receipts.insert(
            key,
            StoredReceipt {
                body_digest,
                receipt,
            },
        );
    }

    /// Removes expired keys. All keys that expire have the same retention, so the oldest is in
    /// front.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some((expires_at, key)) = self.expiring.front() {
            if *expires_at > now {
                return;
            }
            self.receipts.remove(key);
            self.expiring.pop_front();
        }
    }

    /// Checks that each key that expires has one expiry, and that the expiries are sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let expiring: BTreeSet<_> = self.expiring.iter().map(|(_, key)| key).collect();
        let is_complete = expiring.len() == self.expiring.len()
            && expiring.iter().all(|key| self.receipts.contains_key(*key))
            && self
                .receipts
                .keys()
                .all(|key| !key.expires() || expiring.contains(key));
        if is_complete
            && self
                .expiring
                .iter()
                .is_sorted_by_key(|(expires_at, _)| *expires_at)
        {
            return Ok(());
        }
        Err("the expiries of the idempotency keys are incomplete or unsorted".to_owned())
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
    fn keys_are_scoped_to_workspace_and_operation() {
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
    fn the_key_of_a_top_up_does_not_expire() {
        let mut keys = Idempotency::default();
        let top_up = key("ws_a", "top_ups_create");
        keys.store(top_up.clone(), "b".to_owned(), json!(1), Time::default());
        keys.expire(Time::default().after(100 * IDEMPOTENCY_RETENTION));
        assert_eq!(keys.look_up(&top_up, "b"), KeyLookup::Replay(json!(1)));
        assert_eq!(keys.check(), Ok(()));
    }

    #[test]
    fn keys_expire_after_24_hours() {
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
