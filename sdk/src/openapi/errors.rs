//! Refusals: for each status of an operation the codes that come with it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::contract::{ErrorCode, Operation};

use super::prose;
use super::schemas::COMPONENTS;

/// The refusals of all operations. Those with the same codes are one component.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// The component's name, by its status and codes.
    names: BTreeMap<(u16, Vec<&'static str>), String>,
    schemas: Map<String, Value>,
    responses: Map<String, Value>,
}

impl Refusals {
    /// The refusals of an operation, by status, as references.
    pub(super) fn of(&mut self, operation: Operation) -> BTreeMap<u16, Value> {
        let mut by_status: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
        for code in ErrorCode::KNOWN {
            if let Some(status) = code.entry().and_then(|entry| entry.status)
                && operation.codes().contains(code)
            {
                by_status.entry(status).or_default().push(code.as_str());
            }
        }
        by_status
            .into_iter()
            .map(|(status, codes)| {
                let name = self.name(operation, status, codes);
                let reference = json!({"$ref": format!("#/components/responses/{name}")});
                (status, reference)
            })
            .collect()
    }

    /// The components: schemas and responses.
    pub(super) fn into_components(self) -> (Map<String, Value>, Map<String, Value>) {
        (self.schemas, self.responses)
    }

    fn name(&mut self, operation: Operation, status: u16, codes: Vec<&'static str>) -> String {
        if let Some(name) = self.names.get(&(status, codes.clone())) {
            return name.clone();
        }
        let name = match codes.as_slice() {
            [only] => camel(only),
            _ => format!("{}{status}", camel(operation.name())),
        };
        let schema = format!("{name}Error");
        self.responses
            .insert(name.clone(), response(status, &codes, &schema));
        self.schemas.insert(schema, envelope(&codes));
        self.names.insert((status, codes), name.clone());
        name
    }
}

/// The envelope with one of these codes in it.
fn envelope(codes: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "allOf": [
                    {"$ref": format!("{COMPONENTS}ErrorBody")},
                    {
                        "type": "object",
                        "required": ["code", "message", "request_id"],
                        "properties": {
                            "code": {"type": "string", "enum": codes, "x-open-set": true},
                        },
                    },
                ],
            },
        },
    })
}

fn response(status: u16, codes: &[&str], schema: &str) -> Value {
    let lines: Vec<String> = codes
        .iter()
        .map(|code| format!("- `{code}`: {}", meaning(code)))
        .collect();
    let examples: Map<String, Value> = codes
        .iter()
        .map(|code| ((*code).to_owned(), json!({"value": example(code)})))
        .collect();
    let mut headers = super::headers();
    if let (Some(fields), 429 | 503) = (headers.as_object_mut(), status) {
        let reference = json!({"$ref": "#/components/headers/retry-after"});
        fields.insert("retry-after".to_owned(), reference);
    }
    let mut response = json!({
        "description": lines.join("\n"),
        "headers": headers,
        "content": {
            "application/json": {
                "schema": {"$ref": format!("{COMPONENTS}{schema}")},
                "examples": examples,
            },
        },
    });
    let assumed = codes.iter().filter(|code| prose::is_assumed(docs(code)));
    if let (true, Some(fields)) = (assumed.count() == codes.len(), response.as_object_mut()) {
        fields.insert("x-assumed".to_owned(), true.into());
    }
    response
}

/// What a code means, on one line.
fn meaning(code: &str) -> String {
    prose::description(docs(code))
}

fn docs(code: &str) -> &'static str {
    let known = ErrorCode::DOCS.iter().find(|(name, _)| *name == code);
    known.map_or("", |(_, docs)| *docs)
}

fn example(code: &str) -> Value {
    let mut error = json!({
        "code": code,
        "message": meaning(code),
        "request_id": "req_01",
    });
    let code = ErrorCode::from(code);
    if let (Some(entry), Some(fields)) = (code.entry(), error.as_object_mut()) {
        fields.insert("category".to_owned(), json!(entry.category));
        fields.insert("retryable".to_owned(), json!(entry.retryable));
        fields.insert("next_action".to_owned(), json!(entry.next_action));
    }
    json!({"error": error})
}

fn camel(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}
