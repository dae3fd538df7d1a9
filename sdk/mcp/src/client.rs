//! The MCP client and its builder.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation,
    PaginatedRequestParams, ProtocolVersion,
};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};

use svc_sdk::message::{self, MessageChannel};
use svc_sdk::types::{IdempotencyKey, InvalidField};
use svc_sdk::{ApiKey, developer};

use crate::error::McpError;
use crate::tool::{KEY_ARGUMENT, Tool, ToolCache, ToolResult};
use crate::transport::McpTransport;

const URL_VARIABLE: &str = "SVC_MCP_URL";
const API_KEY_VARIABLE: &str = "SVC_DEVELOPER_API_KEY";

/// A connected client of the MCP endpoint.
///
/// # Retries
///
/// If a tool accepts an `idempotency_key` and the arguments have none, [`call`](Self::call) adds a
/// new one and returns it with the result or the error. Calls of read-only tools, and calls with a key
/// of tools that [recognize keys](Tool::recognizes_keys), are retried even if an earlier attempt may
/// have run. Other calls are retried only if they cannot have run.
///
/// # Examples
///
/// ```no_run
/// use serde_json::json;
/// use svc_mcp::McpClient;
///
/// # async fn run() -> Result<(), svc_mcp::McpError> {
/// let client = McpClient::from_env().await?;
/// for tool in client.tools().await?.iter() {
///     println!("{}", tool.name);
/// }
/// let result = client.call("jobs_status", json!({"job_id": "job_123"})).await?;
/// println!("{:?}", result.structured);
/// # Ok(())
/// # }
/// ```
pub struct McpClient {
    pub(crate) service: RunningService<RoleClient, ClientConfig>,
    pub(crate) channel: MessageChannel,
    url: String,
    tools: Arc<ToolCache>,
}

impl McpClient {
    /// Connects to an endpoint with an API key of the developer surface.
    ///
    /// The URL must use `https`, or `http` with a loopback address.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is not valid, if the endpoint cannot be reached, or if it
    /// rejects the key.
    pub async fn connect(url: impl Into<String>, key: ApiKey) -> Result<Self, McpError> {
        Self::with_client(&developer::Client::builder().base_url(url).api_key(key).build()?).await
    }

    /// Connects to the endpoint in `SVC_MCP_URL` with the API key in `SVC_DEVELOPER_API_KEY`.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the variables is not set, and under the conditions of
    /// [`connect`](Self::connect).
    pub async fn from_env() -> Result<Self, McpError> {
        let url = variable(URL_VARIABLE)?;
        let key = ApiKey::new(variable(API_KEY_VARIABLE)?).map_err(svc_sdk::Error::from)?;
        Self::connect(url, key).await
    }

