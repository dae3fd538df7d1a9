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
    let Some((unit, range)) = header.split_once('=') else { return RequestedRange::Whole };
    let Some((first, last)) = range.trim().split_once('-') else { return RequestedRange::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return RequestedRange::Whole;
    }
    match (position(first), position(last)) {
        (Some(Some(first)), Some(last)) => from(first, last, length),
        (Some(None), Some(Some(count))) => suffix(count, length),
        _ => RequestedRange::Whole,
    }
}

fn from(first: usize, last: Option<usize>, length: usize) -> RequestedRange {
    match last {
        Some(last) if last < first => RequestedRange::Whole,
        _ if first >= length => RequestedRange::Unsatisfiable,
        last => RequestedRange::Part { first, last: last.unwrap_or(usize::MAX).min(length - 1) },
    }
}

fn suffix(count: usize, length: usize) -> RequestedRange {
    if count == 0 || length == 0 {
        return RequestedRange::Unsatisfiable;
    }
    RequestedRange::Part { first: length.saturating_sub(count), last: length - 1 }
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
