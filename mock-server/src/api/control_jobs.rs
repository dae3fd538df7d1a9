//! Jobs as the control API shows them.

#[cfg(feature = "frontend")]
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::job_view::{JobView, generation_job};
use super::json_object::set_field;
use crate::engine::jobs::Job;
#[cfg(feature = "frontend")]
use crate::engine::page::{Items, Page};
use crate::engine::{Hosts, State, Time};

/// A job with its workspace.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum ControlJob<'j> {
    /// A job of a workspace.
    Job {
        #[serde(flatten)]
        view: JobView<'j>,
        workspace: &'j str,
    },
    /// The generation job of a run.
    OfRun(Value),
}

/// All jobs, or a page of them, oldest first. The generation jobs that runs with incomplete
/// assembly left unfinished are on the last page.
#[cfg(feature = "frontend")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlJobs<'s> {
    pub(crate) state: &'s State,
    pub(crate) hosts: &'s Hosts,
    /// The page; `None` for everything.
    pub(crate) page: Option<Page>,
}

/// Returns all jobs, oldest first.
pub(crate) fn control_jobs<'s>(
    state: &'s State,
    hosts: &'s Hosts,
) -> impl Iterator<Item = ControlJob<'s>> {
    let mut of_runs = of_runs(state).into_iter().peekable();
    let mut jobs = state.jobs.all().peekable();
    std::iter::from_fn(move || {
        let next = jobs.peek().map(|job| job.timeline.created_at());
        let is_older = |(at, _): &(Time, Value)| next.is_none_or(|next| *at < next);
        match of_runs.next_if(is_older) {
            Some((_, view)) => Some(ControlJob::OfRun(view)),
            None => jobs.next().map(|job| control_job(state, job, hosts)),
        }
    })
}

/// Returns the unfinished generation jobs of runs, oldest first.
fn of_runs(state: &State) -> Vec<(Time, Value)> {
    let runs = state.runs.all();
    let views = runs.filter_map(|run| {
        let job = run.unfinished_job(state.now)?;
        let mut view = generation_job(&job);
        set_field(&mut view, "run_id", json!(run.id));
        set_field(&mut view, "workspace", json!(run.config.workspace));
        Some((job.started_at, view))
    });
    let mut views: Vec<_> = views.collect();
    views.sort_by_key(|(started_at, _)| *started_at);
    views
}

fn control_job<'j>(state: &State, job: &'j Job, hosts: &Hosts) -> ControlJob<'j> {
    ControlJob::Job {
        view: JobView::new(state, job, job.surface, hosts),
        workspace: &job.workspace,
    }
}

#[cfg(feature = "frontend")]
impl Serialize for ControlJobs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { state, hosts, page } = *self;
        let mut fields = serializer.serialize_map(None)?;
        let Some(Page { limit, start }) = page else {
            fields.serialize_entry("data", &Items::new(control_jobs(state, hosts)))?;
            return fields.end();
        };
        let mut jobs = state.jobs.numbered_from(start).peekable();
        let mut items = Vec::new();
        let mut last = start;
        for (number, job) in jobs.by_ref().take(limit) {
            last = number;
            items.push(control_job(state, job, hosts));
        }
        let has_more = jobs.peek().is_some();
        if !has_more {
            let of_runs = of_runs(state).into_iter();
            items.extend(of_runs.map(|(_, view)| ControlJob::OfRun(view)));
        }
        fields.serialize_entry("data", &items)?;
        let next = has_more.then(|| (last + 1).to_string());
        fields.serialize_entry("next_cursor", &next)?;
        fields.end()
    }
}
