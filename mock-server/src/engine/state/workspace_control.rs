//! Changes that the control API makes to workspaces and to what they have access to.

use svc_sdk::contract::Plan;
use svc_sdk::types::Usd;

use super::State;
use crate::engine::actions::ACTIONS;
use crate::engine::assets::Asset;
use crate::engine::formats::Format;
use crate::engine::keys::ApiKey;
use crate::engine::ledger::organization_account;
use crate::engine::workspaces::{OrganizationWallet, WorkspaceKind};
use crate::engine::{
    AddedKey, ControlError, Grant, HostAddress, KeyKind, NewAsset, NewKey, NewWorkspace,
    WorkspaceUpdate,
};

const ORGANIZATION_BALANCE: Usd = Usd::from_micros(100_000_000);
/// The maximum size of an asset, whose content is made when it is requested.
const MAX_ASSET_BYTES: u64 = 1_000_000_000;
/// The maximum length of a workspace id or host name.
const MAX_NAME_LENGTH: usize = 255;

pub(super) fn invalid(message: impl Into<String>) -> ControlError {
    ControlError::Invalid(message.into())
}

impl State {
    /// Changes a workspace, or creates it if it does not exist.
    pub(crate) fn update_workspace(
        &mut self,
        id: &str,
        update: WorkspaceUpdate,
    ) -> Result<(), ControlError> {
        check_workspace_id(id)?;
        check_plan(update.plan.as_ref())?;
        let known = self.workspaces.get(id);
        let wallet = update.organization_wallet.unwrap_or_else(|| {
            known.map_or(OrganizationWallet::None, |known| known.organization_wallet)
        });
        if update.organization_balance_usd.is_some() && wallet != OrganizationWallet::Provisioned {
            let text = "organization_balance_usd: requires the organization_wallet `provisioned`";
            return Err(invalid(text));
        }
        let organization = organization_account(id);
        let balances = [
            ("balance_usd", id, update.balance_usd),
            ("organization_balance_usd", &organization, update.organization_balance_usd),
        ];
        for (field, account, balance) in balances {
            if let Some(balance) = balance
                && !self.ledger.can_set_available(account, balance)
            {
                return Err(invalid(format!("{field}: {balance} is too large")));
            }
        }
        if self.workspaces.get(id).is_none() {
            self.add_workspace(id, WorkspaceKind::Personal, self.plan.clone());
        }
        if wallet == OrganizationWallet::Provisioned && self.ledger.account(&organization).is_none()
        {
            self.ledger.open(&organization, ORGANIZATION_BALANCE);
        }
        for (_, account, balance) in balances {
            if let Some(balance) = balance {
                self.ledger.set_available(account, balance);
            }
        }
        if let Some(workspace) = self.workspaces.get_mut(id) {
            workspace.organization_wallet = wallet;
            if let Some(plan) = update.plan {
                workspace.plan = plan;
            }
            workspace.kind = match update.team {
                Some(true) => WorkspaceKind::Team,
                Some(false) => WorkspaceKind::Personal,
                None => workspace.kind,
            };
        }
        Ok(())
    }

    pub(crate) fn revoke_key(&mut self, id: &str) -> Result<&ApiKey, ControlError> {
        let not_found = || ControlError::NotFound(format!("key {id:?} not found"));
        self.keys.revoke(id).ok_or_else(not_found)
    }

    /// Grants a Format, by id or by `handle/slug`, or an Action to a workspace, and returns the grant.
    pub(crate) fn grant(&mut self, mut grant: Grant) -> Result<Grant, ControlError> {
        match (&mut grant.format, &grant.action) {
            (Some(name), None) => {
                let by_slug = || Format::by_slug(name.split_once('/')?.0, name.split_once('/')?.1);
                let Some(format) = Format::by_id(name).or_else(by_slug) else {
                    let text = format!("format: Format {name:?} not found");
                    return Err(ControlError::NotFound(text));
                };
                format.id.clone_into(name);
            }
            (None, Some(id)) => {
                if !ACTIONS.iter().any(|action| action.id == id) {
                    return Err(ControlError::NotFound(format!("action: Action {id:?} not found")));
                }
            }
            _ => return Err(invalid("expected either format or action")),
        }
        self.check_has_workspace(&grant.workspace)?;
        self.grants.add(grant.clone());
        Ok(grant)
    }

