//! The items of a bulk queue, read from a file.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use crate::args::parse_usd;
use crate::error::Failure;
use crate::input::read_file;
use crate::request_body::run::usd_number;
use crate::text::json_error;

/// CSV columns that are text fields of a run.
const TEXT_COLUMNS: [&str; 5] = [
    "instruction",
    "previous_run_id",
    "model",
    "webhook_url",
    "on_active_run",
];
/// CSV columns that are JSON fields of a run.
const JSON_COLUMNS: [&str; 4] = ["output_schema", "response_format", "attachments", "input"];
/// The CSV column that is an amount in dollars.
const CAP_COLUMN: &str = "generation_spend_cap_usd";

/// An item, and its location in the file.
#[derive(Debug, PartialEq)]
pub(super) struct BulkItem {
    /// The location, such as `line 3`.
    pub(super) location: String,
    pub(super) fields: Map<String, Value>,
}

/// Reads a file, and returns the fields of the body other than the items, and the items.
pub(super) fn read(path: &Path) -> Result<(Map<String, Value>, Vec<BulkItem>), Failure> {
    let bytes = read_file("--input", path)?;
    let extension = path
        .extension()
        .map(|it| it.to_string_lossy().to_lowercase());
    let items = match extension.as_deref() {
        Some("json") => return json_body(&bytes),
        Some("csv") => parse_csv(&bytes)?,
        Some("jsonl" | "ndjson") => parse_jsonl(&bytes)?,
        None if path == Path::new("-") => parse_jsonl(&bytes)?,
        _ => {
            let why = format!("unknown file type of --input {}", path.display());
            return Err(
                Failure::usage(why).hint("use a file name that ends in .jsonl, .csv or .json")
            );
        }
    };
    Ok((Map::new(), items))
}

fn json_body(bytes: &[u8]) -> Result<(Map<String, Value>, Vec<BulkItem>), Failure> {
    let body = serde_json::from_slice(bytes).map_err(|error| {
        let why = json_error(&error);
        Failure::usage(format!("--input is not valid JSON: {why}"))
    })?;
    let Value::Object(mut body) = body else {
        return Err(Failure::usage(
            "invalid --input: expected a JSON object with an array `items`",
        ));
    };
    let Some(items) = body.remove("items").filter(Value::is_array) else {
        return Err(Failure::usage("invalid --input: expected an array `items`"));
    };
    Ok((body, from_json(&items)?))
}

/// Returns the items in a JSON array.
pub(super) fn from_json(items: &Value) -> Result<Vec<BulkItem>, Failure> {
    let Value::Array(items) = items else {
        return Err(Failure::usage("invalid items: expected a JSON array"));
    };
    let items = items.iter().enumerate().map(|(index, item)| {
        let location = format!("items[{index}]");
        match item {
            Value::Object(fields) => Ok(BulkItem {
                location,
                fields: fields.clone(),
            }),
            _ => Err(Failure::usage(format!(
                "invalid {location}: expected a JSON object"
            ))),
        }
    });
    items.collect()
}

fn parse_jsonl(bytes: &[u8]) -> Result<Vec<BulkItem>, Failure> {
    let mut items = Vec::new();
    for (index, line) in decode_utf8(bytes)?.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let location = format!("line {}", index + 1);
        match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => items.push(BulkItem { location, fields }),
            Ok(_) => {
                return Err(Failure::usage(format!(
                    "--input, {location}: expected a JSON object"
                )));
            }
            Err(error) => {
                return Err(Failure::usage(format!(
                    "--input, {location}: invalid JSON: {}",
                    json_error(&error)
                )));
            }
        }
    }
    Ok(items)
}

