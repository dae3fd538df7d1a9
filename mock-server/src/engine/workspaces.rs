//! Workspaces, which own keys, jobs and balances.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use svc_sdk::contract::Plan;
use svc_sdk::contract::limits::ROTATION_OVERLAP;
use svc_sdk::types::Usd;

use super::Time;
use super::webhooks::signature::{fingerprint, hex};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkspaceKind {
    Personal,
    Team,
}

/// How the runs of a workspace are funded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrganizationWallet {
    /// The workspace does not belong to an organization: it pays for its runs.
    #[default]
    None,
    /// The workspace belongs to an organization without a wallet: runs are rejected.
    Missing,
    /// The wallet of the organization pays for the runs.
    Provisioned,
}

impl OrganizationWallet {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Changes to a workspace. Fields that are absent stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceUpdate {
    /// The plan. The default of a new workspace is the plan of the mock.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// The available balance. The default of a new workspace is that of the mock.
    #[serde(default, deserialize_with = "amount")]
    pub balance_usd: Option<Usd>,
    /// How runs are funded.
    #[serde(default)]
    pub organization_wallet: Option<OrganizationWallet>,
    /// The available balance of the organization's wallet. The default of a new wallet is 100 USD.
    #[serde(default, deserialize_with = "amount")]
    pub organization_balance_usd: Option<Usd>,
    /// Whether the workspace belongs to a team.
    #[serde(default)]
    pub team: Option<bool>,
}

/// The properties of a workspace to create.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewWorkspace {
    /// The id. The default is a new one.
    #[serde(default)]
    pub id: Option<String>,
    /// The plan. The default is the plan of the mock.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// The available balance. The default is that of the mock.
    #[serde(default, deserialize_with = "amount")]
    pub balance_usd: Option<Usd>,
    /// Whether the workspace belongs to a team.
    #[serde(default)]
    pub team: Option<bool>,
}

/// A new workspace, with what a test needs to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CreatedWorkspace {
    /// The id.
    pub id: String,
    /// A key of the open surface.
    pub open_api_key: String,
    /// A key of the developer surface with all scopes.
    pub developer_api_key: String,
    /// The secret that signs webhooks.
    pub webhook_secret: String,
    /// The environment variables that configure clients to use the workspace.
    pub env: BTreeMap<String, String>,
}

/// Deserializes an amount of dollars: a number or a decimal string.
pub(crate) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usd>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text,
        other => other.to_string(),
    };
    let amount = text.parse().ok().filter(|amount| *amount >= Usd::ZERO);
    let invalid = || {
        D::Error::custom(format!(
            "invalid amount `{text}`: expected dollars of at least 0 with at most six decimals, \
             such as 0.50"
        ))
    };
    amount.map(Some).ok_or_else(invalid)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workspace {
    pub(crate) name: String,
    pub(crate) kind: WorkspaceKind,
    pub(crate) plan: Plan,
    #[serde(default, skip_serializing_if = "OrganizationWallet::is_none")]
    pub(crate) organization_wallet: OrganizationWallet,
    pub(crate) signing_secret: String,
    pub(crate) secret_created_at: Time,
    rotations: u64,
    /// The previous secret, which signs deliveries as well for some time after a rotation.
    previous: Option<PreviousSecret>,
}

/// A signing secret that was replaced by a rotation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviousSecret {
    pub(crate) secret: String,
    pub(crate) valid_until: Time,
}

impl Workspace {
    /// Returns the secret before the last rotation, while it is valid.
    pub(crate) fn previous(&self, now: Time) -> Option<&PreviousSecret> {
        self.previous.as_ref().filter(|previous| now < previous.valid_until)
    }

    /// Returns the valid signing secrets, newest first.
    pub(crate) fn secrets(&self, now: Time) -> Vec<&str> {
        let previous = self.previous(now).map(|previous| previous.secret.as_str());
        std::iter::once(self.signing_secret.as_str()).chain(previous).collect()
    }

    pub(crate) fn fingerprint(&self) -> String {
        fingerprint(&self.signing_secret)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Workspaces(BTreeMap<String, Workspace>);

pub(crate) const INITIAL: [(&str, WorkspaceKind); 3] = [
    ("ws_demo", WorkspaceKind::Personal),
    ("ws_team", WorkspaceKind::Team),
    ("ws_other", WorkspaceKind::Personal),
];

impl Workspaces {
    pub(crate) fn get(&self, id: &str) -> Option<&Workspace> {
        self.0.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Workspace> {
        self.0.get_mut(id)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn add(&mut self, id: &str, kind: WorkspaceKind, plan: Plan, seed: u64, now: Time) {
        let name = id.trim_start_matches("ws_").to_owned();
        let signing_secret = signing_secret(seed, id, 0);
        self.0.insert(
            id.to_owned(),
            Workspace {
                name,
                kind,
                plan,
                organization_wallet: OrganizationWallet::None,
                signing_secret,
                secret_created_at: now,
                rotations: 0,
                previous: None,
            },
        );
    }

    /// Replaces the signing secret of a workspace. The replaced secret stays valid for some time;
    /// an older one becomes invalid.
    pub(crate) fn rotate_secret(&mut self, id: &str, seed: u64, now: Time) {
        let Some(workspace) = self.0.get_mut(id) else { return };
        workspace.rotations = workspace.rotations.saturating_add(1);
        let newest = signing_secret(seed, id, workspace.rotations);
        workspace.previous = Some(PreviousSecret {
            secret: std::mem::replace(&mut workspace.signing_secret, newest),
            valid_until: now.after(ROTATION_OVERLAP),
        });
        workspace.secret_created_at = now;
    }

    pub(crate) fn kind(&self, id: &str) -> WorkspaceKind {
        self.get(id).map_or(WorkspaceKind::Personal, |workspace| workspace.kind)
    }

    pub(crate) fn plan(&self, id: &str) -> Plan {
        self.get(id).map_or(Plan::Free, |workspace| workspace.plan.clone())
    }
}

/// Derives a signing secret, so that a restarted mock with the same seed uses the same secret.
fn signing_secret(seed: u64, workspace: &str, rotations: u64) -> String {
    let mut source = format!("signing secret of {workspace}, seed {seed}");
    if rotations > 0 {
        source.push_str(&format!(", rotation {rotations}"));
    }
    format!("whsec_{}", hex(&Sha256::digest(source)))
}
