//! The complete state of the simulated service, and how it changes over time.

mod checks;
mod control;
mod job_lifecycle;
mod workspace_control;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::Plan;
use svc_sdk::types::Usd;

use super::assets::Assets;
use super::destination::RoutedOrigins;
use super::directives::DirectiveCounts;
use super::fault_rules::FaultRules;
use super::grants::Grants;
use super::host_addresses::HostAddresses;
use super::idempotency::IdempotencyKeys;
use super::jobs::Jobs;
use super::keys::Keys;
use super::ledger::Ledger;
use super::queues::Queues;
use super::rate_limit::RateLimits;
use super::request_log::RequestLog;
use super::resources::Resources;
use super::retention::Retention;
use super::runs::Runs;
use super::timers::{TimerEvent, Timers};
use super::top_ups::TopUps;
use super::webhooks::log::DeliveryLog;
use super::webhooks::queue::WebhookQueue;
use super::workspaces::{self, OrganizationWallet, WorkspaceKind, Workspaces};
use super::{PlanLimits, Settings, Time, UndocumentedKeys};
use crate::rng::Rng;

/// The state of the service, including the settings that a restored snapshot depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) now: Time,
    pub(crate) seed: u64,
    /// The plan of a new workspace, unless its key names one.
    pub(crate) plan: Plan,
    /// The opening balance of a new workspace.
    pub(crate) balance: Usd,
    pub(crate) read_multiple: u32,
    #[serde(default, skip_serializing_if = "PlanLimits::is_default")]
    pub(crate) plan_limits: PlanLimits,
    #[serde(default, skip_serializing_if = "UndocumentedKeys::is_default")]
    pub(crate) undocumented_keys: UndocumentedKeys,
    #[serde(rename = "chance")]
    pub(crate) rng: Rng,
    /// The generator for fault rules. It is separate so that faults do not change identifiers.
    #[serde(rename = "dice")]
    pub(crate) fault_rng: Rng,
    pub(crate) workspaces: Workspaces,
    pub(crate) keys: Keys,
    #[serde(default, skip_serializing_if = "Grants::is_empty")]
    pub(crate) grants: Grants,
    #[serde(default, skip_serializing_if = "Assets::is_empty")]
    pub(crate) assets: Assets,
    #[serde(default, skip_serializing_if = "HostAddresses::is_empty")]
    pub(crate) host_addresses: HostAddresses,
    pub(crate) limits: RateLimits,
    pub(crate) idempotency: IdempotencyKeys,
    pub(crate) ledger: Ledger,
    pub(crate) jobs: Jobs,
    pub(crate) resources: Resources,
    pub(crate) runs: Runs,
    pub(crate) queues: Queues,
    pub(crate) timers: Timers,
    pub(crate) top_ups: TopUps,
    #[serde(rename = "faults")]
    pub(crate) fault_rules: FaultRules,
    #[serde(rename = "journal")]
    pub(crate) request_log: RequestLog,
    #[serde(rename = "outbox")]
    pub(crate) webhook_queue: WebhookQueue,
    #[serde(rename = "deliveries")]
    pub(crate) delivery_log: DeliveryLog,
    /// How often the directives with `times` were applied.
    #[serde(default, skip_serializing_if = "DirectiveCounts::is_empty")]
    pub(crate) directive_counts: DirectiveCounts,
    /// What retention needs; `None` if everything is kept for ever. It is a setting of the mock
    /// that runs, not of the state that it restores.
    #[serde(skip)]
    pub(super) retention: Option<Retention>,
    /// The origins of webhooks that the mock routes, which are settings of it as well.
    #[serde(skip)]
    pub(crate) routed_origins: RoutedOrigins,
    /// The jobs and runs that have ended and whose webhooks are not queued yet, in order.
    #[serde(skip)]
    ended: Vec<Ended>,
}

/// A job or run that has ended, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Job(usize),
    Run(usize),
}

