//! Deduplication keys of recently received events.

use std::collections::{HashMap, VecDeque};

use svc_webhook_verify::DedupeKey;

/// How long a key is kept. The service retries for some hours, and a user may redeliver later.
pub(super) const SEEN_FOR_SECONDS: u64 = 7 * 24 * 60 * 60;
/// The maximum number of keys, to bound the memory.
const MAX_SEEN: usize = 1_000_000;

/// The keys of the events that were received within the last week.
#[derive(Debug, Default)]
pub(super) struct SeenEvents {
    keys: HashMap<DedupeKey, u64>,
    /// The keys in the order of their arrival. It may contain keys that were removed.
    order: VecDeque<(u64, DedupeKey)>,
}

impl SeenEvents {
    /// Returns whether a key was received before.
    pub(super) fn contains(&self, key: &DedupeKey) -> bool {
        self.keys.contains_key(key)
    }

    /// Adds a key, with its time of arrival in Unix seconds.
    pub(super) fn add(&mut self, key: Option<DedupeKey>, at: u64) {
        let Some(key) = key else { return };
        if self.keys.insert(key.clone(), at).is_none() {
            self.order.push_back((at, key));
        }
        if self.order.len() > MAX_SEEN {
            self.expire_first();
        }
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, key: Option<DedupeKey>) {
        if let Some(key) = key {
            self.keys.remove(&key);
        }
    }

    /// Removes the keys that are older than a week.
    pub(super) fn expire(&mut self, now: u64) {
        while let Some((at, _)) = self.order.front()
            && at.saturating_add(SEEN_FOR_SECONDS) <= now
        {
            self.expire_first();
        }
    }

    fn expire_first(&mut self) {
        if let Some((at, key)) = self.order.pop_front()
            && self.keys.get(&key) == Some(&at)
        {
            self.keys.remove(&key);
        }
    }

    /// Returns the keys in the order of their arrival.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &DedupeKey)> {
        let order = self.order.iter();
        order
            .filter(|(at, key)| self.keys.get(key) == Some(at))
            .map(|(at, key)| (*at, key))
    }
}
