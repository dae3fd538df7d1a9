//! What the control API does, as methods for a test in the same process.

use std::time::Duration;

use serde_json::Value;
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use super::Service;
use crate::addresses::DEMO_WORKSPACE;
use crate::clock::NotManual;
use crate::control;
use crate::engine::{AddedKey, ControlError, Fault, NewKey, RestoreError, Time};

/// What the control API does, for a test in the same process.
impl Service {
    /// Service time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.lock().clock.now()
    }

    /// Moves a manual clock, and does all that falls due on the way, in order. Gives the new time.
    ///
    /// It does not wait: a webhook that has a route is sent afterwards, as soon as the caller
    /// awaits something. [`advance_and_deliver`](Self::advance_and_deliver) sends it on the way.
    ///
    /// # Errors
    ///
    /// [`NotManual`] where the clock passes by itself.
    pub fn advance(&self, span: Duration) -> Result<Time, NotManual> {
        let now = control::advance(&mut self.lock(), span)?;
        self.shared.changed.notify_waiters();
        Ok(now)
    }

    /// Back to the start: added keys and faults gone, secrets as they were. The clock goes on.
    pub fn reset(&self) {
        self.change(|simulator, _| simulator.reset());
    }

    /// Makes the next matching requests fail.
    ///
    /// # Errors
    ///
    /// The rule can never fit anything.
    pub fn add_fault(&self, fault: Fault) -> Result<(), ControlError> {
        self.change(|simulator, _| simulator.add_fault(fault))
    }

    /// Takes all faults away.
    pub fn clear_faults(&self) {
        self.change(|simulator, _| simulator.clear_faults());
    }

    /// The faults that are left.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.lock().simulator.faults().to_vec()
    }

    /// Makes a key, and its workspace where that is new.
    ///
    /// # Errors
    ///
    /// A scope is unknown, or the workspace exists with another plan.
    pub fn add_key(&self, key: NewKey) -> Result<AddedKey, ControlError> {
        self.change(|simulator, now| simulator.add_key(now, key))
    }

    /// What the payer of a top-up does: `paid`, `failed` or `expired`. Gives the top-up as it
    /// then is.
    ///
    /// # Errors
    ///
    /// There is no such top-up, it is settled otherwise, or the status is none of the three.
    pub fn settle_top_up(&self, id: &str, status: TopUpStatus) -> Result<Value, ControlError> {
        self.change(|simulator, now| simulator.settle_top_up(now, id, status))
    }

    /// Pays a top-up.
    ///
    /// # Errors
    ///
    /// There is no such top-up, or it is settled otherwise.
    pub fn pay_top_up(&self, id: &str) -> Result<Value, ControlError> {
        self.settle_top_up(id, TopUpStatus::Paid)
    }

    /// Ends a job now. Gives the job as it then is.
    ///
    /// # Errors
    ///
    /// There is no such job, it has ended otherwise, or the status is not terminal.
    pub fn end_job(
        &self,
        id: &str,
        status: JobStatus,
        code: Option<ErrorCode>,
    ) -> Result<Value, ControlError> {
        self.change(|simulator, now| simulator.end_job(now, id, status, code))
    }

    /// The requests after that sequence number, oldest first; the newest 10,000 are kept.
    #[must_use]
    pub fn requests(&self, since: u64) -> Vec<Value> {
        self.lock().simulator.journal(since)
    }

    /// Every entry of the ledger, oldest first, and each workspace's balance.
    #[must_use]
    pub fn ledger(&self) -> Value {
        control::ledger(&mut self.lock())
    }

    /// Every attempt to deliver a webhook, oldest first; the newest 10,000 are kept.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Value> {
        self.lock().simulator.deliveries()
    }

    /// Every job, oldest first.
    #[must_use]
    pub fn jobs(&self) -> Vec<Value> {
        self.change(|simulator, now| {
            simulator.advance(now);
            simulator.jobs()
        })
    }

    /// The whole state, clock and generation of identifiers included.
    #[must_use]
    pub fn snapshot(&self) -> Value {
        control::snapshot(&mut self.lock())
    }

    /// Takes up a state that [`snapshot`](Self::snapshot) gave: from then on the same requests
    /// get the same answers, identifiers too.
    ///
    /// # Errors
    ///
    /// The document is no state; nothing was changed.
    pub fn restore(&self, document: Value) -> Result<(), RestoreError> {
        control::restore(&mut self.lock(), document)?;
        self.shared.changed.notify_waiters();
        Ok(())
    }

    /// The signing secret of `ws_demo`'s webhooks as it is now.
    #[must_use]
    pub fn webhook_secret(&self) -> String {
        let state = self.lock();
        let secret = state.simulator.signing_secret(DEMO_WORKSPACE);
        secret.map(str::to_owned).unwrap_or_default()
    }
}
