//! The configuration of a client.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderMap, HeaderValue, USER_AGENT};
use tokio::sync::{Semaphore, watch};

use super::Client;
use crate::call::api_key::ApiKey;
use crate::call::base_url::{BaseUrl, HttpHosts};
use crate::call::clock;
use crate::call::connections::Connections;
use crate::call::credentials::Credentials;
use crate::call::estimate_cache::EstimateCache;
use crate::call::key_provider::KeyProvider;
use crate::call::random::Random;
use crate::call::request::parse_header;
use crate::call::retry::{RetryBudget, RetryPolicy};
use crate::call::task::TaskGroup;
use crate::call::{Core, RateLimit, SharedCore};
use crate::contract::RateLimitBucket;
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::journal::{Journal, SpendLimit};
use crate::observe::Observer;
use crate::surface::{self, ClientSurface};
use crate::transport::{ConnectionOptions, MAX_IN_FLIGHT, Transport};
use crate::types::InvalidField;

const DEFAULT_USER_AGENT: &str = concat!("svc-sdk/", env!("CARGO_PKG_VERSION"));
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(150);
const DEFAULT_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// The configuration of a [`Client`].
///
/// [`open::ClientBuilder`](crate::open::ClientBuilder) and
/// [`developer::ClientBuilder`](crate::developer::ClientBuilder) are this type for the two surfaces.
/// One client for each API key is enough for a program: its clones share connections, the rate limit
/// and the poll schedule. [`Client::with_api_key`] makes clients of other keys from it.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use svc_sdk::open;
///
/// # fn run() -> svc_sdk::Result<()> {
/// let client = open::ClientBuilder::from_env()? // SVC_BASE_URL, SVC_OPEN_API_KEY
///     .user_agent_suffix("my-service/1.2")
///     .connect_timeout(Duration::from_secs(3))
///     .max_in_flight(16)
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// # Sleep and network changes
///
/// A client notices by the wall clock, within five seconds, that the computer slept for half a minute
/// or longer. Waits then poll at once, within the rate limit. Requests and downloads that were under
/// way and do not go on are sent again or resumed. New connections replace those from before, which
/// may be dead without having been closed, as they do after a request that timed out: the network may
/// have changed, for example because a VPN was connected. The default transport can do so; another
/// one has to implement [`Transport::reconnect`].
///
/// Time limits do not count the time that the computer sleeps, except on Windows, where their clock goes
/// on. If a thread is busy when a time limit passes, an answer that arrived meanwhile is still taken, up
/// to half a second later.
#[must_use = "a builder does nothing until it is built"]
pub struct ClientBuilder<S> {
    base_url: Option<String>,
    http_hosts: Vec<String>,
    credentials: Result<Credentials>,
    transport: Option<Arc<dyn Transport>>,
    connection: ConnectionOptions,
    max_in_flight: usize,
    retry: RetryPolicy,
    timeout: Duration,
    attempt_timeout: Duration,
    user_agent: String,
    user_agent_suffix: Option<String>,
    default_headers: Vec<(String, String)>,
    seed: Option<u64>,
    allow_private_artifact_hosts: bool,
    observers: Vec<Arc<dyn Observer>>,
    journal: Option<Journal>,
    spend_limit: Option<SpendLimit>,
    known_write_limit: Option<RateLimit>,
    task_group: Option<TaskGroup>,
    surface: PhantomData<S>,
}

impl<S: ClientSurface> ClientBuilder<S> {
    pub(super) fn new() -> Self {
        Self {
            base_url: None,
            http_hosts: Vec::new(),
            credentials: Ok(Credentials::None),
            transport: None,
            connection: ConnectionOptions::default(),
            max_in_flight: MAX_IN_FLIGHT,
            retry: RetryPolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            attempt_timeout: DEFAULT_ATTEMPT_TIMEOUT,
            user_agent: DEFAULT_USER_AGENT.to_owned(),
            user_agent_suffix: None,
            default_headers: Vec::new(),
            seed: None,
            allow_private_artifact_hosts: false,
            observers: Vec::new(),
            journal: None,
            spend_limit: None,
            known_write_limit: None,
            task_group: None,
            surface: PhantomData,
        }
    }

