//! The items of a bulk queue, read from a file.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::path::Path;

use serde_json::{Map, Value};

use crate::args::parse_usd;
use crate::error::Failure;
use crate::input::read_file;
use crate::request_body::run::usd_number;
use crate::rows::{Header, RecordFormat, RecordPosition, RecordReader, RowFile};
use crate::text::{json_error, nearest};

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

/// How the columns of a spreadsheet are read.
#[derive(Debug, Default)]
pub(super) struct ColumnOptions<'a> {
    /// Columns that are left out.
    pub(super) ignored: &'a [String],
    /// Columns that are fields of `input`, although their names resemble those of run fields.
    pub(super) inputs: &'a [String],
}

/// Reads a file, and returns the fields of the body other than the items, and the items.
pub(super) fn read(
    path: &Path,
    options: &ColumnOptions<'_>,
) -> Result<(Map<String, Value>, Vec<BulkItem>), Failure> {
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("json") => return json_body(&read_file("--input", path)?),
        Some("csv" | "tsv" | "tab" | "jsonl" | "ndjson") => {}
        None if path == Path::new("-") => {}
        _ => {
            let why = format!("unknown file type of --input {}", path.display());
            return Err(Failure::usage(why)
                .hint("use a file name that ends in .jsonl, .csv, .tsv or .json"));
        }
    }
    let rows = RowFile::open(path)?;
    let records = rows.records(RecordPosition { offset: 0, line: 1 });
    let records = records.map_err(|error| Failure::file("cannot read", path, &error))?;
    let items = match rows.format {
        RecordFormat::Csv { separator } => parse_csv(records, separator, options)?,
        RecordFormat::Jsonl => parse_jsonl(records)?,
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
    mut reader: RecordReader<impl BufRead>,
    mut visit: impl FnMut(u32, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut record = Vec::new();
    let failure = |error: io::Error| Failure::usage(format!("--input: {error}"));
    while let Some(position) = reader.read(&mut record).map_err(failure)? {
        visit(position.line, &record)?;
    }
    Ok(())
}

fn parse_jsonl(records: RecordReader<impl BufRead>) -> Result<Vec<BulkItem>, Failure> {
    let mut items = Vec::new();
    for_each_record(records, |line, record| {
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

/// What a column of a spreadsheet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Text(&'static str),
    Json(&'static str),
    Cap,
    /// A field of `input`, which is named as the column.
    Input,
    Ignored,
}

impl Column {
    fn of(name: &str, options: &ColumnOptions<'_>) -> Result<Self, String> {
        if options.ignored.iter().any(|it| it == name) {
            return Ok(Self::Ignored);
        }
        if options.inputs.iter().any(|it| it == name) {
            return Ok(Self::Input);
        }
        let named = |field: &&&str| field.eq_ignore_ascii_case(name);
        if let Some(field) = TEXT_COLUMNS.iter().find(named) {
            return Ok(Self::Text(field));
        }
        if let Some(field) = JSON_COLUMNS.iter().find(named) {
            return Ok(Self::Json(field));
        }
        if CAP_COLUMN.eq_ignore_ascii_case(name) {
            return Ok(Self::Cap);
        }
        let fields = TEXT_COLUMNS.into_iter().chain(JSON_COLUMNS).chain([CAP_COLUMN]);
        match nearest(name, fields) {
            Some(field) => Err(format!(
                "the column `{name}` is no field of a run: did you mean `{field}`? If it is a field \
                 of the Format's input: --input-column {name}; to leave it out: --ignore-column {name}"
            )),
            None => Ok(Self::Input),
        }
    }
}

fn parse_csv(
    records: RecordReader<impl BufRead>,
    separator: u8,
    options: &ColumnOptions<'_>,
) -> Result<Vec<BulkItem>, Failure> {
    let mut items = Vec::new();
    let mut header = None;
    let mut columns = HashMap::new();
    for_each_record(records, |line, record| {
        let Some(header) = &header else {
            let parsed = Header::parse(record, separator).and_then(|parsed| {
                for name in &parsed.names {
                    columns.insert(name.clone(), Column::of(name, options)?);
                }
                Ok(parsed)
            });
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
            match columns.get(name).copied().unwrap_or(Column::Input) {
                Column::Text(field) => {
                    fields.insert(field.to_owned(), cell.into());
                }
                Column::Cap => {
                    let cap = parse_usd(cell.trim()).map_err(|message| failure(&message))?;
                    fields.insert(CAP_COLUMN.to_owned(), usd_number(cap));
                }
                Column::Json(field) => {
                    let json = serde_json::from_str(&cell);
                    let json = json.map_err(|error| {
                        failure(&format!("invalid JSON: {}", json_error(&error)))
                    })?;
                    fields.insert(field.to_owned(), json);
                }
                Column::Input => {
                    input.insert(name.to_owned(), cell.into());
                }
                Column::Ignored => {}
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

    fn records(bytes: &[u8], format: RecordFormat) -> RecordReader<&[u8]> {
        RecordReader::new(bytes, format, RecordPosition { offset: 0, line: 1 })
    }

    pub(super) fn parse_csv(bytes: &[u8]) -> Result<Vec<BulkItem>, Failure> {
        let separator = b',';
        let records = records(bytes, RecordFormat::Csv { separator });
        super::parse_csv(records, separator, &ColumnOptions::default())
    }

    pub(super) fn parse_jsonl(bytes: &[u8]) -> Result<Vec<BulkItem>, Failure> {
        super::parse_jsonl(records(bytes, RecordFormat::Jsonl))
    }

    fn fields(items: &[BulkItem]) -> Value {
        items.iter().map(|it| Value::Object(it.fields.clone())).collect()
    }

    #[test]
    fn csv_columns_become_run_fields_or_input_fields() {
        let text = "\u{feff}Instruction,city,Tag Line,generation_spend_cap_usd,output_schema,input\n\
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
            (parse_jsonl(b"{}\n\xff"), "line 2 is not UTF-8"),
            (parse_csv(b"instrucion\nx\n"), "did you mean `instruction`?"),
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
            (
                read(Path::new("/dev/null"), &ColumnOptions::default()).map(|it| it.1),
                ".jsonl, .csv",
            ),
        ];
        for (read, expected) in rows {
            let failure = read.unwrap_err();
            let text = format!("{} {:?}", failure.headline(), failure.detail_lines());
            assert!(text.contains(expected), "{text}");
        }
    }
}
