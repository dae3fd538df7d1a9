//! Properties of CSV files, whatever their cells contain.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::tests::parse_csv;

const COLUMNS: [&str; 3] = ["instruction", "größe, \"m\"", "two\nlines"];

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\\[\\]{}\",;\t\r\n' a-cäß€😀]{0,12}", Just(String::new())]
}

/// Returns the fields of an item with these cells, of which the columns after the first are of `input`.
fn fields(cells: &[String]) -> Map<String, Value> {
    let named = COLUMNS.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    let mut input: Map<_, _> =
        named.map(|(name, cell)| ((*name).to_owned(), cell.clone().into())).collect();
    let mut fields = Map::new();
    fields.extend(input.remove(COLUMNS[0]).map(|text| (COLUMNS[0].to_owned(), text)));
    if !input.is_empty() {
        fields.insert("input".to_owned(), input.into());
    }
    fields
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn items_are_read_back_with_their_lines(
        rows in vec(vec(cell(), COLUMNS.len()), 0..6),
        is_crlf: bool,
        is_quoted: bool,
        has_byte_order_mark: bool,
    ) {
        let terminator = if is_crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let style = if is_quoted { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
        let mut writer = csv::WriterBuilder::new();
        let mut writer = writer.terminator(terminator).quote_style(style).from_writer(Vec::new());
        writer.write_record(COLUMNS).unwrap();
        let mut lines = Vec::new();
        for row in &rows {
            writer.flush().unwrap();
            let breaks = writer.get_ref().iter().filter(|byte| **byte == b'\n').count();
            lines.push(format!("line {}", breaks + 1));
            writer.write_record(row).unwrap();
        }
        let mut file = writer.into_inner().unwrap();
        if has_byte_order_mark {
            file.splice(0..0, "\u{feff}".bytes());
        }
        let items = parse_csv(&file).map_err(|failure| TestCaseError::fail(failure.headline()))?;
        let (found, locations): (Vec<_>, Vec<_>) =
            items.into_iter().map(|item| (item.fields, item.location)).unzip();
        prop_assert_eq!(found, rows.iter().map(|row| fields(row)).collect::<Vec<_>>());
        prop_assert_eq!(locations, lines);
    }

    #[test]
    fn any_file_is_read_or_an_error(file in vec(any::<u8>(), 0..200), text in "[a-c,;\"\r\n\\[{}\t ]{0,60}") {
        let _ = parse_csv(&file);
        let _ = parse_csv(text.as_bytes());
    }
}
