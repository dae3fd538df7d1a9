//! Verification of deliveries, with the body as a whole or in chunks.

use core::fmt;
use core::time::Duration;

use crate::delivery_headers::DeliveryHeaders;
use crate::key::KeySet;
use crate::mac::{self, MacSet, Tag};
use crate::parsed_headers::ParsedHeaders;
use crate::verify_error::VerifyError;

/// Verifies deliveries with a set of keys and a tolerance for timestamps.
///
/// ```
/// use std::time::Duration;
/// use svc_webhook_verify::{DeliveryHeaders, KeySet, Verifier, VerifyError};
///
/// let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
/// let verifier = Verifier::new(keys).tolerance(Duration::from_secs(60));
///
/// let headers = DeliveryHeaders {
///     timestamp: "1700000000",
///     signature: "svc-v1=27455c5c3a544650ceb66fb2daf0819ca143610f00db70586f8d38ac015dde13",
/// };
/// let body = r#"{"event":"job.completed","job_id":"job_123"}"#;
///
/// let verified = verifier.verify(headers, body, 1_700_000_007)?;
/// assert_eq!(verified.key_index(), 1); // signed with the previous secret
///
/// let altered = verifier.verify(headers, "{}", 1_700_000_007);
/// assert_eq!(altered, Err(VerifyError::SignatureMismatch));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Bodies can be any type that dereferences to bytes, such as `&str`, `&[u8]` or `Bytes`.
/// `now` is in Unix seconds.
#[derive(Clone, Debug)]
pub struct Verifier {
    keys: KeySet,
    /// `None` if timestamps of any age are accepted.
    tolerance: Option<Duration>,
}

impl Verifier {
    /// The default tolerance for timestamps: 300 seconds.
    pub const DEFAULT_TOLERANCE: Duration = Duration::from_secs(300);

    /// Creates a verifier from a [`Key`](crate::Key) or a [`KeySet`].
    #[must_use]
    pub fn new(keys: impl Into<KeySet>) -> Self {
        Self { keys: keys.into(), tolerance: Some(Self::DEFAULT_TOLERANCE) }
    }

    /// Sets the maximum difference between a timestamp and `now`, in either direction.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Accepts timestamps of any age.
    ///
    /// A captured delivery can then be replayed at any later time. Use it to inspect stored
    /// deliveries, not in a receiver. The timestamp must still be present and well formed,
    /// and is still covered by the MAC.
    ///
    /// ```
    /// use svc_webhook_verify::{DeliveryHeaders, KeySet, Signer, Verifier};
    ///
    /// let keys = KeySet::new(["whsec_newest"])?;
    /// let signed = Signer::new(keys.clone()).sign(1_700_000_000, "{}");
    /// let headers = DeliveryHeaders::from(&signed);
    ///
    /// let a_year_later = 1_731_536_000;
    /// let verifier = Verifier::new(keys);
    /// assert!(verifier.verify(headers, "{}", a_year_later).is_err());
    /// assert!(verifier.ignoring_timestamp().verify(headers, "{}", a_year_later).is_ok());
    /// # Ok::<(), svc_webhook_verify::KeyError>(())
    /// ```
    #[must_use]
    pub fn ignoring_timestamp(mut self) -> Self {
        self.tolerance = None;
        self
    }

    /// Returns a verifier with other keys and the same tolerance.
    #[must_use]
    pub fn with_keys(&self, keys: impl Into<KeySet>) -> Self {
        Self { keys: keys.into(), tolerance: self.tolerance }
    }

    /// Returns the keys of this verifier.
    #[must_use]
    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// Verifies a delivery.
    ///
    /// # Errors
    ///
    /// Returns an error if a header is missing or malformed, if the timestamp is stale, or
    /// if no signature matches. The headers are checked before the body is hashed.
    pub fn verify(
        &self,
        headers: DeliveryHeaders<impl AsRef<[u8]>, impl AsRef<[u8]>>,
        body: impl AsRef<[u8]>,
        now: u64,
    ) -> Result<VerifiedSignature, VerifyError> {
        let lines = || core::iter::once(headers.signature.as_ref());
        self.verify_lines(headers.timestamp.as_ref(), lines, body.as_ref(), now)
    }

    /// Verifies a delivery whose signature header has several lines.
    pub(crate) fn verify_lines<'a, I: Iterator<Item = &'a [u8]>>(
        &self,
        timestamp: &[u8],
        signature: impl Fn() -> I,
        body: &[u8],
        now: u64,
    ) -> Result<VerifiedSignature, VerifyError> {
        let mut headers = ParsedHeaders::empty();
        headers.read(timestamp, signature)?;
        headers.check_timestamp(now, self.tolerance)?;
        match_signature(&headers, mac::tags(&self.keys, timestamp, body))
    }