fn parse_csv(bytes: &[u8]) -> Result<Vec<BulkItem>, Failure> {
    let csv_failure =
        |error: csv::Error| Failure::usage(format!("--input is not valid CSV: {error}"));
    let text = decode_utf8(bytes)?;
    if let Some(line) = unterminated_cell(text) {
        return Err(Failure::usage(format!(
            "--input, line {line}: unterminated cell: expected a closing quote"
        )));
    }
    let mut lines = LineCounter::new(text);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .map_err(csv_failure)?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    if let [name] = header.as_slice()
        && let Some(mark) = name.chars().find(|it| matches!(it, ';' | '\t'))
    {
        return Err(Failure::usage(format!(
            "invalid CSV in --input: columns are separated by {mark:?}, expected commas"
        ))
        .hint("separate the columns with commas, or use .jsonl"));
    }
    let mut seen = HashSet::new();
    for name in &header {
        if name.is_empty() {
            return Err(Failure::usage(
                "invalid CSV in --input: a column has an empty name",
            ));
        }
        if !seen.insert(name) {
            return Err(Failure::usage(format!(
                "invalid CSV in --input: duplicate column `{name}`"
            )));
        }
    }
    let mut items = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| match error.kind() {
            csv::ErrorKind::UnequalLengths {
                pos,
                expected_len,
                len,
            } => Failure::usage(format!(
                "--input, line {}: invalid number of cells {len}: expected {expected_len}, as in the header",
                lines.line_of(pos.as_ref())
            )),
            _ => csv_failure(error),
        })?;
        let location = format!("line {}", lines.line_of(record.position()));
        let mut fields = Map::new();
        let mut input = Map::new();
        for (name, cell) in header.iter().zip(&record) {
            if cell.is_empty() {
                continue;
            }
            let failure = |why: &str| Failure::usage(format!("--input, {location}, {name}: {why}"));
            if TEXT_COLUMNS.contains(&name.as_str()) {
                fields.insert(name.clone(), cell.into());
            } else if name == CAP_COLUMN {
                let cap = parse_usd(cell.trim()).map_err(|message| failure(&message))?;
                fields.insert(name.clone(), usd_number(cap));
            } else if JSON_COLUMNS.contains(&name.as_str()) {
                let json = serde_json::from_str(cell);
                let json = json
                    .map_err(|error| failure(&format!("invalid JSON: {}", json_error(&error))))?;
                fields.insert(name.clone(), json);
            } else {
                input.insert(name.clone(), cell.into());
            }
        }
        if !input.is_empty() {
            let whole = fields.entry("input").or_insert_with(|| Map::new().into());
            let Some(whole) = whole.as_object_mut() else {
                return Err(Failure::usage(format!(
                    "--input, {location}, input: expected a JSON object"
                )));
            };
            whole.extend(input);
        }
        items.push(BulkItem { location, fields });
    }
    Ok(items)
}

/// Returns the line on which a quoted cell begins that does not end, and would contain the rest of
/// the file.
fn unterminated_cell(text: &str) -> Option<usize> {
    enum ScanState {
        CellStart,
        Unquoted,
        Quoted { line: usize },
        AfterQuote { line: usize },
    }

    let mut state = ScanState::CellStart;
    let mut line = 1;
    for byte in text.bytes() {
        state = match (state, byte) {
            (ScanState::CellStart, b'"') => ScanState::Quoted { line },
            (ScanState::Quoted { line }, b'"') => ScanState::AfterQuote { line },
            (ScanState::AfterQuote { line }, b'"') | (ScanState::Quoted { line }, _) => {
                ScanState::Quoted { line }
            }
            (_, b',' | b'\r' | b'\n') => ScanState::CellStart,
            _ => ScanState::Unquoted,
        };
        line += usize::from(byte == b'\n');
    }
    match state {
        ScanState::Quoted { line } => Some(line),
        _ => None,
    }
}

/// The line on which each record begins, counted forward through the file.
///
/// The positions of the `csv` crate are those at which it begins to read a record, before blank
/// lines and before the second half of the line ending `\r\n`.
struct LineCounter<'t> {
    rest: &'t str,
    position: usize,
    line: usize,
}

impl<'t> LineCounter<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            rest: text,
            position: 0,
            line: 1,
        }
    }

    fn line_of(&mut self, position: Option<&csv::Position>) -> usize {
        let position = position.and_then(|it| usize::try_from(it.byte()).ok());
        let skipped = position.unwrap_or_default().saturating_sub(self.position);
        let is_line_ending = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let record = self.rest.as_bytes().iter().skip(skipped);
        let length = skipped + record.take_while(|byte| is_line_ending(byte)).count();
        let (before, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.line += before.matches('\n').count();
        self.position += length;
        self.rest = rest;
        self.line
    }
}

