//! Whether a schema is within the supported subset.

use serde_json::{Map, Value};

use super::SchemaViolation;
use crate::types::Extra;

/// The root is level 1.
const DEEPEST: usize = 8;

const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// Each place of a schema that is outside the supported subset.
pub(super) fn violations(schema: &Value) -> Vec<SchemaViolation> {
    let mut found = Found(Vec::new());
    let root = match schema {
        Value::Object(root) => root,
        _ => {
            found.add("", "schema_not_object", "must be a schema object");
            return found.0;
        }
    };
    if root.get("type").and_then(Value::as_str) != Some("object") {
        found.add("", "root_not_object", "must have the type object");
    }
    found.in_schema(root, "", 1);
    found.0
}

struct Found(Vec<SchemaViolation>);

impl Found {
    fn add(&mut self, path: impl Into<String>, rule: &str, message: impl Into<String>) {
        self.0.push(SchemaViolation {
            path: path.into(),
            rule: rule.to_owned(),
            message: message.into(),
            extra: Extra::default(),
        });
    }

    fn invalid(&mut self, path: String, message: &str) {
        self.add(path, "invalid_keyword_value", message);
    }

    /// A schema below the root, whatever it is. No deeper than the deepest level, so that a hostile
    /// schema costs no stack.
    fn below(&mut self, schema: &Value, path: &str, level: usize) {
        match schema {
            _ if level > DEEPEST => {
                let message = format!("is deeper than {DEEPEST} levels");
                self.add(path, "max_depth", message);
            }
            Value::Object(schema) => self.in_schema(schema, path, level),
            _ => self.add(path, "schema_not_object", "must be a schema object"),
        }
    }

    fn in_schema(&mut self, schema: &Map<String, Value>, path: &str, level: usize) {
        for (keyword, value) in schema {
            let place = format!("{path}/{}", escaped(keyword));
            match keyword.as_str() {
                "type" => self.type_name(value, place),
                "format" if value.as_str() != Some("uri") => {
                    self.add(place, "unsupported_format", "must be \"uri\"");
                }
                "properties" => match value {
                    Value::Object(properties) => {
                        for (name, schema) in properties {
                            let place = format!("{place}/{}", escaped(name));
                            self.below(schema, &place, level + 1);
                        }
                    }
                    _ => self.invalid(place, "must be an object of schemas"),
                },
                "items" => self.below(value, &place, level + 1),
                _ => {
                    if let Some(complaint) = complaint(keyword, value) {
                        match complaint {
                            Complaint::Unsupported => {
                                self.add(place, "unsupported_keyword", "is not supported");
                            }
                            Complaint::Invalid(message) => self.invalid(place, message),
                        }
                    }
                }
            }
        }
        self.bounds(schema, path, "minItems", "maxItems");
        self.bounds(schema, path, "minimum", "maximum");
    }

    fn type_name(&mut self, value: &Value, place: String) {
        if !value.as_str().is_some_and(|name| TYPES.contains(&name)) {
            let message = format!("must be one of {}", TYPES.join(", "));
            self.add(place, "unsupported_type", message);
        }
    }

    fn bounds(&mut self, schema: &Map<String, Value>, path: &str, least: &str, most: &str) {
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        if let (Some(lower), Some(upper)) = (number(least), number(most))
            && lower > upper
        {
            self.invalid(
                format!("{path}/{least}"),
                "must not be above its upper bound",
            );
        }
    }
}

enum Complaint {
    Unsupported,
    Invalid(&'static str),
}

/// What is wrong with a keyword that holds no schema and names no type.
fn complaint(keyword: &str, value: &Value) -> Option<Complaint> {
    let (fits, otherwise) = match keyword {
        "required" => (is_texts(value), "must be an array of property names"),
        "enum" => (
            value.as_array().is_some_and(|values| !values.is_empty()),
            "must be an array with at least one value",
        ),
        "const" | "format" => (true, ""),
        "description" => (value.is_string(), "must be a text"),
        "additionalProperties" => (value.is_boolean(), "must be true or false"),
        "minItems" | "maxItems" => (value.is_u64(), "must be a whole number, 0 or more"),
        "minimum" | "maximum" => (value.is_number(), "must be a number"),
        _ => return Some(Complaint::Unsupported),
    };
    (!fits).then_some(Complaint::Invalid(otherwise))
}

fn is_texts(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|values| values.iter().all(Value::is_string))
}

/// A token of a JSON Pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(schema: &Value) -> Vec<(String, String)> {
        let violations = violations(schema).into_iter();
        violations.map(|it| (it.path, it.rule)).collect()
    }

    fn nested(levels: usize) -> Value {
        let mut schema = json!({"type": "string"});
        for _ in 1..levels {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        schema
    }

    #[test]
    fn all_that_is_supported_passes() {
        let schema = json!({
            "type": "object", "description": "d", "additionalProperties": false,
            "required": ["a", "b"],
            "properties": {
                "a": {"type": "array", "items": {"type": "string", "format": "uri"}, "minItems": 1, "maxItems": 4},
                "b": {"type": "number", "minimum": -0.5, "maximum": 3},
                "c": {"type": "string", "enum": ["x", "y"]},
                "d": {"const": 7}, "e": {}
            }
        });
        assert_eq!(found(&schema), []);
    }

    #[test]
    fn the_eighth_level_is_the_last() {
        assert_eq!(found(&nested(8)), []);
        let path = "/properties/a".repeat(8);
        assert_eq!(found(&nested(9)), [(path, "max_depth".to_owned())]);
        let mut hostile = json!({});
        for _ in 0..10_000 {
            hostile = Value::Object(Map::from_iter([("items".to_owned(), hostile)]));
        }
        assert_eq!(found(&hostile).len(), 2);
        while let Some(inner) = hostile.get_mut("items").map(Value::take) {
            hostile = inner;
        }
    }

    #[test]
    fn each_violation_says_where_and_which_rule() {
        let rows = [
            (json!(true), "", "schema_not_object"),
            (json!({}), "", "root_not_object"),
            (json!({"type": "array"}), "", "root_not_object"),
            (
                json!({"type": "object", "$ref": "#"}),
                "/$ref",
                "unsupported_keyword",
            ),
            (
                json!({"type": "object", "properties": {"a/b~": {"pattern": "x"}}}),
                "/properties/a~1b~0/pattern",
                "unsupported_keyword",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
                "/properties/a/type",
                "unsupported_type",
            ),
            (
                json!({"type": "object", "properties": {"a": {"format": "date"}}}),
                "/properties/a/format",
                "unsupported_format",
            ),
            (
                json!({"type": "object", "items": [{}]}),
                "/items",
                "schema_not_object",
            ),
            (
                json!({"type": "object", "required": "a"}),
                "/required",
                "invalid_keyword_value",
            ),
            (
                json!({"type": "object", "enum": []}),
                "/enum",
                "invalid_keyword_value",
            ),
            (
                json!({"type": "object", "minItems": -1}),
                "/minItems",
                "invalid_keyword_value",
            ),
            (
                json!({"type": "object", "minimum": 2, "maximum": 1}),
                "/minimum",
                "invalid_keyword_value",
            ),
            (
                json!({"type": "object", "additionalProperties": {}}),
                "/additionalProperties",
                "invalid_keyword_value",
            ),
        ];
        for (schema, path, rule) in rows {
            assert_eq!(
                found(&schema),
                [(path.to_owned(), rule.to_owned())],
                "{schema}"
            );
        }
    }
}
