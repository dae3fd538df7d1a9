//! Columns of a spreadsheet, and the types of their cells.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use svc_openapi::Servers;
use svc_sdk::contract::Operation;

use super::split;
use crate::text::counted;

/// The columns of a spreadsheet, which are named in its first record.
#[derive(Debug)]
pub(crate) struct Columns {
    names: Vec<String>,
    separator: u8,
    ignored: Vec<String>,
}

impl Columns {
    pub(crate) fn parse(record: &[u8], separator: u8, ignored: &[String]) -> Result<Self, String> {
        let names = split(record, separator)?;
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        if names.iter().any(|name| name.contains('\r')) {
            return Err("the lines end with CR: save the file with LF or CRLF".to_owned());
        }
        let mut seen = HashSet::new();
        for name in &names {
            if name.is_empty() {
                return Err("the header has a column without a name".to_owned());
            }
            if !seen.insert(name) {
                return Err(format!("the header has the column `{name}` twice"));
            }
        }
        match ignored.iter().find(|it| !names.contains(it)) {
            Some(name) => Err(format!(
                "--ignore-column {name}: the file has no such column: its columns are {}",
                names.join(", ")
            )),
            None => Ok(Self { names, separator, ignored: ignored.to_vec() }),
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.names.iter().filter(|name| !self.ignored.contains(name));
        names.map(String::as_str)
    }

    /// Leaves out empty cells. A record of several columns that is blank has none.
    pub(crate) fn cells(&self, record: &[u8]) -> Result<Vec<(&str, String)>, String> {
        if self.is_blank(record) {
            return Ok(Vec::new());
        }
        let cells = split(record, self.separator)?;
        if cells.len() != self.names.len() {
            let quote = match cells.len() > self.names.len() {
                true => format!(
                    ": put double quotes around a cell with `{}` in it",
                    char::from(self.separator).escape_default()
                ),
                false => String::new(),
            };
            return Err(format!(
                "it has {}, but the header has {}{quote}",
                counted(cells.len(), "cell"),
                counted(self.names.len(), "column")
            ));
        }
        let cells = self.names.iter().zip(cells);
        let cells = cells.filter(|(name, cell)| !cell.is_empty() && !self.ignored.contains(name));
        Ok(cells.map(|(name, cell)| (name.as_str(), cell)).collect())
    }

    pub(crate) fn is_blank(&self, record: &[u8]) -> bool {
        self.names.len() > 1 && record.iter().all(u8::is_ascii_whitespace)
    }
}

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
pub(crate) struct Fields {
    types: BTreeMap<String, CellType>,
    /// Whether the specification shows all of them.
    pub(crate) is_complete: bool,
}

impl Fields {
    pub(crate) fn of(operation: Operation) -> Self {
        let document = svc_openapi::document(&Servers::default());
        let method = operation.method().as_str().to_ascii_lowercase();
        let schema = document
            .get("paths")
            .and_then(|paths| paths.get(operation.path())?.get(method))
            .and_then(|item| item.pointer("/requestBody/content/application~1json/schema"));
        let mut types = BTreeMap::new();
        let mut is_complete = false;
        if let Some(schema) = schema {
            collect_fields(&document, schema, &mut types);
            let resolved = resolve(&document, schema);
            is_complete = resolved.is_some_and(|schema| schema.get("x-assumed").is_none());
        }
        Self { types, is_complete }
    }

    pub(crate) fn only(mut self, names: &str) -> Self {
        self.types.retain(|name, _| names.split(' ').any(|it| it == name));
        self
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str)
    }

    /// Returns the field that a column names, without regard to case.
    pub(crate) fn name_of(&self, column: &str) -> Option<&str> {
        self.names().find(|name| name.eq_ignore_ascii_case(column))
    }

    /// Parses the cell of a field. One that does not fit its type is text, which the service rejects.
    pub(crate) fn value(&self, field: &str, cell: String) -> Result<Value, String> {
        let trimmed = cell.trim();
        let cell_type = self.types.get(field);
        if cell.starts_with(['[', '{']) {
            return match serde_json::from_str(trimmed) {
                Ok(value) => Ok(value),
                // A prompt may begin with a bracket.
                Err(_) if cell_type == Some(&CellType::Text) => Ok(Value::String(cell)),
                Err(error) => Err(format!("the cell `{field}` is not valid JSON: {error}")),
            };
        }
        let parsed = serde_json::from_str::<Value>(trimmed).ok();
        let value = match cell_type {
            Some(CellType::Text) => None,
            Some(CellType::Number) => parsed.filter(Value::is_number),
            Some(CellType::Boolean) => {
                parsed.filter(Value::is_boolean).or_else(|| boolean(trimmed))
            }
            Some(CellType::Json) | None => parsed.filter(|it| it.is_number() || it.is_boolean()),
        };
        Ok(value.unwrap_or(Value::String(cell)))
    }
}

/// Parses what spreadsheets make of a truth value.
fn boolean(text: &str) -> Option<Value> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn collect_fields(document: &Value, schema: &Value, found: &mut BTreeMap<String, CellType>) {
    let Some(schema) = resolve(document, schema) else { return };
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        let cell_type = cell_type(document, field).unwrap_or(CellType::Json);
        found.entry(name.clone()).or_insert(cell_type);
    }
    for part in parts(schema) {
        collect_fields(document, part, found);
    }
}

fn cell_type(document: &Value, schema: &Value) -> Option<CellType> {
    let schema = resolve(document, schema)?;
    let named = |name: &str| match name {
        "string" => Some(CellType::Text),
        "integer" | "number" => Some(CellType::Number),
        "boolean" => Some(CellType::Boolean),
        _ => None,
    };
    match schema.get("type") {
        Some(Value::String(name)) => named(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).find_map(named),
        _ => parts(schema).find_map(|part| cell_type(document, part)),
    }
}

/// Follows a reference within the document.
fn resolve<'a>(document: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => resolve(document, document.pointer(reference.strip_prefix('#')?)?),
        None => Some(schema),
    }
}

fn parts(schema: &Value) -> impl Iterator<Item = &Value> {
    ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|name| schema.get(name)?.as_array())
        .flatten()
}
