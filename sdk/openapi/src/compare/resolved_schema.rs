//! A schema with its references followed and its combinations merged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::reader::resolve_reference;

/// The maximum nesting of references and combinations.
const MAX_DEPTH: usize = 16;

/// A schema with its references followed and its combinations merged.
#[derive(Clone, Debug, Default)]
pub(super) struct ResolvedSchema<'d> {
    /// The name of the component, if the schema is a reference to one.
    pub(super) component: Option<&'d str>,
    /// The types except null; empty if the schema does not say.
    pub(super) types: BTreeSet<&'d str>,
    /// The strings that are valid.
    pub(super) values: Option<BTreeSet<&'d str>>,
    pub(super) properties: BTreeMap<&'d str, Vec<&'d Value>>,
    pub(super) required: BTreeSet<&'d str>,
    pub(super) items: Option<&'d Value>,
    pub(super) assumed: bool,
    pub(super) assumed_values: BTreeSet<&'d str>,
}

impl<'d> ResolvedSchema<'d> {
    /// Resolves schemas of a document that all apply.
    pub(super) fn new(document: &'d Value, schemas: &[&'d Value]) -> Self {
        let mut merged = Self::default();
        for schema in schemas {
            merged.merge(Self::resolve(document, schema, 0));
        }
        merged
    }

    fn resolve(document: &'d Value, schema: &'d Value, depth: usize) -> Self {
        let mut merged = Self::default();
        let Some(fields) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return merged };
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            merged = Self::resolve(document, resolve_reference(document, reference), depth + 1);
            merged.component = reference.rsplit('/').next();
        }
        merged.read_keywords(fields);
        for part in list(fields, "allOf") {
            merged.merge(Self::resolve(document, part, depth + 1));
        }
        for name in ["anyOf", "oneOf"] {
            let choices = list(fields, name);
            let choices = choices.filter(|choice| choice.get("type").is_none_or(|it| it != "null"));
            let alternatives = choices.map(|choice| Self::resolve(document, choice, depth + 1));
            if let Some(alternatives_merged) = alternatives.reduce(Self::merge_alternative) {
                merged.merge(alternatives_merged);
            }
        }
        merged
    }

    fn read_keywords(&mut self, fields: &'d Map<String, Value>) {
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
        self.required.extend(list(fields, "required").filter_map(Value::as_str));
        self.items = fields.get("items").or(self.items);
        self.assumed |= fields.get("x-assumed") == Some(&Value::Bool(true));
        self.assumed_values.extend(list(fields, "x-assumed-values").filter_map(Value::as_str));
    }

    /// Merges a schema that applies as well.
    fn merge(&mut self, other: Self) {
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

    /// Merges an alternative. Known values next to any string are an open set, whose values are kept.
    fn merge_alternative(mut self, other: Self) -> Self {
        let required = &self.required & &other.required;
        let values = match (self.values.take(), other.values.clone()) {
            (Some(one), Some(two)) => Some(&one | &two),
            (one, two) => one.or(two),
        };
        self.merge(other);
        self.required = required;
        self.values = values;
        self
    }
}

fn list<'d>(
    fields: &'d Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'d Value> + use<'d> {
    fields.get(name).and_then(Value::as_array).into_iter().flatten()
}
