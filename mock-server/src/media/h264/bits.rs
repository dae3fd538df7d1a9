//! Bits and Exp-Golomb codes, most significant bit first.

/// Collects bits into bytes.
#[derive(Debug, Default)]
pub(in crate::media) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// The `count` low bits of `value`, `count` being 32 at most.
    pub(in crate::media) fn put(&mut self, value: u32, count: u32) {
        let mask = (1_u64 << count.min(32)) - 1;
        self.pending = self.pending << count | (u64::from(value) & mask);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.pending >> self.count) as u8);
        }
    }

    /// `ue(v)`, 9.1: as many zeros as the number plus one has bits after its first.
    pub(super) fn unsigned(&mut self, value: u32) {
        let code = value.saturating_add(1);
        let length = 32 - code.leading_zeros();
        self.put(0, length - 1);
        self.put(code, length);
    }

    /// `se(v)`, 9.1.1: 0, 1, -1, 2, -2 …
    pub(super) fn signed(&mut self, value: i32) {
        let magnitude = value.unsigned_abs();
        self.unsigned(2 * magnitude - u32::from(value > 0));
    }

    /// A one and zeros up to the next byte: rbsp_trailing_bits(), 7.3.2.11.
    pub(super) fn finish_rbsp(mut self) -> Vec<u8> {
        self.put(1, 1);
        self.finish()
    }

    /// Zeros up to the next byte.
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
    fn unsigned_codes_are_those_of_table_9_2() {
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
    fn bits_cross_bytes_in_order() {
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
