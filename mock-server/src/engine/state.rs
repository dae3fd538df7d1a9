//! The whole state of the service, and what happens to it by itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::{ErrorCode, JobStatus, Plan, Scope, TopUpStatus};
use svc_sdk::types::Usd;

use super::fault_rules::FaultRules;
use super::idempotency::Idempotency;
use super::jobs::{Job, Jobs};
use super::journal::Journal;
use super::keys::{ApiKey, Keys};
use super::ledger::{EntryKind, InsufficientBalance, Ledger, Subject};
use super::queues::Queues;
use super::rate_limit::RateLimits;
use super::resources::Resources;
use super::rng::Rng;
use super::runs::{Runs, run_timers};
use super::timeline::Timeline;
use super::timers::{TimerEvent, Timers};
use super::top_ups::{TopUp, TopUps};
use super::webhooks::log::DeliveryLog;
use super::webhooks::queue::WebhookQueue;
use super::workspaces::{self, WorkspaceKind, Workspaces};
use super::{AddedKey, ControlError, KeyKind, NewKey, Settings, Time};

/// All that the service knows. What it needs of its settings goes with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) now: Time,
    pub(crate) seed: u64,
    /// The plan and the balance of a workspace that is made.
    pub(crate) plan: Plan,
    pub(crate) balance: Usd,
    pub(crate) read_multiple: u32,
    #[serde(rename = "chance")]
    pub(crate) rng: Rng,
    /// Drawn from by fault rules alone, so that they do not change identifiers.
    #[serde(rename = "dice")]
    pub(crate) fault_rng: Rng,
    pub(crate) workspaces: Workspaces,
    pub(crate) keys: Keys,
    pub(crate) limits: RateLimits,
    pub(crate) idempotency: Idempotency,
    pub(crate) ledger: Ledger,
    pub(crate) jobs: Jobs,
    pub(crate) resources: Resources,
    pub(crate) runs: Runs,
    pub(crate) queues: Queues,
    pub(crate) timers: Timers,
    pub(crate) top_ups: TopUps,
    #[serde(rename = "faults")]
    pub(crate) fault_rules: FaultRules,
    pub(crate) journal: Journal,
    #[serde(rename = "outbox")]
    pub(crate) webhook_queue: WebhookQueue,
    #[serde(rename = "deliveries")]
    pub(crate) delivery_log: DeliveryLog,
    /// Jobs and runs that have ended and whose webhooks are still to be announced, in order.
    #[serde(skip)]
    ended: Vec<Ended>,
}

/// A job or run that has ended, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Job(usize),
    Run(usize),
}

impl State {
    /// The service as it is at the start.
    pub(crate) fn initial(settings: &Settings) -> Self {
        let mut state = Self {
            now: settings.epoch,
            seed: settings.seed,
            plan: settings.plan.clone(),
            balance: settings.balance,
            read_multiple: settings.read_multiple,
            rng: Rng::new(settings.seed),
            fault_rng: Rng::new(!settings.seed),
            workspaces: Workspaces::default(),
            keys: Keys::initial(),
            limits: RateLimits::default(),
            idempotency: Idempotency::default(),
            ledger: Ledger::default(),
            jobs: Jobs::default(),
            resources: Resources::default(),
            runs: Runs::default(),
            queues: Queues::default(),
            timers: Timers::default(),
            top_ups: TopUps::default(),
            fault_rules: FaultRules::default(),
            journal: Journal::default(),
            webhook_queue: WebhookQueue::default(),
            delivery_log: DeliveryLog::default(),
            ended: Vec::new(),
        };
        for (workspace, kind) in workspaces::INITIAL {
            state.add_workspace(workspace, kind, settings.plan.clone());
        }
        state
    }

    fn add_workspace(&mut self, id: &str, kind: WorkspaceKind, plan: Plan) {
        self.workspaces.add(id, kind, plan, self.seed, self.now);
        self.ledger.open(id, self.balance);
    }

    /// Does the first thing that is due by `now`, at its own time, and returns it.
    pub(crate) fn run_next_due(&mut self, now: Time) -> Option<(Time, TimerEvent)> {
        let (at, due) = self.timers.pop(now)?;
        self.run_due(at, due);
        Some((at, due))
    }

