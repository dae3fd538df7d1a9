//! Deliveries whose headers are in an [`http::HeaderMap`].

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::header::{self, Claim};
use crate::reject::Reject;
use crate::verify::{Verification, Verified, Verifier};

// Made once: a look-up by `&str` would parse the name again.
const TIMESTAMP: HeaderName = HeaderName::from_static(header::TIMESTAMP);
const SIGNATURE: HeaderName = HeaderName::from_static(header::SIGNATURE);

impl Verifier {
    /// [`check`](Verifier::check) with the headers of a request.
    ///
    /// ```
    /// use http::HeaderMap;
    /// use svc_webhook_verify::{KeySet, Reject, Signer, Verifier};
    ///
    /// let keys = KeySet::new(["whsec_newest"])?;
    /// let headers: HeaderMap = Signer::new(keys.clone()).sign(1_700_000_000, "{}").into();
    ///
    /// let verifier = Verifier::new(keys);
    /// assert!(verifier.check_headers(&headers, "{}", 1_700_000_007).is_ok());
    /// let refused = verifier.check_headers(&HeaderMap::new(), "{}", 1_700_000_007);
    /// assert_eq!(refused, Err(Reject::TimestampMissing));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Signatures in several header lines are one list. More than one timestamp is
    /// malformed, even where both are the same. Values need not be UTF-8.
    ///
    /// # Errors
    ///
    /// A [`Reject`]. A stale or malformed header is refused before the body is read.
    pub fn check_headers(
        &self,
        headers: &HeaderMap,
        body: impl AsRef<[u8]>,
        now: u64,
    ) -> Result<Verified, Reject> {
        let mut verification = self.begin_headers(headers)?;
        verification.check_fresh(now)?;
        verification.update(body);
        verification.finish(now)
    }

    /// [`begin`](Verifier::begin) with the headers of a request.
    ///
    /// # Errors
    ///
    /// A [`Reject`] for headers that are missing or malformed.
    pub fn begin_headers(&self, headers: &HeaderMap) -> Result<Verification, Reject> {
        let mut timestamps = headers.get_all(TIMESTAMP).iter();
        let timestamp = timestamps.next().map(HeaderValue::as_bytes);
        let timestamp = timestamp.unwrap_or_default();
        if timestamps.next().is_some() {
            return Err(Reject::TimestampMalformed);
        }
        let signatures = headers.get_all(SIGNATURE);
        let lines = || signatures.iter().map(HeaderValue::as_bytes);
        let claim = Claim::parse_lines(timestamp, lines)?;
        Ok(Verification::new(self, claim, timestamp))
    }
}

impl From<crate::SignedHeaders> for HeaderMap {
    fn from(signed: crate::SignedHeaders) -> Self {
        let pairs = signed.pairs();
        // The values are digits, letters and punctuation, which every header can hold.
        let headers = pairs.iter().filter_map(|(name, value)| {
            let value = HeaderValue::from_str(value).ok()?;
            Some((HeaderName::from_static(name), value))
        });
        headers.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::{KeySet, Signer};

    const NOW: u64 = 1_700_000_000;

    fn outcome(lines: &[&(HeaderName, &[u8])]) -> Result<usize, Reject> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        let verifier = Verifier::new(KeySet::new(["whsec_newest", "whsec_previous"]).unwrap());
        let verified = verifier.check_headers(&headers, "{}", NOW);
        verified.map(|verified| verified.key_index())
    }

    #[test]
    fn lines_of_one_header_are_one_list_and_timestamps_are_none() {
        let sign = |secret| Signer::new(KeySet::new([secret]).unwrap()).sign(NOW, "{}");
        let (newest, stranger) = (sign("whsec_newest"), sign("whsec_stranger"));
        let timestamp = (TIMESTAMP, newest.timestamp().as_bytes());
        let good = (SIGNATURE, newest.signature().as_bytes());
        let bad = (SIGNATURE, stranger.signature().as_bytes());
        let odd: (_, &[u8]) = (SIGNATURE, b"\xff\xfe");
        let rows = [
            (vec![&timestamp, &good], Ok(0)),
            (vec![&timestamp, &bad, &good], Ok(0)),
            (vec![&timestamp, &odd, &good], Ok(0)),
            (vec![&timestamp, &odd], Err(Reject::SignatureMalformed)),
            (vec![&timestamp, &bad], Err(Reject::SignatureMismatch)),
            (vec![&timestamp], Err(Reject::SignatureMissing)),
            (vec![&good], Err(Reject::TimestampMissing)),
            (
                vec![&timestamp, &timestamp, &good],
                Err(Reject::TimestampMalformed),
            ),
        ];
        for (lines, expected) in rows {
            assert_eq!(outcome(&lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn lines_count_against_the_caps_together() {
        let line: (_, &[u8]) = (SIGNATURE, b"svc-v2=0");
        let timestamp: (_, &[u8]) = (TIMESTAMP, b"1700000000");
        let mut lines = vec![&line; 32];
        lines.push(&timestamp);
        assert_eq!(outcome(&lines), Err(Reject::SignatureUnsupported));
        lines.push(&line);
        assert_eq!(outcome(&lines), Err(Reject::SignatureTooMany));
    }
}
