//! Columns of a CSV manifest, and the types of their cells.

use std::collections::HashMap;

use serde_json::{Map, Value};
use svc_openapi::Servers;
use svc_sdk::contract::Operation;

use crate::rows::Header;

/// The maximum number of schemas between a request body and the type of a field.
const MAX_SCHEMA_DEPTH: u8 = 8;

/// The columns of a CSV manifest, which are named in its first record.
#[derive(Debug)]
pub(super) struct Columns {
    header: Header,
    types: HashMap<String, CellType>,
}

/// The type of a cell that is not a JSON array or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellType {
    Text,
    Number,
    Boolean,
}

impl Columns {
    /// Parses the header. The types of the cells are those of the operation's fields.
    ///
    /// # Errors
    ///
    /// Returns a message if the header is not valid.
    pub(super) fn parse(header: &[u8], operation: Operation) -> Result<Self, String> {
        Ok(Self { header: Header::parse(header)?, types: field_types(operation) })
    }

    /// Parses a record into the id and the body. Empty cells are omitted.
    ///
    /// # Errors
    ///
    /// Returns a message if the record does not fit the columns.
    pub(super) fn record(
        &self,
        record: &[u8],
    ) -> Result<(Option<String>, Map<String, Value>), String> {
        let (mut id, mut body) = (None, Map::new());
        for (name, cell) in self.header.cells(record)? {
            if name == "id" {
                id = Some(cell);
            } else {
                let value = self.value(name, cell)?;
                body.insert(name.to_owned(), value);
            }
        }
        Ok((id, body))
    }

    /// Returns whether a record is a blank line.
    pub(super) fn is_blank(&self, record: &[u8]) -> bool {
        self.header.is_blank(record)
    }

    fn value(&self, name: &str, cell: String) -> Result<Value, String> {
        let trimmed = cell.trim();
        if cell.starts_with(['[', '{']) {
            return serde_json::from_str(trimmed)
                .map_err(|error| format!("the cell `{name}` is not valid JSON: {error}"));
        }
        let parsed = serde_json::from_str::<Value>(trimmed).ok();
        let value = match self.types.get(name) {
            Some(CellType::Text) => None,
            Some(CellType::Number) => parsed.filter(Value::is_number),
            Some(CellType::Boolean) => parsed.filter(Value::is_boolean),
            // A field that this version does not know, such as one of a new model.
            None => parsed.filter(|value| value.is_number() || value.is_boolean()),
        };
        Ok(value.unwrap_or(Value::String(cell)))
    }
}

/// Returns the types of an operation's fields, as far as they are text, numbers or booleans.
fn field_types(operation: Operation) -> HashMap<String, CellType> {
    let document = svc_openapi::document(&Servers::default());
    let method = operation.method().as_str().to_ascii_lowercase();
    let schema = document
        .get("paths")
        .and_then(|paths| paths.get(operation.path())?.get(method))
        .and_then(|item| item.pointer("/requestBody/content/application~1json/schema"));
    let mut types = HashMap::new();
    if let Some(schema) = schema {
        collect_fields(&document, schema, MAX_SCHEMA_DEPTH, &mut types);
    }
    types
}

fn collect_fields(
    document: &Value,
    schema: &Value,
    depth: u8,
    types: &mut HashMap<String, CellType>,
) {
    let Some(schema) = resolve(document, schema, depth) else {
        return;
    };
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if let Some(cell_type) = cell_type(document, field, depth) {
            types.entry(name.clone()).or_insert(cell_type);
        }
    }
    for part in parts(schema) {
        collect_fields(document, part, depth.saturating_sub(1), types);
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

    fn columns(header: &str) -> Columns {
        Columns::parse(header.as_bytes(), Operation::VideoGenerate).unwrap()
    }

    fn body(header: &str, record: &str) -> Result<Value, String> {
        let (_, body) = columns(header).record(record.as_bytes())?;
        Ok(Value::Object(body))
    }

    #[test]
    fn cells_have_the_types_of_the_fields() {
        let header = "id,model,prompt,duration,generate_audio,reference_image_urls,metadata,seed,style,resolution";
        let record = r#"a,video-f,42,5,true,"[""https://a/1""]","{""order"": ""7""}",7,true,"#;
        assert_eq!(
            body(header, record).unwrap(),
            json!({
                "model": "video-f", "prompt": "42", "duration": 5, "generate_audio": true,
                "reference_image_urls": ["https://a/1"], "metadata": {"order": "7"}, "seed": 7, "style": true
            })
        );
        let (id, _) = columns(header).record(record.as_bytes()).unwrap();
        assert_eq!(id.as_deref(), Some("a"));
    }

    #[test]
    fn a_cell_that_does_not_fit_its_type_is_text_for_the_service_to_reject() {
        assert_eq!(body("duration", "five").unwrap(), json!({"duration": "five"}));
    }

    #[test]
    fn invalid_records_are_named() {
        let error = body("prompt,metadata", "a,{x").unwrap_err();
        assert!(error.contains("`metadata` is not valid JSON"), "{error}");
        let error = body("prompt,duration", "a").unwrap_err();
        assert!(error.contains("1 cell,") && error.contains("2 columns"));
        for (header, expected) in [("a,a", "`a` twice"), ("a,,b", "without a name")] {
            let error = Columns::parse(header.as_bytes(), Operation::VideoGenerate).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
