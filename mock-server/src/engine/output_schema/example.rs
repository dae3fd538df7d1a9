//! Deterministic example values for schemas, used as the output of runs.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};

use super::fit;

/// The maximum number of values in an example, because a schema may require arbitrarily many.
const MAX_VALUES: usize = 10_000;
/// The number of bytes of a `const` or `enum` value that count as one value.
const VALUE_BYTES: usize = 100;
const MAX_ENUM_TRIES: usize = 100;

/// Returns an example value for a schema of the subset, with `url` in the place of URLs.
///
/// The value does not fit the schema if the schema contradicts itself or requires too many values.
pub(crate) fn example(schema: &Value, url: &str) -> Value {
    ExampleBuilder { url, remaining: MAX_VALUES }.build(schema)
}

/// Returns `true` if the schema or one of its subschemas has the format `uri`.
pub(crate) fn asks_for_a_url(schema: &Value) -> bool {
    let Some(keywords) = schema.as_object() else { return false };
    let has_uri = keywords.get("format").is_some_and(|format| format == "uri");
    let properties = keywords.get("properties").and_then(Value::as_object);
    let children = properties.into_iter().flat_map(Map::values);
    has_uri || children.chain(keywords.get("items")).any(asks_for_a_url)
}

/// Returns the strings of a value in the places where the schema has the format `uri`.
pub(crate) fn urls_in(value: &Value, schema: &Value) -> BTreeSet<String> {
    let mut urls = BTreeSet::new();
    collect_urls(value, schema, &mut urls);
    urls
}

fn collect_urls(value: &Value, schema: &Value, urls: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            if schema.get("format").is_some_and(|format| format == "uri") {
                urls.insert(text.clone());
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            items.iter().for_each(|item| collect_urls(item, schema, urls));
        }
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties") else { return };
            for (name, field) in fields {
                if let Some(schema) = properties.get(name) {
                    collect_urls(field, schema, urls);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

struct ExampleBuilder<'u> {
    url: &'u str,
    /// The number of values that may still be added.
    remaining: usize,
}

impl ExampleBuilder<'_> {
    fn build(&mut self, schema: &Value) -> Value {
        self.reduce_remaining(1);
        let Some(keywords) = schema.as_object() else { return Value::Null };
        let values = keywords.get("enum").and_then(Value::as_array);
        let fitting = values.map(|values| {
            let mut tried = values.iter().take(MAX_ENUM_TRIES);
            let fitting = tried.find(|value| fit(value, schema).is_empty());
            fitting.or(values.first()).unwrap_or(&Value::Null)
        });
        if let Some(fixed) = keywords.get("const").or(fitting) {
            self.reduce_remaining(fixed.to_string().len() / VALUE_BYTES);
            return fixed.clone();
        }
        match type_of(keywords) {
            "object" => self.object(keywords),
            "array" => self.array(keywords),
            "integer" => integer(keywords),
            "number" => number(keywords),
            "boolean" => json!(true),
            "null" => Value::Null,
            _ if keywords.get("format").is_some() => json!(self.url),
            _ => json!("text"),
        }
    }

    fn reduce_remaining(&mut self, values: usize) {
        self.remaining = self.remaining.saturating_sub(values);
    }

    fn object(&mut self, keywords: &Map<String, Value>) -> Value {
        let mut fields = Map::new();
        let properties = keywords.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            if self.remaining == 0 {
                break;
            }
            let value = match schema.get("type").and_then(Value::as_str) {
                // Unconstrained strings contain the name of their property.
                Some("string") if is_unconstrained(schema) => json!(format!("A {name}.")),
                _ => self.build(schema),
            };
            fields.insert(name.clone(), value);
        }
        if keywords.get("additionalProperties") != Some(&Value::Bool(false)) {
            let required = keywords.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten().filter_map(Value::as_str) {
                if !fields.contains_key(name) && self.remaining > 0 {
                    self.remaining -= 1;
                    fields.insert(name.to_owned(), json!(format!("A {name}.")));
                }
            }
        }
        Value::Object(fields)
    }

    fn array(&mut self, keywords: &Map<String, Value>) -> Value {
        let bound = |name: &str| keywords.get(name).and_then(Value::as_u64);
        let count = bound("minItems").unwrap_or(0).max(1);
        let count = count.min(bound("maxItems").unwrap_or(u64::MAX));
        let any = json!({"type": "string"});
        let schema = keywords.get("items").unwrap_or(&any);
        let mut items = Vec::new();
        for _ in 0..count {
            if self.remaining == 0 {
                break;
            }
            items.push(self.build(schema));
        }
        Value::Array(items)
    }
}

fn is_unconstrained(schema: &Value) -> bool {
    ["format", "enum", "const"].iter().all(|keyword| schema.get(keyword).is_none())
}

