//! The configuration of a mock.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use svc_sdk::contract::Plan;
use svc_sdk::contract::limits::WEBHOOK_TIMEOUT;
use svc_sdk::types::Usd;
use url::Host;

use crate::addresses::{Addresses, PublicUrl};
use crate::clock::{Clock, ClockMode, Speed, TimeSource, WebhookTimestamps, wall_clock_now};
use crate::engine::{Settings, Time, UndocumentedKeys};
use crate::service::Service;
use crate::simulator::Simulator;
use crate::webhook_route::WebhookRoute;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The configuration of a mock.
///
/// The defaults are a balance of 100 USD, the plan `free`, the seed 1, and a clock that starts at
/// the current wall-clock time and runs in real time.
///
/// ```
/// use svc_mock_server::Setup;
///
/// let setup = Setup::default().balance_usd(5).clock_manual();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a setup does nothing until a mock is started with it"]
pub struct Setup {
    /// Without the hosts and, unless it is set, the epoch.
    settings: Settings,
    clock_mode: ClockMode,
    epoch: Option<Time>,
    webhook_routes: Vec<WebhookRoute>,
    webhook_timeout: Duration,
    webhook_timestamps: Option<WebhookTimestamps>,
    pub(crate) network: Network,
}

/// How [`serve::Server`](crate::serve::Server) is reached.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    bind: IpAddr,
    host: Option<Host>,
    pub(crate) public_urls: Vec<PublicUrl>,
    pub(crate) urls_from_host: bool,
    allowed_hosts: Vec<String>,
    pub(crate) cors_origins: Vec<String>,
    pub(crate) max_connections: usize,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            host: None,
            public_urls: Vec::new(),
            urls_from_host: false,
            allowed_hosts: Vec::new(),
            cors_origins: Vec::new(),
            max_connections: MAX_CONNECTIONS,
        }
    }
}

/// The maximum number of connections of each listener, unless it is set.
pub(crate) const MAX_CONNECTIONS: usize = 512;

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            clock_mode: ClockMode::default(),
            epoch: None,
            webhook_routes: Vec::new(),
            webhook_timeout: WEBHOOK_TIMEOUT,
            webhook_timestamps: None,
            network: Network::default(),
        }
    }
}

impl Setup {
    /// Sets the plan of the workspaces, which determines their rate limits.
    pub fn plan(mut self, plan: Plan) -> Self {
        self.settings.plan = plan;
        self
    }

    /// Sets the opening balance of each workspace in whole dollars.
    pub fn balance_usd(self, dollars: u32) -> Self {
        self.balance(Usd::from_micros(i64::from(dollars) * 1_000_000))
    }

    /// Sets the opening balance of each workspace.
    pub fn balance(mut self, balance: Usd) -> Self {
        self.settings.balance = balance;
        self
    }

    /// Sets the seed of the random number generator.
    ///
    /// With the same seed, the same requests at the same times get identical responses.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Uses a manual clock, which only [`Service::advance`] moves.
    pub fn clock_manual(self) -> Self {
        self.clock_mode(ClockMode::Manual)
    }

    /// Sets how much faster than real time the service clock runs.
    pub fn speed(self, speed: Speed) -> Self {
        self.clock_mode(ClockMode::Real(speed))
    }

    /// Sets how service time passes.
    pub fn clock_mode(mut self, clock_mode: ClockMode) -> Self {
        self.clock_mode = clock_mode;
        self
    }

    /// Sets the initial time of the service clock. The default is the current wall-clock time.
    pub fn epoch(mut self, epoch: Time) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Sets the number of reads that the rate limit of a key allows for each write.
    pub fn read_multiple(mut self, reads: u32) -> Self {
        self.settings.read_multiple = reads;
        self
    }

    /// Sets the number of writes per minute of a plan.
    ///
    /// ```
    /// use svc_mock_server::Setup;
    /// use svc_sdk::contract::Plan;
    ///
    /// let setup = Setup::default().plan(Plan::Enterprise).writes_per_minute(Plan::Enterprise, 5000);
    /// ```
    pub fn writes_per_minute(mut self, plan: Plan, writes: u32) -> Self {
        self.settings.plan_limits.set_writes_per_minute(plan, writes);
        self
    }

    /// Sets the maximum number of jobs in flight of a plan.
    pub fn concurrent_jobs(mut self, plan: Plan, jobs: u32) -> Self {
        self.settings.plan_limits.set_concurrent_jobs(plan, jobs);
        self
    }

    /// Sets the treatment of idempotency keys by submits whose idempotency is not documented. The
    /// default is to ignore them, so that a client that repeats such a submit is charged twice.
    ///
    /// ```
    /// use svc_mock_server::{Setup, UndocumentedKeys};
    ///
    /// let setup = Setup::default().undocumented_keys(UndocumentedKeys::Honor);
    /// ```
    pub fn undocumented_keys(mut self, undocumented_keys: UndocumentedKeys) -> Self {
        self.settings.undocumented_keys = undocumented_keys;
        self
    }

    /// Sets the days of service time after which jobs, runs and webhook deliveries that have ended
    /// are dropped, with their ledger entries. The default is to keep everything.
    ///
    /// The sum of the dropped ledger entries of a workspace stays in the ledger, in an entry with
    /// the kind `carried_forward`. Balances do not change.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    ///
    /// use svc_mock_server::Setup;
    ///
    /// let setup = Setup::default().retain_days(NonZeroU32::MIN);
    /// ```
    pub fn retain_days(mut self, days: NonZeroU32) -> Self {
        self.settings.retain = Some(DAY * days.get());
        self
    }

