//! Grants, which make a workspace's Format callable from another workspace.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A Format and a workspace that may call it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The id of the Format.
    pub format: String,
    /// The workspace that may read and run it.
    pub workspace: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Grants(BTreeSet<Grant>);

impl Grants {
    pub(crate) fn add(&mut self, grant: Grant) {
        self.0.insert(grant);
    }

    pub(crate) fn contains(&self, format: &str, workspace: &str) -> bool {
        let mut grants = self.0.iter();
        grants.any(|grant| grant.format == format && grant.workspace == workspace)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }
}
