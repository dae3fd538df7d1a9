//! The component schemas: derived from the SDK's types, then refined for requests and responses.

use std::collections::BTreeSet;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::ReplaceBoolSchemas;
use serde_json::{Map, Value, json};

use crate::{assumed_fields, bounds, doc_comments, open_sets, rules};

/// The prefix of references to component schemas.
pub(crate) const COMPONENTS: &str = "#/components/schemas/";

/// Creates a generator that puts types into the components. A schema of any value is empty instead of
/// `true`, so that client generators can read it.
pub(crate) fn generator() -> SchemaGenerator {
    let mut replace_bools = ReplaceBoolSchemas::default();
    replace_bools.skip_additional_properties = true;
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(replace_bools)
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
        .into_generator()
}

/// Refines the components; those that `requests` refer to become request schemas.
pub(crate) fn finish(components: &mut Map<String, Value>, requests: &[Value]) {
    let in_requests = reachable(components, requests);
    for (name, schema) in components.iter_mut() {
        let Some(fields) = schema.as_object_mut() else { continue };
        open_sets::rewrite(fields);
        if in_requests.contains(name) {
            refine_request(fields);
            rules::add(name, fields);
        } else {
            refine_response(name, fields);
            add_assumed_fields(name, fields);
        }
        annotate(schema);
    }
    set_estimate_input(components);
}

fn add_assumed_fields(component: &str, schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (_, name, kind, description) in
        assumed_fields::FIELDS.iter().filter(|(known, ..)| *known == component)
    {
        let mut field = assumed_schema(kind);
        if let Some(field) = field.as_object_mut() {
            field.insert("description".to_owned(), json!(description));
        }
        doc_comments::mark_assumed(&mut field);
        properties.entry(*name).or_insert(field);
    }
}

fn assumed_schema(kind: &str) -> Value {
    if let Some(item) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        return json!({"type": "array", "items": assumed_schema(item)});
    }
    match (kind.strip_suffix('?'), kind) {
        (Some(kind), _) => match assumed_schema(kind) {
            schema if schema.get("$ref").is_some() => json!({"anyOf": [schema, {"type": "null"}]}),
            schema => json!({"type": [schema.get("type"), "null"]}),
        },
        (None, "date-time" | "uri") => json!({"type": "string", "format": kind}),
        (None, kind) if kind.starts_with(|c: char| c.is_ascii_uppercase()) => {
            json!({"$ref": format!("{COMPONENTS}{kind}")})
        }
        (None, kind) => json!({"type": kind}),
    }
}

/// Says what the `input` of an estimate has: the fields of the generate requests, but for the model.
fn set_estimate_input(components: &mut Map<String, Value>) {
    let mut properties = Map::new();
    for name in ["ImageGenerate", "VideoGenerate"] {
        let fields = components.get(name).and_then(|schema| schema.get("properties")?.as_object());
        properties.extend(fields.cloned().unwrap_or_default());
    }
    properties.remove("model");
    let estimate = components.get_mut("EstimateRequest");
    let input = estimate.and_then(|schema| schema.pointer_mut("/properties/input"));
    if let Some(Value::Object(input)) = input {
        input.insert("properties".to_owned(), Value::Object(properties));
        input.insert("additionalProperties".to_owned(), false.into());
        rules::add("EstimateInput", input);
    }
}

/// Returns the names of the components that these schemas refer to, directly or not.
pub(crate) fn reachable(components: &Map<String, Value>, from: &[Value]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut pending: Vec<&Value> = from.iter().collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => {
                let target = fields.get("$ref").and_then(Value::as_str);
                if let Some(name) = target.and_then(|target| target.strip_prefix(COMPONENTS))
                    && names.insert(name.to_owned())
                {
                    pending.extend(components.get(name));
                }
                pending.extend(fields.values());
            }
            _ => {}
        }
    }
    names
}

