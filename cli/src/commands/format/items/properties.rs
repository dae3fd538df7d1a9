//! Properties of CSV files, whatever their cells contain.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use serde_json::{Map, Value};
use svc_sdk::types::Usd;

use super::{BulkItem, CAP_COLUMN, JSON_COLUMNS, TEXT_COLUMNS, parse_csv};

/// A column, and how a value of it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PropertyColumn {
    Text(usize),
    Json(usize),
    Cap,
    /// A field of the item's `input`.
    Input(usize),
}

const INPUT_COLUMNS: [&str; 4] = ["city", "Tag Line", "größe, \"m\"", "two\nlines"];

impl PropertyColumn {
    const fn name(self) -> &'static str {
        match self {
            Self::Text(index) => TEXT_COLUMNS[index],
            Self::Json(index) => JSON_COLUMNS[index],
            Self::Cap => CAP_COLUMN,
            Self::Input(index) => INPUT_COLUMNS[index],
        }
    }
}

/// The texts that the cells of a row may have, of which each column takes its own.
#[derive(Clone, Debug)]
struct PropertyRow {
    texts: Vec<String>,
    json: Vec<Value>,
    cap_micros: Option<i64>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\\[\\]{}\",;\t\r\n' a-cäß€😀]{0,12}", Just(String::new()),]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![any::<i64>().prop_map(Value::from), text().prop_map(Value::from)];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(text(), inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn row() -> impl Strategy<Value = PropertyRow> {
    let cap_micros = proptest::option::of(0..=500_000_000_i64);
    (vec(text(), 9), vec(json(), 3), cap_micros).prop_map(|(texts, json, cap_micros)| PropertyRow {
        texts,
        json,
        cap_micros,
    })
}

fn columns() -> impl Strategy<Value = Vec<PropertyColumn>> {
    let column = prop_oneof![
        (0..TEXT_COLUMNS.len()).prop_map(PropertyColumn::Text),
        // `input` is the last one, and would be merged with the fields of `input`.
        (0..JSON_COLUMNS.len() - 1).prop_map(PropertyColumn::Json),
        Just(PropertyColumn::Cap),
        (0..INPUT_COLUMNS.len()).prop_map(PropertyColumn::Input),
    ];
    btree_set(column, 1..8)
        .prop_map(|columns| columns.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

impl PropertyRow {
    fn cell(&self, column: PropertyColumn) -> String {
        match column {
            PropertyColumn::Text(index) => self.texts[index].clone(),
            PropertyColumn::Input(index) => self.texts[TEXT_COLUMNS.len() + index].clone(),
            PropertyColumn::Json(index) => self.json[index].to_string(),
            PropertyColumn::Cap => self
                .cap_micros
                .map_or_else(String::new, |micros| Usd::from_micros(micros).to_string()),
        }
    }

    fn fields(&self, columns: &[PropertyColumn]) -> Map<String, Value> {
        let (mut fields, mut input) = (Map::new(), Map::new());
        for column in columns {
            let (name, cell) = (column.name().to_owned(), self.cell(*column));
            match column {
                _ if cell.is_empty() => {}
                PropertyColumn::Text(_) => drop(fields.insert(name, cell.into())),
                PropertyColumn::Json(index) => drop(fields.insert(name, self.json[*index].clone())),
                PropertyColumn::Cap => drop(fields.insert(name, self.cap_micros.into())),
                PropertyColumn::Input(_) => drop(input.insert(name, cell.into())),
            }
        }
        if !input.is_empty() {
            fields.insert("input".to_owned(), input.into());
        }
        fields
    }
}

/// Writes a file, and returns it with the line that each record begins on.
fn write(
    columns: &[PropertyColumn],
    rows: &[PropertyRow],
    terminator: csv::Terminator,
    is_quoted: bool,
    blank_lines: &[usize],
) -> (Vec<u8>, Vec<usize>) {
    let newline = match terminator {
        csv::Terminator::CRLF => "\r\n",
        _ => "\n",
    };
    let style = match is_quoted {
        true => csv::QuoteStyle::Always,
        false => csv::QuoteStyle::Necessary,
    };
    let header = columns.iter().map(|it| it.name().to_owned()).collect();
    let cells = |row: &PropertyRow| columns.iter().map(|it| row.cell(*it)).collect();
    let records = [header].into_iter().chain(rows.iter().map(cells));
    let (mut file, mut lines) = (Vec::new(), Vec::new());
    for (number, record) in records.enumerate() {
        let record: Vec<String> = record;
        let blank_lines = blank_lines.get(number).copied().unwrap_or(0);
        file.extend(newline.repeat(blank_lines).into_bytes());
        lines.push(1 + file.iter().filter(|byte| **byte == b'\n').count());
        let mut writer = csv::WriterBuilder::new()
            .terminator(terminator)
            .quote_style(style)
            .from_writer(&mut file);
        writer.write_record(&record).unwrap();
        writer.flush().unwrap();
    }
    (file, lines.split_off(1))
}

fn line_terminator() -> impl Strategy<Value = csv::Terminator> {
    prop_oneof![Just(csv::Terminator::CRLF), Just(csv::Terminator::Any(b'\n'))]
}

/// Replaces the exact JSON number of a cap by its micros, which can be compared.
fn with_cap_in_micros(item: &BulkItem) -> Map<String, Value> {
    let mut fields = item.fields.clone();
    if let Some(cap) = fields.get_mut(CAP_COLUMN) {
        let amount: Usd = serde_json::from_value(cap.take()).unwrap();
        *cap = amount.as_micros().into();
    }
    fields
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn items_are_read_back_with_their_lines(
        columns in columns(),
        rows in vec(row(), 0..6),
        terminator in line_terminator(),
        is_quoted: bool,
        blank_lines in vec(0..3_usize, 0..6),
        has_byte_order_mark: bool,
    ) {
        let (mut file, lines) = write(&columns, &rows, terminator, is_quoted, &blank_lines);
        if has_byte_order_mark {
            file.splice(0..0, "\u{feff}".bytes());
        }
        let items = parse_csv(&file).map_err(|failure| TestCaseError::fail(failure.headline().to_owned()))?;
        let found: Vec<_> = items.iter().map(with_cap_in_micros).collect();
        let expected: Vec<_> = rows.iter().map(|row| row.fields(&columns)).collect();
        prop_assert_eq!(found, expected);
        let found: Vec<_> = items.into_iter().map(|item| item.location).collect();
        let expected: Vec<_> = lines.iter().map(|line| format!("line {line}")).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn an_invalid_cell_is_an_error_that_names_its_line(
        columns in columns(),
        rows in vec(row(), 1..6),
        index: prop::sample::Index,
        column in prop_oneof![(0..JSON_COLUMNS.len() - 1).prop_map(PropertyColumn::Json), Just(PropertyColumn::Cap)],
        terminator in line_terminator(),
        blank_lines in vec(0..3_usize, 0..6),
    ) {
        let mut columns = columns;
        columns.retain(|it| !matches!(it, PropertyColumn::Json(_) | PropertyColumn::Cap));
        if columns.is_empty() {
            columns.push(PropertyColumn::Text(0));
        }
        let (file, lines) = write(&columns, &rows, terminator, true, &blank_lines);
        // A column is added whose cells are empty in all rows but one.
        let bad = lines[index.index(lines.len())];
        let file = add_column(&file, &lines, column.name(), bad);
        let failure = parse_csv(file.as_bytes()).unwrap_err();
        let expected = format!("line {bad}, {}", column.name());
        prop_assert!(failure.headline().contains(&expected), "{} {:?}", failure.headline(), file);
    }

    #[test]
    fn a_missing_cell_is_an_error_that_names_its_line(
        rows in vec(row(), 1..6),
        terminator in line_terminator(),
        blank_lines in vec(0..3_usize, 0..6),
    ) {
        let columns = [PropertyColumn::Text(0), PropertyColumn::Input(0)];
        let (mut file, _) = write(&columns, &rows, terminator, false, &blank_lines);
        let line = 1 + file.iter().filter(|byte| **byte == b'\n').count();
        file.extend(b"alone\n");
        let failure = parse_csv(&file).unwrap_err();
        let expected = format!("line {line}: it has 1 cell, but the header has 2 columns");
        prop_assert!(failure.headline().contains(&expected), "{}", failure.headline());
    }

    #[test]
    fn an_unterminated_cell_is_an_error_that_names_its_line(
        rows in vec(row(), 0..6),
        terminator in line_terminator(),
        rest in "([a-c,\r\n]|\"\"){0,20}",
    ) {
        let (mut file, _) = write(&[PropertyColumn::Text(0)], &rows, terminator, false, &[]);
        let line = 1 + file.iter().filter(|byte| **byte == b'\n').count();
        file.extend(format!("\"{rest}").bytes());
        let failure = parse_csv(&file).unwrap_err();
        let expected = format!("line {line} has a quote that is not closed");
        prop_assert!(failure.headline().contains(&expected), "{}", failure.headline());
    }

    #[test]
    fn any_file_is_read_or_an_error(file in vec(any::<u8>(), 0..200), text in "[a-c,;\"\r\n\\[{}\t ]{0,60}") {
        let _ = parse_csv(&file);
        let _ = parse_csv(text.as_bytes());
    }
}

/// Adds a column in front, with an invalid cell in the record that begins on a line.
fn add_column(file: &[u8], lines: &[usize], name: &str, bad_line: usize) -> String {
    let text = std::str::from_utf8(file).unwrap();
    let mut is_header_written = false;
    let mut result = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        if lines.contains(&number) {
            result.push_str(if number == bad_line { "{x," } else { "," });
        } else if !is_header_written && !line.trim().is_empty() {
            is_header_written = true;
            result.push_str(&format!("{name},"));
        }
        result.push_str(line);
    }
    result
}
