//! The check of a schema against the supported subset.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::SchemaViolation;
use crate::types::Extra;

/// The maximum depth; the root is level 1.
const MAX_DEPTH: usize = 8;

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Returns the parts of a schema that are outside the supported subset.
pub(super) fn violations(schema: &Value) -> Vec<SchemaViolation> {
    let mut checker = Checker(Vec::new());
    let root = match schema {
        Value::Object(root) => root,
        _ => {
            checker.add("", "schema_not_object", "must be a schema object");
            return checker.0;
        }
    };
    if root.get("type").and_then(Value::as_str) != Some("object") {
        checker.add("", "root_not_object", "must have the type object");
    }
    checker.check_object(root, "", 1);
    checker.0
}

struct Checker(Vec<SchemaViolation>);

impl Checker {
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

    /// Checks a schema below the root. The depth limit also bounds the recursion.
    fn check_subschema(&mut self, schema: &Value, path: &str, level: usize) {
        match schema {
            _ if level > MAX_DEPTH => {
                let message = format!("is deeper than {MAX_DEPTH} levels");
                self.add(path, "max_depth", message);
            }
            Value::Object(schema) => self.check_object(schema, path, level),
            _ => self.add(path, "schema_not_object", "must be a schema object"),
        }
    }

    fn check_object(&mut self, schema: &Map<String, Value>, base: &str, level: usize) {
        for (keyword, value) in schema {
            let path = format!("{base}/{}", escape(keyword));
            match keyword.as_str() {
                "type" => self.check_type(value, path),
                "format" if value.as_str() != Some("uri") => {
                    self.add(path, "unsupported_format", "must be \"uri\"");
                }
                "properties" => match value {
                    Value::Object(properties) => {
                        for (name, schema) in properties {
                            let path = format!("{path}/{}", escape(name));
                            self.check_subschema(schema, &path, level + 1);
                        }
                    }
                    _ => self.invalid(path, "must be an object of schemas"),
                },
                "items" => self.check_subschema(value, &path, level + 1),
                _ => match check_keyword(keyword, value) {
                    Some(Ok(())) => {}
                    Some(Err(message)) => self.invalid(path, message),
                    None => self.add(path, "unsupported_keyword", "is not supported"),
                },
            }
        }
        self.check_bounds(schema, base, "minItems", "maxItems");
        self.check_bounds(schema, base, "minimum", "maximum");
    }

    fn check_type(&mut self, value: &Value, path: String) {
        if !value.as_str().is_some_and(|name| TYPES.contains(&name)) {
            let message = format!("must be one of {}", TYPES.join(", "));
            self.add(path, "unsupported_type", message);
        }
    }

    fn check_bounds(&mut self, schema: &Map<String, Value>, path: &str, min: &str, max: &str) {
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        if let (Some(lower), Some(upper)) = (number(min), number(max))
            && lower > upper
        {
            self.invalid(format!("{path}/{min}"), "must not be above its upper bound");
        }
    }
}

/// Checks a keyword whose value contains no schema and is not a type name. Returns `None` if it is not
/// supported, and an error that says what its value must be if the value is not that.
fn check_keyword(keyword: &str, value: &Value) -> Option<Result<(), &'static str>> {
    let (is_valid, message) = match keyword {
        "required" => (is_array_of_names(value), "must be an array of distinct property names"),
        "enum" => (
            value.as_array().is_some_and(|values| !values.is_empty()),
            "must be an array with at least one value",
        ),
        "const" | "format" => (true, ""),
        "description" => (value.is_string(), "must be a string"),
        "additionalProperties" => (value.is_boolean(), "must be true or false"),
        "minItems" | "maxItems" => (value.is_u64(), "must be a non-negative integer"),
        "minimum" | "maximum" => (value.is_number(), "must be a number"),
        _ => return None,
    };
    Some(if is_valid { Ok(()) } else { Err(message) })
}

fn is_array_of_names(value: &Value) -> bool {
    let mut seen = HashSet::new();
    value.as_array().is_some_and(|names| {
        let mut names = names.iter();
        names.all(|name| name.as_str().is_some_and(|name| seen.insert(name)))
    })
}

/// Escapes a token of a JSON Pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
