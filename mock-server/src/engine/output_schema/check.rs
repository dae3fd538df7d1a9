//! Validation of schemas against the supported subset.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Violation, child_path};

/// The maximum number of reported violations.
const MAX_VIOLATIONS: usize = 100;

/// The supported values of `type`.
const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// The supported keywords.
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
        violations.push(Violation::new("", "root_not_object", message));
    }
    check_schema(schema, "", 1, &mut violations);
    violations.truncate(MAX_VIOLATIONS);
    violations
}

fn check_schema(schema: &Value, path: &str, depth: usize, violations: &mut Vec<Violation>) {
    if depth > MAX_DEPTH {
        let message = format!("a schema must have at most {MAX_DEPTH} levels");
        violations.push(Violation::new(path, "max_depth", message));
        return;
    }
    let Some(keywords) = schema.as_object() else {
        let message = "a schema must be an object";
        violations.push(Violation::new(path, "schema_not_object", message));
        return;
    };
    for (keyword, value) in keywords {
        let at = child_path(path, keyword);
        if KEYWORDS.contains(&keyword.as_str()) {
            check_keyword(keyword, value, &at, depth, violations);
        } else {
            let message = format!("`{keyword}` is not supported");
            violations.push(Violation::new(&at, "unsupported_keyword", message));
        }
    }
    for (min_keyword, max_keyword) in [("minItems", "maxItems"), ("minimum", "maximum")] {
        let min = number(keywords, min_keyword);
        if let (Some(min), Some(max)) = (min, number(keywords, max_keyword))
            && min > max
        {
            let message = format!("`{min_keyword}` must not be greater than `{max_keyword}`");
            let at = child_path(path, min_keyword);
            violations.push(Violation::new(&at, "invalid_keyword_value", message));
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
    let mut add = |rule: &str, message: String| violations.push(Violation::new(at, rule, message));
    let mut must_be = |is_valid: bool, what: &str| {
        if !is_valid {
            add(
                "invalid_keyword_value",
                format!("`{keyword}` must be {what}"),
            );
        }
    };
    match keyword {
        "type" if value.as_str().is_none_or(|name| !TYPES.contains(&name)) => {
            add(
                "unsupported_type",
                format!("`type` must be one of {}", TYPES.join(", ")),
            );
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the path and rule of each violation.
    fn paths_and_rules(schema: &Value) -> Vec<(String, String)> {
        let violations = check(schema).into_iter();
        violations
            .map(|violation| (violation.path, violation.rule))
            .collect()
    }

    #[track_caller]
    fn assert_violation(schema: Value, path: &str, rule: &str) {
        assert_eq!(
            paths_and_rules(&schema),
            [(path.to_owned(), rule.to_owned())],
            "{schema}"
        );
    }

    fn object_with(property: Value) -> Value {
        json!({"type": "object", "properties": {"a": property}})
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({"type": "object"}), |inner, _| object_with(inner))
    }

    #[test]
    fn supported_schemas_are_accepted() {
        let schema = json!({
            "type": "object", "description": "x", "additionalProperties": false,
            "required": ["title", "shots"],
            "properties": {
                "title": {"type": "string", "enum": ["a", "b"]},
                "kind": {"const": null},
                "link": {"type": "string", "format": "uri"},
                "score": {"type": "number", "minimum": 0.5, "maximum": 0.5},
                "any": {},
                "shots": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer"}},
            }
        });
        assert_eq!(paths_and_rules(&schema), []);
        assert_eq!(paths_and_rules(&nested(8)), []);
    }

    #[test]
    fn violations_have_a_path_and_rule() {
        for root in [
            json!({}),
            json!({"type": "array"}),
            json!({"type": "string"}),
        ] {
            assert_violation(root, "", "root_not_object");
        }
        for root in [json!(true), json!("object"), json!(null), json!([])] {
            assert_violation(root, "", "schema_not_object");
        }
        assert_violation(
            object_with(json!(true)),
            "/properties/a",
            "schema_not_object",
        );
        assert_violation(
            object_with(json!({"type": "array", "items": false})),
            "/properties/a/items",
            "schema_not_object",
        );
        assert_violation(
            object_with(json!({"pattern": "x"})),
            "/properties/a/pattern",
            "unsupported_keyword",
        );
        assert_violation(
            object_with(json!({"a/b~": 1})),
            "/properties/a/a~1b~0",
            "unsupported_keyword",
        );
        assert_violation(
            object_with(json!({"type": "date"})),
            "/properties/a/type",
            "unsupported_type",
        );
        assert_violation(
            object_with(json!({"type": ["string", "null"]})),
            "/properties/a/type",
            "unsupported_type",
        );
        assert_violation(
            object_with(json!({"type": "string", "format": "date"})),
            "/properties/a/format",
            "unsupported_format",
        );
        assert_violation(nested(9), &"/properties/a".repeat(8), "max_depth");
        assert_violation(nested(12), &"/properties/a".repeat(8), "max_depth");
    }

    #[test]
    fn keyword_values_are_checked() {
        for (keyword, value) in [
            ("required", json!("a")),
            ("required", json!([1])),
            ("required", json!(["a", "a"])),
            ("minItems", json!(-1)),
            ("maxItems", json!(1.5)),
            ("additionalProperties", json!({})),
            ("properties", json!([])),
            ("enum", json!([])),
            ("enum", json!("a")),
            ("minimum", json!("1")),
            ("description", json!(7)),
        ] {
            let path = format!("/properties/a/{keyword}");
            assert_violation(
                object_with(json!({keyword: value})),
                &path,
                "invalid_keyword_value",
            );
        }
        assert_violation(
            object_with(json!({"minItems": 2, "maxItems": 1})),
            "/properties/a/minItems",
            "invalid_keyword_value",
        );
        assert_violation(
            object_with(json!({"minimum": 2, "maximum": 1})),
            "/properties/a/minimum",
            "invalid_keyword_value",
        );
    }

    #[test]
    fn keywords_of_other_types_need_valid_values() {
        let schema = object_with(json!({"type": "string", "minItems": 1}));
        assert_eq!(paths_and_rules(&schema), []);
        let schema = object_with(json!({"type": "string", "minItems": -1}));
        assert_violation(schema, "/properties/a/minItems", "invalid_keyword_value");
    }

    #[test]
    fn all_violations_are_reported() {
        let schema = json!({"type": "array", "pattern": "x", "items": {"$ref": "#"}});
        assert_eq!(paths_and_rules(&schema).len(), 3);
    }
}
