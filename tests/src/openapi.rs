//! Checks of requests and responses against the service's OpenAPI document.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::{Draft, Registry, Validator};
use serde_json::{Value, json};
use svc_openapi::{Servers, document};
use svc_sdk::contract::{Operation, Surface};

use crate::frontend::Host;
use crate::response::Response;

/// The URI of the document in references.
const DOCUMENT_URI: &str = "urn:svc:openapi";

/// The document, without the list of the codes that jobs and runs fail with: it is open, and the
/// directive `[mock:fail=…]` accepts any code. The codes of responses stay listed for each operation.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = document(&Servers::default());
    let code = document.pointer_mut("/components/schemas/ErrorCode");
    let code = code.and_then(Value::as_object_mut);
    let listed = code.and_then(|code| code.remove("enum"));
    assert!(listed.is_some(), "the document lists the error codes");
    document
});

static REGISTRY: LazyLock<Registry<'static>> = LazyLock::new(|| {
    let registry = Registry::new().draft(Draft::Draft202012);
    let registry = registry.add(DOCUMENT_URI, DOCUMENT.clone());
    let registry = registry.expect("a URI").prepare();
    registry.expect("references of the document")
});

/// The validators by the pointer to their schema.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Asserts that the response is as the document describes it for the operation: its status, its
/// body and its error code. If the request was accepted, its body is checked as well.
///
/// Errors that a `[mock:refuse=…]` directive requests are exempt: it accepts any code. So is the
/// error of an invalid directive, which only the mock has.
#[track_caller]
pub(crate) fn check(host: Host, method: &str, path: &str, body: &[u8], response: &Response) {
    let surface = match host {
        Host::Open => Surface::Open,
        Host::Developer => Surface::Developer,
        Host::Media | Host::Control => return,
    };
    let path = path.split('?').next().unwrap_or_default();
    let Some((operation, _)) = Operation::route(surface, method, path) else { return };
    if operation.is_hidden() || !response.is_json() || has_refuse_directive(body) {
        return;
    }
    if response.json()["error"]["code"] == "mock_directive_invalid" {
        return;
    }
    let method = method.to_ascii_lowercase();
    let operation_pointer = format!("/paths/{}/{method}", escaped(operation.path()));
    let status = response.status();
    // What a lenient mock replays, the document does not promise.
    let listed = match (operation, status) {
        (Operation::ActionsRunsCreate, 200) => 202,
        _ => status,
    };
    let pointer = resolve(&format!("{operation_pointer}/responses/{listed}"));
    let Some(pointer) = pointer else {
        panic!("the document of {operation} does not list {status}:\n{response:?}");
    };
    let schema = format!("{pointer}/content/application~1json/schema");
    if let Some(problem) = first_violation(&schema, &response.json()) {
        panic!("the document of {operation} does not match: {problem}\n{response:?}");
    }
    let described = DOCUMENT.pointer(&schema).into_iter().collect();
    let fields = undeclared(described, &response.json(), "");
    assert!(fields.is_empty(), "the document of {operation} lacks {fields:?}:\n{response:?}");
    let request = format!("{operation_pointer}/requestBody/content/application~1json/schema");
    // The files of the mock itself count as public, and a scheme in capitals is the same.
    let body = String::from_utf8_lossy(body).replace("http://127.0.0.1", "https://127.0.0.1");
    let body = body.replace("\"HTTPS://", "\"https://");
    if (200..300).contains(&status)
        && DOCUMENT.pointer(&request).is_some()
        && let Ok(body) = serde_json::from_str(&body)
        && let Some(problem) = first_violation(&request, &body)
    {
        panic!("the document of {operation} does not allow the request: {problem}\n{body}");
    }
}

/// Returns the places of the fields that none of the schemas declares. An object whose fields no
/// schema names may have any.
fn undeclared(mut schemas: Vec<&Value>, instance: &Value, at: &str) -> Vec<String> {
    let mut parts = Vec::new();
    while let Some(schema) = schemas.pop() {
        let reference = schema["$ref"].as_str().map(|reference| &reference[1..]);
        schemas.extend(reference.and_then(|pointer| DOCUMENT.pointer(pointer)));
        let choices = ["allOf", "anyOf", "oneOf"].map(|name| schema[name].as_array());
        schemas.extend(choices.into_iter().flatten().flatten());
        parts.push(schema);
    }
    let of_parts = |name: &str| parts.iter().filter_map(|part| part.get(name)).collect::<Vec<_>>();
    match instance {
        Value::Array(items) => {
            items.iter().flat_map(|item| undeclared(of_parts("items"), item, at)).collect()
        }
        Value::Object(fields) => {
            let declared = of_parts("properties");
            let fields = fields.iter().filter(|_| !declared.is_empty());
            let problems = fields.flat_map(|(name, value)| {
                let of_field: Vec<_> = declared.iter().filter_map(|it| it.get(name)).collect();
                let at = format!("{at}/{name}");
                if of_field.is_empty() { vec![at] } else { undeclared(of_field, value, &at) }
            });
            problems.collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the first violation of the schema at a pointer into the document.
fn first_violation(pointer: &str, instance: &Value) -> Option<String> {
    let validator = validator(pointer);
    let error = validator.validate(instance).err()?;
    let (at, keyword) = (error.instance_path(), error.schema_path());
    Some(format!("`{at}`: {error} ({keyword})"))
}

fn validator(pointer: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().expect("no test panics while it compiles");
    let compile = || {
        let fragment = pointer.replace('{', "%7B").replace('}', "%7D");
        let schema = json!({"$ref": format!("{DOCUMENT_URI}#{fragment}")});
        let options = jsonschema::options().with_draft(Draft::Draft202012);
        let options = options.should_validate_formats(true).with_registry(&REGISTRY);
        Arc::new(options.build(&schema).expect("a valid schema"))
    };
    let validator = validators.entry(pointer.to_owned()).or_insert_with(compile);
    Arc::clone(validator)
}

/// Returns the pointer to what is at a pointer, which may be a reference.
fn resolve(pointer: &str) -> Option<String> {
    let object = DOCUMENT.pointer(pointer)?;
    Some(match object["$ref"].as_str() {
        Some(reference) => reference.trim_start_matches('#').to_owned(),
        None => pointer.to_owned(),
    })
}

/// Escapes a path for use in a JSON pointer, in a URI fragment.
fn escaped(path: &str) -> String {
    path.replace('~', "~0").replace('/', "~1")
}

fn has_refuse_directive(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    ["[mock:refuse=", "%5Bmock:refuse=", "%5Bmock%3Arefuse"]
        .iter()
        .any(|directive| text.contains(directive))
}
