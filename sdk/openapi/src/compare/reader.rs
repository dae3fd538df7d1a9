//! Access to the parts of a document, with references followed.

use std::collections::BTreeMap;

use serde_json::Value;

#[derive(Clone, Copy, Debug)]
pub(super) struct OperationItem<'d> {
    document: &'d Value,
    pub(super) path: &'d str,
    path_item: &'d Value,
    pub(super) operation: &'d Value,
}

/// The method and the path with unnamed placeholders.
pub(super) type OperationKey = (String, String);

impl<'d> OperationItem<'d> {
    /// Returns the operation's id; its method and path if it has none.
    pub(super) fn name(&self, (method, _): &OperationKey) -> String {
        let id = self.operation["operationId"].as_str();
        id.map_or_else(|| format!("{method} {}", self.path), str::to_owned)
    }

    pub(super) fn is_deprecated(&self) -> bool {
        self.operation["deprecated"] == Value::Bool(true)
    }

    pub(super) fn is_mcp(&self) -> bool {
        let tags = self.operation["tags"].as_array();
        tags.is_some_and(|tags| tags.iter().any(|tag| tag == "mcp"))
    }

    /// Returns the query parameters and request headers by name.
    pub(super) fn parameters(&self) -> BTreeMap<String, &'d Value> {
        let lists = [self.path_item.get("parameters"), self.operation.get("parameters")];
        let all = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
        let named =
            all.map(|parameter| resolve(self.document, parameter)).filter_map(|parameter| {
                let name = parameter["name"].as_str()?;
                let name = match parameter["in"].as_str()? {
                    "header" => name.to_ascii_lowercase(),
                    "query" => name.to_owned(),
                    _ => return None,
                };
                // Some generators list the credential and the content type as parameters.
                let is_implied = ["authorization", "x-api-key", "content-type"].contains(&&*name);
                (!is_implied).then_some((name, parameter))
            });
        named.collect()
    }

    pub(super) fn responses(&self) -> BTreeMap<&'d str, &'d Value> {
        let responses = self.operation.get("responses").and_then(Value::as_object);
        let responses = responses.into_iter().flatten();
        responses
            .map(|(status, response)| (status.as_str(), resolve(self.document, response)))
            .collect()
    }

    pub(super) fn request_schema(&self) -> Option<&'d Value> {
        json_schema(resolve(self.document, self.operation.get("requestBody")?))
    }
}

/// Returns the operations in a section (`paths` or `webhooks`) of a document.
pub(super) fn operations<'d>(
    document: &'d Value,
    section: &str,
) -> BTreeMap<OperationKey, OperationItem<'d>> {
    const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
    let mut found = BTreeMap::new();
    let items = document.get(section).and_then(Value::as_object);
    for (path, item) in items.into_iter().flatten() {
        let path_item = resolve(document, item);
        for method in METHODS {
            if let Some(operation) = path_item.get(method) {
                let item = OperationItem { document, path, path_item, operation };
                // The URL of the MCP endpoint is configured, so its path differs by deployment.
                let path = match item.is_mcp() {
                    true => "{mcp_url}".to_owned(),
                    false => without_placeholder_names(path),
                };
                found.insert((method.to_ascii_uppercase(), path), item);
            }
        }
    }
    found
}

fn without_placeholder_names(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment.starts_with('{') {
        true => "{}",
        false => segment,
    });
    segments.collect::<Vec<_>>().join("/")
}

pub(super) fn json_schema(body: &Value) -> Option<&Value> {
    let content = body.get("content")?.as_object()?;
    let json = content.iter().find(|(name, _)| name.split(';').next() == Some("application/json"));
    json?.1.get("schema")
}

/// Returns the error codes that a document marks as assumed.
pub(super) fn assumed_codes(document: &Value) -> impl Iterator<Item = &str> {
    let codes = document.pointer("/components/schemas/ErrorCode/x-assumed-values");
    let codes = codes.and_then(Value::as_array).into_iter().flatten();
    codes.filter_map(Value::as_str)
}

/// Follows a reference, if the value is one.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => resolve_reference(document, reference),
        None => value,
    }
}

/// Returns the target of a reference within the document; null if there is none.
pub(super) fn resolve_reference<'d>(document: &'d Value, reference: &str) -> &'d Value {
    let pointer = reference.strip_prefix('#').unwrap_or_default();
    match pointer {
        "" => &Value::Null,
        pointer => document.pointer(pointer).unwrap_or(&Value::Null),
    }
}
