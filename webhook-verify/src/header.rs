//! The headers of a delivery: their names, and what they claim.
//!
//! ```
//! use svc_webhook_verify::header;
//!
//! assert_eq!(header::TIMESTAMP, "x-svc-webhook-timestamp");
//! assert_eq!(header::SIGNATURE, "x-svc-webhook-signature");
//! assert_eq!(header::FINGERPRINT, "x-svc-webhook-secret-fingerprint");
//! ```
//!
//! The names are in lower case, as `http::HeaderName::from_static` wants them: make
//! the `HeaderName` once, in a constant, and a look-up does not parse it again.
//!
//! # How the signature header is read
//!
//! - Entries are separated by commas. Spaces and tabs around an entry are skipped, as
//!   HTTP does in lists, and so are empty entries: a proxy that joins two header lines
//!   writes `, ` between them.
//! - The scheme, `svc-v1`, is in lower case, with no blank around its `=`.
//! - A tag is exactly 64 hex digits, in either case. A shortened tag is malformed.
//! - A malformed entry, or one of another scheme, does not spoil the ones beside it.
//!
//! A header that came in several lines is one list: join the lines with commas, or let
//! `Verifier::check_headers` (feature `http`) read the header map.
//!
//! # How the timestamp is read
//!
//! It is decimal digits only, at most 20. Leading zeros are let through: the MAC is
//! over the header's exact bytes, so they are either the sender's own or do not match.

use core::time::Duration;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

use crate::mac::Tag;
use crate::reject::Reject;

/// Name of the header with the Unix seconds at which a delivery was signed.
pub const TIMESTAMP: &str = "x-svc-webhook-timestamp";

/// Name of the header with the signatures.
pub const SIGNATURE: &str = "x-svc-webhook-signature";

/// Name of the header with the fingerprint of the newest secret.
pub const FINGERPRINT: &str = "x-svc-webhook-secret-fingerprint";

/// What goes before the hex digits of an entry.
pub(crate) const SCHEME: &str = "svc-v1=";

const MAX_TIMESTAMP_DIGITS: usize = 20;
const MAX_SIGNATURE_BYTES: usize = 4096;
const MAX_ENTRIES: usize = 32;

/// What the headers of a delivery say, before anything is proven.
pub(crate) struct Claim {
    timestamp: u64,
    tags: [Tag; MAX_ENTRIES],
    tag_count: usize,
}

impl Claim {
    pub(crate) fn parse(timestamp: &[u8], signature: &[u8]) -> Result<Self, Reject> {
        Self::parse_lines(timestamp, || core::iter::once(signature))
    }

    /// The same for a signature header in several lines, without joining them.
    pub(crate) fn parse_lines<'a, I: Iterator<Item = &'a [u8]>>(
        timestamp: &[u8],
        signature: impl Fn() -> I,
    ) -> Result<Self, Reject> {
        let mut claim = Self {
            timestamp: parse_timestamp(timestamp)?,
            tags: [[0; 32]; MAX_ENTRIES],
            tag_count: 0,
        };
        claim.read_entries(signature)?;
        Ok(claim)
    }

    pub(crate) fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Refuses a timestamp that is off by more than the tolerance, either way.
    pub(crate) fn check_fresh(&self, now: u64, tolerance: Duration) -> Result<(), Reject> {
        let age_seconds = now.saturating_sub(self.timestamp);
        let ahead_seconds = self.timestamp.saturating_sub(now);
        if tolerance.is_zero() {
            Ok(())
        } else if Duration::from_secs(age_seconds) > tolerance {
            Err(Reject::TimestampTooOld { age_seconds })
        } else if Duration::from_secs(ahead_seconds) > tolerance {
            Err(Reject::TimestampInFuture { ahead_seconds })
        } else {
            Ok(())
        }
    }

    /// The index of the first computed tag that any entry equals.
    ///
    /// Every entry is compared with every computed tag, in time that does not depend
    /// on their content: nothing tells a sender how near a guess was, or which matched.
    pub(crate) fn find_match(&self, computed: impl Iterator<Item = Tag>) -> Option<usize> {
        let mut found = Choice::from(0);
        let mut index = 0;
        for (key, mut tag) in (0..=u8::MAX).zip(computed) {
            let mut equal = Choice::from(0);
            for entry in self.tags.iter().take(self.tag_count) {
                equal |= entry.ct_eq(&tag);
            }
            index.conditional_assign(&key, equal & !found);
            found |= equal;
            // For a forged delivery this is the very tag its sender lacks.
            tag.zeroize();
        }
        bool::from(found).then_some(usize::from(index))
    }

