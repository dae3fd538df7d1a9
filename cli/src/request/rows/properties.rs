//! Properties of CSV files, whatever their cells contain.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Columns, RecordFormat, RecordPosition, RecordReader};

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
