//! The items of a bulk queue, read from a file.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};
use svc_sdk::contract::Operation;

use crate::error::{Failure, Result};
use crate::input::read_file;
use crate::output::Printer;
use crate::request::rows::{Columns, Fields, RecordFormat, RecordPosition, RowFile};
use crate::text::{json_error, nearest, shell_quote};

/// The fields of a run that a column can be.
const RUN_FIELDS: &str = "instruction previous_run_id model webhook_url on_active_run output_schema \
    response_format attachments input generation_spend_cap_usd";

#[derive(Debug, PartialEq)]
pub(super) struct BulkItem {
    /// The location, such as `line 3`.
    pub(super) location: String,
    pub(super) fields: Map<String, Value>,
}

#[derive(Debug)]
pub(super) struct ColumnOptions<'a> {
    pub(super) ignored: &'a [String],
    pub(super) inputs: &'a [String],
    pub(super) printer: &'a Printer,
}

/// Columns that are fields of `input`, although another one may be meant.
const MISTAKABLE: [(&str, &str); 2] = [
    ("prompt", "the text of a run is its `instruction`"),
    ("id", "the items and their files have numbers as names"),
];

/// The names of columns, without what separates their words, that say what a run may cost.
const CAPS: &str =
    "cap spendcap generationspendcap generationcap maxprice maxspend maxcost spendlimit";

fn is_cap(column: &str) -> bool {
    let name: String = column.chars().filter(|it| it.is_alphanumeric()).collect();
    let name = name.to_lowercase();
    let name = name.strip_suffix("usd").unwrap_or(&name);
    CAPS.split(' ').any(|cap| cap == name)
}

pub(super) fn read(
    path: &Path,
    options: &ColumnOptions<'_>,
) -> Result<(Map<String, Value>, Vec<BulkItem>)> {
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("json") => return json_body(&read_file("--input", path)?),
        Some("csv" | "tsv" | "tab" | "jsonl" | "ndjson") => {}
        None if path == Path::new("-") => {}
        _ => {
            RowFile::open(path)?;
            let why = format!("unknown file type of --input {}", path.display());
            return Err(Failure::usage(why)
                .hint("use a file name that ends in .jsonl, .csv, .tsv or .json"));
        }
    }
    Ok((Map::new(), read_rows(path, options)?))
}

fn json_body(bytes: &[u8]) -> Result<(Map<String, Value>, Vec<BulkItem>)> {
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

pub(super) fn from_json(items: &Value) -> Result<Vec<BulkItem>> {
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

fn read_rows(path: &Path, options: &ColumnOptions<'_>) -> Result<Vec<BulkItem>> {
    let rows = RowFile::open(path)?;
    let failure =
        |error: io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()));
    let mut reader = rows.records(RecordPosition::START).map_err(failure)?;
    let mut record = Vec::new();
    let mut spreadsheet = None;
    if let RecordFormat::Csv { separator } = rows.format
        && reader.read(&mut record).map_err(failure)?.is_some()
    {
        let parsed = Spreadsheet::parse(&record, separator, options);
        spreadsheet = Some(parsed.map_err(|whys| {
            let mut whys = whys.into_iter().map(|why| format!("--input: {why}"));
            let first = Failure::usage(whys.next().unwrap_or_default());
            whys.fold(first, Failure::issue)
        })?);
    }
    let mut items = Vec::new();
    while let Some(position) = reader.read(&mut record).map_err(failure)? {
        let location = format!("line {}", position.line);
        let fields = match &spreadsheet {
            Some(spreadsheet) if spreadsheet.columns.is_blank(&record) => continue,
            Some(spreadsheet) => spreadsheet.item(&record),
            None => match serde_json::from_slice(&record) {
                Ok(Value::Object(fields)) => Ok(fields),
                Ok(_) => Err("expected a JSON object".to_owned()),
                Err(error) => Err(format!("invalid JSON: {}", json_error(&error))),
            },
        };
        match fields {
            Ok(fields) => items.push(BulkItem { location, fields }),
            Err(why) => return Err(Failure::usage(format!("--input, {location}: {why}"))),
        }
    }
    Ok(items)
}

struct Spreadsheet<'a> {
    columns: Columns,
    fields: Fields,
    inputs: &'a [String],
}

impl<'a> Spreadsheet<'a> {
    /// Parses a header. An error names all columns that are not fields.
    fn parse(
        header: &[u8],
        separator: u8,
        options: &ColumnOptions<'a>,
    ) -> Result<Self, Vec<String>> {
        let columns = Columns::parse(header, separator, options.ignored);
        let columns = columns.map_err(|why| vec![why])?;
        let mut unknown = Vec::new();
        let fields = Fields::of(Operation::FormatsRunsCreate).only(RUN_FIELDS);
        let spreadsheet = Self { columns, fields, inputs: options.inputs };
        for name in spreadsheet.columns.names() {
            let is_input = options.inputs.iter().any(|it| it == name);
            if is_input || spreadsheet.field(name).is_some() {
                continue;
            }
            let known = MISTAKABLE.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
            let guess = match (known, nearest(name, RUN_FIELDS.split(' '))) {
                (Some((_, meant)), _) => {
                    let printer = options.printer;
                    printer.warn(&format!(
                        "the column `{name}` is sent as input of the Format; {meant}"
                    ));
                    continue;
                }
                // As an input it would limit nothing.
                _ if is_cap(name) => {
                    "the cap of a run is its `generation_spend_cap_usd`, or --cap for all runs."
                        .to_owned()
                }
                (None, Some(field)) => format!("did you mean `{field}`?"),
                (None, None) => continue,
            };
            let quoted = shell_quote(name);
            unknown.push(format!(
                "the column `{name}` is not a field of a run: {guess} If it is a field of the \
                 Format's input: --input-column {quoted}; to leave it out: --ignore-column {quoted}"
            ));
        }
        if unknown.is_empty() { Ok(spreadsheet) } else { Err(unknown) }
    }

    fn field(&self, column: &str) -> Option<&str> {
        let is_input = self.inputs.iter().any(|it| it == column);
        self.fields.name_of(column).filter(|_| !is_input)
    }

    fn item(&self, record: &[u8]) -> Result<Map<String, Value>, String> {
        let (mut fields, mut input) = (Map::new(), Map::new());
        for (name, cell) in self.columns.cells(record)? {
            match self.field(name) {
                Some(field) => {
                    fields.insert(field.to_owned(), self.fields.value(field, cell)?);
                }
                None => {
                    input.insert(name.to_owned(), cell.into());
                }
            }
        }
        if !input.is_empty() {
            let whole = fields.entry("input").or_insert_with(|| Map::new().into());
            let whole = whole.as_object_mut().ok_or("the cell `input` is not a JSON object")?;
            whole.extend(input);
        }
        Ok(fields)
    }
}
