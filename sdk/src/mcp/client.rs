//! The MCP client and its builder.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};

use super::error::McpError;
use super::tool::{Tool, ToolCache, ToolResult};
use super::transport::McpTransport;
use crate::call::Core;
use crate::call::api_key::ApiKey;
use crate::call::key_provider::KeyProvider;
use crate::call::retry::RetryPolicy;
use crate::journal::Journal;
use crate::observe::Observer;
use crate::surface::Developer;
use crate::transport::Transport;
use crate::types::{IdempotencyKey, InvalidField};

const URL_VARIABLE: &str = "SVC_MCP_URL";
const API_KEY_VARIABLE: &str = "SVC_DEVELOPER_API_KEY";
/// The argument by which the service recognizes a repeated call.
pub(super) const KEY_ARGUMENT: &str = "idempotency_key";

/// A connected client of the MCP endpoint.
///
/// # Retries
///
/// If a tool accepts an `idempotency_key` and the arguments have none, [`call`](Self::call) adds a
/// new one and returns it with the result or the error. Calls with a key and calls of read-only
/// tools are retried even if an earlier attempt may have run. Other calls are retried only if they
/// cannot have run.
///
/// # Examples
///
/// ```no_run
/// use serde_json::json;
/// use svc_sdk::mcp::McpClient;
///
/// # async fn run() -> Result<(), svc_sdk::mcp::McpError> {
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
    pub(super) service: RunningService<RoleClient, ClientConfig>,
    pub(super) core: Arc<Core>,
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
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use svc_sdk::ApiKey;
    /// use svc_sdk::mcp::McpClient;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let key = ApiKey::new("svc_dev_demo")?;
    /// let client = McpClient::connect("http://127.0.0.1:4011/mcp", key).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(url: impl Into<String>, key: ApiKey) -> Result<Self, McpError> {
        Self::builder().url(url).api_key(key).connect().await
    }

    /// Connects to the endpoint in `SVC_MCP_URL` with the API key in `SVC_DEVELOPER_API_KEY`.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the variables is not set, and under the conditions of
    /// [`connect`](Self::connect).
    pub async fn from_env() -> Result<Self, McpError> {
        let url = variable(URL_VARIABLE)?;
        let key = ApiKey::new(variable(API_KEY_VARIABLE)?).map_err(crate::Error::from)?;
        Self::connect(url, key).await
    }

    /// Returns a builder, for example to set a timeout or a custom transport.
    pub fn builder() -> McpClientBuilder {
        McpClientBuilder { url: None, client: crate::Client::builder(), account: String::new() }
    }

    /// Lists the tools of the endpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if the request fails.
    pub async fn tools(&self) -> Result<Arc<[Tool]>, McpError> {
        let listed = self.service.list_all_tools().await;
        let listed = listed.map_err(McpError::from_service_error)?;
        let tools: Arc<[Tool]> = listed.into_iter().map(Tool::from_rmcp).collect();
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
    /// [is ambiguous](McpError::is_ambiguous) and has an idempotency key, repeat the call with that key;
    /// without one, the tool may run twice.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolResult, McpError> {
        if self.core.journal.is_some() && self.knows(tool, Tool::is_paid).await? {
            return self.submit(tool, arguments).await;
        }
        let mut arguments = object(arguments)?;
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
        if let Some(key) = key_of(arguments)? {
            return Ok(Some(key));
        }
        if !self.accepts_key(tool).await? {
            return Ok(None);
        }
        let key = self.core.random.idempotency_key()?;
        arguments.insert(KEY_ARGUMENT.to_owned(), Value::from(key.as_str()));
        Ok(Some(key))
    }

    /// Returns whether a tool accepts an idempotency key.
    pub(super) async fn accepts_key(&self, tool: &str) -> Result<bool, McpError> {
        self.knows(tool, |tool| tool.has_argument(KEY_ARGUMENT)).await
    }

    /// Returns whether there is a tool of that name for which something holds.
    async fn knows(&self, name: &str, holds: impl Fn(&Tool) -> bool) -> Result<bool, McpError> {
        let tools = match self.tools.get() {
            Some(tools) => tools,
            None => self.tools().await?,
        };
        Ok(tools.iter().any(|tool| tool.name == name && holds(tool)))
    }
}

/// Returns the arguments of a call.
pub(super) fn object(arguments: Value) -> Result<Map<String, Value>, McpError> {
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        _ => {
            let invalid = InvalidField::new("arguments", "must be a JSON object");
            Err(crate::Error::from(invalid).into())
        }
    }
}

