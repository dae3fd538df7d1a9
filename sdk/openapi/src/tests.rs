//! Tests of the document as a whole.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_sdk::contract::Operation;

use crate::{Servers, document, error_codes, operation};

fn generate() -> Value {
    document(&Servers::default())
}

fn operation_object(document: &Value, operation: Operation) -> &Value {
    let method = operation.method().as_str().to_ascii_lowercase();
    let path = operation::path(operation, &Servers::default());
    &document["paths"][path][method]
}

/// Asserts that an object has the required fields of its schema, and only declared ones.
fn assert_matches(document: &Value, schema: &Value, example: &Value, what: &str) {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => schema,
    };
    let Some(properties) = schema["properties"].as_object() else { return };
    let fields = example.as_object().unwrap_or_else(|| panic!("{what}: not an object: {example}"));
    for (name, value) in fields {
        let property =
            properties.get(name).unwrap_or_else(|| panic!("{what}: {name} is not declared"));
        if value.is_object() {
            assert_matches(document, property, value, what);
        }
        for item in value.as_array().into_iter().flatten().filter(|it| it.is_object()) {
            assert_matches(document, &property["items"], item, what);
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(fields.contains_key(name.as_str().unwrap()), "{what}: {name} is missing");
    }
}

#[test]
fn document_has_the_public_operations_only() {
    let document = generate();
    let mut names = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            names.insert(operation["operationId"].as_str().unwrap().to_owned());
        }
    }
    let public = Operation::ALL.iter().filter(|operation| !operation.is_hidden());
    let public: BTreeSet<String> = public.map(ToString::to_string).collect();
    assert_eq!(names, public);
    assert_eq!(public.len(), Operation::ALL.len() - 2);
}

#[test]
fn document_has_every_error_code() {
    let document = generate();
    for operation in Operation::ALL.iter().copied().filter(|op| !op.is_hidden()) {
        let responses = &operation_object(&document, operation)["responses"];
        for code in error_codes(operation) {
            let status = code.defaults().unwrap().status.unwrap().to_string();
            let reference = responses[&status]["$ref"].as_str();
            // With some statuses, the MCP endpoint responds with errors of JSON-RPC.
            let Some(reference) = reference else {
                assert_eq!(operation, Operation::Mcp);
                continue;
            };
            let response = document.pointer(&reference[1..]).unwrap();
            let examples = &response["content"]["application/json"]["examples"];
            assert!(examples.get(code.as_str()).is_some(), "{operation} {code}");
        }
    }
}

#[test]
fn examples_match_their_schemas() {
    let document = generate();
    for operation in Operation::ALL.iter().copied().filter(|op| !op.is_hidden()) {
        let object = operation_object(&document, operation);
        let sent = &object["requestBody"]["content"]["application/json"];
        if let Some(example) = sent.get("example") {
            assert_matches(&document, &sent["schema"], example, operation.name());
        }
        for response in object["responses"].as_object().unwrap().values() {
            let body = &response["content"]["application/json"];
            if let Some(example) = body.get("example") {
                assert_matches(&document, &body["schema"], example, operation.name());
            }
        }
    }
}

#[test]
fn lists_of_any_values_have_an_empty_schema() {
    let document = generate();
    let list = &document["components"]["schemas"]["ErrorDetails"]["properties"]["pending_jobs"];
    assert_eq!(list["items"], serde_json::json!({}));
}

#[test]
fn objects_without_declared_fields_say_that_they_may_have_any() {
    fn check(schema: &Value, at: &str) {
        match schema {
            Value::Array(parts) => parts.iter().for_each(|part| check(part, at)),
            Value::Object(parts) => {
                let is_undeclared = parts.get("type").is_some_and(|it| it == "object")
                    && !parts.contains_key("properties");
                assert!(!is_undeclared || parts.contains_key("additionalProperties"), "{at}");
                parts.iter().for_each(|(name, part)| check(part, &format!("{at}/{name}")));
            }
            _ => {}
        }
    }
    check(&generate(), "");
}

