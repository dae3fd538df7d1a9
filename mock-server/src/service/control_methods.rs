//! The operations of the control API as methods of [`Service`].

use std::time::Duration;

use serde_json::Value;
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use super::Service;
use crate::addresses::DEMO_WORKSPACE;
use crate::clock::NotManual;
use crate::control;
use crate::engine::{
    AddedKey, ControlError, Fault, Grant, HostAddress, NewAsset, NewKey, RestoreError, Time,
    WorkspaceUpdate,
};

/// The operations of the control API, for tests in the same process.
impl Service {
    /// Returns the current service time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.lock().clock.now()
    }

    /// Advances a manual clock, handles everything that becomes due in order, and returns the new
    /// time.
    ///
    /// This method does not wait for webhooks. Those with a route are sent later, when the caller
    /// yields to the runtime. Use [`advance_and_deliver`](Self::advance_and_deliver) to send each
    /// one at its own time.
    ///
    /// # Errors
    ///
    /// Returns [`NotManual`] if the clock runs in real time.
    pub fn advance(&self, span: Duration) -> Result<Time, NotManual> {
        let now = control::advance(&mut self.lock(), span)?;
        self.notify_changed();
        Ok(now)
    }

    /// Resets the service to its initial state, including keys, faults and secrets. The clock
    /// continues to run.
    pub fn reset(&self) {
        self.change(|simulator, _| simulator.reset());
    }

    /// Adds a fault rule, which makes the next matching requests fail.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule can never apply.
    pub fn add_fault(&self, fault: Fault) -> Result<(), ControlError> {
        self.change(|simulator, _| simulator.add_fault(fault))
    }

    /// Removes all fault rules.
    pub fn clear_faults(&self) {
        self.change(|simulator, _| simulator.clear_faults());
    }

    /// Returns the active fault rules.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.lock().simulator.faults().to_vec()
    }

    /// Creates a key, and its workspace if that does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace id, a scope or the plan is invalid, or if the workspace
    /// is on another plan.
    pub fn add_key(&self, key: NewKey) -> Result<AddedKey, ControlError> {
        self.change(|simulator, now| simulator.add_key(now, key))
    }

    /// Revokes a key by its id and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist.
    pub fn revoke_key(&self, id: &str) -> Result<Value, ControlError> {
        self.change(|simulator, now| simulator.revoke_key(now, id))
    }

    /// Changes a workspace, or creates it if it does not exist, and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the id or the plan is invalid, if there is a balance for a wallet that
    /// the organization does not have, or if a balance would overflow.
    pub fn update_workspace(
        &self,
        id: &str,
        update: WorkspaceUpdate,
    ) -> Result<Value, ControlError> {
        self.change(|simulator, now| simulator.update_workspace(now, id, update))
    }

    /// Grants a Format, by id or by `handle/slug`, to a workspace, and returns the grant.
    ///
    /// # Errors
    ///
    /// Returns an error if the Format or the workspace does not exist.
    pub fn grant_format(&self, grant: Grant) -> Result<Grant, ControlError> {
        self.change(|simulator, _| simulator.grant_format(grant))
    }

    /// Creates an asset that only its workspace can attach to runs, and returns its id.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace does not exist, or if the content type is invalid.
    pub fn add_asset(&self, asset: NewAsset) -> Result<String, ControlError> {
        self.change(|simulator, _| simulator.add_asset(asset))
    }

    /// Sets the address that a host name resolves to. URLs with a host that does not resolve to a
    /// public address are rejected, and webhooks are not delivered to them.
    ///
    /// # Errors
    ///
    /// Returns an error if the host is not a name.
    pub fn set_host_address(&self, entry: &HostAddress) -> Result<(), ControlError> {
        self.change(|simulator, _| simulator.set_host_address(entry))
    }

    /// Removes all addresses of host names.
    pub fn clear_host_addresses(&self) {
        self.change(|simulator, _| simulator.clear_host_addresses());
    }

    /// Settles a top-up as `paid`, `failed` or `expired`, and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the top-up does not exist or is settled with another status, or if the
    /// status is not terminal.
    pub fn settle_top_up(&self, id: &str, status: TopUpStatus) -> Result<Value, ControlError> {
        self.change(|simulator, now| simulator.settle_top_up(now, id, status))
    }

    /// Settles a top-up as paid and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the top-up does not exist or is settled with another status.
    pub fn pay_top_up(&self, id: &str) -> Result<Value, ControlError> {
        self.settle_top_up(id, TopUpStatus::Paid)
    }

    /// Ends a job immediately and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the job does not exist or has ended with another status, if the status
    /// is not terminal, or if there is a code for a status other than `failed`.
    pub fn end_job(
        &self,
        id: &str,
        status: JobStatus,
        code: Option<ErrorCode>,
    ) -> Result<Value, ControlError> {
        self.change(|simulator, now| simulator.end_job(now, id, status, code))
    }

    /// Returns the requests after the sequence number, oldest first. The request log stores the newest
    /// 10,000 requests.
    #[must_use]
    pub fn requests(&self, since: u64) -> Vec<Value> {
        self.lock().simulator.requests(since)
    }

    /// Returns a number that changes when the sequence numbers of requests start again.
    #[cfg(feature = "program")]
    pub(crate) fn generation(&self) -> u64 {
        self.lock().simulator.generation()
    }

    /// Returns all ledger entries, oldest first, and the balance of each workspace.
    #[must_use]
    pub fn ledger(&self) -> Value {
        control::ledger(&mut self.lock())
    }

    /// Returns the newest 10,000 webhook attempts, oldest first.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Value> {
        self.lock().simulator.deliveries()
    }

    /// Returns all jobs, oldest first.
    #[must_use]
    pub fn jobs(&self) -> Vec<Value> {
        self.lock().simulator.jobs()
    }

    /// Returns the complete state, including the clock and the random number generator.
    #[must_use]
    pub fn snapshot(&self) -> Value {
        control::snapshot(&mut self.lock())
    }

    /// Restores a state returned by [`snapshot`](Self::snapshot). From then on, the same requests
    /// get the same responses, including identifiers.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the document is not a valid state.
    pub fn restore(&self, document: Value) -> Result<(), RestoreError> {
        control::restore(&mut self.lock(), document)?;
        self.notify_changed();
        Ok(())
    }

    /// Returns the current webhook signing secret of `ws_demo`.
    #[must_use]
    pub fn webhook_secret(&self) -> String {
        let state = self.lock();
        let secret = state.simulator.signing_secret(DEMO_WORKSPACE);
        secret.map(str::to_owned).unwrap_or_default()
    }
}
