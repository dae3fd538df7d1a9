//! The view of jobs and runs, newest first.

use std::cmp::Reverse;

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use svc_sdk::contract::{JobStatus, RunStatus};

use super::job_details;
use super::page::{View, columns, page};
use super::parts::{
    code as code_of, link, parse_time, prose, row_link, search_form, status, table, time,
};
use super::values::{id_of, kind_of, text};
use crate::service::Service;

/// The maximum number of rows.
const MAX_ROWS: usize = 100;

/// The selection of jobs and runs, in the URL.
#[derive(Debug, Default, Deserialize)]
pub(super) struct JobSelection {
    /// A text that the id, the model or type, or the workspace contains.
    #[serde(default)]
    q: String,
    /// `active`, `failed` or `completed`.
    #[serde(default)]
    show: String,
}

/// `GET /dashboard/jobs`.
pub(super) async fn list(
    State(service): State<Service>,
    Query(selection): Query<JobSelection>,
) -> Markup {
    let list = list_of(&service, &selection, "");
    page(&service, View::Jobs, "", &columns(&list, None))
}

/// `GET /dashboard/jobs/{id}`.
pub(super) async fn details(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(selection): Query<JobSelection>,
) -> Markup {
    let list = list_of(&service, &selection, &id);
    let close = selection.link(View::Jobs.path());
    let details = job_details::details(&service, &id);
    let content = columns(&list, Some(("Job or run", &close, details)));
    page(&service, View::Jobs, &id, &content)
}

impl JobSelection {
    fn link(&self, path: &str) -> String {
        link(path, &[("q", &self.q), ("show", &self.show)])
    }

    fn matches(&self, status: &str, is_terminal: bool, texts: &[&str]) -> bool {
        let is_shown = match self.show.as_str() {
            "active" => !is_terminal,
            "failed" => is_terminal && status != "completed",
            "completed" => status == "completed",
            _ => true,
        };
        let has = |word: &str| texts.iter().any(|text| text.to_lowercase().contains(word));
        is_shown && self.q.to_lowercase().split_whitespace().all(has)
    }
}

fn list_of(service: &Service, selection: &JobSelection, selected: &str) -> Markup {
    let (mut rows, runs, is_empty) = service.read(|state| {
        let simulator = &state.simulator;
        let jobs = simulator.newest_jobs(MAX_ROWS, |job| {
            let texts = [&*job.id, &*job.model, job.job_type.as_str(), &*job.workspace];
            selection.matches(job.status.as_str(), JobStatus::is_terminal(&job.status), &texts)
        });
        let runs = simulator.newest_runs(MAX_ROWS, |run| {
            let subject = run.config.subject.as_deref().unwrap_or_default();
            let texts = [&*run.id, run.config.kind.as_str(), subject, &run.config.workspace];
            selection.matches(run.status.as_str(), RunStatus::is_terminal(&run.status), &texts)
        });
        (jobs, runs, simulator.is_without_jobs())
    });
    rows.extend(runs);
    rows.sort_by_cached_key(|row| Reverse(parse_time(text(row, "/created_at"))));
    rows.truncate(MAX_ROWS);
    let columns = [("Created", ""), ("Job or run", ""), ("Status", ""), ("Workspace", "wide")];
    let shows =
        [("", "All"), ("active", "Active"), ("failed", "Failed"), ("completed", "Completed")];
    html! {
        section.list aria-label="All jobs and runs" {
            (search_form(View::Jobs, "ID, type, model, workspace…", &selection.q, &shows, &selection.show))
            @if rows.is_empty() && is_empty {
                p.empty { (prose("No jobs or runs yet. [Requests] has a command that submits one.")) }
            } @else if rows.is_empty() {
                p.empty { "Nothing matches. " a href=(View::Jobs.path()) { "Show all" } }
            } @else {
                (table("Jobs and runs, newest first", &columns, &html! {
                    @for row in &rows { (row_of(row, selection, selected)) }
                }))
            }
        }
    }
}

fn row_of(item: &Value, selection: &JobSelection, selected: &str) -> Markup {
    let id = id_of(item);
    let is_selected = id == selected;
    let (kind, subject) = kind_of(item);
    let webhook = text(item, "/webhook_delivery/status");
    let href = selection.link(&format!("{}/{id}", View::Jobs.path()));
    html! {
        tr data-key=(id) class=[is_selected.then_some("selected")] {
            td { (time(text(item, "/created_at"))) }
            td {
                (row_link(&href, is_selected, &html! { (kind) " " span.muted { (subject) } }))
                div.muted.mono { (id) }
            }
            td {
                (status(text(item, "/status")))
                (code_of(text(item, "/error/code")))
                @if !webhook.is_empty() { div.muted { "webhook " (webhook) } }
            }
            td.wide.mono { (text(item, "/workspace")) }
        }
    }
}
