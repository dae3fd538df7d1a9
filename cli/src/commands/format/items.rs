//! The items of a bulk queue, read from a file.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};
use svc_sdk::types::Usd;

use crate::error::Failure;
use crate::input::read_file;
use crate::request_body::run::usd_number;

/// Columns that are fields of a run, as text.
const TEXT_COLUMNS: [&str; 5] = [
    "instruction",
    "previous_run_id",
    "model",
    "webhook_url",
    "on_active_run",
];
/// Columns that are fields of a run, as JSON.
const JSON_COLUMNS: [&str; 4] = ["output_schema", "response_format", "attachments", "input"];
/// The column that is an amount.
const CAP_COLUMN: &str = "generation_spend_cap_usd";

/// An item, and where it was found.
#[derive(Debug, PartialEq)]
pub(super) struct Item {
    /// As in `line 3`.
    pub(super) location: String,
    /// Its fields.
    pub(super) fields: Map<String, Value>,
}

/// Reads a file: the fields beside the items, and the items.
pub(super) fn read(path: &Path) -> Result<(Map<String, Value>, Vec<Item>), Failure> {
    let bytes = read_file("--input", path)?;
    let extension = path
        .extension()
        .map(|it| it.to_string_lossy().to_lowercase());
    let items = match extension.as_deref() {
        Some("json") => return whole(&bytes),
        Some("csv") => csv(&bytes)?,
        Some("jsonl" | "ndjson") => jsonl(&bytes)?,
        None if path == Path::new("-") => jsonl(&bytes)?,
        _ => {
            let why = format!("--input {} has no form that is known", path.display());
            return Err(Failure::usage(why).hint("name it .jsonl, .csv or .json"));
        }
    };
    Ok((Map::new(), items))
}

fn whole(bytes: &[u8]) -> Result<(Map<String, Value>, Vec<Item>), Failure> {
    let body = serde_json::from_slice(bytes)
        .map_err(|error| Failure::usage(format!("--input is no JSON: {error}")))?;
    let Value::Object(mut body) = body else {
        return Err(Failure::usage("--input must be a JSON object with items"));
    };
    let Some(Value::Array(items)) = body.remove("items") else {
        return Err(Failure::usage("--input has no array of items"));
    };
    let items = items.into_iter().enumerate().map(|(index, item)| {
        let location = format!("items[{index}]");
        match item {
            Value::Object(fields) => Ok(Item { location, fields }),
            _ => Err(Failure::usage(format!("{location} is no object"))),
        }
    });
    Ok((body, items.collect::<Result<_, _>>()?))
}

fn jsonl(bytes: &[u8]) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    for (index, line) in text(bytes)?.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let location = format!("line {}", index + 1);
        match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => items.push(Item { location, fields }),
            Ok(_) => {
                return Err(Failure::usage(format!(
                    "--input, {location}: is no JSON object"
                )));
            }
            Err(error) => {
                return Err(Failure::usage(format!(
                    "--input, {location}: is no JSON: {error}"
                )));
            }
        }
    }
    Ok(items)
}