    /// Connects with the settings of a client of the SDK, whose base URL is that of the endpoint: its
    /// time limits, retries, transport, observers, journal and account.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoint cannot be reached, or if it rejects the key.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use svc_mcp::McpClient;
    /// use svc_sdk::{ApiKey, developer};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = developer::Client::builder()
    ///     .base_url("http://127.0.0.1:4011/mcp")
    ///     .api_key(ApiKey::new("svc_dev_demo")?)
    ///     .timeout(Duration::from_secs(30))
    ///     .build()?;
    /// let tools = McpClient::with_client(&client).await?.tools().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn with_client(client: &developer::Client) -> Result<Self, McpError> {
        let channel = MessageChannel::new(client);
        let url = client.base_url().to_owned();
        let tools = Arc::<ToolCache>::default();
        let transport = McpTransport { channel: channel.clone(), tools: Arc::clone(&tools) };
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        let transport = StreamableHttpClientTransport::with_client(transport, config);
        let client_info = Implementation::new("svc-sdk", env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), client_info);
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let service = client.serve_with_lifecycle(transport, lifecycle).await;
        let service = service.map_err(McpError::from_initialize_error)?;
        Ok(Self { service, channel, url, tools })
    }

    /// Lists the tools of the endpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if the request fails.
    pub async fn tools(&self) -> Result<Arc<[Tool]>, McpError> {
        let (mut tools, mut cursors) = (Vec::new(), HashSet::new());
        let mut cursor = None;
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.list_tools(Some(params)).await;
            let page = page.map_err(McpError::from_service_error)?;
            tools.extend(page.tools.into_iter().map(Tool::from_rmcp));
            cursor = page.next_cursor;
            // A list whose cursor repeats would never end.
            if cursor.as_ref().is_none_or(|it| it.is_empty() || !cursors.insert(it.clone())) {
                break;
            }
        }
        let tools: Arc<[Tool]> = tools.into();
        self.tools.set(Arc::clone(&tools));
        Ok(tools)
    }

    /// Calls a tool and returns its result.
    ///
    /// `arguments` must be a JSON object, or `null` for a call without arguments. With a journal, the call
    /// of a paid tool is a [`submit`](Self::submit) without a submission id.
    ///
    /// # Errors
    ///
    /// Returns [`McpError::Tool`] if the tool rejected the call, and another error if the call was not
    /// sent or did not receive a response that says what became of it. If the error
    /// [is ambiguous](McpError::is_ambiguous) and the tool [recognizes keys](Tool::recognizes_keys), repeat
    /// the call with the key of the error; other tools may run twice.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolResult, McpError> {
        if self.channel.journal().is_some() && self.has_tool(tool, Tool::is_paid).await? {
            return self.submit(tool, arguments).await;
        }
        let mut arguments = into_object(arguments)?;
        let key = self.ensure_idempotency_key(tool, &mut arguments).await?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.service.call_tool(params).await;
        let result =
            result.map_err(|error| McpError::from_service_error(error).with_key(key.as_ref()))?;
        ToolResult::from_reply(tool, result, key)
    }

    /// Returns the protocol version that the client and the endpoint agreed on.
    #[must_use]
    pub fn protocol_version(&self) -> Option<String> {
        let peer = self.service.peer_info()?;
        Some(peer.protocol_version.to_string())
    }

    /// Returns the idempotency key of a call, after adding one if the tool accepts it.
    async fn ensure_idempotency_key(
        &self,
        tool: &str,
        arguments: &mut Map<String, Value>,
    ) -> Result<Option<IdempotencyKey>, McpError> {
        if let Some(key) = chosen_key(arguments)? {
            return Ok(Some(key));
        }
        if !self.accepts_key(tool).await? {
            return Ok(None);
        }
        let key = self.channel.new_key()?;
        arguments.insert(KEY_ARGUMENT.to_owned(), Value::from(key.as_str()));
        Ok(Some(key))
    }

    pub(crate) async fn accepts_key(&self, tool: &str) -> Result<bool, McpError> {
        self.has_tool(tool, |tool| tool.has_argument(KEY_ARGUMENT)).await
    }

    /// Returns whether there is a tool of that name that fulfills a condition.
    pub(crate) async fn has_tool(
        &self,
        name: &str,
        condition: impl Fn(&Tool) -> bool,
    ) -> Result<bool, McpError> {
        let tools = match self.tools.get() {
            Some(tools) => tools,
            None => self.tools().await?,
        };
        Ok(tools.iter().any(|tool| tool.name == name && condition(tool)))
    }
}

pub(crate) fn into_object(arguments: Value) -> Result<Map<String, Value>, McpError> {
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        _ => {
            let invalid = InvalidField::new("arguments", "must be a JSON object");
            Err(svc_sdk::Error::from(invalid).into())
        }
    }
}

/// Returns the idempotency key that the caller chose.
pub(crate) fn chosen_key(
    arguments: &Map<String, Value>,
) -> Result<Option<IdempotencyKey>, McpError> {
    let key = arguments.get(KEY_ARGUMENT);
    let key = key.map(|key| key.as_str().unwrap_or_default().parse());
    Ok(key.transpose().map_err(svc_sdk::Error::from)?)
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient").field("url", &self.url).finish_non_exhaustive()
    }
}

fn variable(name: &str) -> svc_sdk::Result<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| message::configuration_error(format!("{name} is not set")))
}