/// Returns the idempotency key that the caller chose.
pub(super) fn key_of(arguments: &Map<String, Value>) -> Result<Option<IdempotencyKey>, McpError> {
    let key = arguments.get(KEY_ARGUMENT);
    let key = key.map(|key| key.as_str().unwrap_or_default().parse());
    Ok(key.transpose().map_err(crate::Error::from)?)
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient")
            .field("url", &self.core.base_url.as_str())
            .finish_non_exhaustive()
    }
}

/// A builder for [`McpClient`].
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use svc_sdk::ApiKey;
/// use svc_sdk::mcp::McpClient;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let client = McpClient::builder()
///     .url("http://127.0.0.1:4011/mcp")
///     .api_key(ApiKey::new("svc_dev_demo")?)
///     .timeout(Duration::from_secs(30))
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until `connect` is called"]
#[derive(Debug)]
pub struct McpClientBuilder {
    url: Option<String>,
    client: crate::ClientBuilder<Developer>,
    account: String,
}

impl McpClientBuilder {
    /// Sets the URL of the endpoint, which is required.
    ///
    /// It must use `https`, or `http` with a loopback address.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Sets the API key, which must be one of the developer surface.
    pub fn api_key(mut self, key: ApiKey) -> Self {
        self.client = self.client.api_key(key);
        self
    }

    /// Sets where the API key comes from, in place of a fixed one.
    pub fn key_provider(mut self, provider: impl KeyProvider) -> Self {
        self.client = self.client.key_provider(provider);
        self
    }

    /// Allows plain http to a host, as
    /// [`ClientBuilder::allow_http`](crate::ClientBuilder::allow_http) does.
    pub fn allow_http(mut self, host: impl Into<String>) -> Self {
        self.client = self.client.allow_http(host);
        self
    }

    /// Sets a header of every request, as
    /// [`ClientBuilder::default_header`](crate::ClientBuilder::default_header) does.
    pub fn default_header(mut self, name: &str, value: &str) -> Self {
        self.client = self.client.default_header(name, value);
        self
    }

    /// Sets the transport that sends requests. The default is [`transport::hyper`](fn@crate::transport::hyper).
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.client = self.client.transport(transport);
        self
    }

    /// Sets when and how often failed messages are retried.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.client = self.client.retry(policy);
        self
    }

    /// Sets the timeout of a message, including its retries. The default is 150 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.client = self.client.timeout(timeout);
        self
    }

    /// Sets the time limit of one attempt to send a message. The default is 60 seconds.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.client = self.client.attempt_timeout(timeout);
        self
    }

    /// Makes jitter and idempotency keys repeatable, as
    /// [`ClientBuilder::seed`](crate::ClientBuilder::seed) does. For tests only.
    pub fn seed(mut self, seed: u64) -> Self {
        self.client = self.client.seed(seed);
        self
    }

    /// Adds an observer, which follows the messages of the client.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.client = self.client.observer(observer);
        self
    }

    /// Sets the journal, in which each call of a paid tool is written down before it is sent. See
    /// [`McpClient::submit`].
    pub fn journal(mut self, journal: Journal) -> Self {
        self.client = self.client.journal(journal);
        self
    }

    /// Sets the label of the account in the journal, as
    /// [`Client::with_account`](crate::Client::with_account) does.
    pub fn account(mut self, label: impl Into<String>) -> Self {
        self.account = label.into();
        self
    }

    /// Connects to the endpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is missing or not valid, if the endpoint cannot be reached, or
    /// if it rejects the key.
    pub async fn connect(self) -> Result<McpClient, McpError> {
        let url = self.url.ok_or_else(|| {
            crate::Error::configuration(format!(
                "the MCP URL is missing: set {URL_VARIABLE}, or call `url`"
            ))
        })?;
        let client = self.client.base_url(url).build()?;
        let core = client.with_account(self.account).core;
        let tools = Arc::<ToolCache>::default();
        let transport = McpTransport { core: Arc::clone(&core), tools: Arc::clone(&tools) };
        let config = StreamableHttpClientTransportConfig::with_uri(core.base_url.as_str());
        let transport = StreamableHttpClientTransport::with_client(transport, config);
        let client_info = Implementation::new("svc-sdk", env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), client_info);
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let service = client.serve_with_lifecycle(transport, lifecycle).await;
        Ok(McpClient { service: service.map_err(McpError::from_initialize_error)?, core, tools })
    }
}

fn variable(name: &str) -> crate::Result<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| crate::Error::configuration(format!("{name} is not set")))
}
