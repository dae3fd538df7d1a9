//! The schemas of the types: derived, then told what a request may not have and what is assumed.

use std::collections::BTreeSet;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::bounds;
use super::prose::{self, Parts};

/// The beginning of every reference to a component.
pub(super) const COMPONENTS: &str = "#/components/schemas/";

/// A generator whose types become components.
pub(super) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
        .into_generator()
}

/// The schema of an open set of texts: those that this build knows, with their documentation.
pub(crate) fn open_set(doc: &str, values: &[(&str, &str)]) -> schemars::Schema {
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    let named = match prose::parts(doc) {
        Parts::Unmentioned => None,
        Parts::AssumedBut(names) => Some(names),
    };
    let assumed: Vec<&str> = values
        .iter()
        .filter(|(name, doc)| {
            let by_the_type = named
                .as_ref()
                .is_some_and(|named| !named.iter().any(|it| it == name));
            by_the_type || prose::is_assumed(doc)
        })
        .map(|(name, _)| *name)
        .collect();
    let mut schema = schemars::json_schema!({
        "description": prose::description(doc),
        "type": "string",
        "enum": names,
        "x-open-set": true,
    });
    if assumed.len() == names.len() {
        schema.insert("x-assumed".to_owned(), true.into());
    } else if !assumed.is_empty() {
        schema.insert("x-assumed-values".to_owned(), json!(assumed));
    }
    schema
}

/// Finishes the components: those that requests are made of, and those that answers are made of.
pub(super) fn finish(components: &mut Map<String, Value>, requests: &[Value]) {
    let sent = reachable(components, requests);
    for (name, schema) in components.iter_mut() {
        if sent.contains(name) {
            as_sent(schema);
        } else {
            as_received(schema);
        }
        annotate(schema);
    }
}

/// The names of the components that these schemas lead to.
fn reachable(components: &Map<String, Value>, from: &[Value]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open: Vec<&Value> = from.iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                let target = fields.get("$ref").and_then(Value::as_str);
                if let Some(name) = target.and_then(|target| target.strip_prefix(COMPONENTS))
                    && names.insert(name.to_owned())
                {
                    open.extend(components.get(name));
                }
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    names
}

/// A request has no nulls and no fields that the service does not know.
fn as_sent(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(properties) = alternatives(fields) {
        fields.remove("anyOf");
        fields.insert("type".to_owned(), "object".into());
        fields.insert("properties".to_owned(), Value::Object(properties));
        fields.insert("additionalProperties".to_owned(), false.into());
        fields.insert("minProperties".to_owned(), 1.into());
        fields.insert("maxProperties".to_owned(), 1.into());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties {
            without_null(property);
            bounds::set(name, property);
        }
    }
}

/// The fields of which exactly one is sent, where a schema is a choice between objects of one field
/// each: so it is said in fewer words, and generators make one type of it.
fn alternatives(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let choices = fields.get("anyOf")?.as_array()?;
    let single = choices.iter().map(|choice| {
        let properties = choice.get("properties")?.as_object()?;
        let (name, property) = properties.iter().next()?;
        (properties.len() == 1).then(|| (name.clone(), property.clone()))
    });
    single.collect()
}

/// An answer may have more fields than are known, and leave out what may be null.
fn as_received(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let Some(properties) = fields.get("properties").cloned() else {
        return;
    };
    fields.remove("additionalProperties");
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        let name = |name: &Value| properties.get(name.as_str().unwrap_or_default()).cloned();
        required.retain(|it| !name(it).is_some_and(|property| may_be_null(&property)));
    }
}

fn may_be_null(property: &Value) -> bool {
    let types = property.get("type").and_then(Value::as_array);
    let choices = property.get("anyOf").and_then(Value::as_array);
    types.is_some_and(|types| types.iter().any(|it| it == "null"))
        || choices.is_some_and(|choices| choices.iter().any(|it| it["type"] == "null"))
}

fn without_null(property: &mut Value) {
    let Some(fields) = property.as_object_mut() else {
        return;
    };
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

/// Turns the doc comments of a type and of its fields into descriptions and marks.
fn annotate(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    // A number's width in Rust is nobody's business.
    if fields.get("format").is_some_and(is_width) {
        fields.remove("format");
    }
    let doc = text(fields.get("description"));
    let parts = prose::parts(&doc);
    describe(fields, &doc);
    if parts == Parts::AssumedBut(Vec::new()) {
        fields.insert("x-assumed".to_owned(), true.into());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties {
            let Some(property) = property.as_object_mut() else {
                // A field of any shape.
                let mut any = Map::new();
                if assumes(&parts, name) {
                    any.insert("x-assumed".to_owned(), true.into());
                }
                *property = Value::Object(any);
                continue;
            };
            if property.get("format").is_some_and(is_width) {
                property.remove("format");
            }
            let doc = text(property.get("description"));
            describe(property, &doc);
            if assumes(&parts, name) || prose::is_assumed(&doc) {
                property.insert("x-assumed".to_owned(), true.into());
            }
        }
    }
}

fn assumes(parts: &Parts, name: &str) -> bool {
    match parts {
        Parts::Unmentioned => false,
        Parts::AssumedBut(names) => !names.iter().any(|it| it == name),
    }
}

fn describe(fields: &mut Map<String, Value>, doc: &str) {
    if !doc.is_empty() {
        fields.insert("description".to_owned(), prose::description(doc).into());
    }
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn is_width(format: &Value) -> bool {
    matches!(
        format.as_str(),
        Some("uint8" | "uint16" | "uint32" | "uint64" | "int64" | "double")
    )
}
