//! Signing: the headers of a delivery.

use core::fmt::{self, Write};

use crate::header::{self, SCHEME};
use crate::key::{Fingerprint, KeySet};
use crate::mac::Macs;
use crate::text::Text;

/// The longest decimal number of 64 bits.
const TIMESTAMP_LEN: usize = 20;

/// As many entries as there can be keys, with a comma after each.
const SIGNATURE_LEN: usize = KeySet::CAPACITY * (SCHEME.len() + 64 + 1);

/// Signs deliveries with a set of keys.
///
/// ```
/// use svc_webhook_verify::{KeySet, Signer, Verifier, header};
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
/// assert!(verifier.verify(headers.timestamp(), headers.signature(), body, 1_700_000_000));
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// There is one signature for each key, newest first, as the service sends them during
/// a rotation. Timestamps are Unix seconds.
#[derive(Clone, Debug)]
pub struct Signer {
    keys: KeySet,
}

impl Signer {
    /// Makes a signer of one [`Key`](crate::Key) or a [`KeySet`].
    #[must_use]
    pub fn new(keys: impl Into<KeySet>) -> Self {
        Self { keys: keys.into() }
    }

    /// Signs a body at a time.
    #[must_use]
    pub fn sign(&self, timestamp: u64, body: impl AsRef<[u8]>) -> SignedHeaders {
        let mut signing = self.begin(timestamp);
        signing.update(body);
        signing.finish()
    }

    /// Begins to sign a body that comes in pieces.
    ///
    /// ```
    /// use svc_webhook_verify::{KeySet, Signer};
    ///
    /// let signer = Signer::new(KeySet::new(["whsec_newest"])?);
    /// let mut signing = signer.begin(1_700_000_000);
    /// signing.update("{");
    /// signing.update("}");
    /// assert_eq!(signing.finish(), signer.sign(1_700_000_000, "{}"));
    /// # Ok::<(), svc_webhook_verify::KeyError>(())
    /// ```
    pub fn begin(&self, timestamp: u64) -> Signing {
        let mut text = Text::new();
        // A `Text` takes whatever it is given, and the longest number fits.
        let _ = write!(text, "{timestamp}");
        Signing {
            macs: Macs::begin(&self.keys, text.as_str().as_bytes()),
            timestamp: text,
            fingerprint: self.keys.newest().fingerprint(),
        }
    }
}

/// A signing under way, made by [`Signer::begin`].
#[must_use = "the headers are made by `finish`"]
pub struct Signing {
    macs: Macs,
    timestamp: Text<TIMESTAMP_LEN>,
    fingerprint: Fingerprint,
}

impl Signing {
    /// Takes in the next piece of the body.
    pub fn update(&mut self, chunk: impl AsRef<[u8]>) {
        self.macs.update(chunk.as_ref());
    }

    /// The headers for the body that was taken in.
    #[must_use]
    pub fn finish(mut self) -> SignedHeaders {
        let mut signature = Text::new();
        for (position, tag) in self.macs.take_tags().enumerate() {
            if position > 0 {
                signature.push_str(",");
            }
            signature.push_str(SCHEME);
            tag.iter().for_each(|byte| signature.push_hex(*byte));
        }
        SignedHeaders {
            timestamp: self.timestamp,
            signature,
            fingerprint: self.fingerprint,
        }
    }
}

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signing")
            .field("timestamp", &self.timestamp.as_str())
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// The three headers of a signed delivery, held on the stack.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedHeaders {
    timestamp: Text<TIMESTAMP_LEN>,
    signature: Text<SIGNATURE_LEN>,
    fingerprint: Fingerprint,
}

impl SignedHeaders {
    /// The value of [`header::TIMESTAMP`].
    #[must_use]
    pub fn timestamp(&self) -> &str {
        self.timestamp.as_str()
    }

    /// The value of [`header::SIGNATURE`].
    #[must_use]
    pub fn signature(&self) -> &str {
        self.signature.as_str()
    }

    /// The value of [`header::FINGERPRINT`].
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        self.fingerprint.as_str()
    }

    /// Names and values, to put into a request one by one.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, &str); 3] {
        [
            (header::TIMESTAMP, self.timestamp()),
            (header::SIGNATURE, self.signature()),
            (header::FINGERPRINT, self.fingerprint()),
        ]
    }
}

impl fmt::Debug for SignedHeaders {
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
    fn eight_keys_and_the_last_second_fit_whole() {
        let signer = Signer::new(KeySet::new(["s"; KeySet::CAPACITY]).unwrap());
        let headers = signer.sign(u64::MAX, "x");
        assert_eq!(headers.timestamp(), "18446744073709551615");
        let one = headers.signature().split(',').next().unwrap();
        assert_eq!(one.len(), SCHEME.len() + 64);
        assert_eq!(headers.signature(), [one; KeySet::CAPACITY].join(","));
    }

    #[test]
    fn debug_shows_the_headers() {
        let signer = Signer::new(KeySet::new(["whsec_newest"]).unwrap());
        let shown: String = format!("{:?}", signer.sign(7, ""));
        assert!(
            shown.starts_with(r#"{"x-svc-webhook-timestamp": "7", "#),
            "{shown}"
        );
    }
}
