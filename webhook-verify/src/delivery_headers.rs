//! The headers that verification needs, by name.

use crate::sign::SignatureHeaders;

/// The values of the two headers of a delivery that are verified.
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
