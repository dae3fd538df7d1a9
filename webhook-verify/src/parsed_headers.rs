//! Parsing of the timestamp and signature headers.

use core::time::Duration;

use arrayvec::ArrayVec;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

use crate::header::SCHEME_PREFIX;
use crate::mac::Tag;
use crate::verify_error::VerifyError;

const MAX_TIMESTAMP_DIGITS: usize = 20;
const MAX_SIGNATURE_BYTES: usize = 4096;
const MAX_ENTRIES: usize = 32;
const PREFIX: &[u8] = SCHEME_PREFIX.as_bytes();

/// The timestamp and the signatures in the headers of a delivery, not yet verified.
pub(crate) struct ParsedHeaders {
    timestamp: u64,
    tags: ArrayVec<Tag, MAX_ENTRIES>,
}

impl ParsedHeaders {
    /// Parses a timestamp and a signature header, whose lines form one list.
    pub(crate) fn parse<'a, I: Iterator<Item = &'a [u8]>>(
        timestamp: &[u8],
        signature: impl Fn() -> I,
    ) -> Result<Self, VerifyError> {
        let mut parsed = Self::empty();
        parsed.read(timestamp, signature)?;
        Ok(parsed)
    }

    /// Returns headers without a signature, to be read into where they are used: a move copies all
    /// the tags.
    pub(crate) fn empty() -> Self {
        Self { timestamp: 0, tags: ArrayVec::new_const() }
    }

    /// Parses the headers of a delivery, as [`parse`](Self::parse) does, in place.
    pub(crate) fn read<'a, I: Iterator<Item = &'a [u8]>>(
        &mut self,
        timestamp: &[u8],
        signature: impl Fn() -> I,
    ) -> Result<(), VerifyError> {
        self.timestamp = parse_timestamp(timestamp)?;
        self.parse_entries(signature)
    }

    pub(crate) fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Returns an error if the timestamp differs from `now` by more than the tolerance. Without a
    /// tolerance, any timestamp is accepted.
    pub(crate) fn check_timestamp(
        &self,
        now: u64,
        tolerance: Option<Duration>,
    ) -> Result<(), VerifyError> {
        let Some(tolerance) = tolerance else { return Ok(()) };
        let age_seconds = now.saturating_sub(self.timestamp);
        let ahead_seconds = self.timestamp.saturating_sub(now);
        if Duration::from_secs(age_seconds) > tolerance {
            Err(VerifyError::TimestampTooOld { age_seconds })
        } else if Duration::from_secs(ahead_seconds) > tolerance {
            Err(VerifyError::TimestampInFuture { ahead_seconds })
        } else {
            Ok(())
        }
    }

    /// Returns the index of the first computed tag that equals one of the entries.
    ///
    /// Every entry is compared with every computed tag in constant time, so the duration
    /// reveals neither how many bytes of a guess were right nor which tag matched.
    pub(crate) fn find_match(&self, computed: impl Iterator<Item = Tag>) -> Option<usize> {
        let mut found = Choice::from(0);
        let mut index = 0;
        for (key, mut tag) in (0..=u8::MAX).zip(computed) {
            let mut equal = Choice::from(0);
            for entry in &self.tags {
                equal |= is_equal(entry, &tag);
            }
            index.conditional_assign(&key, equal & !found);
            found |= equal;
            // For a forged delivery, this is the valid tag that an attacker needs.
            tag.zeroize();
        }
        bool::from(found).then_some(usize::from(index))
    }

    fn parse_entries<'a, I: Iterator<Item = &'a [u8]>>(
        &mut self,
        lines: impl Fn() -> I,
    ) -> Result<(), VerifyError> {
        // Counts one comma per line, as if the lines had been joined.
        let lengths = lines().map(|line| line.len().saturating_add(1));
        if lengths.fold(0, usize::saturating_add) > MAX_SIGNATURE_BYTES + 1 {
            return Err(VerifyError::SignatureTooLong);
        }
        let mut error = VerifyError::SignatureMissing;
        let mut count = 0_usize;
        for line in lines() {
            // Most lines are one entry, which needs no search for commas.
            if let Some(tag) = line.strip_prefix(PREFIX).and_then(decode_tag) {
                self.add(Entry::Tag(tag), &mut count, &mut error)?;
                continue;
            }
            for entry in line.split(|byte| *byte == b',') {
                self.add(Entry::parse(entry), &mut count, &mut error)?;
            }
        }
        if self.tags.is_empty() { Err(error) } else { Ok(()) }
    }

