//! Grants, which make a workspace's Format or Action callable from another workspace.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A Format or an Action, and a workspace that may call it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The id of the Format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The id of the Action, if it is not a Format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The workspace that may read and run it.
    pub workspace: String,
}

impl Grant {
    fn subject(&self) -> Option<&str> {
        self.format.as_deref().or(self.action.as_deref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Grants(BTreeSet<Grant>);

impl Grants {
    pub(crate) fn add(&mut self, grant: Grant) {
        self.0.insert(grant);
    }

    /// Returns whether the Format or Action with an id is granted to a workspace.
    pub(crate) fn contains(&self, id: &str, workspace: &str) -> bool {
        let mut grants = self.0.iter().filter(|grant| grant.workspace == workspace);
        grants.any(|grant| grant.subject() == Some(id))
    }

    /// Returns the workspaces that something is granted to, each with what it is.
    pub(crate) fn workspaces(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|it| (&*it.workspace, it.subject().unwrap_or("a grant")))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }
}
