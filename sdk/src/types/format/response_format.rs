//! The `response_format` of a run.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::types::OutputSchema;
use crate::types::json_schema::json_schema;

/// The format of a run's output. Its shape is assumed.
///
/// ```
/// use svc_sdk::types::{OutputSchema, ResponseFormat};
///
/// let schema = OutputSchema::new(serde_json::json!({"type": "object"}))?;
/// assert_eq!(
///     serde_json::to_value(ResponseFormat::JsonSchema(schema)).unwrap(),
///     serde_json::json!({"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}),
/// );
/// # Ok::<(), svc_sdk::types::OutputSchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Text.
    Text,
    /// A JSON object of any shape.
    JsonObject,
    /// A JSON object that matches a schema.
    JsonSchema(OutputSchema),
    /// Any other format, sent unchanged.
    Other(Value),
}

impl From<Value> for ResponseFormat {
    fn from(format: Value) -> Self {
        Self::Other(format)
    }
}

impl From<OutputSchema> for ResponseFormat {
    fn from(schema: OutputSchema) -> Self {
        Self::JsonSchema(schema)
    }
}

impl Serialize for ResponseFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = match self {
            Self::Text => json!({"type": "text"}),
            Self::JsonObject => json!({"type": "json_object"}),
            Self::JsonSchema(schema) => {
                json!({"type": "json_schema", "json_schema": {"schema": schema.as_value()}})
            }
            Self::Other(format) => return format.serialize(serializer),
        };
        json.serialize(serializer)
    }
}

json_schema! { ResponseFormat with generator {
    "description": "The format of a run's output. Assumed.",
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"type": "string", "enum": ["text", "json_object", "json_schema"]},
        "json_schema": {
            "type": "object",
            "required": ["schema"],
            "properties": {"schema": generator.subschema_for::<OutputSchema>()},
        },
    },
} }