#[test]
fn runs_list_what_they_accept() {
    let document = generate();
    let schemas = &document["components"]["schemas"];
    for name in ["FormatRunCreate", "AgentCompletionCreate", "ActionRunCreate"] {
        let fields = &schemas[name]["properties"];
        for field in ["mode", "webhook_url", "wait_timeout_seconds", "communication"] {
            assert!(fields.get(field).is_some(), "{name}: {field}");
        }
    }
    let cap = |name: &str| &schemas[name]["properties"]["generation_spend_cap_usd"];
    let null_means_the_maximum = cap("FormatRunCreate");
    assert_eq!(null_means_the_maximum["type"], serde_json::json!(["number", "null"]));
    assert_eq!(null_means_the_maximum["maximum"], 500);
    assert_eq!(null_means_the_maximum.get("x-nullable"), None);
    assert_eq!(cap("AgentCompletionCreate")["type"], "number");
    let avatar = &schemas["AvatarInput"]["properties"];
    assert!(avatar.get("photo").is_some() && avatar.get("image_url").is_some());
}

#[test]
fn a_200_of_a_submit_is_what_can_come() {
    let document = generate();
    let replay = "The receipt of an earlier identical request.";
    let wait = "The receipt of what finished within the wait timeout.";
    for (operation, description) in [
        (Operation::FormatsRunsCreate, Some(replay)),
        (Operation::FormatsBulkCreate, Some(replay)),
        (Operation::AgentCompletionsCreate, Some(replay)),
        (Operation::Image1Generate, Some(wait)),
        (Operation::ActionsRunsCreate, None),
    ] {
        let responses = &operation_object(&document, operation)["responses"];
        assert_eq!(responses["200"]["description"].as_str(), description, "{operation}");
        assert!(responses["202"].is_object(), "{operation}");
    }
}

#[test]
fn references_resolve() {
    fn check(document: &Value, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| check(document, item)),
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
                }
                fields.values().for_each(|field| check(document, field));
            }
            _ => {}
        }
    }
    let document = generate();
    check(&document, &document);
}

#[test]
fn what_a_schema_requires_has_a_property() {
    /// `declared` are the names of the properties of the schemas around this one.
    fn check(document: &Value, schema: &Value, declared: &BTreeSet<&str>, at: &str) {
        let Some(fields) = schema.as_object() else { return };
        let mut declared = declared.clone();
        let mut parts = vec![schema];
        parts.extend(fields.get("allOf").and_then(Value::as_array).into_iter().flatten());
        for part in parts {
            let target = part["$ref"].as_str().and_then(|it| document.pointer(&it[1..]));
            let properties = target.unwrap_or(part)["properties"].as_object();
            declared.extend(properties.into_iter().flat_map(|it| it.keys()).map(String::as_str));
        }
        for name in fields.get("required").and_then(Value::as_array).into_iter().flatten() {
            assert!(declared.contains(name.as_str().unwrap()), "{at}: {name}");
        }
        for (keyword, value) in fields {
            let at = format!("{at}/{keyword}");
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    let none = BTreeSet::new();
                    for (name, property) in properties {
                        // A field in a conditional schema is that of the schema around it.
                        let own = property.get("properties").is_some();
                        let declared = if own { &none } else { &declared };
                        check(document, property, declared, &format!("{at}/{name}"));
                    }
                }
                ("items", items) => check(document, items, &BTreeSet::new(), &at),
                (_, Value::Array(parts)) => {
                    parts.iter().for_each(|part| check(document, part, &declared, &at));
                }
                (_, part) => check(document, part, &declared, &at),
            }
        }
    }
    let document = generate();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        check(&document, schema, &BTreeSet::new(), name);
    }
}

#[test]
fn operations_name_the_rules_that_schemas_do_not_state() {
    let document = generate();
    let rules = |operation| operation_object(&document, operation)["x-svc-rules"].clone();
    assert_eq!(
        rules(Operation::ImageGenerate),
        serde_json::json!(["model", "public_hosts", "directives", "json"])
    );
    assert_eq!(rules(Operation::JobsGet), Value::Null);
    for operation in Operation::ALL.iter().copied().filter(|op| !op.is_hidden()) {
        for rule in rules(operation).as_array().into_iter().flatten() {
            assert!(document["x-svc-rules"][rule.as_str().unwrap()].is_string(), "{rule}");
        }
    }
}
