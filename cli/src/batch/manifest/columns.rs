//! Columns of a spreadsheet, and the types of their cells.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use svc_openapi::Servers;
use svc_sdk::contract::Operation;

use crate::rows::Header;
use crate::text::nearest;

/// The maximum number of schemas between a request body and the type of a field.
const MAX_SCHEMA_DEPTH: u8 = 8;

/// The columns of a spreadsheet, which are named in its first record.
#[derive(Debug)]
pub(super) struct Columns {
    header: Header,
    ignored: Vec<String>,
}

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellType {
    Text,
    Number,
    Boolean,
    /// An array, an object, or several of the others.
    Json,
}

/// The fields of an operation's body, as far as the specification shows them.
#[derive(Debug)]
pub(super) struct Fields(BTreeMap<String, CellType>);

/// A record: the id and the operation, if it has them, and the other cells with their columns.
pub(super) struct Row<'a> {
    pub(super) id: Option<String>,
    pub(super) operation: Option<String>,
    cells: Vec<(&'a str, String)>,
}

impl Columns {
    /// Parses the header.
    pub(super) fn parse(header: &[u8], separator: u8, ignored: &[String]) -> Result<Self, String> {
        let header = Header::parse(header, separator)?;
        match ignored.iter().find(|it| !header.names.contains(it)) {
            Some(name) => Err(format!("--ignore-column {name}: there is no such column")),
            None => Ok(Self { header, ignored: ignored.to_vec() }),
        }
    }

    /// Parses a record. Empty cells are omitted.
    pub(super) fn row(&self, record: &[u8]) -> Result<Row<'_>, String> {
        let mut row = Row { id: None, operation: None, cells: Vec::new() };
        for (name, cell) in self.header.cells(record)? {
            match name {
                name if self.ignored.iter().any(|it| it == name) => {}
                name if name.eq_ignore_ascii_case("id") => row.id = Some(cell),
                name if name.eq_ignore_ascii_case("operation") => row.operation = Some(cell),
                name => row.cells.push((name, cell)),
            }
        }
        Ok(row)
    }

    /// Returns whether a record is a blank line.
    pub(super) fn is_blank(&self, record: &[u8]) -> bool {
        self.header.is_blank(record)
    }
}

impl Row<'_> {
    /// Returns the cell of a field.
    pub(super) fn cell(&self, field: &str) -> Option<&str> {
        let mut cells = self.cells.iter();
        let found = cells.find(|(name, _)| name.eq_ignore_ascii_case(field));
        found.map(|(_, cell)| cell.trim())
    }

    /// Returns the body of the request. Columns match the fields of the operation without regard to case.
    pub(super) fn body(self, fields: &Fields) -> Result<Map<String, Value>, String> {
        let mut body = Map::new();
        for (name, cell) in self.cells {
            let field = fields.0.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
            let Some((field, cell_type)) = field else {
                return Err(fields.unknown(name));
            };
            let value = value(name, cell, *cell_type)?;
            if body.insert(field.clone(), value).is_some() {
                return Err(format!("two columns are the field `{field}`"));
            }
        }
        Ok(body)
    }
}

/// Parses a cell. One that does not fit its type is text, which the service rejects.
fn value(name: &str, cell: String, cell_type: CellType) -> Result<Value, String> {
    let trimmed = cell.trim();
    if cell.starts_with(['[', '{']) {
        return serde_json::from_str(trimmed)
            .map_err(|error| format!("the cell `{name}` is not valid JSON: {error}"));
    }
    let parsed = serde_json::from_str::<Value>(trimmed).ok();
    let value = match cell_type {
        CellType::Text => None,
        CellType::Number => parsed.filter(Value::is_number),
        CellType::Boolean => parsed.filter(Value::is_boolean).or_else(|| boolean(trimmed)),
        CellType::Json => parsed.filter(|value| value.is_number() || value.is_boolean()),
    };
    Ok(value.unwrap_or(Value::String(cell)))
}

/// Parses what spreadsheets make of a truth value.
fn boolean(text: &str) -> Option<Value> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

