//! Verification: of a body in one piece, or as it arrives.

use core::fmt;
use core::time::Duration;

use crate::header::Claim;
use crate::key::{Key, KeySet};
use crate::mac::Macs;
use crate::reject::Reject;

/// Says whether a delivery is genuine, in one call.
///
/// ```
/// use std::time::Duration;
/// use svc_webhook_verify::verify;
///
/// let genuine = verify(
///     "whsec_newest",
///     "1700000000",
///     "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142",
///     br#"{"event":"job.completed","job_id":"job_123"}"#,
///     1_700_000_007,
///     Duration::from_secs(300),
/// );
/// assert!(genuine);
/// ```
///
/// `timestamp` and `signature` are the headers' values, `body` is the raw body, `now`
/// is in Unix seconds. A `tolerance` of zero leaves the age of the timestamp unchecked.
///
/// The answer is `false` for a wrong signature, and for a stale timestamp, a missing
/// header, an empty secret or anything malformed. To learn which, and to key the MAC
/// once instead of at every call, keep a [`Verifier`].
#[must_use]
pub fn verify(
    secret: impl AsRef<[u8]>,
    timestamp: impl AsRef<[u8]>,
    signature: impl AsRef<[u8]>,
    body: impl AsRef<[u8]>,
    now: u64,
    tolerance: Duration,
) -> bool {
    Key::new(secret).is_ok_and(|key| {
        let verifier = Verifier::new(key).tolerance(tolerance);
        verifier.verify(timestamp, signature, body, now)
    })
}

/// Verifies deliveries with a set of keys and a tolerance.
///
/// ```
/// use std::time::Duration;
/// use svc_webhook_verify::{KeySet, Reject, Verifier};
///
/// let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
/// let verifier = Verifier::new(keys).tolerance(Duration::from_secs(60));
///
/// let signature = "svc-v1=27455c5c3a544650ceb66fb2daf0819ca143610f00db70586f8d38ac015dde13";
/// let body = r#"{"event":"job.completed","job_id":"job_123"}"#;
///
/// let verified = verifier.check("1700000000", signature, body, 1_700_000_007)?;
/// assert_eq!(verified.key_index(), 1); // still signed with the previous secret
///
/// let altered = verifier.check("1700000000", signature, "{}", 1_700_000_007);
/// assert_eq!(altered, Err(Reject::SignatureMismatch));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Header values and bodies are taken as anything that gives bytes: `&str`, `&[u8]`,
/// `Bytes`, `&HeaderValue`. Where a header is absent, pass an empty one: it is refused
/// as missing. Timestamps and `now` are Unix seconds.
#[derive(Clone, Debug)]
pub struct Verifier {
    keys: KeySet,
    tolerance: Duration,
}

impl Verifier {
    /// The tolerance of a new verifier: 300 seconds.
    pub const DEFAULT_TOLERANCE: Duration = Duration::from_secs(300);

    /// Makes a verifier of one [`Key`] or a [`KeySet`].
    #[must_use]
    pub fn new(keys: impl Into<KeySet>) -> Self {
        Self {
            keys: keys.into(),
            tolerance: Self::DEFAULT_TOLERANCE,
        }
    }

    /// Sets how far a timestamp may be from `now`, in the past and in the future.
    ///
    /// [`Duration::ZERO`] leaves the age unchecked, so that a delivery can be replayed
    /// for ever: right for looking at a stored delivery, wrong for a receiver. The
    /// timestamp must still be there and well formed, and is still part of the MAC.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// The keys that a delivery is verified with.
    #[must_use]
    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// Says whether a delivery is genuine and fresh.
    #[must_use]
    pub fn verify(
        &self,
        timestamp: impl AsRef<[u8]>,
        signature: impl AsRef<[u8]>,
        body: impl AsRef<[u8]>,
        now: u64,
    ) -> bool {
        self.check(timestamp, signature, body, now).is_ok()
    }

