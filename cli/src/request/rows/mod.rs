//! Rows of spreadsheets and JSONL files, read without more than one in memory.

mod columns;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{Failure, Result};

pub(crate) use self::columns::{Columns, Fields};

/// The maximum length of a record. The service accepts bodies of at most 4 MiB.
const MAX_RECORD_BYTES: u64 = 16 * 1024 * 1024;

/// The first bytes of a file that says that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How files of spreadsheet programs begin: archives (.xlsx, .ods, .numbers), and the older .xls.
const SPREADSHEETS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];

/// The format of a file with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    Jsonl,
    /// Values that are separated by that byte. A quoted field may contain line breaks.
    Csv {
        separator: u8,
    },
}

const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// The length of the beginning of a file by which its format is recognized.
const BEGINNING: u64 = 64 * 1024;

/// A file with rows, as UTF-8 text that can be read more than once.
#[derive(Debug)]
pub(crate) struct RowFile {
    pub(crate) file: File,
    pub(crate) format: RecordFormat,
}

impl RowFile {
    /// Opens a file or standard input. What separates columns, and UTF-16, is recognized.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let unreadable =
            |error: io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()));
        let is_stdin = path == Path::new("-");
        let mut file = if is_stdin { copy_of(&mut io::stdin().lock()) } else { File::open(path) }
            .map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(Failure::usage(format!(
                "{} is not a regular file: rows are read more than once",
                path.display()
            )));
        }
        let mut beginning = beginning_of(&mut file).map_err(unreadable)?;
        if SPREADSHEETS.iter().any(|start| beginning.starts_with(start)) {
            let why = format!("{} is a spreadsheet file, and not text", path.display());
            return Err(Failure::usage(why).hint("export it as CSV"));
        }
        if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = beginning.as_slice() {
            file = utf8_copy_of(&mut file).map_err(unreadable)?;
            beginning = beginning_of(&mut file).map_err(unreadable)?;
        }
        let extension = path.extension().map(OsStr::to_ascii_lowercase);
        let text = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&beginning);
        let is_json = text.trim_ascii_start().first().is_none_or(|byte| b"{[".contains(byte));
        let is_csv = match extension.as_deref().and_then(|it| it.to_str()) {
            Some("csv" | "tsv" | "tab") => true,
            Some("jsonl" | "ndjson" | "json") => false,
            None if is_stdin => !is_json,
            _ if is_json => false,
            _ => {
                let why = format!("{} has neither rows nor lines of JSON", path.display());
                return Err(Failure::usage(why)
                    .hint("save it as CSV, with a name that ends in .csv or .tsv"));
            }
        };
        let format = match is_csv {
            true => RecordFormat::Csv { separator: separator_of(&beginning) },
            false => RecordFormat::Jsonl,
        };
        Ok(Self { file, format })
    }

    pub(crate) fn records(
        &self,
        start: RecordPosition,
    ) -> io::Result<RecordReader<BufReader<&File>>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start.offset))?;
        Ok(RecordReader::new(BufReader::new(file), self.format, start))
    }
}

fn beginning_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning)?;
    file.rewind()?;
    Ok(beginning)
}

/// Copies what cannot be read again to a file that has no name.
fn copy_of(input: &mut dyn Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(input, &mut file)?;
    file.rewind()?;
    Ok(file)
}

/// Converts a UTF-16 file, whose first character says in which order its bytes are.
fn utf8_copy_of(file: &mut File) -> io::Result<File> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let is_little = bytes.first() == Some(&0xff);
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| match is_little {
        true => u16::from_le_bytes(*pair),
        false => u16::from_be_bytes(*pair),
    });
    let text = char::decode_utf16(units.skip(1)).collect::<Result<String, _>>();
    match text {
        Ok(text) if rest.is_empty() => copy_of(&mut text.as_bytes()),
        _ => Err(invalid_data("it is not valid UTF-16")),
    }
}

