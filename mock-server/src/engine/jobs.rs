//! Jobs and their indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_sdk::contract::{ErrorCode, JobStatus};
use svc_sdk::types::Usd;

use super::serde_list::serialize_as_list;
use super::timeline::Timeline;
use super::{Host, Time};
use crate::media;

/// The type of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobType {
    ImageGeneration,
    VideoGeneration,
    MusicGeneration,
    AvatarGeneration,
    AvatarVideoGeneration,
    AvatarFaceSwap,
    AvatarVideoPreview,
    VideoCaptions,
}

impl JobType {
    pub(crate) const ALL: [Self; 8] = [
        Self::ImageGeneration,
        Self::VideoGeneration,
        Self::MusicGeneration,
        Self::AvatarGeneration,
        Self::AvatarVideoGeneration,
        Self::AvatarFaceSwap,
        Self::AvatarVideoPreview,
        Self::VideoCaptions,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ImageGeneration => "image_generation",
            Self::VideoGeneration => "video_generation",
            Self::MusicGeneration => "music_generation",
            Self::AvatarGeneration => "avatar_generation",
            Self::AvatarVideoGeneration => "avatar_video_generation",
            Self::AvatarFaceSwap => "avatar_face_swap",
            Self::AvatarVideoPreview => "avatar_video_preview",
            Self::VideoCaptions => "video_captions",
        }
    }

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    pub(crate) id: String,
    /// The id of the request that submitted the job.
    pub(crate) request_id: String,
    pub(crate) workspace: String,
    /// The surface on which the job was submitted.
    pub(crate) surface: Host,
    pub(crate) job_type: JobType,
    pub(crate) model: String,
    pub(crate) status: JobStatus,
    pub(crate) updated_at: Time,
    #[serde(rename = "course")]
    pub(crate) timeline: Timeline,
    /// The error that the job will end with, if it is going to fail.
    #[serde(rename = "fails_with")]
    pub(crate) planned_error: Option<ErrorCode>,
    /// The error that the job failed with.
    pub(crate) error: Option<ErrorCode>,
    /// The price charged to the workspace; `None` for free jobs.
    pub(crate) price: Option<Usd>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) webhook_url: Option<String>,
    /// The files, which are determined at the submit and shown when the job completes.
    pub(crate) artifacts: Vec<Artifact>,
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    pub(crate) id: String,
    /// The unguessable part of the URL path.
    pub(crate) token: String,
    pub(crate) spec: media::Spec,
}

impl Job {
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
    jobs: Vec<Job>,
    by_id: BTreeMap<String, usize>,
    by_token: BTreeMap<String, (usize, usize)>,
    index: BTreeMap<JobFilter, BTreeSet<usize>>,
}

/// A filter for the jobs of a workspace, optionally by status and type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobFilter {
    pub(crate) workspace: String,
    pub(crate) status: Option<JobStatus>,
    pub(crate) job_type: Option<JobType>,
}

impl Jobs {
    /// Adds a job and returns its index.
    pub(crate) fn add(&mut self, job: Job) -> usize {
        let number = self.jobs.len();
        self.by_id.insert(job.id.clone(), number);
        for (index, artifact) in job.artifacts.iter().enumerate() {
            self.by_token
                .insert(artifact.token.clone(), (number, index));
        }
        for filter in index_keys(&job) {
            self.index.entry(filter).or_default().insert(number);
        }
        self.jobs.push(job);
        number
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
        let (number, index) = self.by_token.get(token)?;
        let job = self.get(*number)?;
        Some((job, job.artifacts.get(*index)?))
    }

    /// Sets the status of a job and updates the indexes.
    pub(crate) fn set_status(
        &mut self,
        number: usize,
        status: JobStatus,
        error: Option<ErrorCode>,
        at: Time,
    ) {
        let Some(job) = self.jobs.get_mut(number) else {
            return;
        };
        let before = index_keys(job);
        (job.status, job.error, job.updated_at) = (status, error, at);
        let after = index_keys(job);
        for filter in before {
            if let Some(numbers) = self.index.get_mut(&filter) {
                numbers.remove(&number);
                if numbers.is_empty() {
                    self.index.remove(&filter);
                }
            }
        }
        for filter in after {
            self.index.entry(filter).or_default().insert(number);
        }
    }

    /// Returns the jobs that match a filter and are older than `before`, newest first.
    pub(crate) fn newest_first(
        &self,
        filter: &JobFilter,
        before: Option<usize>,
    ) -> impl Iterator<Item = &Job> {
        let numbers = self.index.get(filter).into_iter();
        let before = before.unwrap_or(usize::MAX);
        numbers
            .flat_map(move |numbers| numbers.range(..before).rev())
            .filter_map(|number| self.get(*number))
    }

    /// Returns the number of jobs of a workspace that have not ended.
    pub(crate) fn in_flight(&self, workspace: &str) -> usize {
        let count = |status| {
            let filter = JobFilter {
                workspace: workspace.to_owned(),
                status: Some(status),
                job_type: None,
            };
            self.index.get(&filter).map_or(0, BTreeSet::len)
        };
        count(JobStatus::Queued) + count(JobStatus::Processing)
    }

