//! Consistency checks of a state that was read from a snapshot.

use std::collections::BTreeMap;

use svc_sdk::contract::JobStatus;
use svc_sdk::types::Usd;

use super::State;
use super::job_lifecycle::job_timers;
use crate::engine::actions::ACTIONS;
use crate::engine::runs::run_timers;
use crate::engine::timers::TimerEvent;

impl State {
    /// Checks that all references resolve, that timers match jobs, runs and webhooks, and that
    /// the ledger balances.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.balance < Usd::ZERO {
            return Err("the opening balance of new workspaces is negative".to_owned());
        }
        self.check_workspaces()?;
        self.check_jobs()?;
        self.check_resources()?;
        self.check_runs()?;
        self.check_reservations()?;
        self.check_timers()?;
        self.webhook_queue.check()?;
        self.check_idempotency()?;
        for rule in self.fault_rules.all() {
            rule.fault.check().map_err(|error| error.to_string())?;
        }
        self.ledger.audit()
    }

    /// Checks that every workspace has an account, and that all references to workspaces resolve.
    fn check_workspaces(&self) -> Result<(), String> {
        let workspaces = self.workspaces.ids().map(|id| (id, "the workspace list"));
        let keys = self.keys.all();
        let keys = keys.map(|key| (&*key.workspace, &*key.id));
        let top_ups = self.top_ups.all();
        let top_ups = top_ups.map(|top_up| (top_up.workspace.as_str(), top_up.id.as_str()));
        let jobs = self.jobs.all();
        let jobs = jobs.map(|job| (&*job.workspace, &*job.id));
        let references = workspaces.chain(keys).chain(top_ups).chain(jobs);
        let references = references.chain(self.grants.workspaces()).chain(self.assets.workspaces());
        for (workspace, source) in references.chain(self.webhook_queue.workspaces()) {
            if self.workspaces.get(workspace).is_none() || self.ledger.account(workspace).is_none()
            {
                return Err(format!("{source}: unknown workspace {workspace:?}"));
            }
        }
        Ok(())
    }

    fn check_jobs(&self) -> Result<(), String> {
        for (number, job) in self.jobs.numbered() {
            if matches!(job.status, JobStatus::Other(_)) {
                return Err(format!("{}: unknown status", job.id));
            }
            if job.price.is_some_and(|price| price < Usd::ZERO) {
                return Err(format!("{}: negative price", job.id));
            }
            if self.jobs.number(&job.id) != Some(number) {
                return Err(format!("duplicate job {}", job.id));
            }
        }
        Ok(())
    }

    fn check_resources(&self) -> Result<(), String> {
        for (number, resource) in self.resources.numbered() {
            let job = self.jobs.by_id(&resource.job_id);
            if job.is_none_or(|job| *job.workspace != *resource.workspace) {
                return Err(format!("{}: unknown job", resource.id));
            }
            if self.resources.number(&resource.id) != Some(number) {
                return Err(format!("duplicate resource {}", resource.id));
            }
        }
        Ok(())
    }

    /// Checks that the reserved amounts cover the jobs and runs in flight.
    fn check_reservations(&self) -> Result<(), String> {
        for (name, outstanding) in self.outstanding_amounts()? {
            let account = self.ledger.account(&name);
            if account.is_none_or(|account| account.reserved < outstanding) {
                return Err(format!(
                    "{name}: the reserved amount does not cover the jobs and runs in flight"
                ));
            }
        }
        Ok(())
    }

    /// Returns the total of job prices and pending run amounts in flight for each account.
    fn outstanding_amounts(&self) -> Result<BTreeMap<String, Usd>, String> {
        let mut totals: BTreeMap<String, Usd> = BTreeMap::new();
        let jobs = self.jobs.all();
        for job in jobs.filter(|job| !job.status.is_terminal()) {
            let total = totals.entry(job.workspace.to_string()).or_default();
            let sum = total.checked_add(job.price.unwrap_or_default());
            *total = sum.ok_or_else(|| format!("{}: the price overflows", job.id))?;
        }
        for run in self.runs.all() {
            let total = totals.entry(run.config.account()).or_default();
            let sum = run.spend.pending().and_then(|pending| total.checked_add(pending));
            *total = sum.ok_or_else(|| format!("{}: invalid spend", run.id))?;
        }
        Ok(totals)
    }

    fn check_timers(&self) -> Result<(), String> {
        let mut webhooks = 0;
        for (_, event) in self.timers.all() {
            let expected = match event {
                TimerEvent::JobStarts(number) | TimerEvent::JobEnds(number) => {
                    self.jobs.get(*number).is_some_and(|job| !job.status.is_terminal())
                }
                TimerEvent::RunStarts(number)
                | TimerEvent::RunWorks(number, _)
                | TimerEvent::RunEnds(number) => {
                    self.runs.get(*number).is_some_and(|run| !run.status.is_terminal())
                }
                TimerEvent::ActionScheduled(number) => {
                    let action = ACTIONS.get(*number);
                    action.is_some_and(|action| action.schedule().is_some())
                }
                TimerEvent::WebhookAttempt(number) => {
                    webhooks += 1;
                    self.webhook_queue.is_scheduled(*number)
                }
            };
            if !expected {
                return Err(format!("unexpected timer {event:?}"));
            }
        }
        if self.has_missing_timer() {
            return Err("a job or run in flight has no timer".to_owned());
        }
        if webhooks != self.webhook_queue.scheduled_count() {
            return Err("a scheduled webhook does not have exactly one timer".to_owned());
        }
        Ok(())
    }

    /// Returns `true` if a job or run in flight lacks a timer and would never progress.
    fn has_missing_timer(&self) -> bool {
        let jobs = self.jobs.numbered();
        let jobs = jobs
            .filter(|(_, job)| !job.status.is_terminal())
            .flat_map(|(number, job)| job_timers(number, job.timeline));
        let runs = self.runs.numbered();
        let runs = runs
            .filter(|(_, run)| !run.status.is_terminal())
            .flat_map(|(number, run)| run_timers(number, run.timeline));
        jobs.chain(runs).any(|(at, event)| at > self.now && !self.timers.contains(at, event))
    }
}
