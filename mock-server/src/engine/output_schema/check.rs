//! Validation of schemas against the supported subset.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Violation, child_path};

const MAX_VIOLATIONS: usize = 100;

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

const KEYWORDS: [&str; 13] = [
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "description",
    "additionalProperties",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "format",
];

/// Returns the violations of a schema against the subset; empty if it is supported.
pub(crate) fn check(schema: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    let root = schema.as_object();
    if root.is_some_and(|root| root.get("type").and_then(Value::as_str) != Some("object")) {
        let message = "the root's `type` must be \"object\"";
        Violation::add(&mut violations, "", "root_not_object", message);
    }
    check_schema(schema, "", 1, &mut violations);
    violations.truncate(MAX_VIOLATIONS);
    violations
}

fn check_schema(schema: &Value, path: &str, depth: usize, violations: &mut Vec<Violation>) {
    if depth > MAX_DEPTH {
        let message = format!("a schema must have at most {MAX_DEPTH} levels");
        return Violation::add(violations, path, "max_depth", message);
    }
    let Some(keywords) = schema.as_object() else {
        let message = "a schema must be an object";
        return Violation::add(violations, path, "schema_not_object", message);
    };
    for (keyword, value) in keywords {
        let at = child_path(path, keyword);
        if KEYWORDS.contains(&keyword.as_str()) {
            check_keyword(keyword, value, &at, depth, violations);
        } else {
            let message = format!("`{keyword}` is not supported");
            Violation::add(violations, &at, "unsupported_keyword", message);
        }
    }
    for (min_keyword, max_keyword) in [("minItems", "maxItems"), ("minimum", "maximum")] {
        let min = number(keywords, min_keyword);
        if let (Some(min), Some(max)) = (min, number(keywords, max_keyword))
            && min > max
        {
            let message = format!("`{min_keyword}` must not be greater than `{max_keyword}`");
            let at = child_path(path, min_keyword);
            Violation::add(violations, &at, "invalid_keyword_value", message);
        }
    }
}

fn check_keyword(
    keyword: &str,
    value: &Value,
    at: &str,
    depth: usize,
    violations: &mut Vec<Violation>,
) {
    let mut add = |rule: &str, message: String| Violation::add(violations, at, rule, message);
    let mut must_be = |is_valid: bool, what: &str| {
        if !is_valid {
            add("invalid_keyword_value", format!("`{keyword}` must be {what}"));
        }
    };
    match keyword {
        "type" if value.as_str().is_none_or(|name| !TYPES.contains(&name)) => {
            add("unsupported_type", format!("`type` must be one of {}", TYPES.join(", ")));
        }
        "format" if value.as_str() != Some("uri") => {
            add("unsupported_format", "`format` must be \"uri\"".to_owned());
        }
        "properties" => match value.as_object() {
            None => must_be(false, "an object of schemas"),
            Some(properties) => {
                for (name, schema) in properties {
                    check_schema(schema, &child_path(at, name), depth + 1, violations);
                }
            }
        },
        "items" => check_schema(value, at, depth + 1, violations),
        "required" => {
            let names = value.as_array();
            let is_valid = names.is_some_and(|names| {
                let mut seen = HashSet::new();
                let mut names = names.iter();
                names.all(|name| name.as_str().is_some_and(|name| seen.insert(name)))
            });
            must_be(is_valid, "an array of distinct strings");
        }
        "enum" => {
            let is_valid = value.as_array().is_some_and(|values| !values.is_empty());
            must_be(is_valid, "an array with at least one value");
        }
        "description" => must_be(value.is_string(), "a string"),
        "additionalProperties" => must_be(value.is_boolean(), "a boolean"),
        "minItems" | "maxItems" => must_be(value.is_u64(), "a non-negative integer"),
        "minimum" | "maximum" => must_be(value.is_number(), "a number"),
        _ => {}
    }
}

fn number(keywords: &Map<String, Value>, name: &str) -> Option<f64> {
    keywords.get(name).and_then(Value::as_f64)
}
