//! Incremental computation of one MAC per key over `<timestamp>.<raw body>`.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::key::KeySet;

/// A computed or a received HMAC-SHA256 tag.
pub(crate) type Tag = [u8; 32];

/// Returns the tag of each key for a body that is there as a whole, newest key first.
pub(crate) fn tags(keys: &KeySet, timestamp: &[u8], body: &[u8]) -> impl Iterator<Item = Tag> {
    keys.iter().map(move |key| {
        let mut mac = key.mac();
        mac.update(timestamp);
        mac.update(b".");
        mac.update(body);
        mac.finalize().into_bytes().into()
    })
}

/// The MAC computations of all keys for a body that arrives in chunks, newest key first.
pub(crate) struct MacSet([Option<Hmac<Sha256>>; KeySet::MAX_KEYS]);

impl MacSet {
    /// Starts the MACs with the exact bytes of the timestamp header.
    pub(crate) fn new(keys: &KeySet, timestamp: &[u8]) -> Self {
        let mut keys = keys.iter();
        Self(core::array::from_fn(|_| {
            let mut mac = keys.next()?.mac();
            mac.update(timestamp);
            mac.update(b".");
            Some(mac)
        }))
    }

    pub(crate) fn update(&mut self, chunk: &[u8]) {
        for mac in self.0.iter_mut().flatten() {
            mac.update(chunk);
        }
    }

    /// Returns the tag of each key, newest key first. A second call returns no tags.
    pub(crate) fn take_tags(&mut self) -> impl Iterator<Item = Tag> {
        let macs = self.0.iter_mut().filter_map(Option::take);
        macs.map(|mac| mac.finalize().into_bytes().into())
    }
}
