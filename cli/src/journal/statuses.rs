//! The status that this machine saw last of each job, run, queue and top-up, for the history.
//!
//! The SDK's journal has only how they ended.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::submissions::FOLDER;
use crate::input::{read_or_empty, write_private};

const FILE: &str = "statuses.json";
const MAX_STATUSES: usize = 2000;

/// Returns the statuses by the ids of their resources.
pub(crate) fn seen_statuses(state_dir: &Path) -> HashMap<String, String> {
    read(state_dir).into_iter().collect()
}

/// Adds statuses to those that were seen before. Without the file the history merely shows fewer of them.
pub(crate) fn remember_statuses(state_dir: &Path, seen: BTreeMap<String, String>) {
    // A machine that has submitted nothing has no history.
    if seen.is_empty() || !state_dir.join(FOLDER).exists() {
        return;
    }
    let before = read(state_dir);
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
        let _ = write_private(&state_dir.join(FILE), &json);
    }
}

fn read(state_dir: &Path) -> Vec<(String, String)> {
    let json = read_or_empty(&state_dir.join(FILE)).unwrap_or_default();
    serde_json::from_str(&json).unwrap_or_default()
}
