//! Jobs.

mod index;
mod metadata;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::{ErrorCode, JobStatus};
use svc_sdk::types::Usd;

pub(crate) use self::index::JobFilter;
use self::index::JobIndex;
pub(crate) use self::metadata::Metadata;
use super::keys::Source;
use super::serde_list::serialize_as_list;
use super::shared_list::SharedList;
use super::timeline::Timeline;
use super::{Host, Time};
use crate::media;
use crate::named_enum::named_enum;

named_enum! {
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum JobType {
        ImageGeneration = "image_generation",
        VideoGeneration = "video_generation",
        MusicGeneration = "music_generation",
        AvatarGeneration = "avatar_generation",
        AvatarVideoGeneration = "avatar_video_generation",
        AvatarFaceSwap = "avatar_face_swap",
        AvatarVideoPreview = "avatar_video_preview",
        VideoCaptions = "video_captions",
    }
}

impl JobType {
    /// Returns the default time from submit to completion.
    pub(crate) const fn duration(self) -> Duration {
        Duration::from_secs(match self {
            Self::ImageGeneration => 2,
            Self::VideoGeneration | Self::AvatarVideoGeneration | Self::AvatarFaceSwap => 8,
            Self::MusicGeneration => 4,
            Self::AvatarGeneration => 6,
            Self::AvatarVideoPreview | Self::VideoCaptions => 3,
        })
    }
}

/// A job.
///
/// A mock may store a million jobs, so their texts are as small as possible, and those that many
/// jobs have in common are shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    pub(crate) id: Arc<str>,
    /// The id of the request that submitted the job.
    pub(crate) request_id: Box<str>,
    pub(crate) workspace: Arc<str>,
    /// The surface on which the job was submitted.
    pub(crate) surface: Host,
    pub(crate) job_type: JobType,
    pub(crate) model: Arc<str>,
    pub(crate) status: JobStatus,
    pub(crate) updated_at: Time,
    #[serde(rename = "course")]
    pub(crate) timeline: Timeline,
    /// What submitted the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Source>,
    /// The error that the job will end with, if it is going to fail.
    #[serde(rename = "fails_with", default, skip_serializing_if = "Option::is_none")]
    pub(crate) planned_error: Option<ErrorCode>,
    /// The error that the job failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorCode>,
    /// The price charged to the workspace; `None` for free jobs.
    pub(crate) price: Option<Usd>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub(crate) metadata: Metadata,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) webhook_url: Option<Box<str>>,
    /// The files, which are determined at the submit and shown when the job completes.
    pub(crate) artifacts: Box<[Artifact]>,
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    pub(crate) id: Box<str>,
    /// The unguessable part of the URL path.
    pub(crate) token: Arc<str>,
    pub(crate) spec: media::Spec,
}

impl Job {
    pub(crate) fn as_submitted(&self) -> Self {
        Self {
            status: JobStatus::Queued,
            error: None,
            updated_at: self.timeline.created_at(),
            ..self.clone()
        }
    }

    /// Returns the job as it will be at `then` if nothing intervenes.
    pub(crate) fn predicted_at(&self, then: Time) -> Self {
        let mut job = self.clone();
        if job.status == JobStatus::Queued && job.timeline.starts_at() <= then {
            (job.status, job.updated_at) = (JobStatus::Processing, job.timeline.starts_at());
        }
        match job.timeline.ends_at() {
            Some(end) if end <= then && !job.status.is_terminal() => {
                (job.status, job.error) = job.end();
                job.updated_at = end;
            }
            _ => {}
        }
        job
    }

    /// Returns the planned terminal status and error.
    pub(crate) fn end(&self) -> (JobStatus, Option<ErrorCode>) {
        match &self.planned_error {
            Some(code) => (JobStatus::Failed, Some(code.clone())),
            None => (JobStatus::Completed, None),
        }
    }
}

/// All jobs, indexed by id, by artifact token and by the list filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Jobs {
    /// The jobs in the order of their submits.
    jobs: SharedList<Job>,
    by_id: HashMap<Arc<str>, usize>,
    by_token: HashMap<Arc<str>, usize>,
    by_workspace: BTreeMap<Arc<str>, JobIndex>,
    /// The model names, so that each is in memory once.
    models: BTreeMap<Arc<str>, ()>,
}

