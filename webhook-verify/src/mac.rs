//! One MAC a key over `<timestamp>.<raw body>`, the body in any number of pieces.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::key::KeySet;

/// A computed or a received HMAC-SHA256.
pub(crate) type Tag = [u8; 32];

/// The running MACs of all keys, newest first.
pub(crate) struct Macs([Option<Hmac<Sha256>>; KeySet::CAPACITY]);

impl Macs {
    /// Starts with the timestamp as its header has it, byte for byte.
    pub(crate) fn begin(keys: &KeySet, timestamp: &[u8]) -> Self {
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

    /// The tag of each key, newest first. There are none a second time.
    pub(crate) fn take_tags(&mut self) -> impl Iterator<Item = Tag> {
        let macs = self.0.iter_mut().filter_map(Option::take);
        macs.map(|mac| mac.finalize().into_bytes().into())
    }
}
