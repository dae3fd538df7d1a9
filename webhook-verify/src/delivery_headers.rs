//! The headers that verification needs, by name.

use crate::sign::SignatureHeaders;

/// The values of the two headers of a delivery that are verified.
///
/// ```
/// use svc_webhook_verify::{DeliveryHeaders, KeySet, Verifier};
///
/// let headers = DeliveryHeaders {
///     timestamp: "1700000000",
///     signature: "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142",
/// };
/// let body = r#"{"event":"job.completed","job_id":"job_123"}"#;
///
/// let verifier = Verifier::new(KeySet::new(["whsec_newest"])?);
/// assert!(verifier.verify(headers, body, 1_700_000_007).is_ok());
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// Values can be any type that dereferences to bytes, such as `&str`, `&[u8]` or
/// `&HeaderValue`. Pass an empty value for a missing header. It is rejected as missing.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryHeaders<T, S> {
    /// The value of [`header::TIMESTAMP`](crate::header::TIMESTAMP).
    pub timestamp: T,
    /// The value of [`header::SIGNATURE`](crate::header::SIGNATURE).
    pub signature: S,
}

impl<'a> From<&'a SignatureHeaders> for DeliveryHeaders<&'a str, &'a str> {
    fn from(headers: &'a SignatureHeaders) -> Self {
        Self { timestamp: headers.timestamp(), signature: headers.signature() }
    }
}
