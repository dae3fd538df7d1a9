//! The service as an OpenAPI 3.1 document, and what another document has more or less.
//!
//! Nothing in it is written a second time: paths, credentials and scopes come from the table of
//! operations, codes from [`Operation::codes`], bodies from the types, bounds from the limits. What
//! the service's specification does not show is marked `x-assumed: true` wherever the types say so;
//! routes that are hidden from the public schema are left out.

mod bodies;
mod bounds;
mod drift;
mod errors;
mod examples;
mod parameters;
mod prose;
mod schemas;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::generate::SchemaGenerator;
use serde_json::{Map, Value, json};

use self::bodies::{Answer, Bodies};
pub use self::drift::{Difference, Drift, Part, compare};
use self::errors::Refusals;
pub(crate) use self::schemas::open_set;
use crate::contract::{Auth, Method, Operation, Surface};
use crate::types::{ErrorBody, WebhookEvent, WebhookEventType};

/// Where the service is reached: what the document's `servers` say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Servers {
    /// The base URL of the open surface.
    pub open: String,
    /// The base URL of the developer surface.
    pub developer: String,
    /// The URL of the MCP endpoint.
    pub mcp: String,
}

impl Servers {
    /// The URLs of a deployment.
    #[must_use]
    pub fn new(
        open: impl Into<String>,
        developer: impl Into<String>,
        mcp: impl Into<String>,
    ) -> Self {
        Self {
            open: open.into(),
            developer: developer.into(),
            mcp: mcp.into(),
        }
    }

    fn of(&self, surface: Surface) -> Vec<Value> {
        let open = || json!({"url": self.open, "description": "The open surface."});
        let developer = || json!({"url": self.developer, "description": "The developer surface."});
        match surface {
            Surface::Open => vec![open()],
            Surface::Developer => vec![developer()],
            Surface::Both => vec![open(), developer()],
            Surface::Mcp => {
                let (base, _) = self.split_mcp();
                vec![json!({"url": base, "description": "The host of the MCP endpoint."})]
            }
        }
    }

    /// The URL of the MCP endpoint: what comes before its last segment, and that segment.
    fn split_mcp(&self) -> (&str, String) {
        match self.mcp.rsplit_once('/') {
            Some((base, last)) => (base, format!("/{last}")),
            None => (&self.mcp, "/".to_owned()),
        }
    }
}

/// A deployment that nobody has: for a document that is only compared.
impl Default for Servers {
    fn default() -> Self {
        Self::new(
            "https://open.svc.invalid",
            "https://developer.svc.invalid",
            "https://developer.svc.invalid/mcp",
        )
    }
}

/// The document of both surfaces, as this build knows them.
///
/// ```
/// use svc_sdk::openapi::{Servers, document};
///
/// let document = document(&Servers::default());
/// assert_eq!(document["openapi"], "3.1.0");
/// assert_eq!(document["paths"]["/v1/jobs/{id}"]["get"]["operationId"], "jobs_get");
/// assert!(document["paths"].get("/health").is_none(), "hidden");
/// ```
#[must_use]
pub fn document(servers: &Servers) -> Value {
    let mut generator = schemas::generator();
    let mut refusals = Refusals::default();
    let mut requests = Vec::new();
    let mut paths: Map<String, Value> = Map::new();
    for operation in Operation::ALL.iter().copied().filter(|op| !op.is_hidden()) {
        let bodies = bodies::of(operation);
        if let Some(sent) = bodies.request {
            requests.push((sent.schema)(&mut generator).to_value());
        }
        let item = describe(operation, servers, &bodies, &mut generator, &mut refusals);
        let method = operation.method().as_str().to_ascii_lowercase();
        let path = paths
            .entry(path_of(operation, servers))
            .or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(method, item);
        }
    }
    let webhooks = webhooks(&mut generator);
    generator.subschema_for::<ErrorBody>();
    let mut components = generator.take_definitions(true);
    schemas::finish(&mut components, &requests);
    let (envelopes, responses) = refusals.into_components();
    components.extend(envelopes);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "svc: media generation and agent runs",
            "version": "v1",
            "description": "Both surfaces. What is marked `x-assumed` is not shown by the service's specification: it is what the mock server does. Sets marked `x-open-set` may have more values than are named.",
        },
        "servers": servers.of(Surface::Both),
        "tags": [
            {"name": "open", "description": "The open pay-as-you-go surface."},
            {"name": "developer", "description": "The developer surface."},
            {"name": "mcp", "description": "The MCP endpoint."},
        ],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": components,
            "responses": responses,
            "headers": header_components(),
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