impl Fields {
    /// Returns the fields of an operation.
    pub(super) fn of(operation: Operation) -> Self {
        let document = svc_openapi::document(&Servers::default());
        let method = operation.method().as_str().to_ascii_lowercase();
        let schema = document
            .get("paths")
            .and_then(|paths| paths.get(operation.path())?.get(method))
            .and_then(|item| item.pointer("/requestBody/content/application~1json/schema"));
        let mut fields = BTreeMap::new();
        if let Some(schema) = schema {
            collect_fields(&document, schema, MAX_SCHEMA_DEPTH, &mut fields);
        }
        Self(fields)
    }

    /// Says what can be done about a column that is not one of the fields.
    fn unknown(&self, name: &str) -> String {
        let names = self.0.keys().map(String::as_str).chain(["id", "operation"]);
        let guess = match nearest(name, names) {
            Some(field) => format!("did you mean `{field}`? To leave it out"),
            None => "to leave it out".to_owned(),
        };
        format!("the column `{name}` is no field of the request: {guess}: --ignore-column {name}")
    }
}

fn collect_fields(
    document: &Value,
    schema: &Value,
    depth: u8,
    found: &mut BTreeMap<String, CellType>,
) {
    let Some(schema) = resolve(document, schema, depth) else { return };
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        let cell_type = cell_type(document, field, depth).unwrap_or(CellType::Json);
        found.entry(name.clone()).or_insert(cell_type);
    }
    for part in parts(schema) {
        collect_fields(document, part, depth.saturating_sub(1), found);
    }
}

fn cell_type(document: &Value, schema: &Value, depth: u8) -> Option<CellType> {
    let schema = resolve(document, schema, depth)?;
    let named = |name: &str| match name {
        "string" => Some(CellType::Text),
        "integer" | "number" => Some(CellType::Number),
        "boolean" => Some(CellType::Boolean),
        _ => None,
    };
    match schema.get("type") {
        Some(Value::String(name)) => named(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).find_map(named),
        _ => parts(schema).find_map(|part| cell_type(document, part, depth.saturating_sub(1))),
    }
}

/// Follows a reference within the document.
fn resolve<'a>(document: &'a Value, schema: &'a Value, depth: u8) -> Option<&'a Value> {
    if depth == 0 {
        return None;
    }
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let target = document.pointer(reference.strip_prefix('#')?)?;
            resolve(document, target, depth - 1)
        }
        None => Some(schema),
    }
}

fn parts(schema: &Value) -> impl Iterator<Item = &Value> {
    ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|name| schema.get(name)?.as_array())
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(header: &str, record: &str) -> Result<Value, String> {
        let columns = Columns::parse(header.as_bytes(), b',', &["note".to_owned()])
            .or_else(|_| Columns::parse(header.as_bytes(), b',', &[]))?;
        let row = columns.row(record.as_bytes())?;
        row.body(&Fields::of(Operation::VideoGenerate)).map(Value::Object)
    }

    #[test]
    fn cells_have_the_types_of_the_fields() {
        let header =
            "ID,Model,prompt,DURATION,generate_audio,reference_image_urls,metadata,resolution,note";
        let record = r#"a,video-f,42,5,TRUE,"[""https://a/1""]","{""order"": ""7""}",,x"#;
        assert_eq!(
            body(header, record).unwrap(),
            json!({
                "model": "video-f", "prompt": "42", "duration": 5, "generate_audio": true,
                "reference_image_urls": ["https://a/1"], "metadata": {"order": "7"}
            })
        );
    }

    #[test]
    fn a_cell_that_does_not_fit_its_type_is_text_for_the_service_to_reject() {
        assert_eq!(body("duration", "five").unwrap(), json!({"duration": "five"}));
    }

    #[test]
    fn invalid_records_are_named() {
        for (header, record, expected) in [
            ("prompt,metadata", "a,{x", "`metadata` is not valid JSON"),
            ("prompt,duration", "a", "it has 1 cell, but the header has 2 columns"),
            ("promt", "a", "did you mean `prompt`? To leave it out: --ignore-column promt"),
            ("frobnicate", "a", "no field of the request: to leave it out: --ignore-column"),
            ("prompt,Prompt", "a,b", "two columns are the field `prompt`"),
            ("a,a", "", "`a` twice"),
            ("a,,b", "", "without a name"),
        ] {
            let error = body(header, record).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