fn csv(bytes: &[u8]) -> Result<Vec<Item>, Failure> {
    let unreadable = |error: csv::Error| Failure::usage(format!("--input is no CSV: {error}"));
    let mut reader = csv::Reader::from_reader(text(bytes)?.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .map_err(unreadable)?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    if let [name] = header.as_slice()
        && let Some(mark) = name.chars().find(|it| matches!(it, ';' | '\t'))
    {
        return Err(Failure::usage(format!(
            "--input: the columns of the CSV are separated by {mark:?}, not by commas"
        ))
        .hint("store it with commas, or as .jsonl"));
    }
    let mut seen = HashSet::new();
    for name in &header {
        if name.is_empty() {
            return Err(Failure::usage("--input: a column of the CSV has no name"));
        }
        if !seen.insert(name) {
            return Err(Failure::usage(format!(
                "--input: there are two columns {name}"
            )));
        }
    }
    let mut items = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, csv::Position::line);
        let location = format!("line {line}");
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
                let cap: Usd = cell.trim().parse().map_err(|_| failure("is no amount"))?;
                fields.insert(name.clone(), usd_number(cap));
            } else if JSON_COLUMNS.contains(&name.as_str()) {
                let json = serde_json::from_str(cell);
                let json = json.map_err(|error| failure(&format!("is no JSON: {error}")))?;
                fields.insert(name.clone(), json);
            } else {
                input.insert(name.clone(), cell.into());
            }
        }
        if !input.is_empty() {
            let whole = fields.entry("input").or_insert_with(|| Map::new().into());
            let Some(whole) = whole.as_object_mut() else {
                return Err(Failure::usage(format!(
                    "--input, {location}: input is no object"
                )));
            };
            whole.extend(input);
        }
        items.push(Item { location, fields });
    }
    Ok(items)
}

/// The text, without the mark that some programs begin it with.
fn text(bytes: &[u8]) -> Result<&str, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.iter().take(error.valid_up_to());
        let line = 1 + good.filter(|byte| **byte == b'\n').count();
        Failure::usage(format!("--input, line {line}: is no UTF-8 text: {error}"))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(items: &[Item]) -> Value {
        items
            .iter()
            .map(|it| Value::Object(it.fields.clone()))
            .collect()
    }

    #[test]
    fn columns_of_a_csv_are_fields_of_a_run_or_of_its_input() {
        let text = "\u{feff}instruction,city,Tag Line,generation_spend_cap_usd,output_schema,input\n\
                    \"Say \"\"hi\"\",\nthen go\",Lisbon,,1.50,\"{\"\"type\"\":\"\"object\"\"}\",\"{\"\"n\"\":1}\"\n\
                    ,Oslo,\"a, b\",,,\n";
        let items = csv(text.as_bytes()).unwrap();
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
    fn lines_are_items_and_blank_ones_are_none() {
        let items = jsonl(b"{\"instruction\": \"a\"}\n\n{\"input\": {\"n\": 1}}\r\n").unwrap();
        assert_eq!(
            fields(&items),
            json!([{"instruction": "a"}, {"input": {"n": 1}}])
        );
        assert_eq!(items[1].location, "line 3");
    }

    #[test]
    fn a_whole_body_keeps_what_stands_beside_its_items() {
        let (next_to, items) =
            whole(br#"{"items": [{"instruction": "a"}], "concurrency": 2}"#).unwrap();
        assert_eq!(Value::Object(next_to), json!({"concurrency": 2}));
        assert_eq!(items.len(), 1);
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        let rows = [
            (jsonl(b"{}\n[1]"), "line 2"),
            (jsonl(b"{}\n{\"a\":"), "line 2"),
            (jsonl(b"{}\n\xff"), "line 2: is no UTF-8"),
            (csv(b"a;b\n1;2\n"), "separated by ';'"),
            (csv(b"a,a\n1,2\n"), "two columns a"),
            (csv(b"a,\n1,2\n"), "no name"),
            (csv(b"a,b\n1\n"), "no CSV"),
            (
                csv(b"generation_spend_cap_usd\nmuch\n"),
                "line 2, generation_spend_cap_usd",
            ),
            (csv(b"attachments\n[\n"), "line 2, attachments"),
            (csv(b"input,a\n[],1\n"), "input is no object"),
            (whole(b"[]").map(|it| it.1), "with items"),
            (whole(br#"{"items": [1]}"#).map(|it| it.1), "items[0]"),
            (read(Path::new("/dev/null")).map(|it| it.1), ".jsonl, .csv"),
        ];
        for (read, expected) in rows {
            let failure = read.unwrap_err();
            let text = format!("{} {:?}", failure.headline(), failure.detail_lines());
            assert!(text.contains(expected), "{text}");
        }
    }
}