/// Forbids undeclared fields, which requests do not have, and nulls that stand for absent fields, and
/// sets the bounds.
fn refine_request(fields: &mut Map<String, Value>) {
    if fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(mut properties) = single_field_choices(fields) {
        // The specification names the photo of an avatar in two ways.
        if let (Some(url), false) = (properties.get("image_url"), properties.contains_key("photo"))
        {
            properties.insert("photo".to_owned(), url.clone());
        }
        fields.remove("anyOf");
        fields.insert("type".to_owned(), "object".into());
        fields.insert("properties".to_owned(), Value::Object(properties));
        fields.insert("additionalProperties".to_owned(), false.into());
        fields.insert("minProperties".to_owned(), 1.into());
        fields.insert("maxProperties".to_owned(), 1.into());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties {
            if !take_nullable_mark(property) {
                remove_null(property);
            }
            bounds::set(name, property);
        }
    }
}

/// Returns the fields if the schema is a choice between objects with one field each.
///
/// One object that has exactly one of the fields is shorter, and client generators make one type of it.
fn single_field_choices(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let choices = fields.get("anyOf")?.as_array()?;
    let single = choices.iter().map(|choice| {
        let properties = choice.get("properties")?.as_object()?;
        let (name, property) = properties.iter().next()?;
        (properties.len() == 1).then(|| (name.clone(), property.clone()))
    });
    single.collect()
}

/// Allows undeclared fields, and makes nullable fields optional except for those that are always there.
fn refine_response(component: &str, fields: &mut Map<String, Value>) {
    let Some(properties) = fields.get("properties").cloned() else { return };
    fields.remove("additionalProperties");
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        let name = |name: &Value| properties.get(name.as_str().unwrap_or_default()).cloned();
        required.retain(|it| !name(it).is_some_and(|property| is_nullable(&property)));
    }
    for field in fields_of_every_response(component) {
        if let Some(property) = fields.get_mut("properties").and_then(|it| it.get_mut(*field)) {
            remove_null(property);
        }
        rules::require(fields, field);
    }
}

/// Returns the fields that the specification shows of a response. The SDK also reads responses without
/// them, so its types do not tell.
fn fields_of_every_response(component: &str) -> &'static [&'static str] {
    match component {
        "Artifact" => &["id", "url", "content_type"],
        "Job" => &["status", "type"],
        "JobStatusPayload" => &["terminal", "result_ready", "next_poll_after_seconds"],
        "SubmitReceipt" => {
            &["request_id", "status_url", "result_url", "cancel_url", "next_poll_after_seconds"]
        }
        _ => &[],
    }
}

fn is_nullable(property: &Value) -> bool {
    let types = property.get("type").and_then(Value::as_array);
    let choices = property.get("anyOf").and_then(Value::as_array);
    types.is_some_and(|types| types.iter().any(|it| it == "null"))
        || choices.is_some_and(|choices| choices.iter().any(|it| it["type"] == "null"))
}

/// Removes the mark of a field whose `null` has a meaning, and returns whether it was there.
fn take_nullable_mark(property: &mut Value) -> bool {
    let fields = property.as_object_mut();
    fields.is_some_and(|fields| fields.remove("x-nullable").is_some())
}

fn remove_null(property: &mut Value) {
    let Some(fields) = property.as_object_mut() else { return };
    let is_null = |value: &Value| value == "null";
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| !is_null(name));
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        choices.retain(|choice| !choice.get("type").is_some_and(is_null));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            fields.extend(only);
        }
    }
}

/// Turns the doc comments of a type and of its fields into descriptions and `x-assumed`.
fn annotate(schema: &mut Value) {
    let comment = describe(schema);
    let exceptions = doc_comments::assumed_except(&comment);
    if exceptions.as_ref().is_some_and(Vec::is_empty) {
        doc_comments::mark_assumed(schema);
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let comment = describe(property);
        if doc_comments::is_part_assumed(exceptions.as_deref(), name, &comment) {
            doc_comments::mark_assumed(property);
        }
    }
}

/// Replaces the doc comment in a schema by its description, and returns it. Removes the width of a Rust
/// number, which JSON does not have.
fn describe(schema: &mut Value) -> String {
    let Some(fields) = schema.as_object_mut() else { return String::new() };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (comment, format) = (text("description"), text("format"));
    if !comment.is_empty() {
        let description = doc_comments::description(&comment);
        fields.insert("description".to_owned(), description.into());
    }
    if ["uint8", "uint16", "uint32", "uint64", "int64", "double"].contains(&&*format) {
        fields.remove("format");
    }
    comment
}
