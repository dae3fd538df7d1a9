//! The document as a whole.

use std::collections::BTreeSet;

use super::*;

fn ours() -> Value {
    document(&Servers::default())
}

fn described(document: &Value, operation: Operation) -> &Value {
    let method = operation.method().as_str().to_ascii_lowercase();
    let path = path_of(operation, &Servers::default());
    &document["paths"][path][method]
}

/// Asserts that an object has the fields that its schema needs, and none that it does not know.
fn fits(document: &Value, schema: &Value, example: &Value, what: &str) {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => schema,
    };
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let fields = example
        .as_object()
        .unwrap_or_else(|| panic!("{what}: {example}"));
    for (name, value) in fields {
        let property = properties
            .get(name)
            .unwrap_or_else(|| panic!("{what}: {name}"));
        if value.is_object() {
            fits(document, property, value, what);
        }
        for item in value
            .as_array()
            .into_iter()
            .flatten()
            .filter(|it| it.is_object())
        {
            fits(document, &property["items"], item, what);
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(
            fields.contains_key(name.as_str().unwrap()),
            "{what}: no {name}"
        );
    }
}

#[test]
fn every_public_operation_of_the_table_is_in_it_and_no_other() {
    let document = ours();
    let mut names = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            names.insert(operation["operationId"].as_str().unwrap().to_owned());
        }
    }
    let public = Operation::ALL
        .iter()
        .filter(|operation| !operation.is_hidden());
    let public: BTreeSet<String> = public.map(ToString::to_string).collect();
    assert_eq!(names, public);
    assert_eq!(public.len(), Operation::ALL.len() - 2);
}

#[test]
fn every_code_of_an_operation_is_in_it() {
    let document = ours();
    for operation in Operation::ALL.iter().copied().filter(|op| !op.is_hidden()) {
        let responses = &described(&document, operation)["responses"];
        for code in operation.codes() {
            let status = code.entry().unwrap().status.unwrap().to_string();
            let reference = responses[&status]["$ref"].as_str();
            // JSON-RPC has errors of its own with some of the statuses.
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
fn each_example_fits_its_schema() {
    let document = ours();
    for operation in Operation::ALL.iter().copied().filter(|op| !op.is_hidden()) {
        let described = described(&document, operation);
        let sent = &described["requestBody"]["content"]["application/json"];
        if let Some(example) = sent.get("example") {
            fits(&document, &sent["schema"], example, operation.name());
        }
        for response in described["responses"].as_object().unwrap().values() {
            let body = &response["content"]["application/json"];
            if let Some(example) = body.get("example") {
                fits(&document, &body["schema"], example, operation.name());
            }
        }
    }
}

#[test]
fn all_that_is_referred_to_is_there() {
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
    let document = ours();
    check(&document, &document);
}
