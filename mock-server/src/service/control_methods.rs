//! The operations of the control API as methods of [`Service`].

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use super::Service;
use crate::addresses::DEMO_WORKSPACE;
use crate::clock::NotManual;
use crate::control;
use crate::engine::ledger::{ControlLedger, EntryQuery};
use crate::engine::{
    AddedKey, ControlError, CreatedWorkspace, Fault, Grant, HostAddress, NewAsset, NewKey,
    NewWorkspace, RestoreError, Time, WorkspaceUpdate,
};
use crate::mock_state::MockState;

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
        self.change(MockState::reset);
    }

    /// Adds a fault rule, which makes the next matching requests fail, and returns its id.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule can never apply.
    pub fn add_fault(&self, fault: Fault) -> Result<String, ControlError> {
        self.change(|state| state.simulator.state.add_fault(fault))
    }

    /// Removes a fault rule by its id.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such rule.
    pub fn remove_fault(&self, id: &str) -> Result<(), ControlError> {
        self.change(|state| state.simulator.state.remove_fault(id))
    }

    /// Removes all fault rules.
    pub fn clear_faults(&self) {
        self.change(|state| state.simulator.state.fault_rules.clear(None));
    }

    /// Returns the active fault rules, each with the number of times that it still applies.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let state = self.lock();
        let rules = state.simulator.state.fault_rules.all().iter();
        rules.map(|rule| Fault { times: rule.remaining, ..rule.fault.clone() }).collect()
    }

    /// Creates a key, and its workspace if that does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace id, a scope or the plan is invalid, or if the workspace
    /// is on another plan.
    pub fn add_key(&self, key: NewKey) -> Result<AddedKey, ControlError> {
        self.change(|state| state.simulator.state.add_key(key))
    }

    /// Revokes a key by its id and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist.
    pub fn revoke_key(&self, id: &str) -> Result<Value, ControlError> {
        self.change(|state| control::revoked(&mut state.simulator.state, id))
    }

    /// Creates a workspace with a key of each surface, and returns what a test needs to use it.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace exists, or if the id, the plan or the balance is invalid.
    pub fn create_workspace(&self, new: NewWorkspace) -> Result<CreatedWorkspace, ControlError> {
        let addresses = &self.shared.addresses;
        self.change(|state| control::created_workspace(&mut state.simulator.state, new, addresses))
    }

    /// Starts or pauses the schedule of an Action.
    ///
    /// # Errors
    ///
    /// Returns an error if the Action does not exist or has no schedule.
    pub fn set_schedule_active(&self, action: &str, active: bool) -> Result<(), ControlError> {
        self.change(|state| state.simulator.state.set_schedule_active(action, active))
    }

    /// Sends a request to the control API, such as `GET /requests?operation=jobs_list&wait=5` or
    /// `POST /verify`, and returns the status and the body of the response. A list with `wait` waits.
    pub async fn control(&self, method: http::Method, path: &str, body: Value) -> (u16, Value) {
        let bytes = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let mut request = http::Request::new(bytes);
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap_or_default();
        let response = self.call_control(request).await;
        let status = response.status().as_u16();
        let body = response.into_body().into_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
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
        self.change(|state| control::updated_workspace(&mut state.simulator.state, id, update))
    }

    /// Grants a Format, by id or by `handle/slug`, or an Action to a workspace, and returns the grant.
    ///
    /// # Errors
    ///
    /// Returns an error if the Format, the Action or the workspace does not exist, or if the grant
    /// names both or neither.
    pub fn grant(&self, grant: Grant) -> Result<Grant, ControlError> {
        self.change(|state| state.simulator.state.grant(grant))
    }

    /// Creates an asset that only its workspace can attach to runs, and returns its id.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace does not exist, or if the content type is invalid.
    pub fn add_asset(&self, asset: NewAsset) -> Result<String, ControlError> {
        self.change(|state| state.simulator.state.add_asset(asset))
    }

    /// Sets the address that a host name resolves to. URLs with a host that does not resolve to a
    /// public address are rejected, and webhooks are not delivered to them.
    ///
    /// # Errors
    ///
    /// Returns an error if the host is not a name.
    pub fn set_host_address(&self, entry: &HostAddress) -> Result<(), ControlError> {
        self.change(|state| state.simulator.state.set_host_address(entry))
    }

    /// Removes all addresses of host names.
    pub fn clear_host_addresses(&self) {
        self.change(|state| state.simulator.state.host_addresses.clear());
    }

    /// Settles a top-up as `paid`, `failed` or `expired`, and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the top-up does not exist or is settled with another status, or if the
    /// status is not terminal.
    pub fn settle_top_up(&self, id: &str, status: TopUpStatus) -> Result<Value, ControlError> {
        self.change(|state| state.simulator.settle_top_up(id, status))
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
        self.change(|state| state.simulator.end_job(id, status, code))
    }

    /// Returns the requests after the sequence number, oldest first. The request log stores the newest
    /// 10,000 requests.
    #[must_use]
    pub fn requests(&self, since: u64) -> Vec<Value> {
        self.lock().simulator.requests(since)
    }

    /// Returns how long the request with a sequence number took, in milliseconds.
    #[cfg(feature = "program")]
    pub(crate) fn duration_ms(&self, seq: u64) -> Option<f64> {
        self.lock().exchanges.duration_ms(seq)
    }

    /// Returns a number that changes when the sequence numbers of requests start again.
    #[cfg(feature = "program")]
    pub(crate) fn generation(&self) -> u64 {
        self.lock().simulator.generation()
    }

    /// Returns all ledger entries, oldest first, and the balance of each workspace.
    #[must_use]
    pub fn ledger(&self) -> Value {
        let (state, query) = (self.lock(), EntryQuery::default());
        let ledger = &state.simulator.state.ledger;
        json!(ControlLedger { ledger, query: &query })
    }

    /// Returns the newest 10,000 webhook attempts, oldest first.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Value> {
        self.lock().simulator.state.delivery_log.all()
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
        let workspace = state.simulator.state.workspaces.get(DEMO_WORKSPACE);
        workspace.map(|workspace| workspace.signing_secret.clone()).unwrap_or_default()
    }
}
