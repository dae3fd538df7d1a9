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
