//! Idempotency keys and the receipts of the requests that used them.
//!
//! Only successful creates are stored, so the key of a failed one can be used again. Keys expire,
//! except those of top-ups, which are valid for as long as their top-up exists.

mod digest;
mod key_list;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::Operation;
use svc_sdk::contract::limits::IDEMPOTENCY_RETENTION;

pub(crate) use self::digest::BodyDigest;
use self::key_list::{KeyList, UsedKey};
use super::json_text::JsonText;
use super::{State, Time};
use crate::engine::shared::SharedText;

/// An idempotency key, scoped to a workspace and an operation: one text with the three in a line
/// each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct IdempotencyKey(SharedText);

impl IdempotencyKey {
    /// Creates the key. The workspace and the operation contain no line breaks.
    pub(crate) fn new(workspace: &str, operation: &str, key: &str) -> Self {
        Self(format!("{workspace}\n{operation}\n{key}").into())
    }

    /// Returns whether the key can be used again for another request after the retention.
    fn expires(&self) -> bool {
        self.0.split('\n').nth(1) != Some(Operation::TopUpsCreate.name())
    }
}

/// The receipt of a request that used a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredReceipt {
    /// The receipt of a job, which can be made from the job.
    Job(SharedText),
    /// A receipt with placeholders for base URLs (see `url_placeholders`).
    Text(JsonText),
}

/// The idempotency keys that have not expired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Idempotency {
    /// The keys that expire.
    expiring: KeyList,
    /// The keys of top-ups.
    lasting: KeyList,
}

/// The result of looking up an idempotency key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyLookup<'k> {
    /// The key was not used.
    Unused,
    /// The key was used for the same request, with this receipt.
    Replay(&'k StoredReceipt),
    /// The key was used for a different request, with this receipt.
    Conflict(&'k StoredReceipt),
}

impl Idempotency {
    pub(crate) fn look_up(&self, key: &IdempotencyKey, body_digest: &BodyDigest) -> KeyLookup<'_> {
        let list = match key.expires() {
            true => &self.expiring,
            false => &self.lasting,
        };
        match list.get(key) {
            None => KeyLookup::Unused,
            Some((digest, receipt)) if digest == body_digest => KeyLookup::Replay(receipt),
            Some((_, receipt)) => KeyLookup::Conflict(receipt),
        }
    }

    pub(crate) fn store(
        &mut self,
        key: IdempotencyKey,
        body_digest: BodyDigest,
        receipt: StoredReceipt,
        now: Time,
    ) {
        let list = match key.expires() {
            true => &mut self.expiring,
            false => &mut self.lasting,
        };
        list.add(UsedKey {
            key,
            body_digest,
            used_at: now,
            receipt,
        });
    }

    /// Removes expired keys.
    pub(crate) fn expire(&mut self, now: Time) {
        if let Some(used_until) = now.before(IDEMPOTENCY_RETENTION) {
            self.expiring.remove_used_until(used_until);
        }
    }

    /// Removes the keys of top-ups that were created up to a time.
    pub(crate) fn remove_top_ups_until(&mut self, until: Time) {
        self.lasting.remove_used_until(until);
    }

    /// Returns a copy without indexes, which shares the keys.
    pub(crate) fn without_indexes(&self) -> Self {
        Self {
            expiring: self.expiring.without_index(),
            lasting: self.lasting.without_index(),
        }
    }
}

impl State {
    /// Checks that the keys are in the right lists, and that their jobs exist.
    ///
    /// # Errors
    ///
    /// Returns a description of the first inconsistency.
    pub(crate) fn check_idempotency(&self) -> Result<(), String> {
        let Idempotency { expiring, lasting } = &self.idempotency;
        expiring.check()?;
        lasting.check()?;
        if !expiring.keys().all(IdempotencyKey::expires) {
            return Err("the idempotency key of a top-up expires".to_owned());
        }
        if lasting.keys().any(IdempotencyKey::expires) {
            return Err("only the idempotency keys of top-ups do not expire".to_owned());
        }
        let mut receipts = expiring.receipts().chain(lasting.receipts());
        let unknown = receipts.find_map(|receipt| match receipt {
            StoredReceipt::Job(id) if self.jobs.number(id).is_none() => Some(id),
            _ => None,
        });
        match unknown {
            Some(id) => Err(format!(
                "an idempotency key refers to the unknown job {id:?}"
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn key(workspace: &str, operation: &str) -> IdempotencyKey {
        IdempotencyKey::new(workspace, operation, "order-1")
    }

    fn digest(text: &str) -> BodyDigest {
        BodyDigest::of(text)
    }

    #[test]
    fn keys_are_scoped_to_workspace_and_operation() {
        let mut keys = Idempotency::default();
        let receipt = StoredReceipt::Text(JsonText::from(&json!({"job": "job_1"})));
        keys.store(
            key("ws_a", "video_generate"),
            digest("b1"),
            receipt.clone(),
            Time::default(),
        );
        let look = |workspace, operation, body| match keys
            .look_up(&key(workspace, operation), &digest(body))
        {
            KeyLookup::Unused => None,
            KeyLookup::Replay(receipt) => Some((true, receipt.clone())),
            KeyLookup::Conflict(receipt) => Some((false, receipt.clone())),
        };
        assert_eq!(
            look("ws_a", "video_generate", "b1"),
            Some((true, receipt.clone()))
        );
        assert_eq!(look("ws_a", "video_generate", "b2"), Some((false, receipt)));
        assert_eq!(look("ws_b", "video_generate", "b1"), None);
        assert_eq!(look("ws_a", "image_generate", "b1"), None);
    }

    #[test]
    fn the_key_of_a_top_up_does_not_expire() {
        let mut keys = Idempotency::default();
        let top_up = key("ws_a", "top_ups_create");
        let receipt = StoredReceipt::Text(JsonText::from(&json!(1)));
        keys.store(
            top_up.clone(),
            digest("b"),
            receipt.clone(),
            Time::default(),
        );
        keys.expire(Time::default().after(100 * IDEMPOTENCY_RETENTION));
        let replay = KeyLookup::Replay(&receipt);
        assert_eq!(keys.look_up(&top_up, &digest("b")), replay);
        keys.remove_top_ups_until(Time::default());
        assert_eq!(keys.look_up(&top_up, &digest("b")), KeyLookup::Unused);
    }

    #[test]
    fn keys_expire_after_24_hours() {
        let mut keys = Idempotency::default();
        let start = Time::from_micros(5);
        let receipt = StoredReceipt::Job("job_1".into());
        keys.store(key("ws_a", "op"), digest("b"), receipt.clone(), start);
        keys.expire(start.after(IDEMPOTENCY_RETENTION - Duration::from_micros(1)));
        let look_up = |keys: &Idempotency| {
            let lookup = keys.look_up(&key("ws_a", "op"), &digest("b"));
            lookup == KeyLookup::Replay(&receipt)
        };
        assert!(look_up(&keys));
        let text = serde_json::to_string(&keys).unwrap();
        assert_eq!(serde_json::from_str::<Idempotency>(&text).unwrap(), keys);
        keys.expire(start.after(IDEMPOTENCY_RETENTION));
        assert!(!look_up(&keys));
        assert_eq!(keys, Idempotency::default());
    }
}
