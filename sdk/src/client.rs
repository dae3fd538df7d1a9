//! The client: what every call of one key on one host shares.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::Semaphore;

use crate::call::budget::RetryBudget;
use crate::call::entropy::Entropy;
use crate::call::origin::BaseUrl;
use crate::call::pace::Pace;
use crate::call::retry::RetryPolicy;
use crate::call::secret::Secret;
use crate::call::{Core, IN_FLIGHT};
use crate::error::{Error, Result};
use crate::surface::{self, Surface};
use crate::transport::Transport;

const USER_AGENT: &str = concat!("svc-sdk/", env!("CARGO_PKG_VERSION"));

/// A client of one surface. Clones share connections, budgets and the poll schedule.
///
/// See [`open::Client`](crate::open::Client) and [`developer::Client`](crate::developer::Client).
pub struct Client<S> {
    pub(crate) core: Arc<Core>,
    surface: PhantomData<S>,
}

impl<S: Surface> Client<S> {
    /// A client to be set up.
    pub fn builder() -> ClientBuilder<S> {
        ClientBuilder {
            base_url: None,
            api_key: None,
            transport: None,
            retry: RetryPolicy::default(),
            deadline: Duration::from_secs(150),
            attempt_timeout: Duration::from_secs(60),
            user_agent: USER_AGENT.to_owned(),
            seed: None,
            surface: PhantomData,
        }
    }

    /// A client of the environment: `SVC_BASE_URL` and `SVC_OPEN_API_KEY` on the open surface,
    /// `SVC_DEVELOPER_BASE_URL` and `SVC_DEVELOPER_API_KEY` on the developer surface.
    ///
    /// # Errors
    ///
    /// Where the URL is not set, or one of the two can never be right.
    pub fn from_env() -> Result<Self> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut builder = Self::builder();
        if let Some(url) = variable(S::BASE_URL_VARIABLE) {
            builder = builder.base_url(url);
        }
        if let Some(key) = variable(S::API_KEY_VARIABLE) {
            builder = builder.api_key(Secret::new(key)?);
        }
        builder.build()
    }

    /// The host's URL, as configured.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.core.base.as_str()
    }

    /// The transport, to be shared with another client: one pool of connections serves both
    /// surfaces.
    #[must_use]
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.core.transport)
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
            .field("base_url", &self.core.base.as_str())
            .finish_non_exhaustive()
    }
}

/// Sets up a [`Client`].
#[must_use = "a builder does nothing until it is built"]
pub struct ClientBuilder<S> {
    base_url: Option<String>,
    api_key: Option<Secret>,
    transport: Option<Arc<dyn Transport>>,
    retry: RetryPolicy,
    deadline: Duration,
    attempt_timeout: Duration,
    user_agent: String,
    seed: Option<u64>,
    surface: PhantomData<S>,
}

impl<S: Surface> ClientBuilder<S> {
    /// The host: https, or http on loopback; a path prefix is kept. There is no default.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key. Without one, only public operations succeed.
    pub fn api_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key);
        self
    }

    /// What carries requests, instead of reqwest.
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// How persistently calls are repeated.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// The time of one call, repetitions and waits for the rate limit included. Default: 150 s.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The time of one attempt, until its answer is read. Default: 60 s.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = timeout;
        self
    }

    /// The `User-Agent` header.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// Makes jitter and idempotency keys repeatable: for tests only, as two clients with one seed
    /// make the same keys.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The client. No I/O is done.
    ///
    /// # Errors
    ///
    /// Where the URL is missing or neither https nor loopback http.
    pub fn build(self) -> Result<Client<S>> {
        let url = self.base_url.ok_or_else(|| {
            let variable = S::BASE_URL_VARIABLE;
            Error::configuration(format!("no base URL: set {variable}, or call base_url(…)"))
        })?;
        let authorization = match &self.api_key {
            Some(key) => Some(
                key.bearer()
                    .ok_or_else(|| Error::configuration("the API key fits no header"))?,
            ),
            None => None,
        };
        let core = Core {
            transport: self.transport.map_or_else(default_transport, Ok)?,
            base: BaseUrl::parse(&url)?,
            authorization,
            user_agent: HeaderValue::from_str(&self.user_agent)
                .map_err(|_| Error::configuration("the user agent fits no header"))?,
            wrapping: surface::wrapping::<S>(),
            retry: self.retry,
            deadline: self.deadline,
            attempt_timeout: self.attempt_timeout,
            budget: RetryBudget::new(),
            pace: Pace::default(),
            entropy: self
                .seed
                .map_or_else(Entropy::from_system, |seed| Ok(Entropy::from_seed(seed)))?,
            in_flight: Semaphore::new(IN_FLIGHT),
        };
        Ok(Client {
            core: Arc::new(core),
            surface: PhantomData,
        })
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
    reason = "without the feature reqwest there is none"
)]
fn default_transport() -> Result<Arc<dyn Transport>> {
    Ok(crate::transport::reqwest())
}

#[cfg(not(feature = "reqwest"))]
fn default_transport() -> Result<Arc<dyn Transport>> {
    Err(Error::configuration(
        "no transport: call transport(…), or enable the feature `reqwest`",
    ))
}