impl State {
    /// Creates the state of a newly started service.
    pub(crate) fn initial(settings: &Settings) -> Self {
        let mut state = Self {
            now: settings.epoch,
            seed: settings.seed,
            plan: settings.plan.clone(),
            balance: settings.balance,
            read_multiple: settings.read_multiple,
            plan_limits: settings.plan_limits.clone(),
            undocumented_keys: settings.undocumented_keys,
            rng: Rng::new(settings.seed),
            fault_rng: Rng::new(!settings.seed),
            workspaces: Workspaces::default(),
            keys: Keys::initial(),
            grants: Grants::default(),
            assets: Assets::default(),
            host_addresses: HostAddresses::default(),
            limits: RateLimits::default(),
            idempotency: IdempotencyKeys::default(),
            ledger: Ledger::default(),
            jobs: Jobs::default(),
            resources: Resources::default(),
            runs: Runs::default(),
            queues: Queues::default(),
            timers: Timers::default(),
            top_ups: TopUps::default(),
            fault_rules: FaultRules::default(),
            request_log: RequestLog::default(),
            webhook_queue: WebhookQueue::default(),
            delivery_log: DeliveryLog::default(),
            directive_counts: DirectiveCounts::default(),
            routed_origins: RoutedOrigins::default(),
            retention: None,
            ended: Vec::new(),
        };
        state.set_retention(settings.retain);
        for (workspace, kind) in workspaces::INITIAL {
            state.add_workspace(workspace, kind, settings.plan.clone());
        }
        if settings.schedules {
            state.start_schedules();
        }
        state
    }

    /// Returns a copy to be written, which shares the parts that grow and lacks what is not part of
    /// a snapshot.
    pub(crate) fn without_indexes(&self) -> Self {
        Self {
            now: self.now,
            seed: self.seed,
            plan: self.plan.clone(),
            balance: self.balance,
            read_multiple: self.read_multiple,
            plan_limits: self.plan_limits.clone(),
            undocumented_keys: self.undocumented_keys,
            rng: self.rng.clone(),
            fault_rng: self.fault_rng.clone(),
            workspaces: self.workspaces.clone(),
            keys: self.keys.clone(),
            grants: self.grants.clone(),
            assets: self.assets.clone(),
            host_addresses: self.host_addresses.clone(),
            limits: self.limits.clone(),
            idempotency: self.idempotency.without_indexes(),
            ledger: self.ledger.without_indexes(),
            jobs: self.jobs.without_indexes(),
            resources: self.resources.without_indexes(),
            runs: self.runs.without_indexes(),
            queues: self.queues.without_indexes(),
            timers: self.timers.clone(),
            top_ups: self.top_ups.clone(),
            fault_rules: self.fault_rules.clone(),
            request_log: self.request_log.clone(),
            webhook_queue: self.webhook_queue.clone(),
            delivery_log: self.delivery_log.clone(),
            directive_counts: self.directive_counts.clone(),
            routed_origins: RoutedOrigins::default(),
            retention: None,
            ended: Vec::new(),
        }
    }

    fn add_workspace(&mut self, id: &str, kind: WorkspaceKind, plan: Plan) {
        self.workspaces.add(id, kind, plan, self.seed, self.now);
        self.ledger.open(id, self.balance);
    }

    /// Returns the maximum number of jobs in flight of a workspace.
    pub(crate) fn concurrent_jobs(&self, workspace: &str) -> usize {
        let plan = self.workspaces.plan(workspace);
        let limit = self.plan_limits.concurrent_jobs(&plan);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Returns how the runs of a workspace are funded.
    pub(crate) fn organization_wallet(&self, workspace: &str) -> OrganizationWallet {
        let workspace = self.workspaces.get(workspace);
        workspace.map_or(OrganizationWallet::None, |workspace| workspace.organization_wallet)
    }

    /// Handles the first timer event that is due by `now`, at its own time, and returns it.
    pub(crate) fn run_next_due(&mut self, now: Time) -> Option<(Time, TimerEvent)> {
        let (at, event) = self.timers.pop(now)?;
        self.handle_timer(at, event);
        Some((at, event))
    }

    /// Sets the time after all events due by then have been handled. Time never goes back.
    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.idempotency.expire(self.now);
        self.top_ups.expire(self.now);
        self.drop_expired();
    }

    /// Records that a job or run has ended, so that its webhook gets queued.
    pub(super) fn note_ended(&mut self, at: Time, ended: Ended) {
        if let Some(retention) = &mut self.retention {
            retention.note_ended(at, ended);
        }
        self.ended.push(ended);
    }

    /// Removes and returns the jobs and runs that have ended since the last call, in order.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    fn handle_timer(&mut self, at: Time, event: TimerEvent) {
        self.now = self.now.max(at);
        match event {
            TimerEvent::JobStarts(number) => self.start_job(number, at),
            TimerEvent::JobEnds(number) => self.finish_job(number, at),
            TimerEvent::RunStarts(number) => self.start_run(number, at),
            TimerEvent::RunWorks(number, tenths) => self.advance_run(number, tenths, at),
            TimerEvent::RunEnds(number) => self.finish_run(number, at),
            TimerEvent::WebhookAttempt(number) => self.webhook_queue.mark_due(number),
            TimerEvent::ActionScheduled(number) => self.start_scheduled_run(number, at),
        }
    }
}
