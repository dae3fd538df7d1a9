//! The jobs of a workspace by status and type.

use std::collections::{BTreeMap, BTreeSet};

use svc_sdk::contract::JobStatus;

use super::{Job, JobType};

/// A filter for the jobs of a workspace, optionally by status and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobFilter<'f> {
    pub(crate) workspace: &'f str,
    pub(crate) status: Option<JobStatus>,
    pub(crate) job_type: Option<JobType>,
}

/// The numbers of a workspace's jobs, for each combination of filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JobIndex(BTreeMap<IndexKey, BTreeSet<usize>>);

/// The position of a status in [`JobStatus::KNOWN`], and a type; `None` for any.
type IndexKey = (Option<usize>, Option<JobType>);

impl JobIndex {
    pub(super) fn insert(&mut self, job: &Job, number: usize) {
        for key in [(None, None), (None, Some(job.job_type))] {
            self.0.entry(key).or_default().insert(number);
        }
        self.insert_status(job, number);
    }

    pub(super) fn remove(&mut self, job: &Job, number: usize) {
        for key in [(None, None), (None, Some(job.job_type))] {
            self.remove_key(key, number);
        }
        self.remove_status(job, &job.status, number);
    }

    /// Moves a job whose status was `before`.
    pub(super) fn change_status(&mut self, job: &Job, before: &JobStatus, number: usize) {
        self.remove_status(job, before, number);
        self.insert_status(job, number);
    }

    fn insert_status(&mut self, job: &Job, number: usize) {
        for key in status_keys(&job.status, job.job_type) {
            self.0.entry(key).or_default().insert(number);
        }
    }

    fn remove_status(&mut self, job: &Job, status: &JobStatus, number: usize) {
        for key in status_keys(status, job.job_type) {
            self.remove_key(key, number);
        }
    }

    fn remove_key(&mut self, key: IndexKey, number: usize) {
        if let Some(numbers) = self.0.get_mut(&key) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.0.remove(&key);
            }
        }
    }

    /// Returns the numbers of the jobs that match a filter; `None` if there are none.
    pub(super) fn matching(&self, filter: &JobFilter<'_>) -> Option<&BTreeSet<usize>> {
        let status = filter.status.as_ref().map(position);
        self.0.get(&(status, filter.job_type))
    }

    /// Returns the number of jobs that have not ended.
    pub(super) fn in_flight(&self) -> usize {
        let count = |status: &JobStatus| self.0.get(&(Some(position(status)), None));
        [JobStatus::Queued, JobStatus::Processing]
            .map(|status| count(&status).map_or(0, BTreeSet::len))
            .iter()
            .sum()
    }
}

fn status_keys(status: &JobStatus, job_type: JobType) -> [IndexKey; 2] {
    let status = Some(position(status));
    [(status, None), (status, Some(job_type))]
}

/// Returns a number for a status, by which jobs are indexed. Unknown statuses share the highest one.
fn position(status: &JobStatus) -> usize {
    let known = JobStatus::KNOWN.iter().position(|known| known == status);
    known.unwrap_or(JobStatus::KNOWN.len())
}
