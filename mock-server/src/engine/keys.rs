//! API keys with their workspaces and scopes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::{Operation, Plan, Scope};

use super::{Host, Time};

/// The properties of a key to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The kind of the key.
    pub kind: KeyKind,
    /// The workspace, which is created if it does not exist. The default is `ws_demo`.
    #[serde(default)]
    pub workspace: Option<String>,
    /// The plan of a newly created workspace. The default is the plan of the mock.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// The scopes. The default is all scopes; keys of the open surface have none.
    #[serde(default)]
    pub scopes: Option<Vec<Scope>>,
}

/// A newly created key. The secret itself is not returned again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddedKey {
    /// The secret, as it is sent in the credential header.
    pub key: String,
    /// The id of the key.
    pub id: String,
    /// The workspace of the key.
    pub workspace: String,
    /// The scopes of the key.
    pub scopes: Vec<Scope>,
}

/// The kind of a key, which determines the host that accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// A key of the open surface, billed to the dollar balance.
    Open,
    /// A key of the developer surface.
    Developer,
    /// A service account's key of the developer surface, which cannot start Format runs or Agent
    /// Completions.
    ServiceAccount,
}

impl KeyKind {
    /// Returns `true` if the host accepts keys of this kind.
    pub(crate) fn is_for(self, host: Host) -> bool {
        match self {
            Self::Open => host == Host::Open,
            Self::Developer | Self::ServiceAccount => host == Host::Developer,
        }
    }

    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Open => "svc_open",
            Self::Developer => "svc_dev",
            Self::ServiceAccount => "svc_sa",
        }
    }
}

/// A stored key. Clones share its texts, because each request has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKey {
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) kind: KeyKind,
    pub(crate) workspace: Arc<str>,
    pub(crate) scopes: Arc<[Scope]>,
    pub(crate) revoked: bool,
    pub(crate) last_used_at: Option<Time>,
}

/// The key and the operation by which a job or run was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// The id of the key.
    pub(crate) key: Arc<str>,
    pub(crate) operation: OperationName,
}

/// An operation, which a snapshot names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub(crate) struct OperationName(pub(crate) Operation);

impl From<OperationName> for &'static str {
    fn from(name: OperationName) -> Self {
        name.0.name()
    }
}

impl TryFrom<String> for OperationName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let operation = Operation::from_name(&name).map(Self);
        operation.ok_or_else(|| format!("unknown operation {name:?}"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Keys(BTreeMap<String, ApiKey>);

/// The seeded keys: secret, kind, workspace, whether it has all scopes, whether it is revoked.
const INITIAL: [(&str, KeyKind, &str, bool, bool); 7] = [
    ("svc_open_demo", KeyKind::Open, "ws_demo", false, false),
    ("svc_dev_demo", KeyKind::Developer, "ws_demo", true, false),
    ("svc_dev_noscope", KeyKind::Developer, "ws_demo", false, false),
    ("svc_sa_demo", KeyKind::ServiceAccount, "ws_demo", true, false),
    ("svc_revoked", KeyKind::Developer, "ws_demo", true, true),
    ("svc_team_demo", KeyKind::Developer, "ws_team", true, false),
    ("svc_dev_other", KeyKind::Developer, "ws_other", true, false),
];

impl Keys {
    pub(crate) fn initial() -> Self {
        let keys = INITIAL.map(|(secret, kind, workspace, has_all_scopes, revoked)| {
            let name = secret.trim_start_matches("svc_").replace('_', " ");
            let key = ApiKey {
                id: secret.replacen("svc", "key", 1).into(),
                name: name.into(),
                kind,
                workspace: workspace.into(),
                scopes: match has_all_scopes {
                    true => Scope::KNOWN.to_vec().into(),
                    false => Vec::new().into(),
                },
                revoked,
                last_used_at: None,
            };
            (secret.to_owned(), key)
        });
        Self(keys.into_iter().collect())
    }

    /// Returns the key with the given secret, also if it is revoked.
    pub(crate) fn get(&self, secret: &str) -> Option<&ApiKey> {
        self.0.get(secret)
    }

    pub(crate) fn with_secrets(&self) -> impl Iterator<Item = (&str, &ApiKey)> {
        self.0.iter().map(|(secret, key)| (secret.as_str(), key))
    }

    pub(crate) fn used(&mut self, secret: &str, at: Time) {
        if let Some(key) = self.0.get_mut(secret) {
            key.last_used_at = Some(at);
        }
    }

    /// Adds a key and returns its secret.
    pub(crate) fn add(&mut self, token: &str, key: ApiKey) -> String {
        let secret = format!("{}_{token}", key.kind.prefix());
        self.0.insert(secret.clone(), key);
        secret
    }

    /// Revokes the key with an id and returns it. Revoking it again changes nothing.
    pub(crate) fn revoke(&mut self, id: &str) -> Option<&ApiKey> {
        let key = self.0.values_mut().find(|key| *key.id == *id)?;
        key.revoked = true;
        Some(key)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &ApiKey> {
        self.0.values()
    }
}