    /// Begins verifying a delivery whose body arrives in chunks.
    ///
    /// ```
    /// use svc_webhook_verify::{DeliveryHeaders, KeySet, Verifier};
    ///
    /// let verifier = Verifier::new(KeySet::new(["whsec_newest"])?);
    /// let headers = DeliveryHeaders {
    ///     timestamp: "1700000000",
    ///     signature: "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142",
    /// };
    ///
    /// let mut stream = verifier.begin(headers)?;
    /// for chunk in [r#"{"event":"job.completed","#, r#""job_id":"job_123"}"#] {
    ///     stream.update(chunk);
    /// }
    /// stream.finish(1_700_000_007)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The delivery is not verified until [`finish`](StreamVerifier::finish) returns `Ok`.
    /// Do not process chunks before that.
    ///
    /// # Errors
    ///
    /// Returns an error if a header is missing or malformed.
    pub fn begin(
        &self,
        headers: DeliveryHeaders<impl AsRef<[u8]>, impl AsRef<[u8]>>,
    ) -> Result<StreamVerifier, VerifyError> {
        let timestamp = headers.timestamp.as_ref();
        let lines = || core::iter::once(headers.signature.as_ref());
        let parsed_headers = ParsedHeaders::parse(timestamp, lines)?;
        Ok(StreamVerifier::new(self, parsed_headers, timestamp))
    }
}

/// Verifies one delivery whose body arrives in chunks.
///
/// It is created by [`Verifier::begin`] and does not borrow from the verifier.
#[must_use = "a delivery is not verified until `finish` is called"]
pub struct StreamVerifier {
    headers: ParsedHeaders,
    macs: MacSet,
    tolerance: Option<Duration>,
}

impl StreamVerifier {
    pub(crate) fn new(verifier: &Verifier, headers: ParsedHeaders, timestamp: &[u8]) -> Self {
        Self {
            headers,
            macs: MacSet::new(&verifier.keys, timestamp),
            tolerance: verifier.tolerance,
        }
    }

    /// Returns an error if the timestamp is stale, before the body is available.
    #[cfg(feature = "tower")]
    pub(crate) fn check_timestamp(&self, now: u64) -> Result<(), VerifyError> {
        self.headers.check_timestamp(now, self.tolerance)
    }

    /// Processes the next chunk of the raw body. Chunks can be of any size.
    pub fn update(&mut self, chunk: impl AsRef<[u8]>) {
        self.macs.update(chunk.as_ref());
    }

    /// Verifies the delivery after all chunks have been processed.
    ///
    /// `now` can be the time at which the headers arrived, so that a delivery does not
    /// become stale while its body is transferred.
    ///
    /// # Errors
    ///
    /// Returns an error if the timestamp is stale or no signature matches.
    pub fn finish(mut self, now: u64) -> Result<VerifiedSignature, VerifyError> {
        self.headers.check_timestamp(now, self.tolerance)?;
        match_signature(&self.headers, self.macs.take_tags())
    }
}

impl fmt::Debug for StreamVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamVerifier")
            .field("timestamp", &self.headers.timestamp())
            .field("tolerance", &self.tolerance)
            .finish_non_exhaustive()
    }
}

/// The signature of a genuine delivery: when it was made and with which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedSignature {
    timestamp: u64,
    key_index: usize,
}

impl VerifiedSignature {
    /// Returns the time at which the delivery was signed, in Unix seconds.
    #[must_use]
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Returns the index in the [`KeySet`] of the key that matched, 0 for the newest. If
    /// several keys matched, this is the newest of them.
    ///
    /// Logging this index shows when older keys are no longer needed.
    #[must_use]
    pub fn key_index(&self) -> usize {
        self.key_index
    }
}

fn match_signature(
    headers: &ParsedHeaders,
    tags: impl Iterator<Item = Tag>,
) -> Result<VerifiedSignature, VerifyError> {
    let key_index = headers.find_match(tags);
    Ok(VerifiedSignature {
        timestamp: headers.timestamp(),
        key_index: key_index.ok_or(VerifyError::SignatureMismatch)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifiers_can_be_shared_between_threads() {
        fn assert_send_and_sync<T: Send + Sync + 'static>() {}
        assert_send_and_sync::<Verifier>();
        assert_send_and_sync::<StreamVerifier>();
        assert_send_and_sync::<crate::Signer>();
    }
}
