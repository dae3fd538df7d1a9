//! Tools as they are listed, and what a call gives.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use crate::types::IdempotencyKey;

/// A tool of the endpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Tool {
    /// What it is called by.
    pub name: String,
    /// What it is shown as.
    pub title: Option<String>,
    /// What a model is told of it.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured content.
    pub output_schema: Option<Value>,
    /// Whether it changes nothing, as the service says.
    pub read_only: bool,
}

impl Tool {
    /// Whether it takes that argument.
    #[must_use]
    pub fn takes(&self, argument: &str) -> bool {
        let properties = self.input_schema.get("properties");
        properties.is_some_and(|properties| properties.get(argument).is_some())
    }

    pub(crate) fn of(tool: rmcp::model::Tool) -> Self {
        let annotations = tool.annotations.unwrap_or_default();
        let schema = |schema: &serde_json::Map<String, Value>| Value::Object(schema.clone());
        Self {
            name: tool.name.into_owned(),
            title: tool.title,
            description: tool.description.map(std::borrow::Cow::into_owned),
            input_schema: schema(&tool.input_schema),
            output_schema: tool.output_schema.as_deref().map(schema),
            read_only: annotations.read_only_hint.unwrap_or(false),
        }
    }
}

/// What a tool gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The structured content: JSON that fits the tool's output schema.
    pub structured: Option<Value>,
    /// The texts, for people and models.
    pub texts: Vec<String>,
    /// Files that it leads to.
    pub links: Vec<Link>,
    /// The key that the call was made under. The same call with it is done once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A file that a result leads to. Fetching it takes no credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// Its URL.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its MIME type.
    pub mime_type: Option<String>,
}

impl ToolResult {
    pub(crate) fn of(result: CallToolResult, key: Option<IdempotencyKey>) -> Self {
        let mut read = Self {
            structured: result.structured_content,
            idempotency_key: key,
            ..Self::default()
        };
        for block in result.content {
            match block {
                ContentBlock::Text(text) => read.texts.push(text.text),
                ContentBlock::ResourceLink(link) => read.links.push(Link {
                    uri: link.uri,
                    name: link.name,
                    mime_type: link.mime_type,
                }),
                // Other content is none that this service makes.
                _ => {}
            }
        }
        read
    }
}
