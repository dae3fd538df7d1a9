//! Idempotency keys and the receipts of the requests that used them.
//!
//! Only successful creates are stored, so the key of a failed one can be used again. Keys expire,
//! except those of top-ups, which are valid for as long as their top-up exists.

mod digest;
mod key_list;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::Operation;
use svc_sdk::contract::limits::IDEMPOTENCY_RETENTION;

pub(crate) use self::digest::BodyDigest;
use self::key_list::{KeyList, UsedKey};
use super::json_text::JsonText;
use super::{State, Time};

/// An idempotency key, scoped to a workspace and an operation: one text with the three in a line
/// each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct IdempotencyKey(Arc<str>);

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
    Job(Arc<str>),
    /// A top-up, which is shown as it is now.
    TopUp(Arc<str>),
    /// A receipt with placeholders for base URLs (see `url_placeholders`).
    Text(JsonText),
}

/// The idempotency keys that have not expired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdempotencyKeys {
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

impl IdempotencyKeys {
    pub(crate) fn look_up(&self, key: &IdempotencyKey, body_digest: &BodyDigest) -> KeyLookup<'_> {
        let list = if key.expires() { &self.expiring } else { &self.lasting };
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
        let list = if key.expires() { &mut self.expiring } else { &mut self.lasting };
        list.add(UsedKey { key, body_digest, used_at: now, receipt });
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
        Self { expiring: self.expiring.without_index(), lasting: self.lasting.without_index() }
    }
}

impl State {
    /// Checks that the keys are in the right lists, and that their jobs exist.
    pub(crate) fn check_idempotency(&self) -> Result<(), String> {
        let IdempotencyKeys { expiring, lasting } = &self.idempotency;
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
            StoredReceipt::TopUp(id) if self.top_ups.get(id).is_none() => Some(id),
            _ => None,
        });
        match unknown {
            Some(id) => Err(format!("an idempotency key refers to the unknown {id:?}")),
            None => Ok(()),
        }
    }
}
