//! The operation objects of the document.

use std::collections::BTreeMap;

use schemars::generate::SchemaGenerator;
use serde_json::{Map, Value, json};
use svc_sdk::contract::{Auth, Idempotency, Operation, Surface};

use crate::bodies::{Bodies, ResponseBody};
use crate::doc_comments::mark_assumed;
use crate::error_responses::ErrorResponses;
use crate::{Servers, bounds, examples, headers, parameters};

/// Returns the path under which the document lists an operation.
pub(crate) fn path(operation: Operation, servers: &Servers) -> String {
    match operation.surface() {
        Surface::Mcp => servers.split_mcp().1,
        _ => operation.path().to_owned(),
    }
}

pub(crate) fn describe(
    operation: Operation,
    servers: &Servers,
    bodies: &Bodies,
    generator: &mut SchemaGenerator,
    errors: &mut ErrorResponses,
) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("operationId", operation.name().into());
    set("summary", operation.summary().into());
    set("tags", json!(tags(operation.surface())));
    set("servers", json!(servers.of_surface(operation.surface())));
    set("security", security(operation));
    set("parameters", json!(parameters::of(operation, generator)));
    set("responses", json!(responses(operation, bodies, generator, errors)));
    set("x-budget", operation.rate_limit_bucket().as_str().into());
    set("x-retry", operation.retry().as_str().into());
    if let Some(scope) = operation.scope() {
        set("x-scope", json!(scope));
        set("description", format!("Requires the scope `{scope}`.").into());
    }
    if operation.is_alias() {
        set("deprecated", true.into());
        let description =
            "A compatibility alias. It continues to work; the canonical path is preferred.";
        set("description", description.into());
    }
    if let Some(request) = bodies.request {
        let mut content = json!({"schema": (request.schema)(generator)});
        set_example(&mut content, examples::request(operation));
        set(
            "requestBody",
            json!({"required": request.required, "content": {"application/json": content}}),
        );
    }
    Value::Object(fields)
}

fn responses(
    operation: Operation,
    bodies: &Bodies,
    generator: &mut SchemaGenerator,
    errors: &mut ErrorResponses,
) -> BTreeMap<String, Value> {
    let mut responses = BTreeMap::new();
    for &status in bodies.statuses {
        let response = success(operation, status, bodies, generator);
        responses.insert(status.to_string(), response);
    }
    for (status, reference) in errors.of_operation(operation) {
        responses.insert(status.to_string(), reference);
    }
    if operation.surface() == Surface::Mcp {
        responses.extend(json_rpc_responses());
    }
    responses
}

fn success(
    operation: Operation,
    status: u16,
    bodies: &Bodies,
    generator: &mut SchemaGenerator,
) -> Value {
    let content = match bodies.response {
        ResponseBody::Object(schema) => {
            let mut envelope = json!({
                "type": "object",
                "required": ["data"],
                "properties": {"data": schema(generator)},
            });
            // The specification shows the envelope for every operation of the open surface, but
            // for one operation of the developer surface only.
            if operation.surface() == Surface::Developer {
                mark_assumed(&mut envelope);
            }
            let mut content = json!({"schema": envelope});
            let example = examples::response(operation);
            set_example(&mut content, example.map(|data| json!({"data": data})));
            content
        }
        ResponseBody::List(schema) => {
            let mut envelope = json!({
                "type": "object",
                "required": ["data"],
                "properties": {
                    "data": {"type": "array", "items": schema(generator)},
                    "next_cursor": {"type": ["string", "null"], "description": "The cursor of the next page."},
                },
            });
            mark_assumed(&mut envelope);
            json!({"schema": envelope})
        }
        ResponseBody::Unwrapped => json!({"schema": bounds::any_object()}),
    };
    json!({
        "description": success_description(operation, status),
        "headers": headers::common(),
        "content": {"application/json": content},
    })
}

fn success_description(operation: Operation, status: u16) -> &'static str {
    match status {
        201 => "Created.",
        202 => "Accepted.",
        _ => match operation.idempotency() {
            Idempotency::NoKey => "Success.",
            Idempotency::OnePerKey => {
                "The top-up of an earlier request with the same key, as it is now."
            }
            Idempotency::Undocumented => "The receipt of what finished within the wait timeout.",
            // Runs are not waited for.
            _ if operation.surface() == Surface::Developer => {
                "The receipt of an earlier identical request."
            }
            _ => {
                "The receipt of an earlier identical request, or of one that finished within the wait timeout."
            }
        },
    }
}

/// Returns the responses that JSON-RPC over HTTP adds.
fn json_rpc_responses() -> [(String, Value); 5] {
    let error = |status: u16, description: &str| {
        let schema = json!({
            "type": "object",
            "required": ["error"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer", "null"]},
                "error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {"code": {"type": ["integer", "string"]}, "message": {"type": "string"}},
                },
            },
        });
        let response = json!({
            "description": description,
            "headers": headers::common(),
            "content": {"application/json": {"schema": schema}},
            "x-assumed": true,
        });
        (status.to_string(), response)
    };
    let accepted = json!({
        "description": "The notification was accepted.",
        "headers": headers::common(),
        "x-assumed": true,
    });
    [
        ("202".to_owned(), accepted),
        error(400, "An error of JSON-RPC or of the service."),
        error(403, "The `Origin` header names another site."),
        error(404, "Method not found."),
        error(406, "The `Accept` header excludes JSON."),
    ]
}

fn tags(surface: Surface) -> &'static [&'static str] {
    match surface {
        Surface::Open => &["open"],
        Surface::Developer => &["developer"],
        Surface::Mcp => &["mcp"],
        _ => &["open", "developer"],
    }
}

/// Returns the security requirements: either credential, or none on public routes.
fn security(operation: Operation) -> Value {
    let scopes: Vec<_> = operation.scope().into_iter().collect();
    let either = [json!({"bearer": scopes}), json!({"apiKey": scopes})];
    match operation.auth() {
        Auth::Public => json!([{}, either[0], either[1]]),
        _ => json!(either),
    }
}

fn set_example(content: &mut Value, example: Option<Value>) {
    if let (Some(example), Some(content)) = (example, content.as_object_mut()) {
        content.insert("example".to_owned(), example);
    }
}
