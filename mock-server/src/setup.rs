//! What a mock starts with, for every face alike.

use std::time::Duration;

use svc_sdk::contract::Plan;
use svc_sdk::contract::limits::WEBHOOK_TIMEOUT;
use svc_sdk::types::Usd;

use crate::addresses::Addresses;
use crate::clock::{Clock, ClockMode, Speed, TimeSource, wall_clock_now};
use crate::engine::{Settings, Time};
use crate::service::Service;
use crate::simulator::Simulator;
use crate::webhook_route::WebhookRoute;

/// What a mock starts with.
///
/// Without any further word that is 100 dollars, the plan `free`, the seed 1, and a clock that
/// starts at the wall clock's moment and passes with real time.
///
/// ```
/// use svc_mock_server::Setup;
///
/// let setup = Setup::default().balance_usd(5).clock_manual();
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs yet"]
pub struct Setup {
    seed: u64,
    plan: Plan,
    balance: Usd,
    clock_mode: ClockMode,
    epoch: Option<Time>,
    read_multiple: u32,
    webhook_routes: Vec<WebhookRoute>,
    webhook_timeout: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        let Settings {
            seed,
            plan,
            balance,
            read_multiple,
            ..
        } = Settings::default();
        let clock_mode = ClockMode::default();
        Self {
            seed,
            plan,
            balance,
            clock_mode,
            epoch: None,
            read_multiple,
            webhook_routes: Vec::new(),
            webhook_timeout: WEBHOOK_TIMEOUT,
        }
    }
}

impl Setup {
    /// The plan of the workspaces, which their budgets depend on.
    pub fn plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// What each workspace has to spend, in whole dollars.
    pub fn balance_usd(self, dollars: u32) -> Self {
        self.balance(Usd::from_micros(i64::from(dollars) * 1_000_000))
    }

    /// What each workspace has to spend.
    pub fn balance(mut self, balance: Usd) -> Self {
        self.balance = balance;
        self
    }

    /// Same seed, same requests at the same moments: same bytes.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Service time stands still until [`Service::advance`] moves it.
    pub fn clock_manual(self) -> Self {
        self.clock_mode(ClockMode::Manual)
    }

    /// Service time passes so many times as fast as real time.
    pub fn speed(self, speed: Speed) -> Self {
        self.clock_mode(ClockMode::Real(speed))
    }

    /// How service time passes.
    pub fn clock_mode(mut self, clock_mode: ClockMode) -> Self {
        self.clock_mode = clock_mode;
        self
    }

    /// The service clock's first moment, in the place of the wall clock's.
    pub fn epoch(mut self, epoch: Time) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Reads that a key has for each write; the service calls it a setting of the deployment.
    pub fn read_multiple(mut self, reads: u32) -> Self {
        self.read_multiple = reads;
        self
    }

    /// What is sent to one origin is delivered to another.
    pub fn route_webhooks(mut self, route: WebhookRoute) -> Self {
        self.webhook_routes.push(route);
        self
    }

    /// How long a receiver has to answer a webhook, in real time whatever the clock; the service
    /// gives it ten seconds.
    pub fn webhook_timeout(mut self, patience: Duration) -> Self {
        self.webhook_timeout = patience;
        self
    }

    pub(crate) fn service(self, time_source: TimeSource, addresses: Addresses) -> Service {
        let epoch = self.epoch.unwrap_or_else(wall_clock_now);
        let speed = match self.clock_mode {
            ClockMode::Real(speed) => speed.factor(),
            ClockMode::Manual => 1.0,
        };
        let addresses = addresses.at_speed(speed);
        let simulator = Simulator::new(Settings {
            seed: self.seed,
            plan: self.plan,
            balance: self.balance,
            epoch,
            hosts: addresses.hosts.clone(),
            read_multiple: self.read_multiple,
        });
        let clock = Clock::start(self.clock_mode, time_source, epoch);
        Service::new(
            simulator,
            clock,
            addresses,
            self.webhook_routes,
            self.webhook_timeout,
        )
    }
}
