//! The signing secrets of the workspaces, as the service had them over time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::signature;

/// For how long a replaced secret signs as well, in microseconds of the service's clock.
const OVERLAP_MICROS: u64 = 24 * 3_600 * 1_000_000;

/// The secrets of each workspace, oldest first, with the time at which each became current.
#[derive(Debug)]
pub(super) struct SigningSecrets(Mutex<BTreeMap<String, Vec<(u64, String)>>>);

impl SigningSecrets {
    /// Returns the secrets of an exported state.
    pub(super) fn of(snapshot: &Value) -> Self {
        let workspaces = snapshot["state"]["workspaces"].as_object();
        let secrets = workspaces.into_iter().flatten().map(|(id, workspace)| {
            let since = workspace["secret_created_at"].as_u64().unwrap();
            let secret = workspace["signing_secret"].as_str().unwrap();
            (id.clone(), vec![(since, secret.to_owned())])
        });
        Self(Mutex::new(secrets.collect()))
    }

    /// Notes the reply to a rotation at a time of the service's clock.
    pub(super) fn note_rotation(&self, workspace: &str, at_micros: u64, reply: &[u8]) {
        let reply: Value = serde_json::from_slice(reply).unwrap();
        let secret = reply["data"]["secret"].as_str().unwrap().to_owned();
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = secrets.entry(workspace.to_owned()).or_default();
        known.push((at_micros, secret));
    }

    /// Returns whether a delivery at a time of the service's clock is signed with the secret of that
    /// time, and for a day after a rotation with the one before as well.
    pub(super) fn have_signed(
        &self,
        workspace: &str,
        at_micros: u64,
        timestamp: &str,
        body: &[u8],
        header: &str,
    ) -> bool {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &secrets[workspace];
        // A rotation in the same microsecond may come before the delivery, or after it.
        [at_micros, at_micros - 1].into_iter().any(|at| {
            let count = known.iter().take_while(|(since, _)| *since <= at).count();
            let mut valid = known[..count].iter().rev().take(2);
            let newest = valid.next().into_iter();
            let since = known[count.saturating_sub(1)].0;
            let previous = valid.next().filter(|_| at < since + OVERLAP_MICROS);
            let entries: Vec<_> = newest
                .chain(previous)
                .map(|(_, secret)| format!("svc-v1={}", signature(secret, timestamp, body)))
                .collect();
            entries.join(",") == header
        })
    }
}