    fn read_entries<'a, I: Iterator<Item = &'a [u8]>>(
        &mut self,
        lines: impl Fn() -> I,
    ) -> Result<(), Reject> {
        // With a comma between two lines, as if they had been joined.
        let lengths = lines().map(|line| line.len().saturating_add(1));
        if lengths.fold(0, usize::saturating_add) > MAX_SIGNATURE_BYTES + 1 {
            return Err(Reject::SignatureTooLong);
        }
        let mut reject = Reject::SignatureMissing;
        let entries = lines().flat_map(|line| line.split(|byte| *byte == b','));
        for (position, entry) in entries.enumerate() {
            if position >= MAX_ENTRIES {
                return Err(Reject::SignatureTooMany);
            }
            match Entry::parse(entry) {
                Entry::Tag(tag) => {
                    if let Some(place) = self.tags.get_mut(self.tag_count) {
                        *place = tag;
                        self.tag_count += 1;
                    }
                }
                Entry::Malformed => reject = Reject::SignatureMalformed,
                Entry::OtherScheme if reject == Reject::SignatureMissing => {
                    reject = Reject::SignatureUnsupported;
                }
                Entry::OtherScheme | Entry::Empty => {}
            }
        }
        if self.tag_count == 0 {
            return Err(reject);
        }
        Ok(())
    }
}

enum Entry {
    Tag(Tag),
    Malformed,
    OtherScheme,
    Empty,
}

impl Entry {
    fn parse(entry: &[u8]) -> Self {
        let entry = trim_blanks(entry);
        if entry.is_empty() {
            Self::Empty
        } else if let Some(hex) = entry.strip_prefix(SCHEME.as_bytes()) {
            decode_tag(hex).map_or(Self::Malformed, Self::Tag)
        } else if entry.contains(&b'=') {
            Self::OtherScheme
        } else {
            Self::Malformed
        }
    }
}

fn parse_timestamp(header: &[u8]) -> Result<u64, Reject> {
    if header.is_empty() {
        return Err(Reject::TimestampMissing);
    }
    if header.len() > MAX_TIMESTAMP_DIGITS {
        return Err(Reject::TimestampMalformed);
    }
    let mut seconds = 0_u64;
    for byte in header {
        let digit = match byte {
            b'0'..=b'9' => u64::from(byte & 0x0f),
            _ => return Err(Reject::TimestampMalformed),
        };
        let shifted = seconds.checked_mul(10);
        let next = shifted.and_then(|shifted| shifted.checked_add(digit));
        seconds = next.ok_or(Reject::TimestampMalformed)?;
    }
    Ok(seconds)
}

/// Removes what HTTP lets stand around the members of a list, which is less than
/// ASCII white space.
fn trim_blanks(mut entry: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = entry {
        entry = rest;
    }
    entry
}

/// Reads all the digits before it looks whether all were digits: a branch on each
/// would be a guess on each, and they are random.
fn decode_tag(hex: &[u8]) -> Option<Tag> {
    let hex: &[u8; 64] = hex.try_into().ok()?;
    let (pairs, _) = hex.as_chunks::<2>();
    let mut tag = [0; 32];
    let mut seen = 0;
    for (byte, [high, low]) in tag.iter_mut().zip(pairs) {
        let (high, low) = (decode_digit(*high), decode_digit(*low));
        seen |= high | low;
        *byte = high << 4 | low;
    }
    (seen <= 0x0f).then_some(tag)
}