    /// Creates a builder with the base URL and the API key of the environment: `SVC_BASE_URL` and
    /// `SVC_OPEN_API_KEY` for the open surface, `SVC_DEVELOPER_BASE_URL` and `SVC_DEVELOPER_API_KEY`
    /// for the developer surface.
    ///
    /// For a client without a key, or with a [`key_provider`](Self::key_provider), begin with
    /// [`Client::builder`].
    ///
    /// # Errors
    ///
    /// Returns an error if one of the two variables is not set or empty, or if the key is not valid.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    pub(super) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let missing = match (variable(S::BASE_URL_VARIABLE), variable(S::API_KEY_VARIABLE)) {
            (Some(url), Some(key)) => {
                return Ok(Self::new().base_url(url).api_key(ApiKey::new(key)?));
            }
            (None, Some(_)) => format!("{} is not set", S::BASE_URL_VARIABLE),
            (Some(_), None) => format!("{} is not set", S::API_KEY_VARIABLE),
            (None, None) => {
                format!("{} and {} are not set", S::BASE_URL_VARIABLE, S::API_KEY_VARIABLE)
            }
        };
        Err(Error::configuration(missing))
    }

    /// Sets the base URL: https, or http for a loopback host or one of
    /// [`allow_http`](Self::allow_http). A path prefix is kept. There is no default.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Allows plain http to a host, for the base URL and for artifacts: the name of a container or of
    /// a service in a private network, such as `mock`. Can be called for several hosts.
    ///
    /// The API key and all content can be read and changed by whoever is between this program and
    /// that host. Loopback hosts are always allowed. The host is given without scheme and port, and
    /// neither its subdomains nor other hosts are allowed by it.
    pub fn allow_http(mut self, host: impl Into<String>) -> Self {
        self.http_hosts.push(host.into());
        self
    }

    /// Sets the API key. Without one, only public operations succeed.
    pub fn api_key(mut self, key: ApiKey) -> Self {
        self.credentials = Credentials::fixed(&key);
        self
    }

    /// Sets where the API key comes from, in place of a fixed one: it can then be replaced while the
    /// client is in use. See [`KeyProvider`].
    pub fn key_provider(mut self, provider: impl KeyProvider) -> Self {
        self.credentials = Ok(Credentials::from_provider(Arc::new(provider)));
        self
    }

    /// Sets the transport that carries requests, in place of the default one of hyper.
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Sets the time limit for connecting to a host, TLS included. The default is 10 seconds.
    ///
    /// A setting of the default transport: together with [`transport`](Self::transport) it is an
    /// error.
    #[cfg(feature = "hyper")]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connection.connect_timeout = Some(timeout);
        self
    }

    /// Sets the maximum time without a byte from the server, from the request on. By default only
    /// [`attempt_timeout`](Self::attempt_timeout) limits it, and 30 seconds for downloads.
    ///
    /// A setting of the default transport: together with [`transport`](Self::transport) it is an
    /// error.
    #[cfg(feature = "hyper")]
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.connection.read_timeout = Some(timeout);
        self
    }

    /// Sets the maximum number of requests that the client and its clones have in flight at once.
    /// More wait for their turn, within their time limit. The default is 64. Downloads are not
    /// counted.
    pub fn max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = requests;
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

    /// Sets the `User-Agent` header. The default is `svc-sdk/` and the version.
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// Appends the name of a program to the `User-Agent` header, such as `my-service/1.2`.
    pub fn user_agent_suffix(mut self, suffix: impl Into<String>) -> Self {
        self.user_agent_suffix = Some(suffix.into());
        self
    }

    /// Sets a header of every request to the base URL, such as one that a gateway asks for. A header
    /// of a call ([`Call::header`](crate::Call::header)) replaces it.
    ///
    /// Its value is treated as a secret: traces do not show it, and downloads do not send it.
    pub fn default_header(mut self, name: &str, value: &str) -> Self {
        self.default_headers.push((name.to_owned(), value.to_owned()));
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

    /// Sets the journal, in which each submit is written down before it is sent. See
    /// [`journal`](crate::journal).
    pub fn journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Sets what the submits of the client may cost, together with those of other clients that have
    /// the same journal and a limit of the same name. It needs a [`journal`](Self::journal).
    pub fn spend_limit(mut self, limit: SpendLimit) -> Self {
        self.spend_limit = Some(limit);
        self
    }

    /// Sets the rate limit of writes that an earlier process with the same key last saw, such as that of
    /// the response to its last submit, less the time since then, so that this process does not exceed
    /// it with its first requests.
    pub fn known_write_limit(mut self, limit: RateLimit) -> Self {
        self.known_write_limit = Some(limit);
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

    /// Starts the tasks of the client in a group that can be ended.
    #[doc(hidden)]
    pub fn task_group(mut self, group: &TaskGroup) -> Self {
        self.task_group = Some(group.clone());
        self
    }

    /// Builds the client. This does no I/O.
    ///
    /// # Errors
    ///
    /// Returns an error if the base URL is missing, if it is neither https nor http on a host that
    /// allows it, or if another setting is not valid: a host of [`allow_http`](Self::allow_http), a
    /// header, [`max_in_flight`](Self::max_in_flight) of 0, a timeout of the default transport beside
    /// another transport, a spend limit without a journal.
    pub fn build(self) -> Result<Client<S>> {
        let url = self.base_url.ok_or_else(|| {
            let variable = S::BASE_URL_VARIABLE;
            Error::configuration(format!("missing base URL: set {variable}, or call base_url()"))
        })?;
        let http_hosts = HttpHosts::parse(&self.http_hosts)?;
        if self.max_in_flight == 0 {
            return Err(Error::configuration("invalid max_in_flight `0`: expected at least 1"));
        }
        if self.spend_limit.is_some() && self.journal.is_none() {
            return Err(Error::configuration("a spend limit needs a journal"));
        }
        let credentials = self.credentials?;
        let max_in_flight = self.max_in_flight.min(Semaphore::MAX_PERMITS);
        let shared = SharedCore {
            transport: transport(self.transport, &self.connection, max_in_flight)?,
            connections: Connections::new(),
            base_url: BaseUrl::parse(&url, &http_hosts)?,
            http_hosts,
            user_agent: user_agent(self.user_agent, self.user_agent_suffix)?,
            default_headers: default_headers(&self.default_headers)?,
            wrapping: surface::wrapping::<S>(),
            retry: self.retry,
            timeout: self.timeout,
            attempt_timeout: self.attempt_timeout,
            allow_private_artifact_hosts: self.allow_private_artifact_hosts,
            retry_budget: RetryBudget::new(),
            random: self
                .seed
                .map_or_else(Random::from_system, |seed| Ok(Random::from_seed(seed)))?,
            in_flight: Semaphore::new(max_in_flight),
            max_in_flight,
            journal: self.journal,
            spend_limit: self.spend_limit,
            estimates: EstimateCache::default(),
            pending_submits: watch::Sender::default(),
            observers: self.observers,
            task_group: self.task_group,
        };
        let core = Core::new(Arc::new(shared), credentials, Arc::from(""));
        if let Some(limit) = self.known_write_limit {
            core.key.rate_limiter.bucket(RateLimitBucket::Write).resume(limit, clock::now());
        }
        Ok(Client::from_core(Arc::new(core)))
    }
}

debug_fields! { [S] ClientBuilder<S> as "ClientBuilder" { retry } }

fn user_agent(mut user_agent: String, suffix: Option<String>) -> Result<HeaderValue> {
    if let Some(suffix) = suffix {
        user_agent.push(' ');
        user_agent.push_str(&suffix);
    }
    HeaderValue::from_str(&user_agent)
        .map_err(|_| Error::configuration("the user agent is not a valid header"))
}

fn default_headers(headers: &[(String, String)]) -> Result<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let (header, mut value) = parse_header(name, value)?;
        if header == USER_AGENT {
            let reason = format!("`{name}`: set by user_agent()");
            return Err(InvalidField::new("header", reason).into());
        }
        value.set_sensitive(true);
        map.insert(header, value);
    }
    Ok(map)
}

fn transport(
    transport: Option<Arc<dyn Transport>>,
    connection: &ConnectionOptions,
    max_in_flight: usize,
) -> Result<Arc<dyn Transport>> {
    match transport {
        Some(_) if *connection != ConnectionOptions::default() => Err(Error::configuration(
            "connect_timeout() and read_timeout() cannot be used with transport(): set them where the transport is created",
        )),
        Some(transport) => Ok(transport),
        None => default_transport(connection, max_in_flight),
    }
}

#[cfg(feature = "hyper")]
#[expect(clippy::unnecessary_wraps, reason = "the default transport needs the feature `hyper`")]
fn default_transport(
    connection: &ConnectionOptions,
    max_in_flight: usize,
) -> Result<Arc<dyn Transport>> {
    Ok(crate::transport::hyper_with(connection, max_in_flight))
}

#[cfg(not(feature = "hyper"))]
fn default_transport(_: &ConnectionOptions, _: usize) -> Result<Arc<dyn Transport>> {
    Err(Error::configuration("missing transport: call transport(), or enable the feature `hyper`"))
}
