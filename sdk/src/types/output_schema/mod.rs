//! The JSON Schema that a run's output is asked to fit, and the subset of JSON Schema that the
//! service supports.

mod check;
#[cfg(feature = "schemars")]
mod derive;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::received::received;

/// A schema within the supported subset: what a run's `output` is to be.
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
/// let refused = OutputSchema::new(serde_json::json!({
///     "type": "object",
///     "properties": {"title": {"type": "string", "pattern": "^F"}},
/// }));
/// assert_eq!(refused.unwrap_err().violations[0].path, "/properties/title/pattern");
/// # Ok::<(), svc_sdk::types::OutputSchemaError>(())
/// ```
///
/// With the feature `schemars` it is derived from the type that the output is read as, by
/// `OutputSchema::of`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct OutputSchema(Value);

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for OutputSchema {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OutputSchema".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A JSON Schema within the supported subset; an object at the root, eight levels deep.",
            "type": "object",
            "required": ["type"],
        })
    }
}

impl OutputSchema {
    /// A schema that is within the supported subset.
    ///
    /// Supported are `type` (one name), `properties`, `required`, `items`, `enum`, `const`,
    /// `description`, `additionalProperties` (a boolean), `minItems`, `maxItems`, `minimum`,
    /// `maximum` and `format: "uri"`, eight levels deep, with an object as root.
    ///
    /// # Errors
    ///
    /// Each place that is outside of it.
    pub fn new(schema: Value) -> Result<Self, OutputSchemaError> {
        let violations = Self::check(&schema);
        if violations.is_empty() {
            Ok(Self(schema))
        } else {
            Err(OutputSchemaError { violations })
        }
    }

    /// A schema that only the service judges: it may support more than this build knows.
    #[must_use]
    pub fn unchecked(schema: Value) -> Self {
        Self(schema)
    }

    /// Each place of a schema that is outside the supported subset.
    #[must_use]
    pub fn check(schema: &Value) -> Vec<SchemaViolation> {
        check::violations(schema)
    }

    /// The schema.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

received! {
    /// A place where a schema is outside the supported subset, or an output does not fit its schema.
    pub struct SchemaViolation (
        /// Where, as a JSON Pointer; empty at the root.
        path: String,
        /// Which rule is broken.
        rule: String,
        /// Text for people.
        message: String,
    ) {}
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "the root"
        } else {
            &self.path
        };
        write!(f, "{path} {} ({})", self.message, self.rule)
    }
}

/// A schema that is outside the supported subset.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputSchemaError {
    /// Where, and why.
    pub violations: Vec<SchemaViolation>,
}

impl fmt::Display for OutputSchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the output schema is outside the supported subset: ")?;
        for (index, violation) in self.violations.iter().enumerate() {
            let comma = if index == 0 { "" } else { "; " };
            write!(f, "{comma}{violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for OutputSchemaError {}
