//! Views of the state for the control API, beyond what clients of the service see.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use svc_sdk::contract::Scope;
use svc_sdk::contract::{Plan, RateLimitBucket};
use svc_sdk::types::Usd;

use super::{Simulator, with_workspace};
use crate::api;
use crate::engine::credential::Credential;
use crate::engine::jobs::Job;
use crate::engine::keys::ApiKey;
use crate::engine::rate_limit::{RateLimitKey, address_limit, key_limit};
use crate::engine::request_log;
use crate::engine::runs::Run;
use crate::engine::workspaces::{OrganizationWallet, WorkspaceKind};
use crate::engine::{ControlError, Timeline, ledger};
use crate::engine::{HostRequest, KeyKind};
use crate::json_object::set_field;

/// A workspace with its balance and its jobs in flight.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WorkspaceView {
    id: Arc<str>,
    kind: Option<WorkspaceKind>,
    plan: Plan,
    available_usd: Option<Usd>,
    reserved_usd: Option<Usd>,
    opening_usd: Option<Usd>,
    in_flight: usize,
    concurrent_jobs: u32,
    organization_wallet: OrganizationWallet,
    /// The balance of the wallet of the organization, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<Value>,
}

/// The caller of a request: its key and the workspace as it was after the request.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CallerView {
    key: Arc<str>,
    kind: KeyKind,
    scopes: Arc<[Scope]>,
    revoked: bool,
    workspace: WorkspaceView,
}

impl Simulator {
    /// Returns all runs with their workspaces, timelines and events, oldest first.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let runs = self.state.runs.all();
        runs.map(|run| self.inspect_run(run)).collect()
    }

    pub(crate) fn keys(&self) -> Vec<Value> {
        let keys = self.state.keys.with_secrets();
        keys.map(|(secret, key)| {
            json!({
                "key": secret,
                "id": key.id,
                "kind": key.kind,
                "workspace": key.workspace,
                "scopes": key.scopes,
                "revoked": key.revoked,
                "last_used_at": key.last_used_at.map(|at| at.to_string()),
            })
        })
        .collect()
    }

    /// Returns all workspaces with their balances and their jobs in flight.
    pub(crate) fn workspaces(&self) -> Vec<Value> {
        let ids = self.state.workspaces.ids();
        ids.map(|id| json!(self.workspace(id.into()))).collect()
    }

    /// Returns the rate limits of all keys and of the addresses that sent requests without a valid
    /// key.
    pub(crate) fn limits(&self) -> Vec<Value> {
        let keys = self.state.keys.with_secrets().map(|(_, key)| key);
        let keys = keys.filter(|key| !key.revoked).map(|key| {
            let limit = |bucket| self.key_limit(key, bucket);
            let limit_key = RateLimitKey::Key(key.id.clone());
            json!({
                "key": key.id,
                "workspace": key.workspace,
                "read": self.bucket(&limit_key, RateLimitBucket::Read, limit),
                "write": self.bucket(&limit_key, RateLimitBucket::Write, limit),
            })
        });
        let address = |bucket| address_limit(&self.state.plan_limits, bucket);
        let mut addresses: Vec<_> = self.state.limits.open_windows(self.state.now).collect();
        addresses.dedup_by(|(one, ..), (other, ..)| one == other);
        let addresses = addresses.into_iter().filter_map(|(limit_key, ..)| match limit_key {
            RateLimitKey::Key(_) => None,
            RateLimitKey::Address(ip) => Some(json!({
                "address": ip,
                "read": self.bucket(limit_key, RateLimitBucket::Read, address),
                "write": self.bucket(limit_key, RateLimitBucket::Write, address),
            })),
        });
        keys.chain(addresses).collect()
    }

    pub(crate) fn top_ups(&self) -> Vec<Value> {
        let top_ups = self.state.top_ups.all();
        top_ups
            .map(|top_up| {
                let view = top_up.view(&self.settings.hosts);
                with_workspace(view, &top_up.workspace)
            })
            .collect()
    }

    /// Sends the webhook of a job or run again, and returns the state of its delivery.
    pub(crate) fn redeliver(&mut self, id: &str) -> Result<Value, ControlError> {
        let job = self.state.jobs.by_id(id);
        let job = job.map(|job| job.webhook_url.is_some());
        let run = self.state.runs.by_id(id);
        let run = run.map(|run| run.config.webhook_url.is_some());
        match job.or(run) {
            None => Err(ControlError::NotFound(format!("job or run {id:?} not found"))),
            Some(false) => Err(ControlError::Conflict(format!("{id} has no webhook_url"))),
            Some(true) => {
                let delivery = self.state.redeliver(id);
                let delivery = delivery
                    .ok_or_else(|| ControlError::Conflict(format!("{id} has not ended yet")))?;
                Ok(json!({"subject_id": id, "webhook_delivery": delivery}))
            }
        }
    }

    /// Returns a job, also the generation job of a run.
    pub(crate) fn job(&self, id: &str) -> Option<Value> {
        let job = self.state.jobs.by_id(id).map(|job| self.inspect_job(job));
        job.or_else(|| {
            let (run, job) = self.state.unfinished_job(id)?;
            Some(api::job_of_run(run, &job))
        })
    }

    pub(crate) fn run(&self, id: &str) -> Option<Value> {
        self.state.runs.by_id(id).map(|run| self.inspect_run(run))
    }

    pub(crate) fn inspect_job(&self, job: &Job) -> Value {
        let view = api::JobView::new(&self.state, job, job.surface, &self.settings.hosts);
        let mut view = with_workspace(json!(view), &job.workspace);
        set_field(&mut view, "request_id", json!(job.request_id));
        set_field(&mut view, "surface", json!(job.surface));
        set_field(&mut view, "webhook_url", json!(job.webhook_url));
        set_field(&mut view, "timeline", timeline(&job.timeline));
        set_field(&mut view, "price_usd", job.price.map(|price| json!(price)));
        view
    }

    pub(crate) fn inspect_run(&self, run: &Run) -> Value {
        let view = api::run_view(&self.state, run, &self.settings.hosts);
        let mut view = with_workspace(view, &run.config.workspace);
        let events = api::run_events(&self.state, run, self.state.now);
        set_field(&mut view, "timeline", timeline(&run.timeline));
        set_field(&mut view, "webhook_url", json!(run.config.webhook_url));
        set_field(&mut view, "events", json!(events));
        view
    }

    fn workspace(&self, id: Arc<str>) -> WorkspaceView {
        let state = &self.state;
        let account = state.ledger.account(&id);
        let amount = |of: fn(&ledger::Account) -> Usd| account.map(of);
        let workspace = state.workspaces.get(&id);
        let plan = workspace.map_or(Plan::Free, |workspace| workspace.plan.clone());
        let organization_wallet =
            workspace.map_or(OrganizationWallet::None, |workspace| workspace.organization_wallet);
        WorkspaceView {
            kind: workspace.map(|workspace| workspace.kind),
            available_usd: amount(|account| account.available),
            reserved_usd: amount(|account| account.reserved),
            opening_usd: amount(|account| account.opening),
            in_flight: state.jobs.in_flight(&id),
            concurrent_jobs: state.plan_limits.concurrent_jobs(&plan),
            organization: state.ledger.organization_balance(&id),
            organization_wallet,
            plan,
            id,
        }
    }

    fn key_limit(&self, key: &ApiKey, bucket: RateLimitBucket) -> u32 {
        let plan = self.state.workspaces.plan(&key.workspace);
        key_limit(&self.state.plan_limits, &plan, bucket, self.state.read_multiple)
    }

    /// Returns what is left of a rate limit bucket.
    fn bucket(
        &self,
        limit_key: &RateLimitKey,
        bucket: RateLimitBucket,
        limit: impl Fn(RateLimitBucket) -> u32,
    ) -> Value {
        let mut windows = self.state.limits.open_windows(self.state.now);
        let window = windows.find(|(known, of, ..)| *known == limit_key && *of == bucket);
        let used = window.map_or(0, |(_, _, used, _)| used);
        let limit = limit(bucket);
        json!({
            "limit": limit,
            "used": used,
            "remaining": limit.saturating_sub(used),
            "resets_at": window.map(|(.., ends)| ends.to_string()),
        })
    }
}

