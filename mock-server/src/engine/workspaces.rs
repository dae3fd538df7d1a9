//! Workspaces: whose keys, jobs and money belong together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use svc_sdk::contract::Plan;

/// Whose a workspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkspaceKind {
    /// One person's.
    Personal,
    /// A team's.
    Team,
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workspace {
    pub(crate) name: String,
    pub(crate) kind: WorkspaceKind,
    pub(crate) plan: Plan,
    /// What its webhook deliveries are signed with.
    pub(crate) signing_secret: String,
}

/// All workspaces, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Workspaces(BTreeMap<String, Workspace>);

/// The workspaces that every mock has.
pub(crate) const AT_THE_START: [(&str, WorkspaceKind); 3] = [
    ("ws_demo", WorkspaceKind::Personal),
    ("ws_team", WorkspaceKind::Team),
    ("ws_other", WorkspaceKind::Personal),
];

impl Workspaces {
    pub(crate) fn get(&self, id: &str) -> Option<&Workspace> {
        self.0.get(id)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn add(&mut self, id: &str, kind: WorkspaceKind, plan: Plan, seed: u64) {
        let name = id.trim_start_matches("ws_").to_owned();
        let signing_secret = signing_secret(seed, id);
        self.0.insert(
            id.to_owned(),
            Workspace {
                name,
                kind,
                plan,
                signing_secret,
            },
        );
    }

    /// The plan of a workspace.
    pub(crate) fn plan(&self, id: &str) -> Plan {
        self.get(id)
            .map_or(Plan::Free, |workspace| workspace.plan.clone())
    }
}

/// How many jobs a workspace of that plan may have in flight. The numbers are the mock's own.
pub(crate) fn concurrent_jobs(plan: &Plan) -> usize {
    match plan {
        Plan::Pro => 200,
        Plan::Startup => 400,
        Plan::Scale | Plan::Enterprise => 800,
        _ => 100,
    }
}

/// Derived, so that a mock that starts anew with the same seed signs with the same secret.
fn signing_secret(seed: u64, workspace: &str) -> String {
    let digest = Sha256::digest(format!("signing secret of {workspace}, seed {seed}"));
    let mut secret = "whsec_".to_owned();
    for byte in digest.iter() {
        secret.push_str(&format!("{byte:02x}"));
    }
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signing_secret_is_the_workspaces_own_and_stays_the_same() {
        let secret = signing_secret(1, "ws_demo");
        assert_eq!(secret.len(), "whsec_".len() + 64);
        assert_eq!(secret, signing_secret(1, "ws_demo"));
        assert_ne!(secret, signing_secret(1, "ws_team"));
        assert_ne!(secret, signing_secret(2, "ws_demo"));
    }

    #[test]
    fn jobs_in_flight_grow_with_the_plan() {
        let plans = [
            Plan::Free,
            Plan::Pro,
            Plan::Startup,
            Plan::Scale,
            Plan::Enterprise,
        ];
        assert_eq!(
            plans.map(|plan| concurrent_jobs(&plan)),
            [100, 200, 400, 800, 800]
        );
    }
}
