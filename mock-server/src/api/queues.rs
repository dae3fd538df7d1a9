//! Bulk queues: many runs of a Format at once, and how they stand.

use serde_json::{Map, Value, json};
use svc_sdk::contract::limits::{BULK_CONCURRENCY, BULK_ITEMS};
use svc_sdk::contract::{ErrorCode, Operation, RunStatus};

use super::api_error::{ApiError, seconds};
use super::fields::Fields;
use super::formats::{
    check_no_active_run, check_previous_run_ended, check_state, defaults, find_callable, read,
    replay,
};
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use super::runs::{self, RunRequest};
use crate::engine::formats::Format;
use crate::engine::queues::{Item, Queue};
use crate::engine::{Host, Hosts, State};

/// How many runs of a queue are in flight at once, where the request does not say.
const DEFAULT_CONCURRENCY: u64 = 4;

/// `POST …/bulk-runs`.
pub(super) fn create(request: &mut Request<'_>) -> ApiResult {
    let format = find_callable(request)?;
    let slot = match replay(request, "formats_bulk_create", format)? {
        Ok(receipt) => return Ok(ApiResponse::data(200, receipt)),
        Err(slot) => slot,
    };
    let fields = Fields::of_body(request.body()?)?;
    let (concurrency, run_request) = read_items(request, format, fields)?;
    check_state(format)?;
    for (index, (run_request, rejects)) in run_request.iter().enumerate() {
        let stands = check_previous_run_ended(request, run_request).and_then(|()| match rejects {
            true => check_no_active_run(request, format),
            false => Ok(()),
        });
        stands.map_err(|error| with_item_index(error, index))?;
    }
    let configs: Vec<_> = run_request
        .iter()
        .map(|(run_request, _)| run_request.clone().into_config(request, defaults(format)))
        .collect();
    runs::check_funds(request, &configs)?;
    for (index, (run_request, _)) in run_request.iter().enumerate() {
        runs::check_refusal(run_request).map_err(|error| with_item_index(error, index))?;
    }
    let items = configs.into_iter().map(|config| Item {
        config: Some(config),
        run_id: None,
    });
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
    if let Some(fields) = receipt.as_object_mut() {
        fields.insert("request_id".to_owned(), json!(request.request_id));
    }
    request.store_receipt(slot, &receipt);
    Ok(ApiResponse::data(202, receipt))
}

/// `GET /v1/format-run-queues/{queue_id}`.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    let queue = request.state.queues.by_id(request.id());
    let ours = queue.filter(|queue| queue.workspace == request.workspace());
    let queue = ours.ok_or_else(|| {
        let message = "There is no such queue in this workspace.";
        ApiError::new(ErrorCode::FormatRunQueueNotFound, message)
    })?;
    Ok(ApiResponse::data(
        200,
        view(request.state, queue, request.hosts),
    ))
}

/// The concurrency, and what each item asks for and whether it wants to be the only run.
fn read_items(
    request: &Request<'_>,
    format: &Format,
    fields: Fields<'_>,
) -> Result<(u64, Vec<(RunRequest, bool)>), ApiError> {
    runs::deny_unknown(
        fields,
        &["items", "concurrency", "webhook_url"],
        "a bulk queue",
    )?;
    let concurrency = fields.integer("concurrency", BULK_CONCURRENCY)?;
    let webhook_url = runs::webhook_url(fields)?;
    let items = fields.objects("items", BULK_ITEMS)?;
    let items = items.ok_or_else(|| fields.error("items", "is required"))?;
    let nothing = Map::new();
    let read_item = |item: &Value| {
        let fields = Fields::within("", item.as_object().unwrap_or(&nothing));
        let (mut run_request, rejects) = read(request, format, fields)?;
        run_request.webhook_url = run_request.webhook_url.or_else(|| webhook_url.clone());
        Ok((run_request, rejects))
    };
    let run_request = items.iter().enumerate().map(|(index, item)| {
        read_item(item).map_err(|error: ApiError| with_item_index(error, index))
    });
    let run_request: Result<_, ApiError> = run_request.collect();
    Ok((concurrency.unwrap_or(DEFAULT_CONCURRENCY), run_request?))
}

fn with_item_index(error: ApiError, index: usize) -> ApiError {
    error.detail("index", json!(index))
}

/// A queue as it is read.
fn view(state: &State, queue: &Queue, hosts: &Hosts) -> Value {
    let statuses: Vec<RunStatus> = queue
        .items
        .iter()
        .map(|item| state.item_status(item))
        .collect();
    let mut counts = Map::new();
    counts.insert("total".to_owned(), json!(statuses.len()));
    for status in RunStatus::KNOWN {
        let so_many = statuses.iter().filter(|other| *other == status).count();
        counts.insert(status.as_str().to_owned(), json!(so_many));
    }
    let over = statuses.iter().all(RunStatus::is_terminal);
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
        "status": if over { "completed" } else { "running" },
        "concurrency": queue.concurrency,
        "counts": counts,
        "items": items,
        "created_at": queue.created_at.to_string(),
        "status_url": format!("{}{}", hosts.base(Host::Developer), path.unwrap_or_default()),
        "next_poll_after_seconds": seconds(hosts.client_time(next_poll(state, queue))),
    })
}

/// When the next of its runs is expected to end.
fn next_poll(state: &State, queue: &Queue) -> std::time::Duration {
    let runs = queue.items.iter().filter_map(|item| item.run_id.as_deref());
    let running = runs
        .filter_map(|id| state.runs.by_id(id))
        .filter(|run| !run.status.is_terminal());
    let hints = running.map(|run| run.timeline.poll_hint(false, state.now));
    hints.min().unwrap_or_default()
}
