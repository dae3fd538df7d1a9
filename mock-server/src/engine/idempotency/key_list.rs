//! Used idempotency keys in the order of their use.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{BodyDigest, IdempotencyKey, StoredReceipt};
use crate::engine::Time;
use crate::engine::serde_list::serialize_as_list;
use crate::engine::shared_list::SharedList;

/// A key, and the request that used it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsedKey {
    pub(super) key: IdempotencyKey,
    /// The digest of the canonical form of the request body.
    #[serde(rename = "body")]
    pub(super) body_digest: BodyDigest,
    pub(super) used_at: Time,
    pub(super) receipt: StoredReceipt,
}

/// Keys with the same retention, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyList {
    used: SharedList<UsedKey>,
    numbers: HashMap<IdempotencyKey, usize>,
    /// The number of the oldest key.
    first: usize,
}

impl PartialEq for KeyList {
    fn eq(&self, other: &Self) -> bool {
        self.used == other.used
    }
}

impl KeyList {
    pub(super) fn get(&self, key: &IdempotencyKey) -> Option<(&BodyDigest, &StoredReceipt)> {
        let used = self.used.get(*self.numbers.get(key)?)?;
        Some((&used.body_digest, &used.receipt))
    }

    pub(super) fn add(&mut self, used: UsedKey) {
        let key = used.key.clone();
        let number = self.used.push(used);
        self.numbers.insert(key, number);
    }

    /// Removes the keys that were used up to a time.
    pub(super) fn remove_used_until(&mut self, until: Time) {
        while let Some(number) = self.first_used_until(until) {
            if let Some(used) = self.used.remove(number) {
                self.numbers.remove(&used.key);
            }
            self.first = number + 1;
        }
    }

    /// Returns the number of the oldest key, if it was used up to a time.
    fn first_used_until(&self, until: Time) -> Option<usize> {
        let (number, used) = self.used.numbered_from(self.first).next()?;
        (used.used_at <= until).then_some(number)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &IdempotencyKey> {
        self.used.iter().map(|used| &used.key)
    }

    pub(super) fn receipts(&self) -> impl Iterator<Item = &StoredReceipt> {
        self.used.iter().map(|used| &used.receipt)
    }

    /// Checks that each key is listed once, and that the keys are sorted.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_sorted = self.used.iter().is_sorted_by_key(|used| used.used_at);
        if is_sorted && self.numbers.len() == self.used.len() {
            return Ok(());
        }
        Err("the idempotency keys are repeated or unsorted".to_owned())
    }

    pub(super) fn without_index(&self) -> Self {
        Self { used: self.used.clone(), ..Self::default() }
    }

    fn all(&self) -> impl Iterator<Item = &UsedKey> {
        self.used.iter()
    }
}

serialize_as_list!(KeyList, UsedKey);
