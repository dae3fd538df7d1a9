//! Rows of CSV and JSONL files, read without more than one in memory.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use crate::text::counted;

/// The maximum length of a record. The service accepts bodies of at most 4 MiB.
const MAX_RECORD_BYTES: u64 = 16 * 1024 * 1024;

/// The first bytes of a file that says that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The format of a file with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// A JSON object per line.
    Jsonl,
    /// Comma-separated values, in which a quoted field may contain line breaks.
    Csv,
}

/// The position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordPosition {
    /// The offset of the first byte.
    pub(crate) offset: u64,
    /// The number of the first line, counted from 1.
    pub(crate) line: u32,
}

/// A reader of records. Blank lines are skipped, but counted.
#[derive(Debug)]
pub(crate) struct RecordReader<R> {
    input: R,
    format: RecordFormat,
    offset: u64,
    line: u32,
}

impl<R: BufRead> RecordReader<R> {
    /// Creates a reader of input that starts at a position.
    pub(crate) fn new(input: R, format: RecordFormat, start: RecordPosition) -> Self {
        Self { input, format, offset: start.offset, line: start.line }
    }

    /// Reads the next record into the buffer, without the line break at its end. Returns `None` at
    /// the end of the input.
    ///
    /// # Errors
    ///
    /// Returns an error if the input cannot be read, if the record is too long, or if a quoted field
    /// has no end.
    pub(crate) fn read(&mut self, record: &mut Vec<u8>) -> io::Result<Option<RecordPosition>> {
        loop {
            let position = RecordPosition { offset: self.offset, line: self.line };
            record.clear();
            let mut quotes = QuoteState::default();
            let mut is_open = false;
            loop {
                let start = record.len();
                let length = self.read_line(record)?;
                if length == 0 {
                    if is_open {
                        let line = position.line;
                        let why =
                            format!("the record in line {line} has a quote that is not closed");
                        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                    }
                    break;
                }
                let added = record.get(start..).unwrap_or_default();
                let added = match self.offset == length {
                    true => added.strip_prefix(BYTE_ORDER_MARK).unwrap_or(added),
                    false => added,
                };
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
            if position.offset == 0 && record.starts_with(BYTE_ORDER_MARK) {
                record.drain(..BYTE_ORDER_MARK.len());
            }
            // A cell of a single column may consist of spaces.
            let is_blank = match self.format {
                RecordFormat::Jsonl => record.iter().all(u8::is_ascii_whitespace),
                RecordFormat::Csv => record.is_empty(),
            };
            if !is_blank {
                return Ok(Some(position));
            }
        }
    }

    fn read_line(&mut self, record: &mut Vec<u8>) -> io::Result<u64> {
        let room = MAX_RECORD_BYTES.saturating_sub(record.len() as u64);
        let mut limited = self.input.by_ref().take(room);
        let length = limited.read_until(b'\n', record)? as u64;
        if length > 0 && limited.limit() == 0 {
            let line = self.line;
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("line {line} is longer than 16 MiB"),
            ));
        }
        self.offset += length;
        self.line = self.line.saturating_add(1);
        Ok(length)
    }
}

/// The columns of a CSV file, which are named in its first record.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) names: Vec<String>,
}

impl Header {
    /// Parses the first record.
    ///
    /// # Errors
    ///
    /// Returns a message if it does not name columns.
    pub(crate) fn parse(record: &[u8]) -> Result<Self, String> {
        let names = split(record)?;
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        if let [name] = names.as_slice()
            && let Some(mark) = name.chars().find(|it| matches!(it, ';' | '\t' | '\r'))
        {
            return Err(match mark {
                '\r' => "the lines end with CR: save the file with LF or CRLF".to_owned(),
                mark => format!("the columns are separated by {mark:?}: expected commas"),
            });
        }
        let mut seen = HashSet::new();
        for name in &names {
            if name.is_empty() {
                return Err("the header has a column without a name".to_owned());
            }
            if !seen.insert(name) {
                return Err(format!("the header has the column `{name}` twice"));
            }
        }
        Ok(Self { names })
    }

    /// Returns the cells of a record with the names of their columns, without those that are empty. A
    /// record of several columns that is blank has none.
    ///
    /// # Errors
    ///
    /// Returns a message if the record does not fit the columns.
    pub(crate) fn cells(
        &self,
        record: &[u8],
    ) -> Result<impl Iterator<Item = (&str, String)>, String> {
        let cells = match self.is_blank(record) {
            true => vec![String::new(); self.names.len()],
            false => split(record)?,
        };
        if cells.len() != self.names.len() {
            return Err(format!(
                "it has {}, but the header has {}",
                counted(cells.len(), "cell"),
                counted(self.names.len(), "column")
            ));
        }
        let cells = self.names.iter().map(String::as_str).zip(cells);
        Ok(cells.filter(|(_, cell)| !cell.is_empty()))
    }

    /// Returns whether a record is a blank line.
    pub(crate) fn is_blank(&self, record: &[u8]) -> bool {
        self.names.len() > 1 && record.iter().all(u8::is_ascii_whitespace)
    }
}

/// Splits a record into its cells.
fn split(record: &[u8]) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        // The line ends of the record are those within quotes.
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(record);
    let mut cells = csv::StringRecord::new();
    match reader.read_record(&mut cells) {
        Ok(_) => Ok(cells.iter().map(str::to_owned).collect()),
        Err(error) => Err(format!("it is not valid CSV: {error}")),
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
        Self { is_quoted: false, can_open: true }
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
            let again =
                RecordReader::new(rest.as_bytes(), format, position).read(&mut Vec::new()).unwrap();
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
        let expected =
            [(1, "a,b"), (2, "\"one\n\"\"two\"\"\n\",x"), (5, "5\" wide,y"), (7, "\"\",z")];
        let expected: Vec<_> = expected.map(|(line, text)| (line, text.to_owned())).into();
        assert_eq!(records(text, RecordFormat::Csv), expected);
    }
}
