//! The view of jobs and runs, newest first.

use std::cmp::Reverse;

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use serde_json::Value;
use svc_sdk::contract::{JobStatus, RunStatus};

use super::job_details;
use super::logged_exchanges::SubmitBodies;
use super::page::{columns, page};
use super::parts::{
    ListCount, amount, cell, duration, parse_time, prose, row_link, search_form, status,
    status_cell, table, time,
};
use super::search::{ListSelection, Search};
use super::values::{artifacts_of, file_of, id_of, is_terminal, kind_of, spent, text};
use super::view::View;
use crate::engine::Time;
use crate::engine::jobs::Job;
use crate::engine::runs::Run;
use crate::service::Service;

/// The maximum number of rows.
const MAX_ROWS: usize = 100;
/// The maximum number of jobs, and of runs, that are searched.
const MAX_SEARCHED: usize = 10_000;
/// The properties by which jobs and runs are found.
const PROPERTIES: [&str; 6] = ["status", "op", "model", "ws", "code", "id"];

/// `GET /dashboard/jobs`, with the id of a job or run or without.
pub(super) async fn view(
    State(service): State<Service>,
    id: Option<Path<String>>,
    Query(selection): Query<ListSelection>,
) -> Markup {
    let id = id.map(|Path(id)| id);
    let list = list_of(&service, &selection, id.as_deref().unwrap_or_default());
    let close = selection.link(View::Jobs.path());
    let details = id.as_ref().map(|id| ("Job or run", &*close, job_details::details(&service, id)));
    page(&service, View::Jobs, id.as_deref().unwrap_or_default(), &columns(&list, details))
}

fn includes(show: &str, status: &str, is_terminal: bool) -> bool {
    match show {
        "active" => !is_terminal,
        "failed" => is_terminal && status != "completed",
        "completed" => status == "completed",
        _ => true,
    }
}

/// The jobs and runs that a list shows, and how many there are.
#[derive(Debug, Default)]
struct Found {
    rows: Vec<Value>,
    found: usize,
    fresh: usize,
    /// The numbers of jobs and of runs from which on they are new.
    seen: (usize, usize),
    now: Time,
}

impl Found {
    /// Adds the items that match, of which those from the number `seen` on are new.
    fn add<T>(
        &mut self,
        items: impl Iterator<Item = (usize, T)>,
        seen: usize,
        matches: impl Fn(&T) -> bool,
        view: impl Fn(&T) -> Value,
    ) {
        let limit = self.rows.len() + MAX_ROWS;
        for (number, item) in items.take(MAX_SEARCHED).filter(|(_, item)| matches(item)) {
            if number >= seen {
                self.fresh += 1;
                continue;
            }
            self.found += 1;
            if self.rows.len() < limit {
                self.rows.push(view(&item));
            }
        }
    }
}

/// Returns the newest jobs and runs that match, with the prompts of their submits.
fn find(service: &Service, selection: &ListSelection, submits: &SubmitBodies) -> Found {
    let search = Search::parse(&selection.q, &PROPERTIES);
    let matches = |properties: &[(&str, &str)], request_id: &str, item: Option<u64>| {
        search.is_empty() || search.matches(properties, &[&submits.prompt(request_id, item)])
    };
    let mut found = service.read(|state| {
        let simulator = &state.simulator;
        let submitted = simulator.submitted();
        // The numbers of jobs and of runs, such as `12.3`, from which on they are new.
        let seen = selection.seen.split_once('.');
        let seen = seen.and_then(|(jobs, runs)| Some((jobs.parse().ok()?, runs.parse().ok()?)));
        // Larger numbers are from before a reset.
        let is_known = |seen: &(usize, usize)| seen.0 <= submitted.0 && seen.1 <= submitted.1;
        let seen = seen.filter(is_known).unwrap_or(submitted);
        let mut found = Found { seen, now: simulator.now(), ..Found::default() };
        let is_shown = |job: &&Job| {
            let status = job.status.as_str();
            let properties = [
                ("status", status),
                ("op", job.job_type.as_str()),
                ("model", &job.model),
                ("ws", &job.workspace),
                ("code", job.error.as_ref().map_or("", |code| code.as_str())),
                ("id", &job.id),
                ("id", &job.request_id),
            ];
            includes(&selection.show, status, JobStatus::is_terminal(&job.status))
                && matches(&properties, &job.request_id, None)
        };
        found.add(simulator.newest_jobs(), seen.0, is_shown, |job| simulator.inspect_job(job));
        let is_shown = |run: &&Run| {
            let (status, config) = (run.status.as_str(), &run.config);
            let properties = [
                ("status", status),
                ("op", config.kind.as_str()),
                ("model", config.subject.as_deref().unwrap_or_default()),
                ("ws", &config.workspace),
                ("id", &run.id),
                ("id", &config.request_id),
            ];
            let item = run.queue_position.as_ref().map(|position| position.index as u64);
            includes(&selection.show, status, RunStatus::is_terminal(&run.status))
                && matches(&properties, &config.request_id, item)
        };
        found.add(simulator.newest_runs(), seen.1, is_shown, |run| simulator.inspect_run(run));
        found
    });
    found.rows.sort_by_cached_key(|row| Reverse(parse_time(text(row, "/created_at"))));
    found.rows.truncate(MAX_ROWS);
    found
}

