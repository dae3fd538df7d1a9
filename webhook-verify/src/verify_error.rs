//! The reasons why a delivery is rejected.

use core::fmt;

/// The reason why a delivery was rejected.
///
/// ```
/// use svc_webhook_verify::{DeliveryHeaders, KeySet, Verifier, VerifyError};
///
/// let verifier = Verifier::new(KeySet::new(["whsec_newest"])?);
/// let headers = DeliveryHeaders { timestamp: "1700000000", signature: "" };
/// let error = verifier.verify(headers, "{}", 1_700_000_000).unwrap_err();
///
/// assert_eq!(error, VerifyError::SignatureMissing);
/// assert_eq!(error.code(), "signature_missing");
/// assert_eq!(
///     error.to_string(),
///     "missing signature: expected the header x-svc-webhook-signature"
/// );
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// The reason is meant for the receiver's log. Send the sender only the
/// [status](VerifyError::status). Headers are checked before the MAC is computed, so only
/// [`SignatureMismatch`](VerifyError::SignatureMismatch) means that the signature itself
/// was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VerifyError {
    /// The timestamp header is missing or empty.
    TimestampMissing,
    /// The timestamp is not 1 to 20 decimal digits, or does not fit in 64 bits. Signs,
    /// white space and several values separated by commas are not accepted.
    TimestampMalformed,
    /// The timestamp is further in the past than the tolerance allows. The delivery was
    /// replayed or delayed, or a clock is wrong.
    TimestampTooOld {
        /// The age of the timestamp, in seconds.
        age_seconds: u64,
    },
    /// The timestamp is further in the future than the tolerance allows.
    TimestampInFuture {
        /// How far the timestamp is ahead of `now`, in seconds.
        ahead_seconds: u64,
    },
    /// The signature header is missing or has only empty entries.
    SignatureMissing,
    /// The signature header is longer than 4096 bytes.
    SignatureTooLong,
    /// The signature header has more than 32 entries.
    TooManySignatures,
    /// The signature header has no valid `svc-v1` entry, and at least one entry is
    /// malformed: truncated, too long, not hexadecimal, or without a scheme.
    SignatureMalformed,
    /// The signature header has only entries with schemes other than `svc-v1`.
    SignatureUnsupported,
    /// No signature matches any key. The delivery was signed with another secret, or its
    /// body or timestamp was changed.
    SignatureMismatch,
}

impl VerifyError {
    /// Returns a stable identifier for logs and metrics, such as `signature_mismatch`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.code_and_status().0
    }

    /// Returns the HTTP status to answer with.
    ///
    /// This is `400` if the headers are missing or malformed, and `401` if they are well
    /// formed but the delivery is stale, uses another scheme, or was signed with another
    /// secret. The service retries after either.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.code_and_status().1
    }

    const fn code_and_status(&self) -> (&'static str, u16) {
        match self {
            Self::TimestampMissing => ("timestamp_missing", 400),
            Self::TimestampMalformed => ("timestamp_malformed", 400),
            Self::TimestampTooOld { .. } => ("timestamp_too_old", 401),
            Self::TimestampInFuture { .. } => ("timestamp_in_future", 401),
            Self::SignatureMissing => ("signature_missing", 400),
            Self::SignatureTooLong => ("signature_too_long", 400),
            Self::TooManySignatures => ("signature_too_many", 400),
            Self::SignatureMalformed => ("signature_malformed", 400),
            Self::SignatureUnsupported => ("signature_unsupported", 401),
            Self::SignatureMismatch => ("signature_mismatch", 401),
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimestampTooOld { age_seconds } => {
                return write!(
                    f,
                    "timestamp too old: {age_seconds} s in the past; \
                     check the clock of this machine, or request a redelivery"
                );
            }
            Self::TimestampInFuture { ahead_seconds } => {
                return write!(
                    f,
                    "timestamp in the future: {ahead_seconds} s ahead; \
                     check the clock of this machine"
                );
            }
            Self::TimestampMissing => {
                "missing timestamp: expected the header x-svc-webhook-timestamp"
            }
            Self::TimestampMalformed => {
                "malformed timestamp: \
                 expected Unix seconds in decimal digits in x-svc-webhook-timestamp"
            }
            Self::SignatureMissing => {
                "missing signature: expected the header x-svc-webhook-signature"
            }
            Self::SignatureTooLong => "signature header too long: expected at most 4096 bytes",
            Self::TooManySignatures => {
                "too many entries in the signature header: expected at most 32"
            }
            Self::SignatureMalformed => {
                "malformed signature: \
                 expected svc-v1= and 64 hex digits in x-svc-webhook-signature"
            }
            Self::SignatureUnsupported => {
                "unsupported signature scheme: expected svc-v1; \
                 check for a newer version of this library"
            }
            Self::SignatureMismatch => {
                "signature mismatch: compare the fingerprints of the secrets, \
                 and check that the body is unmodified"
            }
        })
    }
}

impl core::error::Error for VerifyError {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn messages_are_single_lines_and_say_what_to_do() {
        let errors = [
            VerifyError::TimestampMissing,
            VerifyError::TimestampMalformed,
            VerifyError::TimestampTooOld { age_seconds: 301 },
            VerifyError::TimestampInFuture { ahead_seconds: 301 },
            VerifyError::SignatureMissing,
            VerifyError::SignatureTooLong,
            VerifyError::TooManySignatures,
            VerifyError::SignatureMalformed,
            VerifyError::SignatureUnsupported,
            VerifyError::SignatureMismatch,
        ];
        for error in errors {
            let message = error.to_string();
            assert!(message.contains(": ") && !message.contains('\n'), "{message}");
            assert!(!message.contains("  "), "{message}");
        }
        let message = VerifyError::TimestampTooOld { age_seconds: 412 }.to_string();
        assert!(message.starts_with("timestamp too old: 412 s in the past"), "{message}");
    }
}