fn path_of(operation: Operation, servers: &Servers) -> String {
    match operation.surface() {
        Surface::Mcp => servers.split_mcp().1,
        _ => operation.path().to_owned(),
    }
}

fn describe(
    operation: Operation,
    servers: &Servers,
    bodies: &Bodies,
    generator: &mut SchemaGenerator,
    refusals: &mut Refusals,
) -> Value {
    let mut responses: BTreeMap<String, Value> = bodies
        .statuses
        .iter()
        .map(|status| {
            (
                status.to_string(),
                success(operation, *status, bodies, generator),
            )
        })
        .collect();
    let refused = refusals.of(operation);
    responses.extend(
        refused
            .into_iter()
            .map(|(status, it)| (status.to_string(), it)),
    );
    if operation.surface() == Surface::Mcp {
        responses.extend(of_json_rpc());
    }
    let mut item = json!({
        "operationId": operation.name(),
        "summary": operation.summary(),
        "tags": tags(operation.surface()),
        "servers": servers.of(operation.surface()),
        "security": security(operation),
        "parameters": parameters::of(operation, generator),
        "responses": responses,
        "x-budget": operation.budget().as_str(),
        "x-retry": operation.retry().as_str(),
    });
    let Some(fields) = item.as_object_mut() else {
        return item;
    };
    if let Some(scope) = operation.scope() {
        fields.insert("x-scope".to_owned(), json!(scope));
        fields.insert(
            "description".to_owned(),
            format!("Needs the scope `{scope}`.").into(),
        );
    }
    if operation.is_alias() {
        fields.insert("deprecated".to_owned(), true.into());
        let advice =
            "A compatibility alias: it continues to work, and the canonical path is preferred.";
        fields.insert("description".to_owned(), advice.into());
    }
    if let Some(sent) = bodies.request {
        let mut content = json!({"schema": (sent.schema)(generator)});
        if let (Some(example), Some(content)) =
            (examples::request(operation), content.as_object_mut())
        {
            content.insert("example".to_owned(), example);
        }
        let body = json!({"required": sent.required, "content": {"application/json": content}});
        fields.insert("requestBody".to_owned(), body);
    }
    item
}

/// What JSON-RPC over HTTP answers besides: nothing to a notification, and its own errors.
fn of_json_rpc() -> [(String, Value); 5] {
    let refused = |status: u16, description: &str| {
        let schema = json!({
            "type": "object",
            "required": ["error"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer", "null"]},
                "error": {"type": "object", "required": ["code", "message"]},
            },
        });
        let response = json!({
            "description": description,
            "headers": headers(),
            "content": {"application/json": {"schema": schema}},
            "x-assumed": true,
        });
        (status.to_string(), response)
    };
    let nothing = json!({"description": "A notification was taken.", "headers": headers(), "x-assumed": true});
    [
        ("202".to_owned(), nothing),
        refused(400, "An error of JSON-RPC, or of the service."),
        refused(403, "The `Origin` is that of another site."),
        refused(404, "There is no such method."),
        refused(406, "`Accept` excludes JSON."),
    ]
}

fn tags(surface: Surface) -> &'static [&'static str] {
    match surface {
        Surface::Open => &["open"],
        Surface::Developer => &["developer"],
        Surface::Both => &["open", "developer"],
        Surface::Mcp => &["mcp"],
    }
}