    /// Sets the time once all that was due by then is done. Time never goes back.
    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.idempotency.expire(self.now);
    }

    /// Notes that a job or run has ended, for its webhook to be announced.
    pub(super) fn note_ended(&mut self, ended: Ended) {
        self.ended.push(ended);
    }

    /// Takes the jobs and runs that have ended since the last call, in order.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    fn run_due(&mut self, at: Time, due: TimerEvent) {
        self.now = self.now.max(at);
        match due {
            TimerEvent::JobStarts(number) => self.start_job(number, at),
            TimerEvent::JobEnds(number) => self.finish_job(number, at),
            TimerEvent::RunStarts(number) => self.start_run(number, at),
            TimerEvent::RunWorks(number, tenths) => self.advance_run(number, tenths, at),
            TimerEvent::RunEnds(number) => self.finish_run(number, at),
            TimerEvent::WebhookAttempt(number) => self.webhook_queue.mark_due(number),
        }
    }

    /// Takes in a job that was paid for, and gives its number.
    pub(crate) fn accept_job(&mut self, job: Job) -> Result<usize, InsufficientBalance> {
        if let Some(price) = job.price {
            self.post_job_entry(&job, EntryKind::Reservation, price)?;
        }
        let timeline = job.timeline;
        let number = self.jobs.add(job);
        for (moment, due) in job_timers(number, timeline) {
            self.timers.set(moment, due);
        }
        Ok(number)
    }

    fn start_job(&mut self, number: usize, at: Time) {
        if self
            .jobs
            .get(number)
            .is_some_and(|job| job.status == JobStatus::Queued)
        {
            self.jobs
                .set_status(number, JobStatus::Processing, None, at);
        }
    }

    fn finish_job(&mut self, number: usize, at: Time) {
        if let Some((status, error)) = self.jobs.get(number).map(Job::end) {
            self.end_job(number, status, error, at);
        }
    }

    /// Ends a job that has not ended: a completed one is captured, any other is refunded.
    pub(crate) fn end_job(
        &mut self,
        number: usize,
        status: JobStatus,
        error: Option<ErrorCode>,
        at: Time,
    ) {
        let Some(job) = self
            .jobs
            .get(number)
            .filter(|job| !job.status.is_terminal())
            .cloned()
        else {
            return;
        };
        for (moment, due) in job_timers(number, job.timeline) {
            self.timers.cancel(moment, due);
        }
        if let Some(price) = job.price {
            let kind = match status {
                JobStatus::Completed => EntryKind::Capture,
                _ => EntryKind::Refund,
            };
            // What was reserved at the submit covers this.
            let booked = self.post_job_entry(&job, kind, price);
            debug_assert!(booked.is_ok(), "{kind:?} of {}: {booked:?}", job.id);
        }
        if status == JobStatus::Completed {
            self.resources.completed(&job.id);
        }
        self.jobs.set_status(number, status, error, at);
        self.note_ended(Ended::Job(number));
    }

    fn post_job_entry(
        &mut self,
        job: &Job,
        kind: EntryKind,
        price: Usd,
    ) -> Result<(), InsufficientBalance> {
        let id = self.rng.id("ent");
        let subject = Subject::Job(job.id.clone());
        self.ledger
            .book(&job.workspace, id, kind, price, subject, self.now)
    }

    /// What the payer does with a pending top-up; the same again changes nothing.
    pub(crate) fn settle_top_up(
        &mut self,
        id: &str,
        status: TopUpStatus,
    ) -> Result<&TopUp, ControlError> {
        let unknown = || ControlError::NotFound(format!("there is no top-up {id:?}"));
        let top_up = self.top_ups.get(id).ok_or_else(unknown)?;
        if !status.is_terminal() {
            return Err(ControlError::Invalid(
                "status: must be paid, failed or expired".to_owned(),
            ));
        }
        if top_up.status.is_terminal() && top_up.status != status {
            return Err(ControlError::Conflict(format!(
                "the top-up is already {}",
                top_up.status
            )));
        }
        if top_up.status != status {
            if status == TopUpStatus::Paid {
                let (workspace, amount) = (top_up.workspace.clone(), top_up.amount());
                let entry = self.rng.id("ent");
                let subject = Subject::TopUp(id.to_owned());
                let booked = self.ledger.book(
                    &workspace,
                    entry,
                    EntryKind::TopUp,
                    amount,
                    subject,
                    self.now,
                );
                booked.map_err(|_| {
                    ControlError::Conflict("the balance cannot grow further".to_owned())
                })?;
            }
            self.top_ups.settle(id, status);
        }
        self.top_ups.get(id).ok_or_else(unknown)
    }

    /// Ends a job at will; the same again changes nothing.
    pub(crate) fn force_end_job(
        &mut self,
        id: &str,
        status: JobStatus,
        code: Option<ErrorCode>,
    ) -> Result<(), ControlError> {
        let unknown = || ControlError::NotFound(format!("there is no job {id:?}"));
        let number = self.jobs.number(id).ok_or_else(unknown)?;
        let job = self.jobs.get(number).ok_or_else(unknown)?;
        if !status.is_terminal() {
            let text = "status: must be completed, failed or canceled";
            return Err(ControlError::Invalid(text.to_owned()));
        }
        if code.is_some() && status != JobStatus::Failed {
            return Err(ControlError::Invalid(
                "code: only a failed job has one".to_owned(),
            ));
        }
        if job.status.is_terminal() && job.status != status {
            return Err(ControlError::Conflict(format!(
                "the job is already {}",
                job.status
            )));
        }
        let failed = status == JobStatus::Failed;
        let error = failed.then(|| code.unwrap_or(ErrorCode::GenerationFailed));
        self.end_job(number, status, error, self.now);
        Ok(())
    }

    /// Makes a key, and its workspace where that is new.
    pub(crate) fn add_key(&mut self, new: NewKey) -> Result<AddedKey, ControlError> {
        let workspace = new.workspace.unwrap_or_else(|| "ws_demo".to_owned());
        if workspace.is_empty()
            || workspace.len() > 255
            || !workspace.bytes().all(|b| b.is_ascii_graphic())
        {
            let text = "workspace: must be 1 to 255 printable ASCII characters without blanks";
            return Err(ControlError::Invalid(text.to_owned()));
        }
        if let Some(Plan::Other(plan)) = &new.plan {
            return Err(ControlError::Invalid(format!("plan: there is no {plan:?}")));
        }
        let scopes = match (new.kind, new.scopes) {
            (KeyKind::Open, None) => Vec::new(),
            (KeyKind::Open, Some(scopes)) if scopes.is_empty() => scopes,
            (KeyKind::Open, Some(_)) => {
                let text = "scopes: keys of the open surface have none";
                return Err(ControlError::Invalid(text.to_owned()));
            }
            (_, None) => Scope::KNOWN.to_vec(),
            (_, Some(scopes)) => scopes,
        };
        if let Some(Scope::Other(scope)) =
            scopes.iter().find(|scope| matches!(scope, Scope::Other(_)))
        {
            return Err(ControlError::Invalid(format!(
                "scopes: there is no {scope:?}"
            )));
        }
        match (self.workspaces.get(&workspace), new.plan) {
            (None, plan) => {
                let plan = plan.unwrap_or_else(|| self.plan.clone());
                self.add_workspace(&workspace, WorkspaceKind::Personal, plan);
            }
            (Some(known), Some(plan)) if known.plan != plan => {
                let text = format!("plan: {workspace} is on the plan {}", known.plan);
                return Err(ControlError::Conflict(text));
            }
            (Some(_), _) => {}
        }
        let id = self.rng.id("key");
        let key = ApiKey {
            id: id.clone(),
            name: "added".to_owned(),
            kind: new.kind,
            workspace: workspace.clone(),
            scopes: scopes.clone(),
            revoked: false,
            last_used_at: None,
        };
        let token = self.rng.token(26);
        let key = self.keys.add(&token, key);
        Ok(AddedKey {
            key,
            id,
            workspace,
            scopes,
        })
    }

    /// Whether this can be the state of a service: what refers to something finds it, and the books
    /// balance.
    pub(crate) fn check(&self) -> Result<(), String> {
        let known = |workspace: &str, of: &str| match self.workspaces.get(workspace) {
            Some(_) if self.ledger.account(workspace).is_some() => Ok(()),
            _ => Err(format!("{of} is of an unknown workspace {workspace:?}")),
        };
        if self.balance < Usd::ZERO {
            return Err("a new workspace would owe".to_owned());
        }
        for key in self.keys.all() {
            known(&key.workspace, &key.id)?;
        }
        for top_up in self.top_ups.all() {
            known(&top_up.workspace, &top_up.id)?;
        }
        for workspace in self.workspaces.ids() {
            known(workspace, "the workspace")?;
        }
        for (number, job) in self.jobs.all().iter().enumerate() {
            known(&job.workspace, &job.id)?;
            if matches!(job.status, JobStatus::Other(_)) {
                return Err(format!("{} has an unknown status", job.id));
            }
            if job.price.is_some_and(|price| price < Usd::ZERO) {
                return Err(format!("{} has an impossible price", job.id));
            }
            if self.jobs.number(&job.id) != Some(number) {
                return Err(format!("there are two jobs {}", job.id));
            }
        }
        for (number, resource) in self.resources.all().iter().enumerate() {
            let job = self.jobs.by_id(&resource.job_id);
            if job.is_none_or(|job| job.workspace != resource.workspace) {
                return Err(format!("{} is of an unknown job", resource.id));
            }
            if self.resources.number(&resource.id) != Some(number) {
                return Err(format!("there are two resources {}", resource.id));
            }
        }
        self.check_runs()?;
        for (workspace, outstanding_amounts) in self.outstanding_amounts()? {
            let reserved = self
                .ledger
                .account(workspace)
                .map(|account| account.reserved);
            if reserved.is_none_or(|reserved| reserved < outstanding_amounts) {
                return Err(format!(
                    "{workspace} has not reserved what its running jobs and runs cost"
                ));
            }
        }
        self.check_timers()?;
        for (workspace, subject) in self.webhook_queue.workspaces() {
            known(workspace, subject)?;
        }
        self.webhook_queue.check()?;
        self.idempotency.check()?;
        for fault in self.fault_rules.all() {
            fault.check().map_err(|error| error.to_string())?;
        }
        self.ledger.audit()
    }

    fn check_timers(&self) -> Result<(), String> {
        let mut webhooks = 0;
        for (_, due) in self.timers.all() {
            let expected = match due {
                TimerEvent::JobStarts(number) | TimerEvent::JobEnds(number) => self
                    .jobs
                    .get(*number)
                    .is_some_and(|job| !job.status.is_terminal()),
                TimerEvent::RunStarts(number)
                | TimerEvent::RunWorks(number, _)
                | TimerEvent::RunEnds(number) => self
                    .runs
                    .get(*number)
                    .is_some_and(|run| !run.status.is_terminal()),
                TimerEvent::WebhookAttempt(number) => {
                    webhooks += 1;
                    self.webhook_queue.is_scheduled(*number)
                }
            };
            if !expected {
                return Err("something falls due for what is not there, or has ended".to_owned());
            }
        }
        if self.has_missing_timer() {
            return Err("something that goes on has nothing to fall due for it".to_owned());
        }
        match webhooks == self.webhook_queue.scheduled_count() {
            true => Ok(()),
            false => Err("a webhook is to be sent at no moment, or at two".to_owned()),
        }
    }

    /// Whether a job or run that has not ended would never go on.
    fn has_missing_timer(&self) -> bool {
        let jobs = self.jobs.all().iter().enumerate();
        let jobs = jobs
            .filter(|(_, job)| !job.status.is_terminal())
            .flat_map(|(number, job)| job_timers(number, job.timeline));
        let runs = self.runs.all().iter().enumerate();
        let runs = runs
            .filter(|(_, run)| !run.status.is_terminal())
            .flat_map(|(number, run)| run_timers(number, run.timeline));
        jobs.chain(runs)
            .any(|(at, due)| at > self.now && !self.timers.contains(at, due))
    }

    /// What the running jobs of each workspace cost, and what its runs have begun.
    fn outstanding_amounts(&self) -> Result<BTreeMap<&str, Usd>, String> {
        let mut outstanding_amounts: BTreeMap<&str, Usd> = BTreeMap::new();
        let running = self
            .jobs
            .all()
            .iter()
            .filter(|job| !job.status.is_terminal());
        for (job, price) in running.filter_map(|job| Some((job, job.price?))) {
            let sum = outstanding_amounts.entry(&job.workspace).or_default();
            let more = (price >= Usd::ZERO)
                .then(|| sum.checked_add(price))
                .flatten();
            *sum = more.ok_or_else(|| format!("{} has an impossible price", job.id))?;
        }
        for run in self.runs.all() {
            let sum = outstanding_amounts
                .entry(&run.config.workspace)
                .or_default();
            let more = run
                .spend
                .pending()
                .and_then(|reserved| sum.checked_add(reserved));
            *sum = more.ok_or_else(|| format!("{} spends impossibly", run.id))?;
        }
        Ok(outstanding_amounts)
    }
}

/// All that falls due for a job.
fn job_timers(number: usize, timeline: Timeline) -> impl Iterator<Item = (Time, TimerEvent)> {
    let starts = (timeline.starts_at(), TimerEvent::JobStarts(number));
    let ends = timeline
        .ends_at()
        .map(|at| (at, TimerEvent::JobEnds(number)));
    [starts].into_iter().chain(ends)
}
