//! A schema with its references followed and its alternatives put together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// How many references, and combinations in each other, are followed.
const DEEPEST: usize = 16;

/// What a schema says.
#[derive(Clone, Debug, Default)]
pub(super) struct Node<'d> {
    /// The component that it is, where it is one.
    pub(super) component: Option<&'d str>,
    /// Its types but for null; empty where it says nothing.
    pub(super) types: BTreeSet<&'d str>,
    /// The texts that it may be.
    pub(super) values: Option<BTreeSet<&'d str>>,
    pub(super) properties: BTreeMap<&'d str, Vec<&'d Value>>,
    pub(super) required: BTreeSet<&'d str>,
    pub(super) items: Option<&'d Value>,
    pub(super) assumed: bool,
    pub(super) assumed_values: BTreeSet<&'d str>,
}

impl<'d> Node<'d> {
    /// What these schemas of a document say together.
    pub(super) fn of(document: &'d Value, schemas: &[&'d Value]) -> Self {
        let mut node = Self::default();
        for schema in schemas {
            node.and(Self::read(document, schema, 0));
        }
        node
    }

    fn read(document: &'d Value, schema: &'d Value, depth: usize) -> Self {
        let mut node = Self::default();
        let Some(fields) = schema.as_object().filter(|_| depth < DEEPEST) else {
            return node;
        };
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            node = Self::read(document, target(document, reference), depth + 1);
            node.component = reference.rsplit('/').next();
        }
        node.read_own(fields);
        for part in list(fields, "allOf") {
            node.and(Self::read(document, part, depth + 1));
        }
        for name in ["anyOf", "oneOf"] {
            let choices = list(fields, name);
            let choices = choices.filter(|choice| choice.get("type").is_none_or(|it| it != "null"));
            let alternatives = choices.map(|choice| Self::read(document, choice, depth + 1));
            if let Some(together) = alternatives.reduce(Self::or) {
                node.and(together);
            }
        }
        node
    }

    fn read_own(&mut self, fields: &'d Map<String, Value>) {
        match fields.get("type") {
            Some(Value::String(name)) if name != "null" => drop(self.types.insert(name)),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                self.types.extend(names.filter(|name| *name != "null"));
            }
            _ => {}
        }
        let values = list(fields, "enum").chain(list(fields, "x-extensible-enum"));
        let values = values.chain(fields.get("const")).filter_map(Value::as_str);
        let values: BTreeSet<_> = values.collect();
        if !values.is_empty() {
            self.values = Some(values);
        }
        if let Some(Value::Object(properties)) = fields.get("properties") {
            for (name, schema) in properties {
                self.properties.entry(name).or_default().push(schema);
            }
        }
        self.required
            .extend(list(fields, "required").filter_map(Value::as_str));
        self.items = fields.get("items").or(self.items);
        self.assumed |= fields.get("x-assumed") == Some(&Value::Bool(true));
        self.assumed_values
            .extend(list(fields, "x-assumed-values").filter_map(Value::as_str));
    }

    /// Both hold.
    fn and(&mut self, other: Self) {
        self.component = self.component.or(other.component);
        self.types.extend(other.types);
        self.values = match (self.values.take(), other.values) {
            (Some(one), Some(two)) => Some(&one & &two),
            (one, two) => one.or(two),
        };
        for (name, schemas) in other.properties {
            self.properties.entry(name).or_default().extend(schemas);
        }
        self.required.extend(other.required);
        self.items = self.items.or(other.items);
        self.assumed |= other.assumed;
        self.assumed_values.extend(other.assumed_values);
    }

    /// One of the two holds. A set of texts beside any text is an open set: it keeps its names.
    fn or(mut self, other: Self) -> Self {
        let required = &self.required & &other.required;
        let values = match (self.values.take(), other.values.clone()) {
            (Some(one), Some(two)) => Some(&one | &two),
            (one, two) => one.or(two),
        };
        self.and(other);
        self.required = required;
        self.values = values;
        self
    }
}

fn list<'d>(
    fields: &'d Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'d Value> + use<'d> {
    fields
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// What a reference within the document leads to.
pub(super) fn target<'d>(document: &'d Value, reference: &str) -> &'d Value {
    let pointer = reference.strip_prefix('#').unwrap_or_default();
    match pointer {
        "" => &Value::Null,
        pointer => document.pointer(pointer).unwrap_or(&Value::Null),
    }
}
