//! Bulk queues: create many runs of a Format at once, and get their statuses.

use serde_json::{Map, Value, json};
use svc_sdk::contract::limits::{BULK_CONCURRENCY_RANGE, BULK_ITEMS_RANGE};
use svc_sdk::contract::{ErrorCode, Operation, RunStatus};

use super::api_error::{ApiError, seconds};
use super::fields::Fields;
use super::formats::{
    check_no_active_run, check_previous_run_ended, check_state, create_once, defaults,
    find_callable, read,
};
use super::request::{Created, Request};
use super::response::{ApiResponse, ApiResult};
use super::runs::{self, RunRequest};
use crate::engine::formats::Format;
use crate::engine::queues::{Item, Queue};
use crate::engine::{Host, Hosts, State};
use crate::json_object::set_field;

/// The number of concurrent runs if the request has no `concurrency`.
const DEFAULT_CONCURRENCY: u64 = 4;

/// `POST …/bulk-runs`.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    let format = find_callable(request)?;
    create_once(request, "formats_bulk_create", format, |request| create_new(request, format))
}

fn create_new(request: &mut Request<'_>, format: &'static Format) -> Created {
    let fields = request.fields()?;
    let (concurrency, run_requests) = read_items(request, format, fields)?;
    check_state(format)?;
    for (index, (run_request, reject_if_active)) in run_requests.iter().enumerate() {
        let checked =
            check_previous_run_ended(request, run_request).and_then(|()| match reject_if_active {
                true => check_no_active_run(request, format),
                false => Ok(()),
            });
        checked.map_err(|error| with_item_index(error, index))?;
    }
    let applicable =
        run_requests.into_iter().map(|(run_request, _)| run_request.applicable(request));
    let (run_requests, given): (Vec<_>, Vec<_>) = applicable.collect();
    let configs: Vec<_> = run_requests
        .iter()
        .map(|run_request| run_request.clone().into_config(request, defaults(format)))
        .collect();
    runs::check_funds(request, &configs)?;
    for directives in &given {
        request.apply_directives(directives);
    }
    for (index, run_request) in run_requests.iter().enumerate() {
        runs::check_requested_error(run_request, request.hosts)
            .map_err(|error| with_item_index(error, index))?;
    }
    let items = configs.into_iter().map(|config| Item { config: Some(config), run_id: None });
    let queue = Queue {
        id: request.state.rng.id("frq"),
        workspace: request.workspace().to_owned(),
        format_id: format.id.to_owned(),
        concurrency: usize::try_from(concurrency).unwrap_or(1),
        created_at: request.now(),
        items: items.collect(),
    };
    let id = queue.id.clone();
    request.state.accept_queue(queue);
    let mut receipt = match request.state.queues.by_id(&id) {
        Some(queue) => view(request.state, queue, request.hosts),
        None => Value::Null,
    };
    set_field(&mut receipt, "request_id", json!(request.request_id));
    let stored = request.receipt_to_store(&receipt);
    Ok((ApiResponse::data(202, receipt), stored))
}

/// `GET /v1/format-run-queues/{queue_id}`.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    let queue = request.state.queues.by_id(request.id());
    let queue = queue.filter(|queue| queue.workspace == request.workspace());
    let queue = queue.ok_or_else(|| {
        let message = "queue not found in this workspace";
        ApiError::new(ErrorCode::FormatRunQueueNotFound, message)
    })?;
    Ok(ApiResponse::data(200, view(request.state, queue, request.hosts)))
}

/// Reads the concurrency and, for each item, its run and whether it is to be rejected if another
/// run is active.
fn read_items(
    request: &Request<'_>,
    format: &Format,
    fields: Fields<'_>,
) -> Result<(u64, Vec<(RunRequest, bool)>), ApiError> {
    runs::deny_unknown(fields, &["items", "concurrency", "webhook_url"], "a bulk queue")?;
    let concurrency = fields.integer("concurrency", BULK_CONCURRENCY_RANGE)?;
    let webhook_url = runs::webhook_url(fields)?;
    let items = fields.objects("items", BULK_ITEMS_RANGE)?;
    let items = items.ok_or_else(|| fields.error("items", "is required"))?;
    let read_item = |item: &Value| {
        let (mut run_request, reject_if_active) = read(request, format, request.fields_of(item)?)?;
        run_request.webhook_url = run_request.webhook_url.or_else(|| webhook_url.clone());
        Ok((run_request, reject_if_active))
    };
    let run_requests = items.iter().enumerate().map(|(index, item)| {
        read_item(item).map_err(|error: ApiError| with_item_index(error, index))
    });
    let run_requests: Result<_, ApiError> = run_requests.collect();
    Ok((concurrency.unwrap_or(DEFAULT_CONCURRENCY), run_requests?))
}

fn with_item_index(error: ApiError, index: usize) -> ApiError {
    error.detail("index", json!(index))
}

fn view(state: &State, queue: &Queue, hosts: &Hosts) -> Value {
    let statuses: Vec<RunStatus> = queue.items.iter().map(|item| state.item_status(item)).collect();
    let mut counts = Map::new();
    counts.insert("total".to_owned(), json!(statuses.len()));
    for status in RunStatus::KNOWN {
        let count = statuses.iter().filter(|other| *other == status).count();
        counts.insert(status.as_str().to_owned(), json!(count));
    }
    let is_completed = statuses.iter().all(RunStatus::is_terminal);
    let items = queue.items.iter().zip(&statuses).enumerate();
    let items: Vec<Value> = items
        .map(|(index, (item, status))| {
            json!({"index": index, "run_id": item.run_id, "status": status})
        })
        .collect();
    let path = Operation::FormatQueuesGet.expand(&[&queue.id]);
    json!({
        "queue_id": queue.id,
        "format_id": queue.format_id,
        "status": if is_completed { "completed" } else { "running" },
        "concurrency": queue.concurrency,
        "counts": counts,
        "items": items,
        "created_at": queue.created_at.to_string(),
        "status_url": format!("{}{}", hosts.base(Host::Developer), path.unwrap_or_default()),
        "next_poll_after_seconds": seconds(next_poll(state, queue, hosts)),
    })
}

/// Returns how long to wait until the next run of the queue is expected to end.
fn next_poll(state: &State, queue: &Queue, hosts: &Hosts) -> std::time::Duration {
    let runs = queue.items.iter().filter_map(|item| item.run_id.as_deref());
    let running =
        runs.filter_map(|id| state.runs.by_id(id)).filter(|run| !run.status.is_terminal());
    let hints = running.map(|run| run.timeline.next_poll(false, state.now, hosts));
    hints.min().unwrap_or_default()
}
