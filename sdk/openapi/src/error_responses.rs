//! Error responses: for each status of an operation, the codes that come with it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCode, Operation};

use crate::schemas::COMPONENTS;
use crate::{doc_comments, error_codes, headers, open_sets};

/// The error responses of all operations. Those with the same codes share a component.
#[derive(Debug)]
pub(crate) struct ErrorResponses {
    /// The doc comments of the codes.
    comments: BTreeMap<String, String>,
    /// The names of the components by status and codes.
    names: BTreeMap<(u16, Vec<&'static str>), String>,
    schemas: Map<String, Value>,
    responses: Map<String, Value>,
}

impl Default for ErrorResponses {
    fn default() -> Self {
        Self {
            comments: open_sets::known_values::<ErrorCode>().into_iter().collect(),
            names: BTreeMap::new(),
            schemas: Map::new(),
            responses: Map::new(),
        }
    }
}

impl ErrorResponses {
    /// Returns references to the error responses of an operation by status.
    pub(crate) fn of_operation(&mut self, operation: Operation) -> BTreeMap<u16, Value> {
        let operation_codes = error_codes(operation);
        let mut by_status: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
        for code in ErrorCode::KNOWN {
            if let Some(status) = code.defaults().and_then(|defaults| defaults.status)
                && operation_codes.contains(code)
            {
                by_status.entry(status).or_default().push(code.as_str());
            }
        }
        by_status
            .into_iter()
            .map(|(status, codes)| {
                let name = self.component(operation, status, codes);
                let reference = json!({"$ref": format!("#/components/responses/{name}")});
                (status, reference)
            })
            .collect()
    }

    pub(crate) fn into_components(self) -> (Map<String, Value>, Map<String, Value>) {
        (self.schemas, self.responses)
    }

    /// Returns the name of the component for these codes, which it adds if necessary.
    fn component(&mut self, operation: Operation, status: u16, codes: Vec<&'static str>) -> String {
        if let Some(name) = self.names.get(&(status, codes.clone())) {
            return name.clone();
        }
        let name = match codes.as_slice() {
            [only] => pascal_case(only),
            _ => format!("{}{status}", pascal_case(operation.name())),
        };
        let schema = format!("{name}Error");
        let response = self.response(status, &codes, &schema);
        self.responses.insert(name.clone(), response);
        self.schemas.insert(schema, envelope(&codes));
        self.names.insert((status, codes), name.clone());
        name
    }

    fn response(&self, status: u16, codes: &[&str], schema: &str) -> Value {
        let lines = codes.iter().map(|code| format!("- `{code}`: {}", self.description(code)));
        let lines: Vec<String> = lines.collect();
        let examples = codes.iter().map(|code| (*code, json!({"value": self.example(code)})));
        let examples: BTreeMap<_, _> = examples.collect();
        let mut headers = headers::common();
        if matches!(status, 429 | 503) {
            headers.insert("retry-after", headers::reference("retry-after"));
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
        if codes.iter().all(|code| doc_comments::is_assumed(self.comment(code))) {
            doc_comments::mark_assumed(&mut response);
        }
        response
    }

    fn example(&self, code: &str) -> Value {
        let mut error = json!({
            "code": code,
            "message": self.description(code),
            "request_id": "req_01",
        });
        let defaults = ErrorCode::from(code).defaults();
        if let (Some(defaults), Some(fields)) = (defaults, error.as_object_mut()) {
            fields.insert("category".to_owned(), json!(defaults.category));
            fields.insert("retryable".to_owned(), json!(defaults.retryable));
            fields.insert("next_action".to_owned(), json!(defaults.next_action));
        }
        json!({"error": error})
    }

    fn description(&self, code: &str) -> String {
        doc_comments::description(self.comment(code))
    }

    fn comment(&self, code: &str) -> &str {
        self.comments.get(code).map_or("", String::as_str)
    }
}

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
                            "message": {"type": "string"},
                            "request_id": {},
                        },
                    },
                ],
            },
        },
    })
}

fn pascal_case(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}
