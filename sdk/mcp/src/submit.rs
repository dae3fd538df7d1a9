//! Calls of paid tools through a journal.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};

use svc_sdk::journal::{Journal, JournalError, Reuse};
use svc_sdk::message::{self, MessageIntent, MessageStart, MessageSubmission};

use crate::client::{McpClient, chosen_key, into_object};
use crate::error::McpError;
use crate::tool::{KEY_ARGUMENT, Tool, ToolResult};

/// How many times another process may take a call over before it is an error.
const MAX_TAKEOVERS: u32 = 10;

impl McpClient {
    /// Calls a tool through a [journal](svc_sdk::journal), so that it is paid for once: the client's
    /// journal, or that of [`ToolCall::journal`].
    ///
    /// With a [`submission_id`](ToolCall::submission_id), the same call after a crash returns what the
    /// earlier one made, or sends it again with the same idempotency key, or says that the outcome is
    /// unknown: a tool that does not [recognize keys](crate::Tool::recognizes_keys) is not called again.
    ///
    /// ```no_run
    /// use serde_json::json;
    /// use svc_mcp::McpClient;
    ///
    /// # async fn run(client: McpClient, order: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let arguments = json!({"prompt": "a red fox", "max_spend_usd": 0.05});
    /// let result = client.submit("image_generate", arguments).submission_id(order).await?;
    /// // Store the result, then:
    /// result.acknowledge().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn submit(&self, tool: &str, arguments: Value) -> ToolCall<'_> {
        ToolCall {
            client: self,
            tool: tool.to_owned(),
            arguments,
            journal: self.channel.journal().cloned(),
            submission_id: None,
            reuse: Reuse::default(),
            notes: Map::new(),
        }
    }
}

/// A call of a tool that is written to a journal before it is sent, so that it is paid for once.
///
/// Returned by [`McpClient::submit`]. Awaiting it makes the call. If the tool was called before under the
/// same submission id, the result has only the id of what it made: `job_id`, `run_id` or `queue_id`.
#[must_use = "a call does nothing until it is awaited"]
pub struct ToolCall<'a> {
    client: &'a McpClient,
    tool: String,
    arguments: Value,
    journal: Option<Journal>,
    submission_id: Option<String>,
    reuse: Reuse,
    notes: Map<String, Value>,
}

impl ToolCall<'_> {
    /// Sets the journal, in place of the client's.
    pub fn journal(mut self, journal: &Journal) -> Self {
        self.journal = Some(journal.clone());
        self
    }

    /// Names the submission, as [`Call::submission_id`](svc_sdk::Call::submission_id) does.
    pub fn submission_id(mut self, id: impl Into<String>) -> Self {
        self.submission_id = Some(id.into());
        self
    }

    /// Sets what is done if the submission was accepted before, as [`Call::reuse`](svc_sdk::Call::reuse)
    /// does.
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.reuse = reuse;
        self
    }

    /// Notes something about the submission in its journal entry, such as a description.
    pub fn note(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.notes.insert(name.into(), value.into());
        self
    }

    async fn send(self) -> Result<ToolResult, McpError> {
        let Some(journal) = &self.journal else {
            return Err(message::configuration_error("a submit of a tool needs a journal").into());
        };
        let mut arguments = into_object(self.arguments.clone())?;
        let chosen_key = chosen_key(&arguments)?;
        arguments.remove(KEY_ARGUMENT);
        let accepts_key = self.client.accepts_key(&self.tool).await?;
        let recognizes_keys = self.client.has_tool(&self.tool, Tool::recognizes_keys).await?;
        let body = Value::Object(arguments.clone()).to_string();
        let path = format!("tools/{}", self.tool);
        let submission = MessageSubmission {
            submission_id: self.submission_id.as_deref(),
            reuse: self.reuse,
            path: &path,
            body: body.as_bytes(),
            chosen_key: chosen_key.as_ref(),
            is_key_documented: recognizes_keys,
            notes: &self.notes,
        };
        let mut takeovers = 0;
        loop {
            let intent = match self.client.channel.start(journal, &submission).await? {
                MessageStart::Send(intent) => intent,
                MessageStart::Existing(intent) => return Ok(ToolResult::from_intent(intent)),
            };
            let mut arguments = arguments.clone();
            if accepts_key {
                arguments.insert(KEY_ARGUMENT.to_owned(), intent.key().as_str().into());
            }
            match self.send_once(arguments, &intent).await {
                Err(McpError::Request(error))
                    if matches!(error.journal(), Some(JournalError::GenerationTaken))
                        && takeovers < MAX_TAKEOVERS =>
                {
                    takeovers += 1;
                }
                Err(error) => return Err(error.with_key(Some(intent.key()))),
                Ok(result) => return Ok(result),
            }
        }
    }

    /// Sends the call. The transport writes to the intent what becomes of it.
    async fn send_once(
        &self,
        arguments: Map<String, Value>,
        intent: &MessageIntent,
    ) -> Result<ToolResult, McpError> {
        let params = CallToolRequestParams::new(self.tool.clone()).with_arguments(arguments);
        let mut request = CallToolRequest::new(params);
        request.extensions.insert(intent.clone());
        let request = ClientRequest::CallToolRequest(request);
        let result = match self.client.service.peer().send_request(request).await {
            Ok(ServerResult::CallToolResult(result)) => result,
            Ok(_) => return Err(McpError::from_service_error(ServiceError::UnexpectedResponse)),
            Err(error) => return Err(McpError::from_service_error(error)),
        };
        let result = ToolResult::from_reply(&self.tool, result, Some(intent.key().clone()))?;
        Ok(result.with_intent(intent.clone()))
    }
}

impl<'a> IntoFuture for ToolCall<'a> {
    type Output = Result<ToolResult, McpError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl fmt::Debug for ToolCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("tool", &self.tool)
            .field("submission_id", &self.submission_id)
            .finish_non_exhaustive()
    }
}
