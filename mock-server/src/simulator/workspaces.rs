//! Changes to workspaces and to what they have access to.

use serde_json::{Value, json};

use super::Simulator;
use crate::engine::ledger::organization_account;
use crate::engine::{ControlError, Grant, HostAddress, NewAsset, Time, WorkspaceUpdate};

impl Simulator {
    /// Revokes a key by its id and returns it. Requests with it are answered `401` from then on.
    ///
    /// # Errors
    ///
    /// Returns an error if the key does not exist.
    pub fn revoke_key(&mut self, now: Time, id: &str) -> Result<Value, ControlError> {
        self.advance(now);
        let key = self.state.revoke_key(id)?;
        Ok(json!({
            "id": key.id,
            "workspace": key.workspace,
            "scopes": key.scopes,
            "revoked": key.revoked,
        }))
    }

    /// Changes a workspace, or creates it if it does not exist, and returns it.
    ///
    /// # Errors
    ///
    /// Returns an error if the id or the plan is invalid, if there is a balance for a wallet that
    /// the organization does not have, or if a balance would overflow.
    pub fn update_workspace(
        &mut self,
        now: Time,
        id: &str,
        update: WorkspaceUpdate,
    ) -> Result<Value, ControlError> {
        self.advance(now);
        self.state.update_workspace(id, update)?;
        let workspace = self.state.workspaces.get(id);
        let organization = self.state.ledger.account(&organization_account(id));
        Ok(json!({
            "id": id,
            "name": workspace.map(|workspace| &workspace.name),
            "kind": workspace.map(|workspace| workspace.kind),
            "plan": workspace.map(|workspace| &workspace.plan),
            "balance_usd": self.state.ledger.available(id),
            "organization_wallet": workspace.map(|workspace| workspace.organization_wallet),
            "organization_balance_usd": organization.map(|account| account.available),
        }))
    }

    /// Grants a Format, by id or by `handle/slug`, to a workspace, and returns the grant.
    ///
    /// # Errors
    ///
    /// Returns an error if the Format or the workspace does not exist.
    pub fn grant_format(&mut self, grant: Grant) -> Result<Grant, ControlError> {
        self.state.grant_format(grant)
    }

    /// Returns all grants.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        self.state.grants.all().cloned().collect()
    }

    /// Creates an asset that only its workspace can attach to runs, and returns its id.
    ///
    /// # Errors
    ///
    /// Returns an error if the workspace does not exist, or if the content type is invalid.
    pub fn add_asset(&mut self, asset: NewAsset) -> Result<String, ControlError> {
        self.state.add_asset(asset)
    }

    /// Sets the address that a host name resolves to. URLs with a host that does not resolve to a
    /// public address are rejected, and webhooks are not delivered to them.
    ///
    /// # Errors
    ///
    /// Returns an error if the host is not a name.
    pub fn set_host_address(&mut self, entry: &HostAddress) -> Result<(), ControlError> {
        self.state.set_host_address(entry)
    }

    /// Returns the host names whose addresses were set.
    #[must_use]
    pub fn host_addresses(&self) -> Vec<HostAddress> {
        self.state.host_addresses.all().collect()
    }

    /// Removes all addresses of host names.
    pub fn clear_host_addresses(&mut self) {
        self.state.host_addresses.clear();
    }
}