    /// Returns all jobs, oldest first.
    pub(crate) fn all(&self) -> &[Job] {
        &self.jobs
    }
}

/// Returns all filters that match a job.
fn index_keys(job: &Job) -> [JobFilter; 4] {
    let status = Some(job.status.clone());
    let job_type = Some(job.job_type);
    [
        (None, None),
        (status.clone(), None),
        (None, job_type),
        (status, job_type),
    ]
    .map(|(status, job_type)| JobFilter {
        workspace: job.workspace.clone(),
        status,
        job_type,
    })
}

serialize_as_list!(Jobs, Job);

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, workspace: &str, job_type: JobType) -> Job {
        let created_at = Time::from_micros(1_000_000);
        Job {
            id: id.to_owned(),
            request_id: "req_1".to_owned(),
            workspace: workspace.to_owned(),
            surface: Host::Open,
            job_type,
            model: "video-f".to_owned(),
            status: JobStatus::Queued,
            updated_at: created_at,
            timeline: Timeline::new(created_at, job_type.duration(), false),
            planned_error: None,
            error: None,
            price: None,
            metadata: Map::new(),
            webhook_url: None,
            artifacts: vec![Artifact {
                id: format!("art_{id}"),
                token: format!("token-{id}"),
                spec: media::Spec::Image {
                    width: 2,
                    height: 2,
                    seed: 1,
                },
            }],
        }
    }

    fn some_jobs() -> Jobs {
        let mut jobs = Jobs::default();
        for (id, workspace, job_type) in [
            ("a", "ws_1", JobType::VideoGeneration),
            ("b", "ws_1", JobType::ImageGeneration),
            ("c", "ws_2", JobType::ImageGeneration),
            ("d", "ws_1", JobType::ImageGeneration),
        ] {
            jobs.add(job(id, workspace, job_type));
        }
        jobs
    }

    fn matching_ids(jobs: &Jobs, status: Option<JobStatus>, job_type: Option<JobType>) -> String {
        let filter = JobFilter {
            workspace: "ws_1".to_owned(),
            status,
            job_type,
        };
        jobs.newest_first(&filter, None)
            .map(|job| job.id.as_str())
            .collect()
    }

    #[test]
    fn jobs_are_filtered_by_status_and_type_newest_first() {
        let mut jobs = some_jobs();
        jobs.set_status(1, JobStatus::Completed, None, Time::from_micros(5));
        assert_eq!(matching_ids(&jobs, None, None), "dba");
        assert_eq!(matching_ids(&jobs, Some(JobStatus::Queued), None), "da");
        assert_eq!(matching_ids(&jobs, Some(JobStatus::Completed), None), "b");
        assert_eq!(
            matching_ids(&jobs, None, Some(JobType::ImageGeneration)),
            "db"
        );
        assert_eq!(
            matching_ids(
                &jobs,
                Some(JobStatus::Queued),
                Some(JobType::ImageGeneration)
            ),
            "d"
        );
        assert_eq!(matching_ids(&jobs, Some(JobStatus::Failed), None), "");
        assert_eq!(jobs.in_flight("ws_1"), 2);
        assert_eq!(jobs.in_flight("ws_3"), 0);
    }

    #[test]
    fn the_next_page_starts_after_the_last_item() {
        let jobs = some_jobs();
        let filter = JobFilter {
            workspace: "ws_1".to_owned(),
            status: None,
            job_type: None,
        };
        let rest = jobs
            .newest_first(&filter, jobs.number("d"))
            .map(|job| job.id.as_str());
        assert_eq!(rest.collect::<String>(), "ba");
    }

    #[test]
    fn deserialization_rebuilds_the_indexes() {
        let mut jobs = some_jobs();
        jobs.set_status(
            2,
            JobStatus::Failed,
            Some(ErrorCode::GenerationFailed),
            Time::from_micros(5),
        );
        let document = serde_json::to_value(&jobs).unwrap();
        assert_eq!(serde_json::from_value::<Jobs>(document).unwrap(), jobs);
        assert_eq!(jobs.by_token("token-c").unwrap().1.id, "art_c");
    }

    #[test]
    fn prediction_follows_the_timeline() {
        let mut job = job("a", "ws_1", JobType::VideoGeneration);
        let seconds = |n: u64| Time::from_micros((n + 1) * 1_000_000);
        assert_eq!(job.predicted_at(seconds(0)), job);
        assert_eq!(job.predicted_at(seconds(1)).status, JobStatus::Processing);
        assert_eq!(job.predicted_at(seconds(9)).status, JobStatus::Completed);
        assert_eq!(job.predicted_at(seconds(9)).updated_at, seconds(8));
        job.planned_error = Some(ErrorCode::GenerationFailed);
        assert_eq!(
            job.predicted_at(seconds(9)).error,
            Some(ErrorCode::GenerationFailed)
        );
        job.status = JobStatus::Canceled;
        assert_eq!(job.predicted_at(seconds(9)).status, JobStatus::Canceled);
    }
}
