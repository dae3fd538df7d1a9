//! Clients of a surface, and their configuration.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::Semaphore;

use crate::call::Core;
use crate::call::api_key::ApiKey;
use crate::call::base_url::BaseUrl;
use crate::call::random::Random;
use crate::call::rate_limit::RateLimiter;
use crate::call::retry::RetryPolicy;
use crate::call::retry_budget::RetryBudget;
use crate::error::{Error, Result};
use crate::observe::Observer;
use crate::surface::{self, Surface};
use crate::transport::MAX_IN_FLIGHT;
use crate::transport::Transport;

const USER_AGENT: &str = concat!("svc-sdk/", env!("CARGO_PKG_VERSION"));
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(150);
const DEFAULT_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of one surface of the service.
///
/// [`open::Client`](crate::open::Client) and [`developer::Client`](crate::developer::Client) are
/// this type for the two surfaces. Each resource is reached by a method of its own, such as
/// [`jobs`](Self::jobs); see [`resources`](crate::resources) for all of them.
///
/// Clones are cheap. They share connections, the rate limit, the retry budget and the poll schedule.
pub struct Client<S> {
    pub(crate) core: Arc<Core>,
    surface: PhantomData<S>,
}

impl<S: Surface> Client<S> {
    /// Returns a builder of a client.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use svc_sdk::{ApiKey, open};
    ///
    /// # fn run() -> svc_sdk::Result<()> {
    /// let client = open::Client::builder()
    ///     .base_url("https://api.example.com")
    ///     .api_key(ApiKey::new("svc_open_…")?)
    ///     .timeout(Duration::from_secs(30))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> ClientBuilder<S> {
        ClientBuilder {
            base_url: None,
            api_key: None,
            transport: None,
            retry: RetryPolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            attempt_timeout: DEFAULT_ATTEMPT_TIMEOUT,
            user_agent: USER_AGENT.to_owned(),
            seed: None,
            allow_private_artifact_hosts: false,
            observers: Vec::new(),
            surface: PhantomData,
        }
    }

    /// Creates a client from the environment: `SVC_BASE_URL` and `SVC_OPEN_API_KEY` for the open
    /// surface, `SVC_DEVELOPER_BASE_URL` and `SVC_DEVELOPER_API_KEY` for the developer surface.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is not set, or if one of the two variables is not valid.
    pub fn from_env() -> Result<Self> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut builder = Self::builder();
        if let Some(url) = variable(S::BASE_URL_VARIABLE) {
            builder = builder.base_url(url);
        }
        if let Some(key) = variable(S::API_KEY_VARIABLE) {
            builder = builder.api_key(ApiKey::new(key)?);
        }
        builder.build()
    }

    /// Returns the configured base URL.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.core.base_url.as_str()
    }

    /// Returns the transport, to share its connections with another client.
    #[must_use]
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.core.transport)
    }

    pub(crate) fn from_core(core: Arc<Core>) -> Self {
        Self {
            core,
            surface: PhantomData,
        }
    }
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            surface: PhantomData,
        }
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.core.base_url.as_str())
            .finish_non_exhaustive()
    }
}

/// The configuration of a [`Client`].
#[must_use = "a builder does nothing until it is built"]
pub struct ClientBuilder<S> {
    base_url: Option<String>,
    api_key: Option<ApiKey>,
    transport: Option<Arc<dyn Transport>>,
    retry: RetryPolicy,
    timeout: Duration,
    attempt_timeout: Duration,
    user_agent: String,
    seed: Option<u64>,
    allow_private_artifact_hosts: bool,
    observers: Vec<Arc<dyn Observer>>,
    surface: PhantomData<S>,
}

impl<S: Surface> ClientBuilder<S> {
    /// Sets the base URL: https, or http for a loopback host. A path prefix is kept. There is no
    /// default.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the API key. Without one, only public operations succeed.
    pub fn api_key(mut self, key: ApiKey) -> Self {
        self.api_key = Some(key);
        self
    }

    /// Sets the transport that carries requests, in place of reqwest.
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Sets how calls are retried.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sets the time limit of a call, including retries and waits for the rate limit. The default is
    /// 150 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the time limit of one attempt, until its response is read. The default is 60 seconds.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = timeout;
        self
    }

    /// Sets the `User-Agent` header.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// Sets whether artifacts are downloaded from loopback, private and link-local hosts. The default
    /// is `false`.
    ///
    /// Without it, a service on the internet cannot make this program send requests to the local
    /// network. If the base URL is on a loopback host, artifacts on loopback hosts are always allowed.
    ///
    /// Only the URLs of artifacts and of redirects are checked, which means IP addresses and
    /// `localhost` names. The addresses that other host names resolve to are not.
    pub fn allow_private_artifact_hosts(mut self, allow: bool) -> Self {
        self.allow_private_artifact_hosts = allow;
        self
    }

    /// Adds an observer, which follows the calls of the client: for metrics, and for headers such as
    /// `traceparent`. Observers are called in the order in which they were added.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Makes jitter and idempotency keys repeatable. For tests only: two clients with the same seed
    /// make the same keys.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Builds the client. This does no I/O.
    ///
    /// # Errors
    ///
    /// Returns an error if the base URL is missing, or is neither https nor http on a loopback host.
    pub fn build(self) -> Result<Client<S>> {
        let url = self.base_url.ok_or_else(|| {
            let variable = S::BASE_URL_VARIABLE;
            Error::configuration(format!(
                "missing base URL: set {variable}, or call base_url()"
            ))
        })?;
        let authorization = match &self.api_key {
            Some(key) => Some(
                key.bearer()
                    .ok_or_else(|| Error::configuration("the API key is not a valid header"))?,
            ),
            None => None,
        };
        let core = Core {
            transport: self.transport.map_or_else(default_transport, Ok)?,
            base_url: BaseUrl::parse(&url)?,
            authorization,
            user_agent: HeaderValue::from_str(&self.user_agent)
                .map_err(|_| Error::configuration("the user agent is not a valid header"))?,
            wrapping: surface::wrapping::<S>(),
            retry: self.retry,
            timeout: self.timeout,
            attempt_timeout: self.attempt_timeout,
            allow_private_artifact_hosts: self.allow_private_artifact_hosts,
            retry_budget: RetryBudget::new(),
            rate_limiter: RateLimiter::default(),
            random: self
                .seed
                .map_or_else(Random::from_system, |seed| Ok(Random::from_seed(seed)))?,
            in_flight: Semaphore::new(MAX_IN_FLIGHT),
            observers: self.observers,
        };
        Ok(Client::from_core(Arc::new(core)))
    }
}

impl<S> fmt::Debug for ClientBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "reqwest")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "there is no default transport without the feature `reqwest`"
)]
fn default_transport() -> Result<Arc<dyn Transport>> {
    Ok(crate::transport::reqwest())
}

#[cfg(not(feature = "reqwest"))]
fn default_transport() -> Result<Arc<dyn Transport>> {
    Err(Error::configuration(
        "missing transport: call transport(), or enable the feature `reqwest`",
    ))
}
