//! Validation of values against schemas of the subset.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};
use url::Url;

use super::{Violation, child_path};

/// Returns the violations of a value against a schema; empty if it fits.
pub(crate) fn fit(value: &Value, schema: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    fit_at(value, schema, "", &mut violations);
    violations
}

fn fit_at(value: &Value, schema: &Value, path: &str, violations: &mut Vec<Violation>) {
    let Some(keywords) = schema.as_object() else { return };
    let mut add = |rule: &str, message: String| Violation::add(violations, path, rule, message);
    if let Some(name) = keywords.get("type").and_then(Value::as_str)
        && !has_type(value, name)
    {
        add("type", format!("must be of type {name}"));
        return;
    }
    if let Some(values) = keywords.get("enum").and_then(Value::as_array)
        && !values.iter().any(|allowed| is_equal(allowed, value))
    {
        add("enum", "must be one of the values of `enum`".to_owned());
    }
    if keywords.get("const").is_some_and(|expected| !is_equal(expected, value)) {
        add("const", "must be the value of `const`".to_owned());
    }
    if let Value::Number(number) = value {
        let bound = |name: &str| keywords.get(name).and_then(Value::as_number);
        if let Some(min) = bound("minimum").filter(|min| compare(number, min).is_lt()) {
            add("minimum", format!("must be at least {min}"));
        }
        if let Some(max) = bound("maximum").filter(|max| compare(number, max).is_gt()) {
            add("maximum", format!("must be at most {max}"));
        }
    }
    match value {
        Value::String(text) => {
            let is_uri = keywords.get("format").is_some_and(|format| format == "uri");
            if is_uri && Url::parse(text).is_err() {
                add("format", "must be a URI".to_owned());
            }
        }
        Value::Array(items) => fit_items(items, keywords, path, violations),
        Value::Object(fields) => fit_fields(fields, keywords, path, violations),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn fit_items(
    items: &[Value],
    keywords: &Map<String, Value>,
    path: &str,
    violations: &mut Vec<Violation>,
) {
    let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
    let bound = |name: &str| keywords.get(name).and_then(Value::as_u64);
    if let Some(min) = bound("minItems").filter(|min| count < *min) {
        Violation::add(violations, path, "min_items", format!("must have at least {min} items"));
    }
    if let Some(max) = bound("maxItems").filter(|max| count > *max) {
        Violation::add(violations, path, "max_items", format!("must have at most {max} items"));
    }
    if let Some(schema) = keywords.get("items") {
        for (index, item) in items.iter().enumerate() {
            fit_at(item, schema, &format!("{path}/{index}"), violations);
        }
    }
}

fn fit_fields(
    fields: &Map<String, Value>,
    keywords: &Map<String, Value>,
    path: &str,
    violations: &mut Vec<Violation>,
) {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let required = keywords.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            Violation::add(violations, path, "required", format!("`{name}` is required"));
        }
    }
    let is_closed = keywords.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, field) in fields {
        let at = child_path(path, name);
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => fit_at(field, schema, &at, violations),
            None if is_closed => {
                let message = format!("`{name}` is not allowed");
                Violation::add(violations, &at, "additional_property", message);
            }
            None => {}
        }
    }
}

/// Returns `true` if a value has a type. As in JSON Schema, `1.0` is an integer.
fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// Returns `true` if two values are equal. As in JSON Schema, `1` equals `1.0`.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other).is_eq(),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other =
                |(name, value)| other.get(name).is_some_and(|other| is_equal(value, other));
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        _ => one == other,
    }
}

/// Compares two numbers without loss: an `f64` cannot represent all integers.
fn compare(one: &Number, other: &Number) -> Ordering {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(one), None) => compare_integer(one, other),
        (None, Some(other)) => compare_integer(other, one).reverse(),
        (None, None) => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// Compares an integer with a number that is not stored as one.
fn compare_integer(integer: i128, number: &Number) -> Ordering {
    let number = number.as_f64().unwrap_or_default();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the fraction is compared next, and larger numbers become the nearest integer"
    )]
    let whole = number.trunc() as i128;
    let fraction = number.fract();
    integer.cmp(&whole).then_with(|| 0.0.partial_cmp(&fraction).unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn violations_have_a_path_and_rule() {
        let schema = |property: Value| json!({"type": "object", "properties": {"a": property}});
        for (property, value, path, rule) in [
            (json!({"type": "string"}), json!({"a": 1}), "/a", "type"),
            (json!({"type": "integer"}), json!({"a": 1.5}), "/a", "type"),
            (json!({"enum": [1, 2]}), json!({"a": 3}), "/a", "enum"),
            (json!({"const": null}), json!({"a": 3}), "/a", "const"),
            (json!({"minimum": 2}), json!({"a": 1}), "/a", "minimum"),
            (json!({"maximum": 2}), json!({"a": 3}), "/a", "maximum"),
            (json!({"minItems": 2}), json!({"a": [1]}), "/a", "min_items"),
            (json!({"maxItems": 0}), json!({"a": [1]}), "/a", "max_items"),
            (json!({"items": {"type": "null"}}), json!({"a": [null, 1]}), "/a/1", "type"),
            (json!({"required": ["b"]}), json!({"a": {}}), "/a", "required"),
            (json!({"format": "uri"}), json!({"a": "no url"}), "/a", "format"),
            (
                json!({"additionalProperties": false}),
                json!({"a": {"x/y": 1}}),
                "/a/x~1y",
                "additional_property",
            ),
        ] {
            let violations = fit(&value, &schema(property.clone()));
            let violations: Vec<_> =
                violations.iter().map(|v| (v.path.as_str(), v.rule.as_str())).collect();
            assert_eq!(violations, [(path, rule)], "{property} {value}");
        }
    }
}