/// The value of a hex digit, or 255.
fn decode_digit(digit: u8) -> u8 {
    let number = digit.wrapping_sub(b'0');
    let letter = (digit | 0x20).wrapping_sub(b'a');
    if number < 10 {
        number
    } else if letter < 6 {
        letter + 10
    } else {
        u8::MAX
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    const TAG_OF_AA: &[u8] =
        b"svc-v1=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn claim_at(timestamp: &str) -> Result<Claim, Reject> {
        Claim::parse(timestamp.as_bytes(), TAG_OF_AA)
    }

    #[test]
    fn a_timestamp_is_digits_that_fit_in_64_bits() {
        let rows = [
            ("0", Ok(0)),
            ("1700000000", Ok(1_700_000_000)),
            ("0005", Ok(5)),
            ("18446744073709551615", Ok(u64::MAX)),
            ("18446744073709551616", Err(Reject::TimestampMalformed)),
            ("99999999999999999999", Err(Reject::TimestampMalformed)),
            ("000000000000000000001", Err(Reject::TimestampMalformed)),
            ("", Err(Reject::TimestampMissing)),
            ("+5", Err(Reject::TimestampMalformed)),
            ("-9223372036854775808", Err(Reject::TimestampMalformed)),
            (" 5", Err(Reject::TimestampMalformed)),
            ("5 ", Err(Reject::TimestampMalformed)),
            ("5\n", Err(Reject::TimestampMalformed)),
            ("1700000000.0", Err(Reject::TimestampMalformed)),
            ("1e9", Err(Reject::TimestampMalformed)),
            ("0x10", Err(Reject::TimestampMalformed)),
            ("5, 5", Err(Reject::TimestampMalformed)),
            ("٣", Err(Reject::TimestampMalformed)),
        ];
        for (header, expected) in rows {
            assert_eq!(parse_timestamp(header.as_bytes()), expected, "{header:?}");
        }
    }

    #[test]
    fn the_window_is_bounded_in_both_directions_and_includes_its_ends() {
        let claim = claim_at("1000").unwrap();
        let tolerance = Duration::from_secs(300);
        assert_eq!(claim.check_fresh(1300, tolerance), Ok(()));
        assert_eq!(claim.check_fresh(700, tolerance), Ok(()));
        assert_eq!(
            claim.check_fresh(1301, tolerance),
            Err(Reject::TimestampTooOld { age_seconds: 301 })
        );
        assert_eq!(
            claim.check_fresh(699, tolerance),
            Err(Reject::TimestampInFuture { ahead_seconds: 301 })
        );
    }

    #[test]
    fn a_tolerance_below_a_second_is_not_taken_for_none() {
        let claim = claim_at("1000").unwrap();
        let tolerance = Duration::from_millis(1);
        assert_eq!(claim.check_fresh(1000, tolerance), Ok(()));
        assert!(claim.check_fresh(1001, tolerance).is_err());
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        let last = claim_at("18446744073709551615").unwrap();
        assert!(last.check_fresh(0, Duration::from_secs(300)).is_err());
        assert!(last.check_fresh(0, Duration::MAX).is_ok());
        let first = claim_at("0").unwrap();
        assert!(first.check_fresh(u64::MAX, Duration::from_secs(1)).is_err());
        assert!(first.check_fresh(u64::MAX, Duration::ZERO).is_ok());
    }

    #[test]
    fn the_first_key_that_matches_is_named() {
        let claim = claim_at("1").unwrap();
        let (hit, miss) = ([0xaa; 32], [0xab; 32]);
        assert_eq!(claim.find_match([hit, hit].into_iter()), Some(0));
        assert_eq!(claim.find_match([miss, hit, miss].into_iter()), Some(1));
        assert_eq!(claim.find_match([miss, miss].into_iter()), None);
        assert_eq!(claim.find_match([].into_iter()), None);
    }

    #[test]
    fn unused_places_for_entries_match_nothing() {
        let claim = claim_at("1").unwrap();
        assert_eq!(claim.find_match([[0; 32]].into_iter()), None);
    }

    #[test]
    fn hex_is_read_in_either_case_and_nothing_but_hex() {
        for digit in 0..=u8::MAX {
            let expected = char::from(digit).to_digit(16).unwrap_or(255);
            assert_eq!(u32::from(decode_digit(digit)), expected);
        }
    }

    #[test]
    fn the_caps_are_on_entries_of_all_kinds_and_on_the_whole_header() {
        let entries = |count| std::vec!["x=y"; count].join(",");
        let reject = |signature: &str| Claim::parse(b"1", signature.as_bytes()).err();
        assert_eq!(reject(&entries(32)), Some(Reject::SignatureUnsupported));
        assert_eq!(reject(&entries(33)), Some(Reject::SignatureTooMany));
        assert_eq!(reject(&",".repeat(32)), Some(Reject::SignatureTooMany));
        let in_lines = |lines: &[&[u8]]| Claim::parse_lines(b"1", || lines.iter().copied()).err();
        let half = entries(16);
        let halves = [half.as_bytes(), half.as_bytes()];
        assert_eq!(in_lines(&halves), Some(Reject::SignatureUnsupported));
        let and_one = [halves[0], halves[1], b"x=y"];
        assert_eq!(in_lines(&and_one), Some(Reject::SignatureTooMany));
        let long = format!("x={}", "y".repeat(4094));
        let lines = [&long.as_bytes()[..4000], &long.as_bytes()[4001..]];
        assert_ne!(in_lines(&lines), Some(Reject::SignatureTooLong));
        let lines = [&long.as_bytes()[..4000], &long.as_bytes()[4000..]];
        assert_eq!(in_lines(&lines), Some(Reject::SignatureTooLong));
        assert_eq!(reject(&long), Some(Reject::SignatureUnsupported));
        assert_eq!(reject(&format!("{long}y")), Some(Reject::SignatureTooLong));
    }
}
