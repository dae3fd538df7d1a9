//! The recorded effects of the handlers.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// The workers that have handled each event.
pub(crate) struct Effects(HashMap<String, Vec<PathBuf>>);

impl Effects {
    pub(crate) fn read(paths: &[PathBuf]) -> Self {
        let mut effects: HashMap<String, Vec<PathBuf>> = HashMap::new();
        for path in paths {
            for id in fs::read_to_string(path).unwrap_or_default().lines() {
                effects.entry(id.to_owned()).or_default().push(path.clone());
            }
        }
        Self(effects)
    }

    pub(crate) fn handled(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn handled_twice(&self) -> usize {
        self.0.values().filter(|workers| workers.len() > 1).count()
    }

    /// Returns the number of events that were handled twice although none of their workers was
    /// killed: their acknowledgement was lost in a restart of the server, or there is a defect.
    pub(crate) fn handled_twice_without_kill(&self, killed: &[PathBuf]) -> usize {
        let twice = self.0.values().filter(|workers| workers.len() > 1);
        twice.filter(|workers| workers.iter().all(|worker| !killed.contains(worker))).count()
    }

    /// Returns the events that were not handled.
    pub(crate) fn missing(&self, events: usize) -> Vec<usize> {
        let is_missing = |number: &usize| !self.0.contains_key(&format!("job_{number}"));
        (0..events).filter(is_missing).collect()
    }
}
