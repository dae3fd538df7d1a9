//! Every field of a request has a flag.

use std::collections::BTreeSet;

use clap::Command;
use serde_json::{Map, Value};
use svc_openapi::{Servers, document};
use svc_sdk::contract::Operation;

use crate::cli::full_command_line;
use crate::commands::operations::command_of;

/// The fields of a request body.
type BodyFields = Map<String, Value>;

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(target) => resolve(document, document.pointer(&target[1..]).unwrap()),
        None => schema,
    }
}

fn properties<'a>(document: &'a Value, schema: &'a Value) -> Option<&'a BodyFields> {
    resolve(document, schema)["properties"].as_object()
}

fn body_fields(document: &Value, operation: Operation) -> Option<&BodyFields> {
    let method = operation.method().as_str().to_lowercase();
    let request = &document["paths"][operation.path()][&method]["requestBody"];
    properties(document, &request["content"]["application/json"]["schema"])
}

fn command(root: &Command, operation: Operation) -> &Command {
    let words = command_of(operation).split(' ').skip(1);
    words
        .map_while({
            let mut command = root;
            move |word| {
                command = command.find_subcommand(word)?;
                Some(command)
            }
        })
        .last()
        .unwrap()
}

fn accepts(command: &Command, field: &str) -> bool {
    let flag = field.replace('_', "-");
    command.get_arguments().any(|arg| {
        let names = arg.get_long_and_visible_aliases().unwrap_or_default();
        let is_argument = arg.is_positional() && arg.get_id().as_str() == field;
        is_argument || names.contains(&flag.as_str())
    })
}

fn missing_flags(
    document: &Value,
    command: &Command,
    operation: Operation,
    fields: &BodyFields,
) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, schema) in fields {
        match name.as_str() {
            // `--input` is a file with the whole body, so the fields of this object have flags.
            // The one of a run has any fields, and is given with `--param`.
            "input" => {
                let nested = properties(document, schema);
                let nested =
                    nested.map(|fields| missing_flags(document, command, operation, fields));
                missing.extend(nested.unwrap_or_default());
            }
            // Another name of `image_url`.
            "photo" if accepts(command, "image_url") => {}
            // The items of a queue are given with `--input` or `--param`.
            "items" => {}
            name if accepts(command, name) => {}
            // They change no price.
            "metadata" | "mode" | "wait_timeout_seconds" | "webhook_url"
                if operation == Operation::OpenEstimate => {}
            name => missing.push(format!("{}: {name}", operation.name())),
        }
    }
    missing
}

#[test]
fn every_field_of_a_request_has_a_flag() {
    let document = document(&Servers::default());
    let root = full_command_line();
    let mut bodies = 0;
    let mut missing = Vec::new();
    for operation in Operation::ALL.iter().filter(|operation| **operation != Operation::Mcp) {
        if let Some(fields) = body_fields(&document, *operation) {
            let command = command(&root, *operation);
            missing.extend(missing_flags(&document, command, *operation, fields));
            bodies += usize::from(!fields.is_empty());
            for field in ["param", "input"].iter().filter(|_| !fields.is_empty()) {
                assert!(accepts(command, field), "{}: --{field}", operation.name());
            }
        }
    }
    assert!(bodies > 25, "{bodies} operations have fields");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn only_operations_with_a_prompt_have_the_flag() {
    let document = document(&Servers::default());
    let root = full_command_line();
    let has_prompt = |operation: Operation| {
        body_fields(&document, operation).is_some_and(|fields| {
            let input = fields.get("input").and_then(|input| properties(&document, input));
            fields.contains_key("prompt") || input.is_some_and(|it| it.contains_key("prompt"))
        })
    };
    let words = |operation: Operation| {
        let words = command_of(operation).split(' ');
        let words = words.take_while(|word| word.bytes().all(|b| b.is_ascii_lowercase()));
        words.collect::<Vec<_>>().join(" ")
    };
    let operations = Operation::ALL.iter().copied();
    let with_prompt: BTreeSet<String> = operations
        .clone()
        .filter(|operation| has_prompt(*operation))
        .map(words)
        .chain(["svc estimate".to_owned()])
        .collect();
    assert_eq!(with_prompt.len(), 6, "{with_prompt:?}");
    for operation in operations {
        let accepts_prompt = accepts(command(&root, operation), "prompt");
        let words = words(operation);
        assert_eq!(accepts_prompt, with_prompt.contains(&words), "{words}");
    }
}
