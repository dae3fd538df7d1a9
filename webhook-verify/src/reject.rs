//! Why a delivery is refused.

use core::fmt;

/// Why a delivery is refused.
///
/// ```
/// use svc_webhook_verify::{KeySet, Reject, Verifier};
///
/// let verifier = Verifier::new(KeySet::new(["whsec_newest"])?);
/// let reject = verifier.check("1700000000", "", "{}", 1_700_000_000).unwrap_err();
///
/// assert_eq!(reject, Reject::SignatureMissing);
/// assert_eq!(reject.code(), "signature_missing");
/// assert_eq!(
///     reject.to_string(),
///     "the signature header is missing: pass on x-svc-webhook-signature as received"
/// );
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// The reason is for the receiver's own log; the sender gets a [status](Reject::status)
/// and no more. Headers are looked at before the body's MAC, so every reason but
/// [`SignatureMismatch`](Reject::SignatureMismatch) says nothing about whether the
/// delivery was genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reject {
    /// There is no timestamp, or an empty one.
    TimestampMissing,
    /// The timestamp is something other than 1 to 20 decimal digits, or does not fit
    /// in 64 bits. Signs, blanks and two values joined by a comma are refused.
    TimestampMalformed,
    /// The timestamp is further in the past than the tolerance: a replay, a delivery
    /// that was long under way, or a clock that is off.
    TimestampTooOld {
        /// How long ago it is.
        age_seconds: u64,
    },
    /// The timestamp is further in the future than the tolerance.
    TimestampInFuture {
        /// How far ahead it is.
        ahead_seconds: u64,
    },
    /// There is no signature, or none but empty entries.
    SignatureMissing,
    /// The signature header is longer than 4096 bytes.
    SignatureTooLong,
    /// The signature header has more than 32 entries.
    SignatureTooMany,
    /// No entry is `svc-v1=` and 64 hex digits, and at least one looks as if it were
    /// meant to be: cut short, too long, not hex, or without a scheme.
    SignatureMalformed,
    /// All entries are of other scheme versions.
    SignatureUnsupported,
    /// No entry matches any key: another secret, or a body or timestamp that is not
    /// the one that was signed.
    SignatureMismatch,
}

impl Reject {
    /// A stable word for logs and metrics, such as `signature_mismatch`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TimestampMissing => "timestamp_missing",
            Self::TimestampMalformed => "timestamp_malformed",
            Self::TimestampTooOld { .. } => "timestamp_too_old",
            Self::TimestampInFuture { .. } => "timestamp_in_future",
            Self::SignatureMissing => "signature_missing",
            Self::SignatureTooLong => "signature_too_long",
            Self::SignatureTooMany => "signature_too_many",
            Self::SignatureMalformed => "signature_malformed",
            Self::SignatureUnsupported => "signature_unsupported",
            Self::SignatureMismatch => "signature_mismatch",
        }
    }

    /// The HTTP status to answer with.
    ///
    /// It is `400` where the request is no delivery at all, as its headers are missing or
    /// malformed, and `401` where it might be one and is not accepted: stale, of another
    /// scheme, or signed with another secret. The sender tries again after either.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::TimestampMissing
            | Self::TimestampMalformed
            | Self::SignatureMissing
            | Self::SignatureTooLong
            | Self::SignatureTooMany
            | Self::SignatureMalformed => 400,
            Self::TimestampTooOld { .. }
            | Self::TimestampInFuture { .. }
            | Self::SignatureUnsupported
            | Self::SignatureMismatch => 401,
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimestampTooOld { age_seconds } => {
                return write!(
                    f,
                    "the timestamp is {age_seconds} s in the past, beyond the tolerance: \
                     check this machine's clock, or have the event redelivered"
                );
            }
            Self::TimestampInFuture { ahead_seconds } => {
                return write!(
                    f,
                    "the timestamp is {ahead_seconds} s in the future, beyond the tolerance: \
                     check this machine's clock"
                );
            }
            Self::TimestampMissing => {
                "the timestamp header is missing: pass on x-svc-webhook-timestamp as received"
            }
            Self::TimestampMalformed => {
                "the timestamp is not Unix seconds in decimal digits: \
                 pass on x-svc-webhook-timestamp as received"
            }
            Self::SignatureMissing => {
                "the signature header is missing: pass on x-svc-webhook-signature as received"
            }
            Self::SignatureTooLong => {
                "the signature header is longer than 4096 bytes: the service does not send that"
            }
            Self::SignatureTooMany => {
                "the signature header has more than 32 entries: the service does not send that"
            }
            Self::SignatureMalformed => {
                "no signature is svc-v1= and 64 hex digits: \
                 pass on x-svc-webhook-signature as received"
            }
            Self::SignatureUnsupported => {
                "no signature is of scheme svc-v1: look for a newer version of this library"
            }
            Self::SignatureMismatch => {
                "no signature matches: check the secret by its fingerprint, \
                 and that the body is the raw one"
            }
        })
    }
}

impl core::error::Error for Reject {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn every_reason_is_one_line_with_something_to_do() {
        let reasons = [
            Reject::TimestampMissing,
            Reject::TimestampMalformed,
            Reject::TimestampTooOld { age_seconds: 301 },
            Reject::TimestampInFuture { ahead_seconds: 301 },
            Reject::SignatureMissing,
            Reject::SignatureTooLong,
            Reject::SignatureTooMany,
            Reject::SignatureMalformed,
            Reject::SignatureUnsupported,
            Reject::SignatureMismatch,
        ];
        for reason in reasons {
            let line = reason.to_string();
            assert!(line.contains(": ") && !line.contains('\n'), "{line}");
            assert!(!line.contains("  "), "{line}");
        }
    }

    #[test]
    fn what_is_no_delivery_is_400_and_what_is_not_accepted_is_401() {
        assert_eq!(Reject::SignatureMissing.status(), 400);
        assert_eq!(Reject::TimestampMalformed.status(), 400);
        assert_eq!(Reject::SignatureUnsupported.status(), 401);
        assert_eq!(Reject::TimestampTooOld { age_seconds: 301 }.status(), 401);
        assert_eq!(Reject::SignatureMismatch.status(), 401);
    }

    #[test]
    fn the_age_is_told_in_seconds() {
        let line = Reject::TimestampTooOld { age_seconds: 412 }.to_string();
        assert!(
            line.starts_with("the timestamp is 412 s in the past"),
            "{line}"
        );
    }
}