/// Returns what separates the columns: what is most frequent in the first line, outside of quotes.
fn separator_of(beginning: &[u8]) -> u8 {
    let mut lines = beginning.split(|byte| *byte == b'\n');
    let header = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let mut counts = [0_usize; SEPARATORS.len()];
    let mut is_quoted = false;
    for byte in header {
        is_quoted ^= *byte == b'"';
        for (count, separator) in counts.iter_mut().zip(SEPARATORS) {
            *count += usize::from(*byte == separator && !is_quoted);
        }
    }
    let most = counts.iter().max().copied().unwrap_or_default();
    let separators = counts.iter().zip(SEPARATORS);
    let mut found = separators.filter(|(count, _)| **count == most).map(|(_, it)| it);
    found.next().unwrap_or(b',')
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordPosition {
    pub(crate) offset: u64,
    /// The number of the first line, counted from 1.
    pub(crate) line: u32,
}

impl RecordPosition {
    pub(crate) const START: Self = Self { offset: 0, line: 1 };
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
    pub(crate) fn new(input: R, format: RecordFormat, start: RecordPosition) -> Self {
        Self { input, format, offset: start.offset, line: start.line }
    }

    /// Reads a record without the line break at its end. Returns `None` at the end of the input.
    pub(crate) fn read(&mut self, record: &mut Vec<u8>) -> io::Result<Option<RecordPosition>> {
        loop {
            let position = RecordPosition { offset: self.offset, line: self.line };
            record.clear();
            let mut quotes = match self.format {
                RecordFormat::Csv { separator } => Some(QuoteState::new(separator)),
                RecordFormat::Jsonl => None,
            };
            let mut is_open = false;
            loop {
                let start = record.len();
                let length = self.read_line(record)?;
                if length == 0 {
                    if is_open {
                        let line = position.line;
                        let why = "has a quote that is not closed";
                        return Err(invalid_data(&format!("the record in line {line} {why}")));
                    }
                    break;
                }
                if self.offset == length && record.starts_with(BYTE_ORDER_MARK) {
                    record.drain(..BYTE_ORDER_MARK.len());
                }
                let added = record.get(start..).unwrap_or_default();
                is_open = quotes.as_mut().is_some_and(|quotes| quotes.scan(added));
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
            // A cell of a single column may consist of spaces.
            let is_blank = match self.format {
                RecordFormat::Jsonl => record.iter().all(u8::is_ascii_whitespace),
                RecordFormat::Csv { .. } => record.is_empty(),
            };
            if !is_blank {
                check_text(record, position)?;
                return Ok(Some(position));
            }
        }
    }

    fn read_line(&mut self, record: &mut Vec<u8>) -> io::Result<u64> {
        let room = MAX_RECORD_BYTES.saturating_sub(record.len() as u64);
        let mut limited = self.input.by_ref().take(room);
        let length = limited.read_until(b'\n', record)? as u64;
        if length > 0 && limited.limit() == 0 {
            return Err(invalid_data(&format!("line {} is longer than 16 MiB", self.line)));
        }
        self.offset += length;
        self.line = self.line.saturating_add(1);
        Ok(length)
    }
}

fn check_text(record: &[u8], position: RecordPosition) -> io::Result<()> {
    let Err(error) = std::str::from_utf8(record) else { return Ok(()) };
    let breaks = record.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count();
    let line = position.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
    Err(invalid_data(&format!("line {line} is not UTF-8 text: save the file as UTF-8")))
}

fn invalid_data(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn split(record: &[u8], separator: u8) -> Result<Vec<String>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(separator)
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
    separator: u8,
    is_quoted: bool,
    /// Whether a quote opens or continues a quoted field here. In an unquoted field it is text.
    can_open: bool,
}

impl QuoteState {
    const fn new(separator: u8) -> Self {
        Self { separator, is_quoted: false, can_open: true }
    }

    /// Scans text, and returns whether it ends within a quoted field.
    fn scan(&mut self, text: &[u8]) -> bool {
        for byte in text {
            (self.is_quoted, self.can_open) = match (byte, self.is_quoted) {
                (b'"', true) => (false, true),
                (_, true) => (true, false),
                (b'"', false) => (self.can_open, false),
                (byte, false) => (false, *byte == self.separator || *byte == b'\n'),
            };
        }
        self.is_quoted
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn utf_16_is_converted_and_other_encodings_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.csv");
        let start = RecordPosition::START;
        let mut record = Vec::new();
        let text = "\u{feff}a;\u{1f98a}\n";
        for bytes in [
            text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        ] {
            std::fs::write(&path, &bytes).unwrap();
            let rows = RowFile::open(&path).unwrap();
            rows.records(start).unwrap().read(&mut record).unwrap();
            assert_eq!(std::str::from_utf8(&record).unwrap(), "a;\u{1f98a}");
            std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
            assert!(RowFile::open(&path).unwrap_err().headline().contains("not valid UTF-16"));
        }
        std::fs::write(&path, b"a\nna\xefve\n").unwrap();
        let rows = RowFile::open(&path).unwrap();
        let mut records = rows.records(start).unwrap();
        records.read(&mut record).unwrap();
        let error = records.read(&mut record).unwrap_err().to_string();
        assert_eq!(error, "line 2 is not UTF-8 text: save the file as UTF-8");
    }

    const NAMES: [&str; 3] = ["instruction", "größe, \"m\"", "two\nlines"];

    /// The line of a record, and its cells with their columns.
    type Row = (u32, Vec<(String, String)>);

    fn read(file: &[u8]) -> Result<Vec<Row>, String> {
        let format = RecordFormat::Csv { separator: b',' };
        let mut reader = RecordReader::new(file, format, RecordPosition::START);
        let (mut record, mut columns, mut rows) = (Vec::new(), None, Vec::new());
        while let Some(position) = reader.read(&mut record).map_err(|error| error.to_string())? {
            match &columns {
                None => columns = Some(Columns::parse(&record, b',', &[])?),
                Some(columns) => {
                    let cells = columns.cells(&record)?.into_iter();
                    let cells = cells.map(|(name, cell)| (name.to_owned(), cell));
                    rows.push((position.line, cells.collect()));
                }
            }
        }
        Ok(rows)
    }

    fn cell() -> impl Strategy<Value = String> {
        prop_oneof![any::<String>(), "[\\[\\]{}\",;\t\r\n' a-cäß€😀]{0,12}", Just(String::new())]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn rows_are_read_back_with_their_lines(
            rows in vec(vec(cell(), NAMES.len()), 0..6),
            is_crlf: bool,
            is_quoted: bool,
            has_byte_order_mark: bool,
        ) {
            let terminator = if is_crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
            let style = if is_quoted { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
            let mut writer = csv::WriterBuilder::new();
            let mut writer = writer.terminator(terminator).quote_style(style).from_writer(Vec::new());
            writer.write_record(NAMES).unwrap();
            let mut expected = Vec::new();
            for row in &rows {
                writer.flush().unwrap();
                let breaks = writer.get_ref().iter().filter(|byte| **byte == b'\n').count();
                writer.write_record(row).unwrap();
                let cells = NAMES.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
                let cells = cells.map(|(name, cell)| ((*name).to_owned(), cell.clone()));
                expected.push((u32::try_from(breaks + 1).unwrap(), cells.collect()));
            }
            let mut file = writer.into_inner().unwrap();
            if has_byte_order_mark {
                file.splice(0..0, "\u{feff}".bytes());
            }
            prop_assert_eq!(read(&file).map_err(TestCaseError::fail)?, expected);
        }

        #[test]
        fn any_file_is_read_or_an_error(file in vec(any::<u8>(), 0..200), text in "[a-c,;\"\r\n\\[{}\t ]{0,60}") {
            let _ = read(&file);
            let _ = read(text.as_bytes());
        }
    }
}
