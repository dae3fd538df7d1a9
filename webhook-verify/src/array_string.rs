//! A string of bounded length that is stored inline.

use core::fmt;

/// A string of at most `N` ASCII characters. Characters beyond the capacity are dropped,
/// so every use chooses an `N` that fits its longest content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ArrayString<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> ArrayString<N> {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.push(byte));
    }

    /// Appends a byte as two lower case hex digits.
    pub(crate) fn push_hex(&mut self, byte: u8) {
        self.push(hex_digit(byte >> 4));
        self.push(hex_digit(byte & 0x0f));
    }

    pub(crate) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }
}

impl<const N: usize> fmt::Write for ArrayString<N> {
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
    use super::*;

    #[test]
    fn characters_beyond_the_capacity_are_dropped() {
        let mut text = ArrayString::<3>::new();
        text.push_str("abcd");
        assert_eq!(text.as_str(), "abc");
    }
}
