//! Short ASCII text of bounded length, on the stack.

use core::fmt;

/// Text of at most `N` ASCII characters. What does not fit is dropped, so every
/// use has an `N` that its longest content fits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.push(byte));
    }

    /// Two lower case hex digits.
    pub(crate) fn push_hex(&mut self, byte: u8) {
        self.push(hex_digit(byte >> 4));
        self.push(hex_digit(byte & 0x0f));
    }

    pub(crate) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

fn hex_digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' | nibble,
        _ => b'a' - 10 + (nibble & 0x0f),
    }
}

#[cfg(test)]
mod tests {
    use core::fmt::Write;
    use std::format;

    use super::*;

    #[test]
    fn every_byte_is_written_as_two_hex_digits() {
        for byte in 0..=u8::MAX {
            let mut text = Text::<2>::new();
            text.push_hex(byte);
            assert_eq!(text.as_str(), format!("{byte:02x}"));
        }
    }

    #[test]
    fn the_largest_number_fits_in_twenty_characters() {
        let mut text = Text::<20>::new();
        write!(text, "{}", u64::MAX).unwrap();
        assert_eq!(text.as_str(), "18446744073709551615");
    }

    #[test]
    fn what_does_not_fit_is_dropped() {
        let mut text = Text::<3>::new();
        text.push_str("abcd");
        assert_eq!(text.as_str(), "abc");
    }
}
