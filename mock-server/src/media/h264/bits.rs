//! A writer for bits and Exp-Golomb codes, most significant bit first.

/// A buffer that collects bits into bytes.
#[derive(Debug, Default)]
pub(in crate::media) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Writes the `count` low bits of `value`; `count` is at most 32.
    pub(in crate::media) fn put(&mut self, value: u32, count: u32) {
        let mask = (1_u64 << count.min(32)) - 1;
        self.pending = self.pending << count | (u64::from(value) & mask);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.pending >> self.count) as u8);
        }
    }

    /// Writes `ue(v)`, 9.1: `value + 1`, preceded by one zero fewer than it has bits.
    pub(super) fn unsigned(&mut self, value: u32) {
        let code = value.saturating_add(1);
        let length = 32 - code.leading_zeros();
        self.put(0, length - 1);
        self.put(code, length);
    }

    /// Writes `se(v)`, 9.1.1, in the order 0, 1, -1, 2, -2 …
    pub(super) fn signed(&mut self, value: i32) {
        let magnitude = value.unsigned_abs();
        self.unsigned(2 * magnitude - u32::from(value > 0));
    }

    /// Returns the bytes after rbsp_trailing_bits(), 7.3.2.11: a one, and zeros up to the next byte.
    pub(super) fn finish_rbsp(mut self) -> Vec<u8> {
        self.put(1, 1);
        self.finish()
    }

    /// Returns the bytes after padding with zeros up to the next byte.
    pub(in crate::media) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
        let mut bits = BitWriter::default();
        write(&mut bits);
        bits.finish()
    }

    #[test]
    fn unsigned_codes_match_table_9_2() {
        let rows = [
            (0, 0b1000_0000),
            (1, 0b0100_0000),
            (2, 0b0110_0000),
            (3, 0b0010_0000),
            (6, 0b0011_1000),
            (7, 0b0001_0000),
        ];
        for (value, expected) in rows {
            assert_eq!(written(|bits| bits.unsigned(value)), [expected], "{value}");
        }
    }

    #[test]
    fn signed_codes_alternate() {
        for (value, code) in [(0, 0), (1, 1), (-1, 2), (2, 3), (-2, 4), (-6, 12)] {
            assert_eq!(
                written(|bits| bits.signed(value)),
                written(|bits| bits.unsigned(code)),
                "{value}"
            );
        }
    }

    #[test]
    fn bits_are_written_across_bytes() {
        let bytes = written(|bits| {
            bits.put(0b101, 3);
            bits.put(0xffff_ffff, 32);
            bits.put(0, 5);
        });
        assert_eq!(bytes, [0xbf, 0xff, 0xff, 0xff, 0xe0]);
    }

    #[test]
    fn an_rbsp_ends_with_its_stop_bit() {
        assert_eq!(BitWriter::default().finish_rbsp(), [0x80]);
        let mut bits = BitWriter::default();
        bits.put(0, 8);
        assert_eq!(bits.finish_rbsp(), [0, 0x80]);
    }
}