/// Returns the declared type of a schema, or the type that its keywords imply.
fn type_of(keywords: &Map<String, Value>) -> &str {
    if let Some(name) = keywords.get("type").and_then(Value::as_str) {
        return name;
    }
    let has = |names: &[&str]| names.iter().any(|name| keywords.contains_key(*name));
    if has(&["properties", "required", "additionalProperties"]) {
        "object"
    } else if has(&["items", "minItems", "maxItems"]) {
        "array"
    } else if has(&["minimum", "maximum"]) {
        "number"
    } else {
        "string"
    }
}

fn integer(keywords: &Map<String, Value>) -> Value {
    let bound = |name: &str| keywords.get(name);
    // Integer bounds are used as they are, because a conversion to `f64` may be inexact.
    match (bound("minimum"), bound("maximum")) {
        (Some(min), _) if min.is_i64() || min.is_u64() => min.clone(),
        (Some(min), _) => whole_number(min.as_f64().map(f64::ceil)),
        (None, Some(max)) if max.as_f64().is_some_and(|max| max >= 1.0) => json!(1),
        (None, Some(max)) if max.is_i64() || max.is_u64() => max.clone(),
        (None, Some(max)) => whole_number(max.as_f64().map(f64::floor)),
        (None, None) => json!(1),
    }
}

fn number(keywords: &Map<String, Value>) -> Value {
    let min = keywords.get("minimum").and_then(Value::as_f64);
    let max = keywords.get("maximum").and_then(Value::as_f64);
    let value = 1.0_f64.min(max.unwrap_or(1.0)).max(min.unwrap_or(f64::MIN));
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Converts a whole number to JSON, without a fraction if it fits an integer.
fn whole_number(number: Option<f64>) -> Value {
    let text = number.map(|number| format!("{number:.0}"));
    let integer = text.and_then(|text| text.parse::<i64>().ok());
    integer.map_or_else(|| number.map_or(Value::Null, |number| json!(number)), |n| json!(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://media.example/a.png";

    #[test]
    fn examples_fit_their_schemas() {
        for property in [
            json!({}),
            json!({"type": "string"}),
            json!({"type": "string", "format": "uri"}),
            json!({"enum": ["x", 2, null], "type": "integer"}),
            json!({"const": {"a": [1]}}),
            json!({"type": "integer", "minimum": 1.5}),
            json!({"type": "integer", "minimum": -7, "maximum": -7}),
            json!({"type": "integer", "maximum": -2.5}),
            json!({"type": "integer", "minimum": u64::MAX}),
            json!({"type": "number", "minimum": 0.25, "maximum": 0.5}),
            json!({"type": "number", "maximum": -3}),
            json!({"minimum": 9}),
            json!({"type": "boolean"}),
            json!({"type": "null"}),
            json!({"type": "array"}),
            json!({"type": "array", "minItems": 5, "items": {"type": "integer", "minimum": 3}}),
            json!({"type": "array", "maxItems": 0, "items": {"type": "string"}}),
            json!({"minItems": 2}),
            json!({"type": "object", "required": ["x"]}),
            json!({"required": ["x"], "properties": {"x": {"type": "null"}}, "additionalProperties": false}),
        ] {
            let schema =
                json!({"type": "object", "required": ["a"], "properties": {"a": property}});
            let value = example(&schema, URL);
            assert_eq!(fit(&value, &schema), [], "{schema} {value}");
            assert_eq!(value, example(&schema, URL));
        }
    }

    #[test]
    fn uri_strings_get_the_url() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "format": "uri"}}}});
        assert!(asks_for_a_url(&schema));
        assert_eq!(example(&schema, URL), json!({"a": [URL]}));
        let urls = urls_in(&json!({"a": [URL, "b", URL], "b": "c"}), &schema);
        assert_eq!(Vec::from_iter(urls), ["b", URL]);
        let schema = json!({"type": "object", "properties": {"format": {"type": "string"}}});
        assert!(!asks_for_a_url(&schema));
        assert!(urls_in(&json!({"format": "uri"}), &schema).is_empty());
    }

    #[test]
    fn examples_of_unsatisfiable_schemas_do_not_fit() {
        let many = json!({"type": "array", "minItems": u64::MAX, "items": {"type": "null"}});
        for property in [
            json!({"enum": ["a"], "type": "integer"}),
            json!({"required": ["x"], "additionalProperties": false}),
            json!({"type": "array", "minItems": 1000, "items": many}),
            json!({"type": "integer", "minimum": 0.1, "maximum": 0.9}),
            json!({"minItems": 10_000, "items": {"const": "x".repeat(100_000)}}),
        ] {
            let schema = json!({"type": "object", "properties": {"a": property}});
            assert_ne!(fit(&example(&schema, URL), &schema), [], "{schema}");
        }
    }
}
