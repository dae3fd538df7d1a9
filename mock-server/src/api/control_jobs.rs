//! Jobs as the control API shows them.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, Operation};

use super::job_view::{JobView, generation_job};
use crate::engine::jobs::Job;
use crate::engine::keys::Source;
use crate::engine::page::Items;
use crate::engine::runs::{GenerationJob, Run};
use crate::engine::{Hosts, State, Time};
use crate::json_object::set_field;

/// A job with its workspace.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum ControlJob<'j> {
    Job {
        #[serde(flatten)]
        view: JobView<'j>,
        seq: usize,
        workspace: &'j str,
    },
    OfRun(Value),
}

/// The jobs that the control API shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobQuery {
    pub(crate) workspace: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) operation: Option<Operation>,
    pub(crate) status: Option<JobStatus>,
    /// The number of the first job.
    pub(crate) start: usize,
    /// The maximum number of jobs of a page; `None` for all.
    pub(crate) limit: Option<usize>,
    /// The number of jobs that the caller waits for.
    pub(crate) count: u64,
}

impl JobQuery {
    fn includes(&self, workspace: &str, status: &JobStatus, source: Option<&Source>) -> bool {
        let is_key = |key: &String| source.is_some_and(|source| *source.key == **key);
        let is_operation =
            |operation: Operation| source.is_some_and(|source| source.operation.0 == operation);
        self.workspace.as_ref().is_none_or(|it| it == workspace)
            && self.status.as_ref().is_none_or(|it| it == status)
            && self.key.as_ref().is_none_or(is_key)
            && self.operation.is_none_or(is_operation)
    }
}

/// The jobs of a query, oldest first. The generation jobs that runs with incomplete assembly left
/// unfinished are between the others, by their time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlJobs<'s> {
    pub(crate) state: &'s State,
    pub(crate) hosts: &'s Hosts,
    pub(crate) query: &'s JobQuery,
}

/// Returns all jobs, oldest first.
pub(crate) fn control_jobs<'s>(
    state: &'s State,
    hosts: &'s Hosts,
) -> impl Iterator<Item = ControlJob<'s>> {
    let all = JobQuery::default();
    let numbered = state.jobs.numbered();
    with_jobs_of_runs(state, hosts, &all, numbered, None, None)
}

/// Returns jobs with the generation jobs of runs that were started from a time on and before another.
fn with_jobs_of_runs<'s, J: Iterator<Item = (usize, &'s Job)>>(
    state: &'s State,
    hosts: &'s Hosts,
    query: &JobQuery,
    jobs: J,
    from: Option<Time>,
    until: Option<Time>,
) -> impl Iterator<Item = ControlJob<'s>> + use<'s, J> {
    let mut jobs_of_runs = jobs_of_runs(state, query);
    jobs_of_runs.retain(|(at, _)| {
        from.is_none_or(|from| from <= *at) && until.is_none_or(|until| *at < until)
    });
    let mut jobs_of_runs = jobs_of_runs.into_iter().peekable();
    let mut jobs = jobs.peekable();
    std::iter::from_fn(move || {
        let next = jobs.peek().map(|(_, job)| job.timeline.created_at());
        let is_older = |(at, _): &(Time, Value)| next.is_none_or(|next| *at < next);
        match jobs_of_runs.next_if(is_older) {
            Some((_, view)) => Some(ControlJob::OfRun(view)),
            None => jobs.next().map(|(number, job)| control_job(state, number, job, hosts)),
        }
    })
}

/// Returns the unfinished generation jobs of runs, oldest first.
fn jobs_of_runs(state: &State, query: &JobQuery) -> Vec<(Time, Value)> {
    let views = state.runs.all().filter_map(|run| {
        let job = run.unfinished_job(state.now)?;
        let is_included =
            query.includes(&run.config.workspace, &job.status, run.config.source.as_ref());
        is_included.then(|| (job.started_at, job_of_run(run, &job)))
    });
    let mut views: Vec<_> = views.collect();
    views.sort_by_key(|(started_at, _)| *started_at);
    views
}

/// Returns the view of the generation job of a run.
pub(crate) fn job_of_run(run: &Run, job: &GenerationJob) -> Value {
    let mut view = generation_job(job);
    set_field(&mut view, "run_id", json!(run.id));
    set_field(&mut view, "workspace", json!(run.config.workspace));
    view
}

fn control_job<'j>(state: &State, number: usize, job: &'j Job, hosts: &Hosts) -> ControlJob<'j> {
    ControlJob::Job {
        view: JobView::new(state, job, job.surface, hosts),
        seq: number + 1,
        workspace: &job.workspace,
    }
}

impl Serialize for ControlJobs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { state, hosts, query } = *self;
        let matching = || {
            let jobs = state.jobs.numbered_from(query.start);
            jobs.filter(|(_, job)| query.includes(&job.workspace, &job.status, job.source.as_ref()))
        };
        let limit = query.limit.unwrap_or(usize::MAX);
        let mut shown = matching().take(limit);
        let first = shown.next();
        let last = query.limit.and_then(|_| shown.last().or(first)).map(|(number, _)| number);
        let after = last.and_then(|_| matching().nth(limit));
        // A page has the generation jobs of runs that were started after the job before it.
        let from = first.filter(|_| query.start > 0).map(|(_, job)| job.timeline.created_at());
        let until = after.map(|(_, job)| job.timeline.created_at());
        let page = with_jobs_of_runs(state, hosts, query, matching().take(limit), from, until);
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("data", &Items::new(page))?;
        let matched = matching().count() + jobs_of_runs(state, query).len();
        let is_satisfied = u64::try_from(matched).is_ok_and(|matched| matched >= query.count);
        fields.serialize_entry("matched", &matched)?;
        fields.serialize_entry("satisfied", &is_satisfied)?;
        if query.limit.is_some() {
            let next = after.zip(last).map(|(_, last)| (last + 1).to_string());
            fields.serialize_entry("next_cursor", &next)?;
        }
        let next = match after {
            Some(_) => last.map(|last| last + 1),
            None => Some(state.jobs.next_number()),
        };
        fields.serialize_entry("next_since", &next.unwrap_or(query.start))?;
        fields.end()
    }
}
