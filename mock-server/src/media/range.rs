//! The part of a file that a `Range` header requests, RFC 9110 section 14.

/// The requested part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// The whole file, because there is no valid single range.
    Whole,
    /// The bytes from `first` to `last`, inclusive.
    Part { first: usize, last: usize },
    /// A range outside of the file.
    Unsatisfiable,
}

/// Parses a `Range` header for a file of `length` bytes.
///
/// Invalid headers are ignored, as 14.2 requires, and so are multiple ranges, as it permits.
pub(super) fn parse_range(header: &str, length: usize) -> RequestedRange {
    match positions(header) {
        Some((Some(first), Some(last))) if last < first => RequestedRange::Whole,
        Some((Some(first), _)) if first >= length => RequestedRange::Unsatisfiable,
        Some((Some(first), last)) => {
            RequestedRange::Part { first, last: last.unwrap_or(usize::MAX).min(length - 1) }
        }
        Some((None, Some(count))) if count == 0 || length == 0 => RequestedRange::Unsatisfiable,
        Some((None, Some(count))) => {
            RequestedRange::Part { first: length.saturating_sub(count), last: length - 1 }
        }
        Some((None, None)) | None => RequestedRange::Whole,
    }
}

/// Returns the two positions of a single range of bytes, of which one may be missing.
fn positions(header: &str) -> Option<(Option<usize>, Option<usize>)> {
    let (unit, range) = header.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    let positions = (position(first)?, position(last)?);
    unit.trim().eq_ignore_ascii_case("bytes").then_some(positions)
}

/// Parses a position that may be empty. Returns `None` if the text is not a number.
///
/// A number that overflows is replaced by the maximum, which is beyond the end of any file.
fn position(text: &str) -> Option<Option<usize>> {
    if text.is_empty() {
        return Some(None);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Some(text.parse().unwrap_or(usize::MAX)))
}