/// Either credential; none on public routes. The names beside it are the scopes.
fn security(operation: Operation) -> Value {
    let scopes: Vec<_> = operation.scope().into_iter().collect();
    let either = [json!({"bearer": scopes}), json!({"apiKey": scopes})];
    match operation.auth() {
        Auth::Key => json!(either),
        Auth::Public => json!([{}, either[0], either[1]]),
    }
}

fn success(
    operation: Operation,
    status: u16,
    bodies: &Bodies,
    generator: &mut SchemaGenerator,
) -> Value {
    let (schema, example) = match bodies.answer {
        Answer::One(schema) => {
            let mut wrapped = json!({
                "type": "object",
                "required": ["data"],
                "properties": {"data": schema(generator)},
            });
            // The open surface wraps every successful body; the other is shown to in one place.
            if operation.surface() == Surface::Developer {
                mark_assumed(&mut wrapped);
            }
            let example = examples::answer(operation).map(|data| json!({"data": data}));
            (wrapped, example)
        }
        Answer::Many(schema) => {
            let mut wrapped = json!({
                "type": "object",
                "required": ["data"],
                "properties": {
                    "data": {"type": "array", "items": schema(generator)},
                    "next_cursor": {"type": ["string", "null"], "description": "Where the next page starts."},
                },
            });
            mark_assumed(&mut wrapped);
            (wrapped, None)
        }
        Answer::Document => (json!({"type": "object"}), None),
    };
    let mut content = json!({"schema": schema});
    if let (Some(example), Some(content)) = (example, content.as_object_mut()) {
        content.insert("example".to_owned(), example);
    }
    json!({
        "description": meaning(operation, status),
        "headers": headers(),
        "content": {"application/json": content},
    })
}

fn mark_assumed(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("x-assumed".to_owned(), true.into());
    }
}

fn meaning(operation: Operation, status: u16) -> &'static str {
    match status {
        201 => "Created.",
        202 => "Accepted.",
        _ if operation.method() == Method::Post && operation.retry().sends_key() => {
            "The receipt of the same request done before, or of one that ended while it was waited for."
        }
        _ => "As asked for.",
    }
}

/// The headers of every answer.
fn headers() -> Value {
    let names = [
        "x-svc-request-id",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
    ];
    let headers = names.map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        (name.to_owned(), reference)
    });
    Value::Object(headers.into_iter().collect())
}

fn header_components() -> Value {
    let number = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    json!({
        "x-svc-request-id": {
            "description": "Identifies the request.",
            "required": true,
            "schema": {"type": "string"},
        },
        "ratelimit-limit": number("Requests allowed in the current window, of the budget that this one spent from."),
        "ratelimit-remaining": number("Requests left in the window."),
        "ratelimit-reset": number("Seconds until the window ends."),
        "retry-after": number("Seconds to wait."),
    })
}

/// The events, as the service posts them to a `webhook_url`.
fn webhooks(generator: &mut SchemaGenerator) -> Value {
    let body = generator.subschema_for::<WebhookEvent>().to_value();
    let header = |name: &str, description: &str| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": {"type": "string"},
        })
    };
    let events = WebhookEventType::DOCS.iter().map(|(event, docs)| {
        let item = json!({
            "post": {
                "operationId": format!("webhook_{}", event.replace('.', "_")),
                "summary": prose::description(docs),
                "security": [],
                "parameters": [
                    header("x-svc-webhook-timestamp", "Unix seconds."),
                    header("x-svc-webhook-signature", "`svc-v1=<hex>`; during a rotation several, newest first."),
                    header("x-svc-webhook-secret-fingerprint", "The newest secret's fingerprint."),
                ],
                "requestBody": {
                    "required": true,
                    "content": {"application/json": {"schema": body}},
                },
                "responses": {"2XX": {"description": "The receiver has it."}},
            },
        });
        ((*event).to_owned(), item)
    });
    Value::Object(events.collect())
}
