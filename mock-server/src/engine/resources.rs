//! Resources that jobs create and that have their own ids: avatars, avatar videos, previews and
//! captions. The status of a resource is that of its job.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::serde_list::serialize_as_list;
use super::shared_list::SharedList;
use super::speech::Speech;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResourceKind {
    Avatar,
    AvatarVideo,
    Preview,
    Captions,
}

impl ResourceKind {
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Avatar => "ava",
            Self::AvatarVideo => "avv",
            Self::Preview => "pre",
            Self::Captions => "cap",
        }
    }

    /// Returns the name of the resource in receipts.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Avatar => "avatar",
            Self::AvatarVideo => "avatar_video",
            Self::Preview => "preview",
            Self::Captions => "caption",
        }
    }
}

/// The properties of a resource that its job does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResourceDetails {
    Avatar {
        handle: String,
        /// Whether the job completed, so that the avatar is listed.
        #[serde(rename = "made")]
        is_ready: bool,
    },
    /// A video of a speaking avatar, and the preview that it was made from.
    AvatarVideo {
        speech: Speech,
        preview_id: Option<String>,
    },
    Preview {
        speech: Speech,
    },
    Captions {
        video_url: String,
        language: Option<String>,
    },
}

impl ResourceDetails {
    pub(crate) const fn kind(&self) -> ResourceKind {
        match self {
            Self::Avatar { .. } => ResourceKind::Avatar,
            Self::AvatarVideo { .. } => ResourceKind::AvatarVideo,
            Self::Preview { .. } => ResourceKind::Preview,
            Self::Captions { .. } => ResourceKind::Captions,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resource {
    pub(crate) id: String,
    pub(crate) workspace: String,
    /// The id of the job that creates it. Regenerating a preview replaces the job.
    pub(crate) job_id: String,
    #[serde(rename = "about")]
    pub(crate) details: ResourceDetails,
}

/// All resources, indexed by id, by job, by workspace and kind, and avatars by handle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Resources {
    /// The resources in the order of their submits.
    resources: SharedList<Resource>,
    by_id: BTreeMap<String, usize>,
    by_job: BTreeMap<String, usize>,
    index: BTreeMap<(String, ResourceKind), BTreeSet<usize>>,
    /// The newest avatar by workspace and handle.
    by_handle: BTreeMap<(String, String), usize>,
}

impl Resources {
    pub(crate) fn add(&mut self, resource: Resource) {
        let number = self.resources.next_number();
        self.by_id.insert(resource.id.clone(), number);
        self.by_job.insert(resource.job_id.clone(), number);
        let workspace = resource.workspace.clone();
        let key = (workspace.clone(), resource.details.kind());
        let mut is_listed = true;
        if let ResourceDetails::Avatar { handle, is_ready } = &resource.details {
            self.by_handle.insert((workspace, handle.clone()), number);
            is_listed = *is_ready;
        }
        if is_listed {
            self.index.entry(key).or_default().insert(number);
        }
        self.resources.push(resource);
    }

    /// Records that a job completed. If it created an avatar, the avatar is listed from now on.
    pub(crate) fn mark_completed(&mut self, job_id: &str) {
        let Some(number) = self.by_job.get(job_id).copied() else { return };
        let Some(resource) = self.resources.get_mut(number) else { return };
        if let ResourceDetails::Avatar { is_ready, .. } = &mut resource.details {
            *is_ready = true;
            let key = (resource.workspace.clone(), ResourceKind::Avatar);
            self.index.entry(key).or_default().insert(number);
        }
    }

    pub(crate) fn reassign_job(&mut self, id: &str, job_id: &str) {
        let Some(number) = self.number(id) else { return };
        if let Some(resource) = self.resources.get_mut(number) {
            self.by_job.remove(&resource.job_id);
            job_id.clone_into(&mut resource.job_id);
            self.by_job.insert(job_id.to_owned(), number);
        }
    }

    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Resource> {
        self.resources.get(self.number(id)?)
    }

    pub(crate) fn by_job(&self, job_id: &str) -> Option<&Resource> {
        self.resources.get(*self.by_job.get(job_id)?)
    }

    /// Returns the newest avatar with the handle in a workspace, whatever its status.
    pub(crate) fn by_handle(&self, workspace: &str, handle: &str) -> Option<&Resource> {
        let handle = (workspace.to_owned(), handle.to_owned());
        self.resources.get(*self.by_handle.get(&handle)?)
    }

    /// Returns the listed resources of a kind in a workspace that are older than `before`, newest
    /// first.
    pub(crate) fn newest_first(
        &self,
        workspace: &str,
        kind: ResourceKind,
        before: Option<usize>,
    ) -> impl Iterator<Item = &Resource> {
        let numbers = self.index.get(&(workspace.to_owned(), kind)).into_iter();
        let before = before.unwrap_or(usize::MAX);
        numbers
            .flat_map(move |numbers| numbers.range(..before).rev())
            .filter_map(|number| self.resources.get(*number))
    }

    pub(crate) fn remove_of_job(&mut self, job_id: &str) {
        let Some(number) = self.by_job.remove(job_id) else { return };
        let Some(resource) = self.resources.remove(number) else { return };
        self.by_id.remove(&resource.id);
        let key = (resource.workspace.clone(), resource.details.kind());
        if let Some(numbers) = self.index.get_mut(&key) {
            numbers.remove(&number);
        }
        if let ResourceDetails::Avatar { handle, .. } = resource.details {
            let key = (resource.workspace, handle);
            // A newer avatar may have taken the handle.
            if self.by_handle.get(&key) == Some(&number) {
                self.by_handle.remove(&key);
            }
        }
    }

    /// Returns all resources, oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter()
    }

    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Resource)> {
        self.resources.numbered()
    }

    /// Returns a copy without indexes, which shares the resources.
    pub(crate) fn without_indexes(&self) -> Self {
        Self { resources: self.resources.clone(), ..Self::default() }
    }
}

serialize_as_list!(Resources, Resource);

#[cfg(test)]
mod tests {
    use super::*;

    fn avatar(id: &str, handle: &str) -> Resource {
        Resource {
            id: id.to_owned(),
            workspace: "ws_a".to_owned(),
            job_id: format!("job_{id}"),
            details: ResourceDetails::Avatar { handle: handle.to_owned(), is_ready: false },
        }
    }

    fn listed(resources: &Resources) -> Vec<&str> {
        let avatars = resources.newest_first("ws_a", ResourceKind::Avatar, None);
        avatars.map(|resource| resource.id.as_str()).collect()
    }

    #[test]
    fn a_removed_resource_is_in_no_index() {
        let mut resources = Resources::default();
        for (id, handle) in [("ava_1", "mia"), ("ava_2", "leo"), ("ava_3", "mia")] {
            resources.add(avatar(id, handle));
            resources.mark_completed(&format!("job_{id}"));
        }
        resources.remove_of_job("job_ava_1");
        resources.remove_of_job("job_ava_2");
        assert_eq!(listed(&resources), ["ava_3"]);
        assert_eq!(resources.by_handle("ws_a", "leo"), None);
        assert_eq!(resources.by_handle("ws_a", "mia").unwrap().id, "ava_3");
        assert!(resources.by_id("ava_1").is_none() && resources.by_job("job_ava_1").is_none());
    }
}
