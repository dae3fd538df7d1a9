//! Digests of request bodies.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The SHA-256 digest of the canonical form of a request body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyDigest([u8; 32]);

impl BodyDigest {
    pub(crate) fn of(canonical: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(canonical.as_ref()).into())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let (digits, rest) = text.as_bytes().as_chunks::<2>();
        if digits.len() != bytes.len() || !rest.is_empty() {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(digits) {
            *byte = digits.iter().try_fold(0, |value, digit| {
                let digit = char::from(*digit).to_digit(16)?;
                Some((value << 4) | u8::try_from(digit).ok()?)
            })?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for BodyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or_default();
        let mut text = [0; 64];
        let (pairs, _) = text.as_chunks_mut::<2>();
        for (byte, pair) in self.0.iter().zip(pairs) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for BodyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for BodyDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BodyDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected 64 hexadecimal digits"))
    }
}