/// Decodes the text, without a byte order mark.
fn decode_utf8(bytes: &[u8]) -> Result<&str, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.iter().take(error.valid_up_to());
        let line = 1 + valid.filter(|byte| **byte == b'\n').count();
        Failure::usage(format!("--input, line {line}: invalid UTF-8: {error}"))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(items: &[BulkItem]) -> Value {
        items
            .iter()
            .map(|it| Value::Object(it.fields.clone()))
            .collect()
    }

    #[test]
    fn csv_columns_become_run_fields_or_input_fields() {
        let text = "\u{feff}instruction,city,Tag Line,generation_spend_cap_usd,output_schema,input\n\
                    \"Say \"\"hi\"\",\nthen go\",Lisbon,,1.50,\"{\"\"type\"\":\"\"object\"\"}\",\"{\"\"n\"\":1}\"\n\
                    ,Oslo,\"a, b\",,,\n";
        let items = parse_csv(text.as_bytes()).unwrap();
        assert_eq!(
            fields(&items),
            json!([
                {
                    "instruction": "Say \"hi\",\nthen go", "generation_spend_cap_usd": 1.5,
                    "output_schema": {"type": "object"}, "input": {"n": 1, "city": "Lisbon"}
                },
                {"input": {"city": "Oslo", "Tag Line": "a, b"}}
            ])
        );
        assert_eq!(items[1].location, "line 4");
    }

    #[test]
    fn lines_of_a_csv_file_are_counted_as_in_an_editor() {
        for (text, lines) in [
            ("a\n1\n2\n", [2, 3]),
            ("a\r\n1\r\n2\r\n", [2, 3]),
            ("\n\na\n\n\n1\n\n2", [6, 8]),
            ("\r\na\r\n\r\n\"1\r\n1\"\r\n\r\n2", [4, 7]),
        ] {
            let items = parse_csv(text.as_bytes()).unwrap();
            let found: Vec<_> = items.iter().map(|it| it.location.as_str()).collect();
            assert_eq!(found, lines.map(|line| format!("line {line}")), "{text:?}");
        }
    }

    #[test]
    fn jsonl_skips_blank_lines() {
        let items =
            parse_jsonl(b"{\"instruction\": \"a\"}\n\n{\"input\": {\"n\": 1}}\r\n").unwrap();
        assert_eq!(
            fields(&items),
            json!([{"instruction": "a"}, {"input": {"n": 1}}])
        );
        assert_eq!(items[1].location, "line 3");
    }

    #[test]
    fn json_body_keeps_its_other_fields() {
        let (other_fields, items) =
            json_body(br#"{"items": [{"instruction": "a"}], "concurrency": 2}"#).unwrap();
        assert_eq!(Value::Object(other_fields), json!({"concurrency": 2}));
        assert_eq!(items.len(), 1);
    }

    #[test]
    fn errors_name_the_location() {
        let rows = [
            (parse_jsonl(b"{}\n[1]"), "line 2"),
            (parse_jsonl(b"{}\n{\"a\":"), "line 2"),
            (parse_jsonl(b"{}\n\xff"), "line 2: invalid UTF-8"),
            (parse_csv(b"a;b\n1;2\n"), "separated by ';'"),
            (parse_csv(b"a,a\n1,2\n"), "duplicate column `a`"),
            (parse_csv(b"a,\n1,2\n"), "empty name"),
            (
                parse_csv(b"a,b\n1\n"),
                "line 2: invalid number of cells 1: expected 2",
            ),
            (
                parse_csv(b"a,b\r\n1,2\r\n\r\n1\r\n"),
                "line 4: invalid number of cells 1",
            ),
            (
                parse_csv(b"a\n\"1\n1\"\n\"2\n3\n"),
                "line 4: unterminated cell",
            ),
            (
                parse_csv(b"a\n1\"\n\"\"\"\n\n"),
                "line 3: unterminated cell",
            ),
            (
                parse_csv(b"attachments\n\n[]\n\n[\n"),
                "line 5, attachments",
            ),
            (
                parse_csv(b"generation_spend_cap_usd\nmuch\n"),
                "line 2, generation_spend_cap_usd",
            ),
            (parse_csv(b"attachments\n[\n"), "line 2, attachments"),
            (
                parse_csv(b"input,a\n[],1\n"),
                "input: expected a JSON object",
            ),
            (json_body(b"[]").map(|it| it.1), "array `items`"),
            (json_body(br#"{"items": [1]}"#).map(|it| it.1), "items[0]"),
            (read(Path::new("/dev/null")).map(|it| it.1), ".jsonl, .csv"),
        ];
        for (read, expected) in rows {
            let failure = read.unwrap_err();
            let text = format!("{} {:?}", failure.headline(), failure.detail_lines());
            assert!(text.contains(expected), "{text}");
        }
    }
}
