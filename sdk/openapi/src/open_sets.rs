//! Open sets of strings: enums to which the service may add values.
//!
//! The SDK describes one as `anyOf` its known values, each a `const` with a description, or any
//! other string. The document lists the values in an `enum`, which reads more easily and which client
//! generators understand, and marks it with `x-open-set`.

use schemars::JsonSchema;
use schemars::generate::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::doc_comments;

/// Returns the known values of an open set, each with its doc comment.
pub(crate) fn known_values<T: JsonSchema>() -> Vec<(String, String)> {
    let schema = T::json_schema(&mut SchemaGenerator::default());
    schema.as_object().and_then(values).unwrap_or_default()
}

/// Rewrites the schema of an open set as an `enum`; leaves any other schema as it is.
pub(crate) fn rewrite(schema: &mut Map<String, Value>) {
    let Some(values) = values(schema) else { return };
    let comment = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let exceptions = doc_comments::assumed_except(comment);
    let is_assumed = |(name, comment): &&(String, String)| {
        doc_comments::is_part_assumed(exceptions.as_deref(), name, comment)
    };
    let assumed: Vec<&str> =
        values.iter().filter(is_assumed).map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
    if assumed.len() == names.len() {
        schema.insert("x-assumed".to_owned(), true.into());
    } else if !assumed.is_empty() {
        schema.insert("x-assumed-values".to_owned(), json!(assumed));
    }
    schema.insert("enum".to_owned(), json!(names));
    schema.insert("x-open-set".to_owned(), true.into());
    schema.remove("anyOf");
}

/// Returns the known values; `None` if this is not the schema of an open set.
fn values(schema: &Map<String, Value>) -> Option<Vec<(String, String)>> {
    let (other, known) = schema.get("anyOf")?.as_array()?.split_last()?;
    if *other != json!({"type": "string"}) {
        return None;
    }
    let known = known.iter().map(|value| {
        let name = value.get("const")?.as_str()?;
        let comment = value.get("description").and_then(Value::as_str);
        Some((name.to_owned(), comment.unwrap_or_default().to_owned()))
    });
    known.collect()
}
