//! Which part of a file a `Range` header asks for, RFC 9110 section 14.

/// What to answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it: no range, none that is understood, or several.
    Whole,
    /// From the first byte up to and including the last one.
    Part { first: usize, last: usize },
    /// A range that lies outside of the file.
    Unsatisfiable,
}

/// Reads a `Range` header for a file of `length` bytes. A header that is not understood
/// is ignored, as 14.2 says; several ranges are ignored as well, which it allows.
pub(super) fn wanted(header: &str, length: usize) -> Wanted {
    let Some((unit, range)) = header.split_once('=') else {
        return Wanted::Whole;
    };
    let Some((first, last)) = range.trim().split_once('-') else {
        return Wanted::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    match (position(first), position(last)) {
        (Some(Some(first)), Some(last)) => from(first, last, length),
        (Some(None), Some(Some(count))) => suffix(count, length),
        _ => Wanted::Whole,
    }
}

fn from(first: usize, last: Option<usize>, length: usize) -> Wanted {
    match last {
        Some(last) if last < first => Wanted::Whole,
        _ if first >= length => Wanted::Unsatisfiable,
        last => Wanted::Part {
            first,
            last: last.unwrap_or(usize::MAX).min(length - 1),
        },
    }
}

fn suffix(count: usize, length: usize) -> Wanted {
    if count == 0 || length == 0 {
        return Wanted::Unsatisfiable;
    }
    Wanted::Part {
        first: length.saturating_sub(count),
        last: length - 1,
    }
}

/// Digits, or nothing at all; `None` is neither. More than fits is as good as the most
/// that does: no file is that long.
fn position(text: &str) -> Option<Option<usize>> {
    if text.is_empty() {
        return Some(None);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Some(text.parse().unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: usize, last: usize) -> Wanted {
        Wanted::Part { first, last }
    }

    #[test]
    fn ranges_of_a_file_of_a_hundred_bytes() {
        let rows = [
            ("bytes=0-0", part(0, 0)),
            ("bytes=0-99", part(0, 99)),
            ("bytes=10-19", part(10, 19)),
            ("bytes=90-", part(90, 99)),
            ("bytes=90-1000", part(90, 99)),
            ("bytes=0-99999999999999999999999", part(0, 99)),
            ("bytes=-1", part(99, 99)),
            ("bytes=-100", part(0, 99)),
            ("bytes=-1000", part(0, 99)),
            ("Bytes = 5-6 ", part(5, 6)),
            ("bytes=100-", Wanted::Unsatisfiable),
            ("bytes=100-200", Wanted::Unsatisfiable),
            ("bytes=99999999999999999999999-", Wanted::Unsatisfiable),
            ("bytes=-0", Wanted::Unsatisfiable),
            ("bytes=20-10", Wanted::Whole),
            ("bytes=0-1,5-6", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=1-2-3", Wanted::Whole),
            ("bytes=--1", Wanted::Whole),
            ("items=0-1", Wanted::Whole),
            ("0-1", Wanted::Whole),
            ("", Wanted::Whole),
        ];
        for (header, expected) in rows {
            assert_eq!(wanted(header, 100), expected, "{header:?}");
        }
    }

    #[test]
    fn nothing_of_an_empty_file_can_be_had() {
        assert_eq!(wanted("bytes=0-", 0), Wanted::Unsatisfiable);
        assert_eq!(wanted("bytes=-5", 0), Wanted::Unsatisfiable);
    }
}
