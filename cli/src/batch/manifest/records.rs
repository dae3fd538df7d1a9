//! Splitting of a manifest into records, without reading more than one into memory.

use std::io::{self, BufRead, Read};

/// The maximum length of a record. The service accepts bodies of at most 4 MiB.
const MAX_RECORD_BYTES: u64 = 16 * 1024 * 1024;

/// The format of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordFormat {
    /// A JSON object per line.
    Jsonl,
    /// Comma-separated values, in which a quoted field may contain line breaks.
    Csv,
}

/// The position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordPosition {
    /// The offset of the first byte.
    pub(super) offset: u64,
    /// The number of the first line, counted from 1.
    pub(super) line: u32,
}

/// A reader of records. Blank lines are skipped, but counted.
#[derive(Debug)]
pub(super) struct RecordReader<R> {
    input: R,
    format: RecordFormat,
    offset: u64,
    line: u32,
}

impl<R: BufRead> RecordReader<R> {
    /// Creates a reader of input that starts at a position.
    pub(super) fn new(input: R, format: RecordFormat, start: RecordPosition) -> Self {
        Self {
            input,
            format,
            offset: start.offset,
            line: start.line,
        }
    }

    /// Reads the next record into the buffer, without the line break at its end. Returns `None` at
    /// the end of the input.
    ///
    /// # Errors
    ///
    /// Returns an error if the input cannot be read, if the record is too long, or if a quoted field
    /// has no end.
    pub(super) fn read(&mut self, record: &mut Vec<u8>) -> io::Result<Option<RecordPosition>> {
        loop {
            let position = RecordPosition {
                offset: self.offset,
                line: self.line,
            };
            record.clear();
            let mut quotes = QuoteState::default();
            let mut is_open = false;
            loop {
                let start = record.len();
                if self.read_line(record)? == 0 {
                    if is_open {
                        let line = position.line;
                        let why =
                            format!("the record in line {line} has a quote that is not closed");
                        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                    }
                    break;
                }
                let added = record.get(start..).unwrap_or_default();
                is_open = self.format == RecordFormat::Csv && quotes.scan(added);
                if !is_open {
                    break;
                }
            }
            if record.is_empty() {
                return Ok(None);
            }
            while record.last().is_some_and(|byte| b"\r\n".contains(byte)) {
                record.pop();
            }
            if position.offset == 0 && record.starts_with(b"\xef\xbb\xbf") {
                record.drain(..3);
            }
            if !record.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(position));
            }
        }
    }

    fn read_line(&mut self, record: &mut Vec<u8>) -> io::Result<usize> {
        let room = MAX_RECORD_BYTES.saturating_sub(record.len() as u64);
        let mut limited = self.input.by_ref().take(room);
        let length = limited.read_until(b'\n', record)?;
        if length > 0 && limited.limit() == 0 {
            let line = self.line;
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("line {line} is longer than 16 MiB"),
            ));
        }
        self.offset += length as u64;
        self.line = self.line.saturating_add(1);
        Ok(length)
    }
}

/// Whether a position in a CSV file is within a quoted field.
#[derive(Debug)]
struct QuoteState {
    is_quoted: bool,
    /// Whether a quote opens or continues a quoted field here. In an unquoted field it is text.
    can_open: bool,
}

impl Default for QuoteState {
    fn default() -> Self {
        Self {
            is_quoted: false,
            can_open: true,
        }
    }
}

impl QuoteState {
    /// Scans text, and returns whether it ends within a quoted field.
    fn scan(&mut self, text: &[u8]) -> bool {
        for byte in text {
            (self.is_quoted, self.can_open) = match (byte, self.is_quoted) {
                (b'"', true) => (false, true),
                (_, true) => (true, false),
                (b'"', false) => (self.can_open, false),
                (byte, false) => (false, matches!(byte, b',' | b'\n')),
            };
        }
        self.is_quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, format: RecordFormat) -> Vec<(u32, String)> {
        let start = RecordPosition { offset: 0, line: 1 };
        let mut reader = RecordReader::new(text.as_bytes(), format, start);
        let (mut record, mut all) = (Vec::new(), Vec::new());
        while let Some(position) = reader.read(&mut record).unwrap() {
            let rest = text.get(position.offset as usize..).unwrap();
            let again = RecordReader::new(rest.as_bytes(), format, position)
                .read(&mut Vec::new())
                .unwrap();
            assert_eq!(again, Some(position), "it can be read at its offset");
            all.push((position.line, String::from_utf8(record.clone()).unwrap()));
        }
        all
    }

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        let text = "\u{feff}{\"a\":1}\r\n\n  \n{\"b\":2}";
        assert_eq!(
            records(text, RecordFormat::Jsonl),
            [(1, "{\"a\":1}".to_owned()), (4, "{\"b\":2}".to_owned())]
        );
        assert!(records("\n\n", RecordFormat::Jsonl).is_empty());
    }

    #[test]
    fn a_quoted_csv_field_may_contain_line_breaks() {
        let text = "a,b\n\"one\n\"\"two\"\"\n\",x\n5\" wide,y\n\n\"\",z\n";
        let expected = [
            (1, "a,b"),
            (2, "\"one\n\"\"two\"\"\n\",x"),
            (5, "5\" wide,y"),
            (7, "\"\",z"),
        ];
        let expected: Vec<_> = expected.map(|(line, text)| (line, text.to_owned())).into();
        assert_eq!(records(text, RecordFormat::Csv), expected);
    }
}
