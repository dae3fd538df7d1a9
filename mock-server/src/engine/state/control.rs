//! Changes that the control API makes: adding keys, settling top-ups and ending jobs.

use svc_sdk::contract::{ErrorCode, JobStatus, Scope, TopUpStatus};
use svc_sdk::types::Usd;

use super::State;
use super::workspace_control::{check_plan, check_workspace_id, invalid};
use crate::engine::keys::{ApiKey, Source};
use crate::engine::ledger::{EntryKind, Subject};
use crate::engine::top_ups::TopUp;
use crate::engine::workspaces::WorkspaceKind;
use crate::engine::{AddedKey, ControlError, Fault, KeyKind, NewKey};

const MICROS_PER_CENT: u64 = 10_000;

impl State {
    /// Settles a pending top-up. Setting the status that it already has changes nothing.
    pub(crate) fn settle_top_up(
        &mut self,
        id: &str,
        status: TopUpStatus,
    ) -> Result<&TopUp, ControlError> {
        let not_found = || ControlError::NotFound(format!("top-up {id:?} not found"));
        let top_up = self.top_ups.get(id).ok_or_else(not_found)?;
        if !status.is_terminal() {
            return Err(invalid("status: must be paid, failed or expired"));
        }
        if top_up.status.is_terminal() && top_up.status != status {
            return Err(ControlError::Conflict(format!("the top-up is already {}", top_up.status)));
        }
        if top_up.status != status {
            if status == TopUpStatus::Paid {
                let (workspace, amount) = (top_up.workspace.clone(), top_up.amount());
                self.book_top_up(id, &workspace, amount)?;
            }
            self.top_ups.settle(id, status);
        }
        self.top_ups.get(id).ok_or_else(not_found)
    }

    fn book_top_up(&mut self, id: &str, workspace: &str, amount: Usd) -> Result<(), ControlError> {
        let entry = self.rng.id("ent");
        let subject = Subject::TopUp(id.into());
        let kind = EntryKind::TopUp;
        let booked = self.ledger.book(workspace, entry, kind, amount, subject, self.now);
        booked
            .map(drop)
            .map_err(|_| ControlError::Conflict("the top-up would overflow the balance".to_owned()))
    }

    /// Creates a top-up that is paid, and returns it.
    pub(crate) fn pay_in(&mut self, workspace: &str, amount: Usd) -> Result<&TopUp, ControlError> {
        self.check_knows_workspace(workspace)?;
        let micros = u64::try_from(amount.as_micros()).unwrap_or_default();
        let cents = u32::try_from(micros / MICROS_PER_CENT);
        let is_whole = micros > 0 && micros % MICROS_PER_CENT == 0;
        let Some(cents) = cents.ok().filter(|_| is_whole) else {
            let largest = Usd::from_micros(i64::from(u32::MAX) * 10_000);
            return Err(invalid(format!(
                "amount_usd: invalid amount {amount}: expected dollars in whole cents, \
                 such as 20.00, and at most {largest}"
            )));
        };
        let id = self.rng.id("top");
        self.book_top_up(&id, workspace, amount)?;
        self.top_ups.add(TopUp {
            id: id.clone(),
            workspace: workspace.to_owned(),
            status: TopUpStatus::Pending,
            cents,
            token: self.rng.token(32),
            success_url: None,
            cancel_url: None,
            created_at: self.now,
        });
        self.top_ups.settle(&id, TopUpStatus::Paid);
        let not_found = || ControlError::NotFound(format!("top-up {id:?} not found"));
        self.top_ups.get(&id).ok_or_else(not_found)
    }

    /// Ends a job immediately. Setting the status that it already has changes nothing.
    pub(crate) fn force_end_job(
        &mut self,
        id: &str,
        status: JobStatus,
        code: Option<ErrorCode>,
    ) -> Result<(), ControlError> {
        let not_found = || ControlError::NotFound(format!("job {id:?} not found"));
        let current = match self.jobs.by_id(id) {
            Some(job) => job.status.clone(),
            None => self.unfinished_job(id).ok_or_else(not_found)?.1.status,
        };
        if !status.is_terminal() {
            return Err(invalid("status: must be completed, failed or canceled"));
        }
        if code.is_some() && status != JobStatus::Failed {
            return Err(invalid("code: only allowed with the status failed"));
        }
        if current.is_terminal() && current != status {
            return Err(ControlError::Conflict(format!("the job is already {current}")));
        }
        let error =
            (status == JobStatus::Failed).then(|| code.unwrap_or(ErrorCode::GenerationFailed));
        match self.jobs.number(id) {
            Some(number) => self.end_job(number, status, error, self.now),
            None => self.end_unfinished_job(id, status, error),
        }
        Ok(())
    }

    pub(crate) fn add_fault(&mut self, fault: Fault) -> Result<String, ControlError> {
        let unknown = |key: &&String| !self.keys.all().any(|known| *known.id == **key);
        if let Some(key) = fault.key.as_ref().filter(unknown) {
            return Err(invalid(format!("key: unknown key {key:?}: expected the id of a key")));
        }
        if let Some(workspace) = &fault.workspace {
            self.check_knows_workspace(workspace)?;
        }
        let id = self.fault_rng.id("flt");
        self.fault_rules.add(id.clone(), fault)?;
        Ok(id)
    }

    pub(crate) fn remove_fault(&mut self, id: &str) -> Result<(), ControlError> {
        match self.fault_rules.remove(id) {
            true => Ok(()),
            false => Err(ControlError::NotFound(format!("fault {id:?} not found"))),
        }
    }

    /// Returns what created a job or run.
    pub(crate) fn source_of(&self, id: &str) -> Option<&Source> {
        let job = self.jobs.by_id(id).and_then(|job| job.source.as_ref());
        job.or_else(|| self.runs.by_id(id)?.config.source.as_ref())
    }

    /// Returns all jobs and runs with what created them.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, Option<&Source>)> {
        let jobs = self.jobs.all().map(|job| (&*job.id, job.source.as_ref()));
        jobs.chain(self.runs.all().map(|run| (run.id.as_str(), run.config.source.as_ref())))
    }

    /// Creates a key, and its workspace if that does not exist.
    pub(crate) fn add_key(&mut self, new: NewKey) -> Result<AddedKey, ControlError> {
        let workspace = new.workspace.unwrap_or_else(|| "ws_demo".to_owned());
        check_workspace_id(&workspace)?;
        check_plan(new.plan.as_ref())?;
        let scopes = match (new.kind, new.scopes) {
            (KeyKind::Open, None) => Vec::new(),
            (KeyKind::Open, Some(scopes)) if scopes.is_empty() => scopes,
            (KeyKind::Open, Some(_)) => {
                return Err(invalid("scopes: not allowed for keys of the open surface"));
            }
            (_, None) => Scope::KNOWN.to_vec(),
            (_, Some(scopes)) => scopes,
        };
        if let Some(Scope::Other(scope)) =
            scopes.iter().find(|scope| matches!(scope, Scope::Other(_)))
        {
            let known: Vec<_> = Scope::KNOWN.iter().map(Scope::as_str).collect();
            let known = known.join(", ");
            return Err(invalid(format!(
                "scopes: unknown scope {scope:?}: expected some of {known}"
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
            id: id.as_str().into(),
            name: "added".into(),
            kind: new.kind,
            workspace: workspace.as_str().into(),
            scopes: scopes.clone().into(),
            revoked: false,
            last_used_at: None,
        };
        let token = self.rng.token(26);
        let key = self.keys.add(&token, key);
        Ok(AddedKey { key, id, workspace, scopes })
    }
}
