//! API keys: who calls, for which workspace, with which scopes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::{Plan, Scope};

use super::{Host, Time};

/// A key to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// What kind of key.
    pub kind: KeyKind,
    /// Its workspace; `ws_demo` if left out, made if unknown.
    #[serde(default)]
    pub workspace: Option<String>,
    /// The plan of a workspace that is made; the mock's own if left out.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// Its scopes; every one if left out. Keys of the open surface have none.
    #[serde(default)]
    pub scopes: Option<Vec<Scope>>,
}

/// A key that was made; the only time that the key itself is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddedKey {
    /// What goes into the credential header.
    pub key: String,
    /// Identifies the key.
    pub id: String,
    /// Its workspace.
    pub workspace: String,
    /// Its scopes.
    pub scopes: Vec<Scope>,
}

/// Which host a key is for, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// For the open surface: bills the dollar balance.
    Open,
    /// For the developer surface.
    Developer,
    /// For the developer surface, of a service account: starts no Format runs and no Agent
    /// Completions.
    ServiceAccount,
}

impl KeyKind {
    /// Whether a key of this kind is one of that host's.
    pub(crate) fn is_for(self, host: Host) -> bool {
        match self {
            Self::Open => host == Host::Open,
            Self::Developer | Self::ServiceAccount => host == Host::Developer,
        }
    }

    /// How a key of this kind starts.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Open => "svc_open",
            Self::Developer => "svc_dev",
            Self::ServiceAccount => "svc_sa",
        }
    }
}

/// A key as the service knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKey {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: KeyKind,
    pub(crate) workspace: String,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) revoked: bool,
    pub(crate) last_used_at: Option<Time>,
}

/// All keys, by what goes into the credential header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Keys(BTreeMap<String, ApiKey>);

/// The key, its kind, its workspace, whether it has every scope, whether it is revoked.
const INITIAL: [(&str, KeyKind, &str, bool, bool); 7] = [
    ("svc_open_demo", KeyKind::Open, "ws_demo", false, false),
    ("svc_dev_demo", KeyKind::Developer, "ws_demo", true, false),
    (
        "svc_dev_noscope",
        KeyKind::Developer,
        "ws_demo",
        false,
        false,
    ),
    (
        "svc_sa_demo",
        KeyKind::ServiceAccount,
        "ws_demo",
        true,
        false,
    ),
    ("svc_revoked", KeyKind::Developer, "ws_demo", true, true),
    ("svc_team_demo", KeyKind::Developer, "ws_team", true, false),
    ("svc_dev_other", KeyKind::Developer, "ws_other", true, false),
];

impl Keys {
    /// The keys that every mock has.
    pub(crate) fn initial() -> Self {
        let keys = INITIAL.map(|(secret, kind, workspace, every_scope, revoked)| {
            let name = secret.trim_start_matches("svc_").replace('_', " ");
            let key = ApiKey {
                id: secret.replacen("svc", "key", 1),
                name,
                kind,
                workspace: workspace.to_owned(),
                scopes: if every_scope {
                    Scope::KNOWN.to_vec()
                } else {
                    Vec::new()
                },
                revoked,
                last_used_at: None,
            };
            (secret.to_owned(), key)
        });
        Self(keys.into_iter().collect())
    }

    /// The key that is presented as `secret`, unless it is unknown or revoked.
    pub(crate) fn valid(&self, secret: &str) -> Option<&ApiKey> {
        self.0.get(secret).filter(|key| !key.revoked)
    }

    /// Notes that a key was used.
    pub(crate) fn used(&mut self, secret: &str, at: Time) {
        if let Some(key) = self.0.get_mut(secret) {
            key.last_used_at = Some(at);
        }
    }

    /// Adds a key and gives its secret.
    pub(crate) fn add(&mut self, token: &str, key: ApiKey) -> String {
        let secret = format!("{}_{token}", key.kind.prefix());
        self.0.insert(secret.clone(), key);
        secret
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &ApiKey> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_the_start_are_those_that_are_documented() {
        let keys = Keys::initial();
        let row = |secret: &str| {
            let key = keys.valid(secret)?;
            Some((key.kind, key.workspace.as_str(), key.scopes.len()))
        };
        assert_eq!(row("svc_open_demo"), Some((KeyKind::Open, "ws_demo", 0)));
        assert_eq!(
            row("svc_dev_demo"),
            Some((KeyKind::Developer, "ws_demo", 9))
        );
        assert_eq!(
            row("svc_dev_noscope"),
            Some((KeyKind::Developer, "ws_demo", 0))
        );
        assert_eq!(
            row("svc_sa_demo"),
            Some((KeyKind::ServiceAccount, "ws_demo", 9))
        );
        assert_eq!(
            row("svc_team_demo"),
            Some((KeyKind::Developer, "ws_team", 9))
        );
        assert_eq!(
            row("svc_dev_other"),
            Some((KeyKind::Developer, "ws_other", 9))
        );
        assert_eq!(row("svc_revoked"), None);
        assert_eq!(row("svc_unheard_of"), None);
    }

    #[test]
    fn a_key_is_for_one_host() {
        assert!(KeyKind::Open.is_for(Host::Open) && !KeyKind::Open.is_for(Host::Developer));
        for kind in [KeyKind::Developer, KeyKind::ServiceAccount] {
            assert!(kind.is_for(Host::Developer) && !kind.is_for(Host::Open));
        }
    }
}