    /// Verifies a delivery, and says why it is refused.
    ///
    /// # Errors
    ///
    /// A [`Reject`]. A stale or malformed header is refused before the body is read.
    pub fn check(
        &self,
        timestamp: impl AsRef<[u8]>,
        signature: impl AsRef<[u8]>,
        body: impl AsRef<[u8]>,
        now: u64,
    ) -> Result<Verified, Reject> {
        let timestamp = timestamp.as_ref();
        let claim = Claim::parse(timestamp, signature.as_ref())?;
        claim.check_fresh(now, self.tolerance)?;
        let mut macs = Macs::begin(&self.keys, timestamp);
        macs.update(body.as_ref());
        conclude(&claim, &mut macs)
    }

    /// Begins to verify a delivery whose body comes in pieces.
    ///
    /// ```
    /// use svc_webhook_verify::{KeySet, Verifier};
    ///
    /// let verifier = Verifier::new(KeySet::new(["whsec_newest"])?);
    /// let signature = "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142";
    ///
    /// let mut verification = verifier.begin("1700000000", signature)?;
    /// for chunk in [r#"{"event":"job.completed","#, r#""job_id":"job_123"}"#] {
    ///     verification.update(chunk);
    /// }
    /// verification.finish(1_700_000_007)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Until [`finish`](Verification::finish) says so nothing is proven: keep the
    /// pieces aside, and act on them afterwards.
    ///
    /// # Errors
    ///
    /// A [`Reject`] for headers that are missing or malformed.
    pub fn begin(
        &self,
        timestamp: impl AsRef<[u8]>,
        signature: impl AsRef<[u8]>,
    ) -> Result<Verification, Reject> {
        let timestamp = timestamp.as_ref();
        let claim = Claim::parse(timestamp, signature.as_ref())?;
        Ok(Verification::new(self, claim, timestamp))
    }
}

/// A verification under way, made by [`Verifier::begin`].
///
/// It borrows nothing and can be kept beside the body that it reads along with.
#[must_use = "a delivery is verified by `finish` only"]
pub struct Verification {
    claim: Claim,
    macs: Macs,
    tolerance: Duration,
}

impl Verification {
    pub(crate) fn new(verifier: &Verifier, claim: Claim, timestamp: &[u8]) -> Self {
        Self {
            claim,
            macs: Macs::begin(&verifier.keys, timestamp),
            tolerance: verifier.tolerance,
        }
    }

    /// Refuses a stale timestamp, before the body is there.
    #[cfg(feature = "http")]
    pub(crate) fn check_fresh(&self, now: u64) -> Result<(), Reject> {
        self.claim.check_fresh(now, self.tolerance)
    }

    /// Takes in the next piece of the raw body. Where the pieces are cut is all the same.
    pub fn update(&mut self, chunk: impl AsRef<[u8]>) {
        self.macs.update(chunk.as_ref());
    }

    /// Verifies the delivery, now that the whole body was taken in.
    ///
    /// `now` may be the moment the headers arrived, so that a slow body does not
    /// make its delivery stale.
    ///
    /// # Errors
    ///
    /// A [`Reject`] when the timestamp is stale or no signature matches.
    pub fn finish(mut self, now: u64) -> Result<Verified, Reject> {
        self.claim.check_fresh(now, self.tolerance)?;
        conclude(&self.claim, &mut self.macs)
    }
}

impl fmt::Debug for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verification")
            .field("timestamp", &self.claim.timestamp())
            .field("tolerance", &self.tolerance)
            .finish_non_exhaustive()
    }
}

/// A delivery that is genuine and fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    timestamp: u64,
    key_index: usize,
}

impl Verified {
    /// When the delivery was signed, in Unix seconds.
    #[must_use]
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Which key of the [`KeySet`] matched, 0 for the newest. When several did, the
    /// newest of them.
    ///
    /// For the receiver's own log: once nothing but 0 comes, the older keys can go.
    #[must_use]
    pub fn key_index(&self) -> usize {
        self.key_index
    }
}

fn conclude(claim: &Claim, macs: &mut Macs) -> Result<Verified, Reject> {
    let key_index = claim.find_match(macs.take_tags());
    Ok(Verified {
        timestamp: claim.timestamp(),
        key_index: key_index.ok_or(Reject::SignatureMismatch)?,
    })
}
