//! Creation of the signature headers of a delivery.

use core::fmt::{self, Write};

use arrayvec::ArrayString;

use crate::header::{self, SCHEME_PREFIX};
use crate::key::{Fingerprint, KeySet, hex};
use crate::mac::MacSet;

/// The number of digits of the largest `u64`.
const TIMESTAMP_LEN: usize = 20;

/// The length of one entry and a comma for each of the maximum number of keys.
const SIGNATURE_LEN: usize = KeySet::MAX_KEYS * (SCHEME_PREFIX.len() + 64 + 1);

/// Signs deliveries with a set of keys.
///
/// ```
/// use svc_webhook_verify::{DeliveryHeaders, KeySet, Signer, Verifier, header};
///
/// let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
/// let body = br#"{"event":"job.completed","job_id":"job_123"}"#;
///
/// let headers = Signer::new(keys.clone()).sign(1_700_000_000, body);
/// assert_eq!(headers.timestamp(), "1700000000");
/// assert_eq!(
///     headers.signature(),
///     "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142,\
///      svc-v1=27455c5c3a544650ceb66fb2daf0819ca143610f00db70586f8d38ac015dde13"
/// );
/// assert_eq!(headers.pairs()[2], (header::FINGERPRINT, "7ab95101ed6218b1"));
///
/// let verifier = Verifier::new(keys);
/// assert!(verifier.verify(DeliveryHeaders::from(&headers), body, 1_700_000_000).is_ok());
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// The signature header has one entry per key, newest first, as the service sends it
/// during a secret rotation. Timestamps are in Unix seconds.
#[derive(Clone, Debug)]
pub struct Signer {
    keys: KeySet,
}

impl Signer {
    /// Creates a signer from a [`Key`](crate::Key) or a [`KeySet`].
    #[must_use]
    pub fn new(keys: impl Into<KeySet>) -> Self {
        Self { keys: keys.into() }
    }

    /// Signs a body with a timestamp.
    #[must_use]
    pub fn sign(&self, timestamp: u64, body: impl AsRef<[u8]>) -> SignatureHeaders {
        let mut stream = self.begin(timestamp);
        stream.update(body);
        stream.finish()
    }

    /// Begins signing a body that is produced in chunks.
    pub fn begin(&self, timestamp: u64) -> StreamSigner {
        let mut digits = ArrayString::new();
        // The largest number fits.
        let _ = write!(digits, "{timestamp}");
        StreamSigner {
            macs: MacSet::new(&self.keys, digits.as_str().as_bytes()),
            timestamp: digits,
            fingerprint: self.keys.newest().fingerprint(),
        }
    }
}

/// Signs one body that is produced in chunks.
///
/// It is created by [`Signer::begin`].
#[must_use = "the headers are created by `finish`"]
pub struct StreamSigner {
    macs: MacSet,
    timestamp: ArrayString<TIMESTAMP_LEN>,
    fingerprint: Fingerprint,
}

impl StreamSigner {
    /// Processes the next chunk of the body.
    pub fn update(&mut self, chunk: impl AsRef<[u8]>) {
        self.macs.update(chunk.as_ref());
    }

    /// Returns the headers for the chunks that were processed.
    #[must_use]
    pub fn finish(mut self) -> SignatureHeaders {
        let mut signature = ArrayString::new();
        for (position, tag) in self.macs.take_tags().enumerate() {
            if position > 0 {
                signature.push_str(",");
            }
            signature.push_str(SCHEME_PREFIX);
            signature.push_str(&hex::<64>(&tag));
        }
        SignatureHeaders { timestamp: self.timestamp, signature, fingerprint: self.fingerprint }
    }
}

impl fmt::Debug for StreamSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamSigner")
            .field("timestamp", &self.timestamp.as_str())
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// The three signature headers of a delivery, stored inline.
#[derive(Clone, PartialEq, Eq)]
pub struct SignatureHeaders {
    timestamp: ArrayString<TIMESTAMP_LEN>,
    signature: ArrayString<SIGNATURE_LEN>,
    fingerprint: Fingerprint,
}

impl SignatureHeaders {
    /// Returns the value of [`header::TIMESTAMP`].
    #[must_use]
    pub fn timestamp(&self) -> &str {
        self.timestamp.as_str()
    }

    /// Returns the value of [`header::SIGNATURE`].
    #[must_use]
    pub fn signature(&self) -> &str {
        self.signature.as_str()
    }

    /// Returns the value of [`header::FINGERPRINT`].
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        self.fingerprint.as_str()
    }

    /// Returns the names and values of the three headers.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, &str); 3] {
        [
            (header::TIMESTAMP, self.timestamp()),
            (header::SIGNATURE, self.signature()),
            (header::FINGERPRINT, self.fingerprint()),
        ]
    }
}

impl fmt::Debug for SignatureHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.pairs()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;

    use super::*;

    #[test]
    fn the_longest_headers_are_not_truncated() {
        let signer = Signer::new(KeySet::new(["s"; KeySet::MAX_KEYS]).unwrap());
        let headers = signer.sign(u64::MAX, "x");
        assert_eq!(headers.timestamp(), "18446744073709551615");
        let entry = headers.signature().split(',').next().unwrap();
        assert_eq!(entry.len(), SCHEME_PREFIX.len() + 64);
        assert_eq!(headers.signature(), [entry; KeySet::MAX_KEYS].join(","));
    }

    #[test]
    fn debug_shows_the_headers() {
        let signer = Signer::new(KeySet::new(["whsec_newest"]).unwrap());
        let shown: String = format!("{:?}", signer.sign(7, ""));
        assert!(shown.starts_with(r#"{"x-svc-webhook-timestamp": "7", "#), "{shown}");
    }
}
