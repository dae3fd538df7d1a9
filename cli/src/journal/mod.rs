//! The journal of paid requests.
//!
//! Every paid request is in the SDK's journal in the state folder, under a hash of the request: the same
//! command, and the same call of a tool of `svc mcp`, resumes what a process that was killed has left
//! behind, instead of paying twice. It contains no secret, and of the texts of a request only its label.

mod earlier;
mod entry;
mod submissions;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::input::{read_or_empty, write_private};
pub(crate) use entry::{
    Entry, LABEL, RequestHash, SOURCE, canonical, key_fingerprint, label, notes, prompt_of,
};
pub(crate) use submissions::{Orphan, Submissions, close_matching, entries, settle};

/// The status that this machine saw last of each resource: the SDK's journal has only how they ended.
const STATUSES_FILE: &str = "statuses.json";
const MAX_STATUSES: usize = 2000;

/// Returns the statuses by the ids of their resources.
pub(crate) fn seen_statuses(state_dir: &Path) -> HashMap<String, String> {
    read_statuses(state_dir).into_iter().collect()
}

/// Adds statuses to those that were seen before. Without the file the history merely shows fewer of them.
pub(crate) fn remember_statuses(state_dir: &Path, seen: BTreeMap<String, String>) {
    // A machine that has submitted nothing has no history.
    if seen.is_empty() || !state_dir.join(submissions::FOLDER).exists() {
        return;
    }
    let before = read_statuses(state_dir);
    let mut statuses = before.clone();
    for (id, status) in seen {
        match statuses.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => *known = status,
            None => statuses.push((id, status)),
        }
    }
    statuses.drain(..statuses.len().saturating_sub(MAX_STATUSES));
    if statuses != before
        && let Ok(json) = serde_json::to_vec(&statuses)
    {
        let _ = write_private(&state_dir.join(STATUSES_FILE), &json);
    }
}

fn read_statuses(state_dir: &Path) -> Vec<(String, String)> {
    let json = read_or_empty(&state_dir.join(STATUSES_FILE)).unwrap_or_default();
    serde_json::from_str(&json).unwrap_or_default()
}