/// State for the exchanges and the dashboard.
impl Simulator {
    /// Returns a number that changes when the state is replaced.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the caller of a request, if its key is known.
    pub(crate) fn caller(&self, call: &HostRequest) -> Option<CallerView> {
        let key = match Credential::from_headers(call.request.headers()) {
            Credential::Key(secret) => self.state.keys.get(secret)?,
            _ => return None,
        };
        Some(CallerView {
            key: key.id.clone(),
            kind: key.kind,
            scopes: key.scopes.clone(),
            revoked: key.revoked,
            workspace: self.workspace(key.workspace.clone()),
        })
    }

    pub(crate) fn request(&self, seq: u64) -> Option<Value> {
        self.state.request_log.get(seq).map(request_log::LoggedRequest::view)
    }

    /// Sets the speed of the clock, which the waits in responses depend on.
    pub(crate) fn set_speed(&mut self, speed: f64) {
        self.settings.hosts.speed = speed;
    }
}

/// State for the dashboard: the newest items, so that a page is small however long the mock runs.
#[cfg(feature = "dashboard")]
impl Simulator {
    /// Returns the jobs with their numbers, newest first.
    pub(crate) fn newest_jobs(&self) -> impl Iterator<Item = (usize, &Job)> {
        let jobs = &self.state.jobs;
        jobs.all().rev().filter_map(|job| Some((jobs.number(&job.id)?, job)))
    }

    /// Returns the runs with their numbers, newest first.
    pub(crate) fn newest_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        let runs = &self.state.runs;
        runs.all().rev().filter_map(|run| Some((runs.number(&run.id)?, run)))
    }

    pub(crate) fn job_or_run(&self, id: &str) -> Option<Value> {
        self.job(id).or_else(|| self.run(id))
    }

    /// Returns how many jobs and how many runs were submitted so far.
    pub(crate) fn submitted(&self) -> (usize, usize) {
        let after = |newest: Option<usize>| newest.map_or(0, |number| number + 1);
        let job = self.newest_jobs().next().map(|(number, _)| number);
        (after(job), after(self.newest_runs().next().map(|(number, _)| number)))
    }

    pub(crate) fn secret(&self, key_id: &str) -> Option<&str> {
        let mut keys = self.state.keys.with_secrets();
        keys.find(|(_, key)| *key.id == *key_id).map(|(secret, _)| secret)
    }
}

fn timeline(timeline: &Timeline) -> Value {
    json!({
        "created_at": timeline.created_at().to_string(),
        "starts_at": timeline.starts_at().to_string(),
        "generation_starts_at": timeline.generation_starts_at().to_string(),
        "ends_at": timeline.ends_at().map(|at| at.to_string()),
    })
}
