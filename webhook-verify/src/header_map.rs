//! Verification with the headers of an [`http::HeaderMap`].

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::header;
use crate::parsed_headers::ParsedHeaders;
use crate::verify::{StreamVerifier, VerifiedSignature, Verifier};
use crate::verify_error::VerifyError;

// Constants, because a lookup by `&str` would parse the name each time.
const TIMESTAMP: HeaderName = HeaderName::from_static(header::TIMESTAMP);
const SIGNATURE: HeaderName = HeaderName::from_static(header::SIGNATURE);
const FINGERPRINT: HeaderName = HeaderName::from_static(header::FINGERPRINT);

impl Verifier {
    /// Verifies a delivery with the headers of its request.
    ///
    /// ```
    /// use http::HeaderMap;
    /// use svc_webhook_verify::{KeySet, Signer, Verifier, VerifyError};
    ///
    /// let keys = KeySet::new(["whsec_newest"])?;
    /// let headers: HeaderMap = Signer::new(keys.clone()).sign(1_700_000_000, "{}").into();
    ///
    /// let verifier = Verifier::new(keys);
    /// assert!(verifier.verify_with_headers(&headers, "{}", 1_700_000_007).is_ok());
    /// let without_headers = verifier.verify_with_headers(&HeaderMap::new(), "{}", 1_700_000_007);
    /// assert_eq!(without_headers, Err(VerifyError::TimestampMissing));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Several lines of the signature header form one list. More than one timestamp is
    /// malformed, even if they are equal. Header values need not be UTF-8.
    ///
    /// # Errors
    ///
    /// Returns an error if a header is missing or malformed, if the timestamp is stale, or
    /// if no signature matches. The headers are checked before the body is hashed.
    pub fn verify_with_headers(
        &self,
        headers: &HeaderMap,
        body: impl AsRef<[u8]>,
        now: u64,
    ) -> Result<VerifiedSignature, VerifyError> {
        let timestamp = timestamp(headers)?;
        let signatures = headers.get_all(SIGNATURE);
        let lines = || signatures.iter().map(HeaderValue::as_bytes);
        self.verify_lines(timestamp, lines, body.as_ref(), now)
    }

    /// Begins verifying a delivery with the headers of its request, for a body that
    /// arrives in chunks. See [`begin`](Verifier::begin).
    ///
    /// # Errors
    ///
    /// Returns an error if a header is missing or malformed.
    pub fn begin_with_headers(&self, headers: &HeaderMap) -> Result<StreamVerifier, VerifyError> {
        let timestamp = timestamp(headers)?;
        let signatures = headers.get_all(SIGNATURE);
        let lines = || signatures.iter().map(HeaderValue::as_bytes);
        let parsed_headers = ParsedHeaders::parse(timestamp, lines)?;
        Ok(StreamVerifier::new(self, parsed_headers, timestamp))
    }

    /// Returns the fingerprint in the headers of a request if none of the keys has it, see
    /// [`KeySet::unknown_fingerprint`](crate::KeySet::unknown_fingerprint).
    #[must_use]
    pub fn unknown_fingerprint<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        self.keys().unknown_fingerprint(headers.get(FINGERPRINT)?.as_bytes())
    }
}

/// Returns the timestamp header, empty if it is missing.
fn timestamp(headers: &HeaderMap) -> Result<&[u8], VerifyError> {
    let mut timestamps = headers.get_all(TIMESTAMP).iter();
    let timestamp = timestamps.next().map(HeaderValue::as_bytes);
    match timestamps.next() {
        Some(_) => Err(VerifyError::TimestampMalformed),
        None => Ok(timestamp.unwrap_or_default()),
    }
}

impl From<crate::SignatureHeaders> for HeaderMap {
    fn from(signed: crate::SignatureHeaders) -> Self {
        let pairs = signed.pairs();
        // The values are ASCII letters, digits and punctuation, so none is dropped.
        let headers = pairs.iter().filter_map(|(name, value)| {
            let value = HeaderValue::from_str(value).ok()?;
            Some((HeaderName::from_static(name), value))
        });
        headers.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeySet;

    #[test]
    fn only_a_fingerprint_that_no_key_has_is_unknown() {
        let verifier = Verifier::new(KeySet::new(["whsec_newest"]).unwrap());
        let unknown = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(FINGERPRINT, HeaderValue::from_bytes(value).unwrap());
            let unknown = verifier.unknown_fingerprint(&headers);
            unknown.map(std::string::String::from)
        };
        assert_eq!(unknown(b"8784f2a6edcde04d").as_deref(), Some("8784f2a6edcde04d"));
        assert_eq!(unknown(b"7AB95101ed6218b1"), None);
        for not_a_fingerprint in [&b"\xff"[..], b"a\tb", &[b'a'; 65]] {
            assert_eq!(unknown(not_a_fingerprint), None);
        }
        assert_eq!(verifier.unknown_fingerprint(&HeaderMap::new()), None);
    }
}
