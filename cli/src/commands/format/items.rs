//! The items of a bulk queue, read from a file.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use crate::args::parse_usd;
use crate::error::Failure;
use crate::input::read_file;
use crate::request_body::run::usd_number;
use crate::rows::{Header, RecordFormat, RecordPosition, RecordReader};
use crate::text::json_error;

/// CSV columns that are text fields of a run.
const TEXT_COLUMNS: [&str; 5] =
    ["instruction", "previous_run_id", "model", "webhook_url", "on_active_run"];
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
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
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
            Value::Object(fields) => Ok(BulkItem { location, fields: fields.clone() }),
            _ => Err(Failure::usage(format!("invalid {location}: expected a JSON object"))),
        }
    });
    items.collect()
}

/// Calls a function with each record of a file and the number of its first line.
fn for_each_record(
    bytes: &[u8],
    format: RecordFormat,
    mut visit: impl FnMut(u32, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let start = RecordPosition { offset: 0, line: 1 };
    let mut reader = RecordReader::new(bytes, format, start);
    let mut record = Vec::new();
    let failure = |error: io::Error| Failure::usage(format!("--input: {error}"));
    while let Some(position) = reader.read(&mut record).map_err(failure)? {
        if let Err(error) = std::str::from_utf8(&record) {
            let valid = record.iter().take(error.valid_up_to());
            let line = valid.filter(|byte| **byte == b'\n').count();
            let line = line + usize::try_from(position.line).unwrap_or_default();
            let why = format!("--input, line {line}: invalid UTF-8: {error}");
            return Err(Failure::usage(why));
        }
        visit(position.line, &record)?;
    }
    Ok(())
}

fn parse_jsonl(bytes: &[u8]) -> Result<Vec<BulkItem>, Failure> {
    let mut items = Vec::new();
    for_each_record(bytes, RecordFormat::Jsonl, |line, record| {
        let location = format!("line {line}");
        let why = match serde_json::from_slice(record) {
            Ok(Value::Object(fields)) => {
                items.push(BulkItem { location, fields });
                return Ok(());
            }
            Ok(_) => "expected a JSON object".to_owned(),
            Err(error) => format!("invalid JSON: {}", json_error(&error)),
        };
        Err(Failure::usage(format!("--input, {location}: {why}")))
    })?;
    Ok(items)
}

fn parse_csv(bytes: &[u8]) -> Result<Vec<BulkItem>, Failure> {
    let mut items = Vec::new();
    let mut header = None;
    for_each_record(bytes, RecordFormat::Csv, |line, record| {
        let Some(header) = &header else {
            let parsed = Header::parse(record);
            header = Some(parsed.map_err(|why| Failure::usage(format!("--input: {why}")))?);
            return Ok(());
        };
        if header.is_blank(record) {
            return Ok(());
        }
        let location = format!("line {line}");
        let cells = header.cells(record);
        let cells = cells.map_err(|why| Failure::usage(format!("--input, {location}: {why}")))?;
        let mut fields = Map::new();
        let mut input = Map::new();
        for (name, cell) in cells {
            let failure = |why: &str| Failure::usage(format!("--input, {location}, {name}: {why}"));
            if TEXT_COLUMNS.contains(&name) {
                fields.insert(name.to_owned(), cell.into());
            } else if name == CAP_COLUMN {
                let cap = parse_usd(cell.trim()).map_err(|message| failure(&message))?;
                fields.insert(name.to_owned(), usd_number(cap));
            } else if JSON_COLUMNS.contains(&name) {
                let json = serde_json::from_str(&cell);
                let json = json
                    .map_err(|error| failure(&format!("invalid JSON: {}", json_error(&error))))?;
                fields.insert(name.to_owned(), json);
            } else {
                input.insert(name.to_owned(), cell.into());
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
        Ok(())
    })?;
    Ok(items)
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(items: &[BulkItem]) -> Value {
        items.iter().map(|it| Value::Object(it.fields.clone())).collect()
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
            (parse_csv(b"a,a\n1,2\n"), "the column `a` twice"),
            (parse_csv(b"a,\n1,2\n"), "without a name"),
            (parse_csv(b"a,b\n1\n"), "line 2: it has 1 cell, but the header has 2 columns"),
            (parse_csv(b"a,b\r\n1,2\r\n\r\n1\r\n"), "line 4: it has 1 cell"),
            (parse_csv(b"a\n\"1\n1\"\n\"2\n3\n"), "line 4 has a quote that is not closed"),
            (parse_csv(b"a\n1\"\n\"\"\"\n\n"), "line 3 has a quote that is not closed"),
            (parse_csv(b"attachments\n\n[]\n\n[\n"), "line 5, attachments"),
            (parse_csv(b"generation_spend_cap_usd\nmuch\n"), "line 2, generation_spend_cap_usd"),
            (parse_csv(b"attachments\n[\n"), "line 2, attachments"),
            (parse_csv(b"input,a\n[],1\n"), "input: expected a JSON object"),
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