impl Jobs {
    /// Adds a job and returns its number.
    pub(crate) fn add(&mut self, mut job: Job) -> usize {
        let number = self.jobs.next_number();
        job.workspace = shared_key(&self.by_workspace, &job.workspace);
        job.model = shared_key(&self.models, &job.model);
        self.models.insert(job.model.clone(), ());
        self.by_id.insert(job.id.clone(), number);
        for artifact in &job.artifacts {
            self.by_token.insert(artifact.token.clone(), number);
        }
        let index = self.by_workspace.entry(job.workspace.clone());
        index.or_default().insert(&job, number);
        self.jobs.push(job)
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Job> {
        self.jobs.get(number)
    }

    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Job> {
        self.get(self.number(id)?)
    }

    pub(crate) fn by_token(&self, token: &str) -> Option<(&Job, &Artifact)> {
        let job = self.get(*self.by_token.get(token)?)?;
        let mut artifacts = job.artifacts.iter();
        Some((job, artifacts.find(|artifact| *artifact.token == *token)?))
    }

    /// Sets the status of a job and updates the indexes.
    pub(crate) fn set_status(
        &mut self,
        number: usize,
        status: JobStatus,
        error: Option<ErrorCode>,
        at: Time,
    ) {
        let Some(job) = self.jobs.get_mut(number) else { return };
        let before = std::mem::replace(&mut job.status, status);
        (job.error, job.updated_at) = (error, at);
        if let Some(index) = self.by_workspace.get_mut(&job.workspace) {
            index.change_status(job, &before, number);
        }
    }

    pub(crate) fn remove(&mut self, number: usize) -> Option<Job> {
        let job = self.jobs.remove(number)?;
        self.by_id.remove(&job.id);
        for artifact in &job.artifacts {
            self.by_token.remove(&artifact.token);
        }
        if let Some(index) = self.by_workspace.get_mut(&job.workspace) {
            index.remove(&job, number);
        }
        Some(job)
    }

    /// Returns the jobs that match a filter and are older than `before`, newest first.
    pub(crate) fn newest_first(
        &self,
        filter: &JobFilter<'_>,
        before: Option<usize>,
    ) -> impl Iterator<Item = &Job> {
        let index = self.by_workspace.get(filter.workspace);
        let numbers = index.and_then(|index| index.matching(filter)).into_iter();
        let before = before.unwrap_or(usize::MAX);
        numbers
            .flat_map(move |numbers| numbers.range(..before).rev())
            .filter_map(|number| self.get(*number))
    }

    /// Returns the number of jobs of a workspace that have not ended.
    pub(crate) fn in_flight(&self, workspace: &str) -> usize {
        self.by_workspace.get(workspace).map_or(0, JobIndex::in_flight)
    }

    /// Returns all jobs, oldest first.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Job> {
        self.jobs.iter()
    }

    /// Returns all jobs with their numbers, oldest first.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Job)> {
        self.jobs.numbered()
    }

    /// Returns the jobs from a number on, with their numbers, oldest first.
    pub(crate) fn numbered_from(&self, number: usize) -> impl Iterator<Item = (usize, &Job)> {
        self.jobs.numbered_from(number)
    }

    /// Returns the number that the next job gets.
    pub(crate) fn next_number(&self) -> usize {
        self.jobs.next_number()
    }

    /// Returns the positions that the jobs with these numbers have in a snapshot.
    pub(crate) fn positions(&self, numbers: Vec<usize>) -> BTreeMap<usize, usize> {
        self.jobs.positions(numbers)
    }

    /// Returns a copy without indexes, which shares the jobs.
    pub(crate) fn without_indexes(&self) -> Self {
        Self { jobs: self.jobs.clone(), ..Self::default() }
    }
}

/// Returns the key of a map that equals `text`, or else `text` itself.
fn shared_key<V>(map: &BTreeMap<Arc<str>, V>, text: &Arc<str>) -> Arc<str> {
    let key = map.get_key_value(text).map_or(text, |(key, _)| key);
    key.clone()
}

serialize_as_list!(Jobs, Job);