fn list_of(service: &Service, selection: &ListSelection, selected: &str) -> Markup {
    let submits = SubmitBodies::of(service);
    let found = find(service, selection, &submits);
    let (jobs, runs) = found.seen;
    let is_filtered = !selection.q.trim().is_empty() || !selection.show.is_empty();
    let count = ListCount {
        found: found.found,
        // Without a filter, those that are not stored any more are not counted.
        total: if is_filtered { jobs + runs } else { found.found },
        fresh: found.fresh,
        nouns: ["job or run", "jobs and runs"],
    };
    let columns = [
        ("Created (UTC)", "time"),
        ("Job or run", "subject"),
        ("Prompt", ""),
        ("Status", "state"),
        ("USD", "amount end second"),
        ("Took", "short end second"),
        ("Workspace", "name third"),
        ("ID", "id fifth"),
    ];
    let shows =
        [("", "All"), ("active", "Active"), ("failed", "Failed"), ("completed", "Completed")];
    html! {
        section.list aria-label="All jobs and runs" data-seen={ (jobs) "." (runs) } {
            (search_form(View::Jobs, "Search, or status:failed op:video_generation ws:ws_demo", &selection.q, &shows, &selection.show))
            (count)
            @if found.rows.is_empty() && jobs + runs == 0 {
                p.empty { (prose("No jobs or runs yet. [Requests] has a command that submits one.")) }
            } @else if found.rows.is_empty() {
                p.empty { "Nothing matches. " a href=(View::Jobs.path()) { "Show all" } }
            } @else {
                (table("Jobs and runs, newest first", &columns, &html! {
                    @for row in &found.rows {
                        (row_of(row, selection, &submits, found.now, id_of(row) == selected))
                    }
                }))
                @if found.found > MAX_ROWS { p.muted { "The newest " (MAX_ROWS) " are shown." } }
                @if jobs.max(runs) > MAX_SEARCHED { p.muted { "The newest " (MAX_SEARCHED) " jobs and runs are searched." } }
            }
        }
    }
}

fn row_of(
    item: &Value,
    selection: &ListSelection,
    submits: &SubmitBodies,
    now: Time,
    is_selected: bool,
) -> Markup {
    let id = id_of(item);
    let (kind, subject) = kind_of(item);
    let href = selection.link(&format!("{}/{id}", View::Jobs.path()));
    let prompt = submits.prompt_of(item);
    let price = spent(item).map(|amount| amount.to_string());
    let price = price.unwrap_or_else(|| text(item, "/price_usd").to_owned());
    html! {
        tr data-key=(id) class=[is_selected.then_some("selected")] {
            td.time { (time(text(item, "/created_at"))) }
            td.subject title={ (kind) " " (subject) } {
                (thumbnail(item))
                (row_link(&href, is_selected, &html! { (kind) " " span.muted { (subject) } }))
            }
            (cell("", &prompt))
            (status_cell("state", &status(text(item, "/status")), text(item, "/error/code"), false))
            td.amount.mono.end.second { (amount(&price)) }
            (cell("mono short end second", &duration(millis_taken(item, now))))
            (cell("mono name third", text(item, "/workspace")))
            (cell("mono id fifth", id))
        }
    }
}

/// Returns a small picture of the first file, or room for one.
fn thumbnail(item: &Value) -> Markup {
    let artifact = artifacts_of(item).first();
    html! {
        @match artifact.map(|artifact| (text(artifact, "/media_type"), file_of(artifact))) {
            Some(("image" | "video", file)) => {
                img.thumbnail src={ "/dashboard/thumbnails/" (file) } alt="" width="32" height="24" loading="lazy";
            }
            Some(("audio", _)) => span.thumbnail aria-hidden="true" { "♪" },
            _ => span.thumbnail {},
        }
    }
}

/// Returns how long a job or run took, or takes so far, in milliseconds of service time.
fn millis_taken(item: &Value, now: Time) -> Option<f64> {
    let created = parse_time(text(item, "/created_at"))?;
    let end = if is_terminal(item) { parse_time(text(item, "/updated_at"))? } else { now };
    Some(end.since(created).as_secs_f64() * 1e3)
}