    /// Takes in an entry. `error` is what a header without a valid entry fails with.
    fn add(
        &mut self,
        entry: Entry,
        count: &mut usize,
        error: &mut VerifyError,
    ) -> Result<(), VerifyError> {
        if *count >= MAX_ENTRIES {
            return Err(VerifyError::TooManySignatures);
        }
        *count += 1;
        match entry {
            Entry::Tag(tag) => {
                self.tags.try_push(tag).map_err(|_| VerifyError::TooManySignatures)?;
            }
            Entry::Malformed => *error = VerifyError::SignatureMalformed,
            Entry::OtherScheme if *error == VerifyError::SignatureMissing => {
                *error = VerifyError::SignatureUnsupported;
            }
            Entry::OtherScheme | Entry::Empty => {}
        }
        Ok(())
    }
}

/// Compares two tags in constant time, eight bytes at a time.
fn is_equal(left: &Tag, right: &Tag) -> Choice {
    let ((left, _), (right, _)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    let words = left.iter().zip(right);
    let differences = words.fold(0, |differences, (left, right)| {
        differences | (u64::from_ne_bytes(*left) ^ u64::from_ne_bytes(*right))
    });
    differences.ct_eq(&0)
}

enum Entry {
    Tag(Tag),
    Malformed,
    OtherScheme,
    Empty,
}

impl Entry {
    fn parse(entry: &[u8]) -> Self {
        let entry = trim_list_whitespace(entry);
        if entry.is_empty() {
            Self::Empty
        } else if let Some(hex) = entry.strip_prefix(PREFIX) {
            decode_tag(hex).map_or(Self::Malformed, Self::Tag)
        } else if entry.contains(&b'=') {
            Self::OtherScheme
        } else {
            Self::Malformed
        }
    }
}

fn parse_timestamp(header: &[u8]) -> Result<u64, VerifyError> {
    if header.is_empty() {
        return Err(VerifyError::TimestampMissing);
    }
    if header.len() > MAX_TIMESTAMP_DIGITS {
        return Err(VerifyError::TimestampMalformed);
    }
    let mut seconds = 0_u64;
    for byte in header {
        let digit = match byte {
            b'0'..=b'9' => u64::from(byte & 0x0f),
            _ => return Err(VerifyError::TimestampMalformed),
        };
        let shifted = seconds.checked_mul(10);
        let next = shifted.and_then(|shifted| shifted.checked_add(digit));
        seconds = next.ok_or(VerifyError::TimestampMalformed)?;
    }
    Ok(seconds)
}

/// Removes the white space that HTTP allows around list members: spaces and tabs only.
fn trim_list_whitespace(mut entry: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = entry {
        entry = rest;
    }
    entry
}

/// Decodes 64 hex digits. Validity is checked once at the end, because a branch per
/// digit on random data would be mispredicted. The loops are separate, so that both use
/// vector instructions.
fn decode_tag(hex: &[u8]) -> Option<Tag> {
    let mut nibbles: [u8; 64] = hex.try_into().ok()?;
    let mut all_nibbles = 0;
    for nibble in &mut nibbles {
        *nibble = decode_digit(*nibble);
        all_nibbles |= *nibble;
    }
    let (pairs, _) = nibbles.as_chunks::<2>();
    let mut tag = [0; 32];
    for (byte, [high, low]) in tag.iter_mut().zip(pairs) {
        *byte = high << 4 | low;
    }
    (all_nibbles <= 0x0f).then_some(tag)
}

/// Returns the value of a hex digit, or 255 for any other byte.
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
    use super::*;

    const TAG_OF_AA: &[u8] =
        b"svc-v1=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn parse_at(timestamp: &str) -> Result<ParsedHeaders, VerifyError> {
        ParsedHeaders::parse(timestamp.as_bytes(), || core::iter::once(TAG_OF_AA))
    }

    #[test]
    fn a_tolerance_may_be_below_one_second() {
        let headers = parse_at("1000").unwrap();
        for tolerance in [Duration::ZERO, Duration::from_millis(1)] {
            assert_eq!(headers.check_timestamp(1000, Some(tolerance)), Ok(()));
            assert!(headers.check_timestamp(1001, Some(tolerance)).is_err());
        }
    }

    #[test]
    fn unused_tag_slots_do_not_match() {
        let headers = parse_at("1").unwrap();
        assert_eq!(headers.find_match([[0; 32]].into_iter()), None);
    }

    #[test]
    fn hex_digits_are_decoded_in_both_cases_and_other_bytes_rejected() {
        for digit in 0..=u8::MAX {
            let expected = char::from(digit).to_digit(16).unwrap_or(255);
            assert_eq!(u32::from(decode_digit(digit)), expected);
        }
    }
}