    /// Adds a route that delivers the webhooks of one origin to another.
    pub fn route_webhooks(mut self, route: WebhookRoute) -> Self {
        self.webhook_routes.push(route);
        self
    }

    /// Sets the timeout of a webhook attempt, in real time regardless of the clock. The default
    /// is ten seconds.
    pub fn webhook_timeout(mut self, timeout: Duration) -> Self {
        self.webhook_timeout = timeout;
        self
    }

    /// Lets Actions run by their schedules. The default is that schedules are paused, so that no run
    /// is charged that a test did not cause.
    pub fn schedules(mut self) -> Self {
        self.settings.schedules = true;
        self
    }

    /// Sets which clock the timestamps of webhooks show. The default is the wall clock, and for
    /// `InProcess` the service clock.
    pub fn webhook_timestamps(mut self, timestamps: WebhookTimestamps) -> Self {
        self.webhook_timestamps = Some(timestamps);
        self
    }

    /// Sets a URL under which clients reach [`serve::Server`](crate::serve::Server), such as that of a
    /// proxy or of a port that a container publishes. It appears in responses and in the environment.
    pub fn public_url(mut self, url: PublicUrl) -> Self {
        self.network.public_urls.push(url);
        self
    }

    /// Lets the URLs in responses of [`serve::Server`](crate::serve::Server) have the host name of the
    /// request, and the port of each listener.
    pub fn urls_from_host(mut self) -> Self {
        self.network.urls_from_host = true;
        self
    }

    /// Accepts a name in the `Host` and `Origin` of requests to the control API, and as the host of a
    /// receiver of webhooks, beside those of this machine.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.network.allowed_hosts.push(name.into());
        self
    }

    /// Lets web pages of an origin, such as `http://localhost:5173`, read the responses of
    /// [`serve::Server`](crate::serve::Server).
    pub fn cors(mut self, origin: impl Into<String>) -> Self {
        self.network.cors_origins.push(origin.into());
        self
    }

    /// Sets the maximum number of connections of each listener of
    /// [`serve::Server`](crate::serve::Server). One more connection closes the oldest idle one.
    pub fn max_connections(mut self, connections: NonZeroU32) -> Self {
        self.network.max_connections = usize::try_from(connections.get()).unwrap_or(usize::MAX);
        self
    }

    /// Sets the address that [`serve::Server`](crate::serve::Server) listens on (default: 127.0.0.1).
    ///
    /// Everyone who can reach it can control the mock.
    pub fn bind(mut self, address: IpAddr) -> Self {
        self.network.bind = address;
        self
    }

    /// Sets the host in the URLs of [`serve::Server`](crate::serve::Server), such as `mock` (default:
    /// the address that it listens on, or 127.0.0.1 if that is every address).
    ///
    /// The control API accepts requests that name this host, beside loopback names. Others are
    /// refused, so that a web page of another origin cannot control the mock through the browser
    /// of its user.
    pub fn host(mut self, host: Host) -> Self {
        self.network.host = Some(host);
        self
    }

    /// Returns the address to listen on, and the host of URLs.
    #[cfg(feature = "serve")]
    pub(crate) fn bind_address(&self) -> (IpAddr, Host) {
        let host = match (&self.network.host, self.network.bind) {
            (Some(host), _) => host.clone(),
            (None, address) if address.is_unspecified() => Host::Ipv4(Ipv4Addr::LOCALHOST),
            (None, IpAddr::V4(address)) => Host::Ipv4(address),
            (None, IpAddr::V6(address)) => Host::Ipv6(address),
        };
        (self.network.bind, host)
    }

    /// Creates the service that a frontend runs. `addresses` are those that it listens on.
    pub(crate) fn service(self, time_source: TimeSource, mut addresses: Addresses) -> Service {
        addresses.allowed_hosts = self.network.allowed_hosts;
        #[cfg(feature = "serve")]
        let mut addresses = addresses.published(&self.network.public_urls);
        // A page that may read responses of the control API may also send requests to it.
        let origins = self.network.cors_origins.iter();
        let pages = origins.filter_map(|origin| url::Url::parse(origin).ok());
        let pages = pages.filter_map(|url| url.host_str().map(str::to_owned));
        addresses.allowed_hosts.extend(pages);
        let timestamps = self.webhook_timestamps.unwrap_or(time_source.webhook_timestamps());
        let epoch = self.epoch.unwrap_or_else(wall_clock_now);
        let speed = match self.clock_mode {
            ClockMode::Real(speed) => speed.factor(),
            ClockMode::Manual => 1.0,
        };
        let addresses = addresses.at_speed(speed);
        let hosts = addresses.hosts.clone();
        let simulator = Simulator::new(Settings { epoch, hosts, ..self.settings });
        let clock = Clock::start(self.clock_mode, time_source, epoch);
        let is_wall_time = timestamps == WebhookTimestamps::Wall;
        let (routes, timeout) = (self.webhook_routes, self.webhook_timeout);
        let service = Service::new(simulator, clock, addresses, routes, timeout, is_wall_time);
        service.store_exchanges();
        service
    }
}
