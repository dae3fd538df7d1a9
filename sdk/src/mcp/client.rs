//! The client of the MCP endpoint.

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

use super::carrier::{Carrier, Catalogue};
use super::error::{Error, ToolError};
use super::tool::{Tool, ToolResult};
use crate::call::Core;
use crate::call::retry::RetryPolicy;
use crate::call::secret::Secret;
use crate::surface::Developer;
use crate::transport::Transport;
use crate::types::{IdempotencyKey, InvalidField};

const URL_VARIABLE: &str = "SVC_MCP_URL";
const KEY_VARIABLE: &str = "SVC_DEVELOPER_API_KEY";
/// The argument that makes a call one call.
const KEY: &str = "idempotency_key";

/// A client of the MCP endpoint, connected.
///
/// Calls go to the configured URL only. A call of a tool that takes an `idempotency_key` and is
/// given none gets a fresh one, which its result and its errors tell; such a call is repeated when
/// its outcome is unknown, and any other that may have changed something is not.
pub struct Client {
    service: RunningService<RoleClient, ClientConfig>,
    core: Arc<Core>,
    catalogue: Arc<Catalogue>,
}

impl Client {
    /// Connects to an endpoint: https, or http on loopback.
    ///
    /// # Errors
    ///
    /// Where the URL can never be right, or the endpoint does not let the key in.
    pub async fn connect(url: impl Into<String>, key: Secret) -> Result<Self, Error> {
        Self::builder().url(url).api_key(key).connect().await
    }

    /// Connects to the endpoint of `SVC_MCP_URL` with the key of `SVC_DEVELOPER_API_KEY`.
    ///
    /// # Errors
    ///
    /// Where one of the two is not set, and as for [`connect`](Self::connect).
    pub async fn from_env() -> Result<Self, Error> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let missing = |name| crate::Error::configuration(format!("set {name}"));
        let url = variable(URL_VARIABLE).ok_or_else(|| missing(URL_VARIABLE))?;
        let key = variable(KEY_VARIABLE).ok_or_else(|| missing(KEY_VARIABLE))?;
        let key = Secret::new(key).map_err(crate::Error::from)?;
        Self::connect(url, key).await
    }

    /// A client to be set up.
    pub fn builder() -> Builder {
        Builder {
            url: None,
            client: crate::Client::builder(),
        }
    }

    /// The tools, as the endpoint lists them now.
    ///
    /// # Errors
    ///
    /// Where they could not be listed.
    pub async fn tools(&self) -> Result<Arc<[Tool]>, Error> {
        let listed = self.service.list_all_tools().await;
        let listed = listed.map_err(Error::of_service)?;
        let tools: Arc<[Tool]> = listed.into_iter().map(Tool::of).collect();
        self.catalogue.set(Arc::clone(&tools));
        Ok(tools)
    }

    /// Calls a tool. `arguments` is a JSON object.
    ///
    /// # Errors
    ///
    /// [`Error::Tool`] where the service refused; the others where it was not asked, or did not
    /// answer. After an ambiguous one the call may be made again with the error's key.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolResult, Error> {
        let mut arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            _ => {
                let invalid = InvalidField::new("arguments", "must be a JSON object");
                return Err(crate::Error::from(invalid).into());
            }
        };
        let key = self.key(tool, &mut arguments).await?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let called = self.service.call_tool(params).await;
        let result = called.map_err(|error| Error::of_service(error).with_key(key.as_ref()))?;
        let failed = result.is_error == Some(true);
        let result = ToolResult::of(result, key);
        if failed {
            let error = ToolError::of(tool, &result.texts, result.idempotency_key);
            return Err(Error::Tool(Box::new(error)));
        }
        Ok(result)
    }

    /// The revision of the protocol that is spoken.
    #[must_use]
    pub fn revision(&self) -> Option<String> {
        let peer = self.service.peer_info()?;
        Some(peer.protocol_version.to_string())
    }

    /// The key of a call: as it is given, or a fresh one where the tool takes one.
    async fn key(
        &self,
        tool: &str,
        arguments: &mut Map<String, Value>,
    ) -> Result<Option<IdempotencyKey>, Error> {
        if let Some(given) = arguments.get(KEY) {
            let given = given.as_str().unwrap_or_default();
            let key: Result<IdempotencyKey, _> = given.parse();
            return Ok(Some(key.map_err(crate::Error::from)?));
        }
        let tools = match self.catalogue.get() {
            Some(tools) => tools,
            None => self.tools().await?,
        };
        let takes = tools
            .iter()
            .any(|known| known.name == tool && known.takes(KEY));
        if !takes {
            return Ok(None);
        }
        let key = self.core.entropy.idempotency_key()?;
        arguments.insert(KEY.to_owned(), Value::from(key.as_str()));
        Ok(Some(key))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.core.base.as_str())
            .finish_non_exhaustive()
    }
}

/// Sets up a [`Client`].
#[must_use = "a builder does nothing until it connects"]
#[derive(Debug)]
pub struct Builder {
    url: Option<String>,
    client: crate::ClientBuilder<Developer>,
}

impl Builder {
    /// The endpoint: https, or http on loopback. There is no default.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// The key, of the developer surface.
    pub fn api_key(mut self, key: Secret) -> Self {
        self.client = self.client.api_key(key);
        self
    }

    /// What carries requests, instead of reqwest.
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.client = self.client.transport(transport);
        self
    }

    /// How persistently messages are repeated.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.client = self.client.retry(policy);
        self
    }

    /// The time of one message, repetitions included. Default: 150 s.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.client = self.client.deadline(deadline);
        self
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// Where the URL is missing or can never be right, or the endpoint does not let the key in.
    pub async fn connect(self) -> Result<Client, Error> {
        let url = self.url.ok_or_else(|| {
            crate::Error::configuration(format!("no MCP URL: set {URL_VARIABLE}, or call url(…)"))
        })?;
        let core = self.client.base_url(url).build()?.core;
        let catalogue = Arc::<Catalogue>::default();
        let carrier = Carrier {
            core: Arc::clone(&core),
            catalogue: Arc::clone(&catalogue),
        };
        let config = StreamableHttpClientTransportConfig::with_uri(core.base.as_str());
        let transport = StreamableHttpClientTransport::with_client(carrier, config);
        let us = Implementation::new("svc-sdk", env!("CARGO_PKG_VERSION"));
        let info = ClientConfig::new(ClientCapabilities::default(), us);
        let either = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let service = info.serve_with_lifecycle(transport, either).await;
        Ok(Client {
            service: service.map_err(Error::of_start)?,
            core,
            catalogue,
        })
    }
}
