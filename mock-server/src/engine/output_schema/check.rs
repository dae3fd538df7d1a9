//! Whether a schema stays within the supported subset.

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Violation, child_path};

/// How many violations are told at once.
const MAX_VIOLATIONS: usize = 100;

/// Every name that `type` may have.
const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// The keywords of the subset, and the types that each is about; none for those that are about any.
const KEYWORDS: [(&str, &[&str]); 13] = [
    ("type", &[]),
    ("properties", &["object"]),
    ("required", &["object"]),
    ("items", &["array"]),
    ("enum", &[]),
    ("const", &[]),
    ("description", &[]),
    ("additionalProperties", &["object"]),
    ("minItems", &["array"]),
    ("maxItems", &["array"]),
    ("minimum", &["number", "integer"]),
    ("maximum", &["number", "integer"]),
    ("format", &[]),
];

/// What takes a schema out of the subset; nothing, where it stays within.
pub(crate) fn check(schema: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let root = schema.as_object();
    if root.is_some_and(|root| root.get("type").and_then(Value::as_str) != Some("object")) {
        let message = "the root's `type` must be \"object\"";
        found.push(Violation::new("", "root_not_object", message));
    }
    check_level(schema, "", 1, &mut found);
    found.truncate(MAX_VIOLATIONS);
    found
}

fn check_level(schema: &Value, path: &str, level: usize, found: &mut Vec<Violation>) {
    if level > MAX_DEPTH {
        let message = format!("a schema has at most {MAX_DEPTH} levels");
        found.push(Violation::new(path, "max_depth", message));
        return;
    }
    let Some(keywords) = schema.as_object() else {
        let message = "a schema must be an object";
        found.push(Violation::new(path, "schema_not_object", message));
        return;
    };
    let declared = keywords.get("type").and_then(Value::as_str);
    let declared = declared.filter(|name| TYPES.contains(name));
    for (keyword, value) in keywords {
        let at = child_path(path, keyword);
        let known = KEYWORDS.iter().find(|(known, _)| known == keyword);
        let Some((_, about)) = known else {
            let message = format!("`{keyword}` is not supported");
            found.push(Violation::new(&at, "unsupported_keyword", message));
            continue;
        };
        // A keyword that is about another type says nothing here.
        let idle = !about.is_empty() && declared.is_some_and(|name| !about.contains(&name));
        if !idle {
            check_keyword(keyword, value, &at, level, found);
        }
    }
    for (least, most) in [("minItems", "maxItems"), ("minimum", "maximum")] {
        if let (Some(from), Some(to)) = (number(keywords, least), number(keywords, most))
            && from > to
        {
            let message = format!("`{least}` is above `{most}`");
            let at = child_path(path, least);
            found.push(Violation::new(&at, "invalid_keyword_value", message));
        }
    }
}

fn check_keyword(keyword: &str, value: &Value, at: &str, level: usize, found: &mut Vec<Violation>) {
    let mut wrong = |rule: &str, message: String| found.push(Violation::new(at, rule, message));
    let mut must_be = |fits: bool, what: &str| {
        if !fits {
            wrong(
                "invalid_keyword_value",
                format!("`{keyword}` must be {what}"),
            );
        }
    };
    match keyword {
        "type" if value.as_str().is_none_or(|name| !TYPES.contains(&name)) => {
            wrong(
                "unsupported_type",
                format!("`type` must be one of {}", TYPES.join(", ")),
            );
        }
        "format" if value.as_str() != Some("uri") => {
            wrong("unsupported_format", "`format` must be \"uri\"".to_owned());
        }
        "properties" => match value.as_object() {
            None => must_be(false, "an object of schemas"),
            Some(properties) => {
                for (name, schema) in properties {
                    check_level(schema, &child_path(at, name), level + 1, found);
                }
            }
        },
        "items" => check_level(value, at, level + 1, found),
        "required" => {
            let names = value.as_array();
            let fits = names.is_some_and(|names| names.iter().all(Value::is_string));
            must_be(fits, "an array of strings");
        }
        "enum" => {
            let fits = value.as_array().is_some_and(|values| !values.is_empty());
            must_be(fits, "an array with at least one value");
        }
        "description" => must_be(value.is_string(), "a string"),
        "additionalProperties" => must_be(value.is_boolean(), "a boolean"),
        "minItems" | "maxItems" => must_be(value.is_u64(), "an integer from 0 on"),
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

    /// Path and rule of each violation.
    fn found(schema: &Value) -> Vec<(String, String)> {
        let violations = check(schema).into_iter();
        violations
            .map(|violation| (violation.path, violation.rule))
            .collect()
    }

    #[track_caller]
    fn one(schema: Value, path: &str, rule: &str) {
        assert_eq!(
            found(&schema),
            [(path.to_owned(), rule.to_owned())],
            "{schema}"
        );
    }

    fn with(property: Value) -> Value {
        json!({"type": "object", "properties": {"a": property}})
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({"type": "object"}), |inner, _| with(inner))
    }

    #[test]
    fn what_the_subset_has_is_taken() {
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
        assert_eq!(found(&schema), []);
        assert_eq!(found(&nested(8)), []);
    }

    #[test]
    fn every_rule_names_the_place() {
        for root in [
            json!({}),
            json!({"type": "array"}),
            json!({"type": "string"}),
        ] {
            one(root, "", "root_not_object");
        }
        for root in [json!(true), json!("object"), json!(null), json!([])] {
            one(root, "", "schema_not_object");
        }
        one(with(json!(true)), "/properties/a", "schema_not_object");
        one(
            with(json!({"type": "array", "items": false})),
            "/properties/a/items",
            "schema_not_object",
        );
        one(
            with(json!({"pattern": "x"})),
            "/properties/a/pattern",
            "unsupported_keyword",
        );
        one(
            with(json!({"a/b~": 1})),
            "/properties/a/a~1b~0",
            "unsupported_keyword",
        );
        one(
            with(json!({"type": "date"})),
            "/properties/a/type",
            "unsupported_type",
        );
        one(
            with(json!({"type": ["string", "null"]})),
            "/properties/a/type",
            "unsupported_type",
        );
        one(
            with(json!({"type": "string", "format": "date"})),
            "/properties/a/format",
            "unsupported_format",
        );
        one(nested(9), &"/properties/a".repeat(8), "max_depth");
        one(nested(12), &"/properties/a".repeat(8), "max_depth");
    }

    #[test]
    fn a_keyword_has_to_have_a_value_of_its_kind() {
        for (keyword, value) in [
            ("required", json!("a")),
            ("required", json!([1])),
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
            one(
                with(json!({keyword: value})),
                &path,
                "invalid_keyword_value",
            );
        }
        one(
            with(json!({"minItems": 2, "maxItems": 1})),
            "/properties/a/minItems",
            "invalid_keyword_value",
        );
        one(
            with(json!({"minimum": 2, "maximum": 1})),
            "/properties/a/minimum",
            "invalid_keyword_value",
        );
    }

    #[test]
    fn a_keyword_of_another_type_says_nothing() {
        assert_eq!(found(&with(json!({"type": "string", "minItems": 1}))), []);
        assert_eq!(found(&with(json!({"type": "string", "minItems": -1}))), []);
    }

    #[test]
    fn several_violations_are_all_told() {
        let schema = json!({"type": "array", "pattern": "x", "items": {"$ref": "#"}});
        assert_eq!(found(&schema).len(), 3);
    }
}
