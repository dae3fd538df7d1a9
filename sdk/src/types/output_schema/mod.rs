//! Output schemas of runs, and the supported subset of JSON Schema.

mod check;
#[cfg(feature = "schemars")]
mod derive;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::json_schema::json_schema;
use super::response::response_body;

/// A JSON Schema for the output of a run.
///
/// ```
/// use svc_sdk::types::OutputSchema;
///
/// let schema = OutputSchema::new(serde_json::json!({
///     "type": "object",
///     "properties": {"title": {"type": "string"}, "hero": {"type": "string", "format": "uri"}},
///     "required": ["title", "hero"],
/// }))?;
///
/// // The service decides what it supports; this is what it is known not to support.
/// let unsupported = OutputSchema::validate(&serde_json::json!({
///     "type": "object",
///     "properties": {"title": {"type": "string", "pattern": "^F"}},
/// }));
/// assert_eq!(unsupported[0].path, "/properties/title/pattern");
/// # Ok::<(), svc_sdk::types::OutputSchemaError>(())
/// ```
///
/// With the feature `schemars`, `OutputSchema::for_type` derives it from a Rust type.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct OutputSchema(Value);

json_schema! { OutputSchema {
    "description": "A JSON Schema within the supported subset; an object at the root, eight levels deep.",
    "type": "object",
    "required": ["type"],
} }

impl OutputSchema {
    /// Creates a schema. Whether it is supported is decided by the service; [`validate`](Self::validate)
    /// says what this version knows.
    ///
    /// Supported are `type` (one name), `properties`, `required`, `items`, `enum`, `const`,
    /// `description`, `additionalProperties` (a boolean), `minItems`, `maxItems`, `minimum`,
    /// `maximum` and `format: "uri"`, eight levels deep, with an object as root.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema is not a JSON object.
    pub fn new(schema: Value) -> Result<Self, OutputSchemaError> {
        match schema.is_object() {
            true => Ok(Self(schema)),
            false => Err(OutputSchemaError { violations: Self::validate(&schema) }),
        }
    }

    /// Returns the parts of a schema that are outside the supported subset.
    #[must_use]
    pub fn validate(schema: &Value) -> Vec<SchemaViolation> {
        check::violations(schema)
    }

    /// Returns the schema as JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

response_body! {
    /// A part of a schema outside the supported subset, or of an output that does not match its
    /// schema.
    pub struct SchemaViolation {
        /// The JSON Pointer of the part; empty at the root.
        required path: String,
        /// The violated rule.
        text rule: String,
        /// A description for people.
        text message: String,
    }
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the root" } else { &self.path };
        write!(f, "{path} {} ({})", self.message, self.rule)
    }
}

/// An error returned when a schema is not an object, or a type has no schema in the supported subset.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputSchemaError {
    /// The violations.
    pub violations: Vec<SchemaViolation>,
}

impl fmt::Display for OutputSchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid output schema: ")?;
        for (index, violation) in self.violations.iter().enumerate() {
            let comma = if index == 0 { "" } else { "; " };
            write!(f, "{comma}{violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for OutputSchemaError {}
