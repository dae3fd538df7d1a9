//! The document as a whole.

use serde_json::{Map, Value, json};
use svc_sdk::contract::{Operation, Surface};
use svc_sdk::types::ErrorBody;

use crate::error_responses::ErrorResponses;
use crate::{Servers, bodies, headers, operation, schemas, service_rules, webhooks};

/// Generates the OpenAPI document of both surfaces.
///
/// ```
/// use svc_openapi::Servers;
///
/// let document = svc_openapi::document(&Servers::new(
///     "https://open.example",
///     "https://developer.example",
///     "https://developer.example/mcp",
/// ));
/// assert_eq!(document["openapi"], "3.1.0");
/// assert_eq!(document["servers"][0]["url"], "https://open.example");
/// assert!(document["paths"].get("/health").is_none(), "hidden");
/// ```
#[must_use]
pub fn document(servers: &Servers) -> Value {
    let mut generator = schemas::generator();
    let mut errors = ErrorResponses::default();
    let mut requests = Vec::new();
    let mut paths: Map<String, Value> = Map::new();
    for operation in Operation::ALL.iter().copied().filter(|op| !op.is_hidden()) {
        let bodies = bodies::of(operation);
        if let Some(request) = bodies.request {
            requests.push((request.schema)(&mut generator).to_value());
        }
        let item = operation::describe(operation, servers, &bodies, &mut generator, &mut errors);
        let method = operation.method().as_str().to_ascii_lowercase();
        let path = paths.entry(operation::path(operation, servers)).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(method, item);
        }
    }
    let webhooks = webhooks::describe(&mut generator);
    generator.subschema_for::<ErrorBody>();
    let mut components = generator.take_definitions(true);
    schemas::finish(&mut components, &requests);
    let (envelopes, responses) = errors.into_components();
    components.extend(envelopes);
    service_rules::name(&mut paths, &components);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "svc: media generation and agent runs",
            "version": "v1",
            "description": "The open and the developer surface. Parts marked `x-assumed` are not defined by the service's specification: they describe what the mock server does. Sets marked `x-open-set` may have more values than are listed. Errors of the open surface have `code`, `message`, `request_id` and, for some codes, `details` and `retry_after_seconds`; the other fields of an error are those of the developer surface, in the examples as well.",
        },
        "servers": servers.of_surface(Surface::Both),
        "tags": [
            {"name": "open", "description": "The open pay-as-you-go surface."},
            {"name": "developer", "description": "The developer surface."},
            {"name": "mcp", "description": "The MCP endpoint."},
        ],
        "x-svc-rules": service_rules::texts(),
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": components,
            "responses": responses,
            "headers": headers::components(),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`Authorization: Bearer <API_KEY>`. Send exactly one credential.",
                },
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "x-api-key",
                    "description": "`x-api-key: <API_KEY>`. Send exactly one credential.",
                },
            },
        },
    })
}
