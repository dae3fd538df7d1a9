//! Tools of the endpoint and the results of their calls.

use std::sync::{Arc, PoisonError, RwLock};

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Map, Value, json};
use svc_sdk::contract::{Operation, RetryClass};
use svc_sdk::journal::{IntentId, ResourceKind};
use svc_sdk::message::{MessageIntent, MessageReceipt};
use svc_sdk::types::{IdempotencyKey, Usd};

use crate::error::{McpError, ToolError};

/// The argument by which the service recognizes a repeated call.
pub(crate) const KEY_ARGUMENT: &str = "idempotency_key";

/// A tool of the MCP endpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Tool {
    /// The name to call the tool by.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description for a model.
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The JSON Schema of the structured result.
    pub output_schema: Option<Value>,
    /// Whether the endpoint declares that the tool does not change anything.
    pub read_only: bool,
}

impl Tool {
    /// Returns `true` if the tool accepts an argument with this name.
    #[must_use]
    pub fn has_argument(&self, name: &str) -> bool {
        let properties = self.input_schema.get("properties");
        properties.is_some_and(|properties| properties.get(name).is_some())
    }

    /// Returns `true` if calls of the tool cost money: it accepts a limit of what a call may cost.
    #[must_use]
    pub fn is_paid(&self) -> bool {
        self.has_argument("max_spend_usd")
    }

    /// Returns `true` if the service documents that a call with the `idempotency_key` of an earlier one is
    /// not carried out again.
    ///
    /// Tools treat keys as their operations do over HTTP, so that these are the tools that run Formats and
    /// Agent Completions. Other tools accept the argument and may run again all the same.
    #[must_use]
    pub fn recognizes_keys(&self) -> bool {
        self.has_argument(KEY_ARGUMENT) && class_with_key(&self.name) == RetryClass::Key
    }

    pub(crate) fn from_rmcp(tool: rmcp::model::Tool) -> Self {
        let annotations = tool.annotations.unwrap_or_default();
        let to_value = |schema: &Map<String, Value>| Value::Object(schema.clone());
        Self {
            name: tool.name.into_owned(),
            title: tool.title,
            description: tool.description.map(std::borrow::Cow::into_owned),
            input_schema: to_value(&tool.input_schema),
            output_schema: tool.output_schema.as_deref().map(to_value),
            read_only: annotations.read_only_hint.unwrap_or(false),
        }
    }
}

/// Returns when a call of a tool that has effects may be repeated with the same idempotency key: when the
/// request of its operation may, if that is known.
pub(crate) fn class_with_key(tool: &str) -> RetryClass {
    match tool {
        "format_run" => Operation::FormatsRunsCreate.retry(),
        "agent_completion" => Operation::AgentCompletionsCreate.retry(),
        _ => RetryClass::Unsent,
    }
}

/// The tools of the last listing, which the client and its transport share.
#[derive(Default)]
pub(crate) struct ToolCache(RwLock<Option<Arc<[Tool]>>>);

impl ToolCache {
    pub(crate) fn get(&self) -> Option<Arc<[Tool]>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, tools: Arc<[Tool]>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(tools);
    }

    pub(crate) fn is_read_only(&self, name: &str) -> bool {
        self.get().is_some_and(|tools| tools.iter().any(|tool| tool.name == name && tool.read_only))
    }
}

/// The result of a successful tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The structured content, which conforms to the tool's output schema.
    pub structured: Option<Value>,
    /// The text content, for people and models.
    pub texts: Vec<String>,
    /// The files that the result links to.
    pub links: Vec<ResourceLink>,
    /// The idempotency key of the call.
    ///
    /// If the tool [recognizes keys](Tool::recognizes_keys), calling it again with this key and the same
    /// arguments does not run it twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The intent of the call in the journal, which is active as long as the result exists.
    #[serde(skip)]
    intent: Option<MessageIntent>,
}

/// A link to a file. No credential is needed to download it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ResourceLink {
    /// The URL of the file.
    pub uri: String,
    /// The name of the file.
    pub name: String,
    /// The MIME type of the file.
    pub mime_type: Option<String>,
}

impl ToolResult {
    /// Returns the intent in the journal, if the call was [submitted](crate::McpClient::submit) through one.
    #[must_use]
    pub fn intent_id(&self) -> Option<&IntentId> {
        self.intent.as_ref().map(MessageIntent::id)
    }

    /// Records in the journal that the application has the result. Does nothing without a journal.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be written.
    pub async fn acknowledge(&self) -> svc_sdk::Result<()> {
        match &self.intent {
            Some(intent) => intent.acknowledge().await,
            None => Ok(()),
        }
    }

    pub(crate) fn with_intent(mut self, intent: MessageIntent) -> Self {
        self.intent = Some(intent);
        self
    }

    /// Returns the result of a call that the journal has the receipt of.
    pub(crate) fn from_intent(intent: MessageIntent) -> Self {
        let made = intent.resource();
        let result = Self {
            structured: made.map(|(kind, id)| json!({ id_field(kind): id })),
            idempotency_key: Some(intent.key().clone()),
            ..Self::default()
        };
        result.with_intent(intent)
    }

    /// Returns the result of a reply, or the error that it reports.
    pub(crate) fn from_reply(
        tool: &str,
        reply: CallToolResult,
        key: Option<IdempotencyKey>,
    ) -> Result<Self, McpError> {
        let is_error = reply.is_error == Some(true);
        let result = Self::new(reply, key);
        match is_error {
            true => {
                let error = ToolError::new(tool, &result.texts, result.idempotency_key);
                Err(McpError::Tool(Box::new(error)))
            }
            false => Ok(result),
        }
    }

    fn new(result: CallToolResult, idempotency_key: Option<IdempotencyKey>) -> Self {
        let mut tool_result =
            Self { structured: result.structured_content, idempotency_key, ..Self::default() };
        for block in result.content {
            match block {
                ContentBlock::Text(text) => tool_result.texts.push(text.text),
                ContentBlock::ResourceLink(link) => tool_result.links.push(ResourceLink {
                    uri: link.uri,
                    name: link.name,
                    mime_type: link.mime_type,
                }),
                // The service does not return other types of content.
                _ => {}
            }
        }
        tool_result
    }
}

/// The fields of a result that name what a tool made.
const JOB: &str = "job_id";
const RUN: &str = "run_id";
const QUEUE: &str = "queue_id";

/// Returns the receipt in a tool's structured result, if it has an id.
pub(crate) fn receipt_in(tool: &str, structured: &Value) -> Option<MessageReceipt> {
    let text = |name: &str| structured.get(name)?.as_str().filter(|id| !id.is_empty());
    let run_kind = match tool {
        "agent_completion" => ResourceKind::AgentRun,
        _ => ResourceKind::FormatRun,
    };
    let kinds = [(JOB, ResourceKind::Job), (RUN, run_kind), (QUEUE, ResourceKind::Queue)];
    let (kind, id) = kinds.into_iter().find_map(|(name, kind)| Some((kind, text(name)?)))?;
    let price = structured.pointer("/job/price_usd").cloned();
    Some(MessageReceipt {
        kind,
        id: id.to_owned(),
        price_usd: price.and_then(|price| serde_json::from_value::<Usd>(price).ok()),
    })
}

/// Returns the field of a result that names what a tool made of that kind.
const fn id_field(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Job => JOB,
        ResourceKind::Queue => QUEUE,
        _ => RUN,
    }
}