    /// Creates an asset that only its workspace can attach, and returns its id.
    pub(crate) fn add_asset(&mut self, new: NewAsset) -> Result<String, ControlError> {
        self.check_has_workspace(&new.workspace)?;
        if !is_media_type(&new.content_type) {
            let text = format!(
                "content_type: invalid media type `{}`: expected a type such as image/png",
                new.content_type
            );
            return Err(invalid(text));
        }
        if new.bytes > MAX_ASSET_BYTES {
            return Err(invalid(format!("bytes: must be at most {MAX_ASSET_BYTES}")));
        }
        let id = self.rng.id("asset");
        let asset = Asset {
            workspace: Some(new.workspace),
            content_type: new.content_type.to_ascii_lowercase(),
            bytes: new.bytes,
        };
        self.assets.add(&id, asset);
        Ok(id)
    }

    pub(crate) fn set_host_address(&mut self, entry: &HostAddress) -> Result<(), ControlError> {
        let host = &entry.host;
        let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_name = !host.is_empty()
            && host.len() <= MAX_NAME_LENGTH
            && host.chars().all(is_name_char)
            && host.parse::<std::net::IpAddr>().is_err();
        if !is_name {
            let text = format!(
                "host: invalid host name `{host}`: expected a name such as hooks.example.com"
            );
            return Err(invalid(text));
        }
        self.host_addresses.set(host, entry.address);
        Ok(())
    }

    /// Creates a workspace with a key of the open and one of the developer surface, and returns the
    /// keys.
    pub(crate) fn create_workspace(
        &mut self,
        new: NewWorkspace,
    ) -> Result<[AddedKey; 2], ControlError> {
        let id = new.id.unwrap_or_else(|| self.rng.id("ws"));
        if self.workspaces.get(&id).is_some() {
            return Err(ControlError::Conflict(format!("workspace {id:?} exists already")));
        }
        let update = WorkspaceUpdate {
            plan: new.plan,
            balance_usd: new.balance_usd,
            team: new.team,
            ..WorkspaceUpdate::default()
        };
        self.update_workspace(&id, update)?;
        let mut key = |kind| {
            let workspace = Some(id.clone());
            self.add_key(NewKey { kind, workspace, plan: None, scopes: None })
        };
        Ok([key(KeyKind::Open)?, key(KeyKind::Developer)?])
    }

    /// Checks that a workspace exists which a filter or a field of a request names.
    pub(crate) fn check_knows_workspace(&self, id: &str) -> Result<(), ControlError> {
        self.check_has_workspace(id)
            .map_err(|_| invalid(format!("workspace: unknown workspace {id:?}")))
    }

    pub(crate) fn check_has_workspace(&self, id: &str) -> Result<(), ControlError> {
        match self.workspaces.get(id) {
            Some(_) => Ok(()),
            None => Err(ControlError::NotFound(format!("workspace: workspace {id:?} not found"))),
        }
    }
}

/// Checks that a workspace id consists of 1 to 255 printable characters.
pub(super) fn check_workspace_id(id: &str) -> Result<(), ControlError> {
    let is_valid =
        (1..=MAX_NAME_LENGTH).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid {
        return Ok(());
    }
    Err(invalid("workspace: must be 1 to 255 printable ASCII characters without spaces"))
}

pub(super) fn check_plan(plan: Option<&Plan>) -> Result<(), ControlError> {
    match plan {
        Some(Plan::Other(plan)) => {
            let known: Vec<_> = Plan::KNOWN.iter().map(Plan::as_str).collect();
            let known = known.join(", ");
            Err(invalid(format!("plan: unknown plan {plan:?}: expected one of {known}")))
        }
        _ => Ok(()),
    }
}

fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let parts = text.split_once('/');
    text.len() <= MAX_NAME_LENGTH
        && parts.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}
