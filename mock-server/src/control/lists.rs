//! Endpoints that list what the mock has, with filters that are the same everywhere.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use svc_sdk::contract::{JobStatus, Operation};

use super::body::ControlBody;
use super::clock::document;
use super::error::ControlApiError;
use super::request::{ControlRequest, ControlResult, Query, invalid_value, list, ok};
use crate::api::{ControlJobs, JobQuery};
use crate::engine::FaultTarget;
use crate::engine::keys::Source;
use crate::engine::ledger::{ControlLedger, EntryQuery};
use crate::engine::request_log::LoggedRequest;
use crate::engine::webhooks::DeliveryStatus;
use crate::engine::webhooks::log::DeliveryRecord;
use crate::mock_state::MockState;

const MAX_PAGE_SIZE: u64 = 1000;
const MAX_WAIT_SECONDS: u64 = 60;

/// The query parameters of each list.
pub(super) const REQUEST_PARAMETERS: &[&str] = &[
    "workspace",
    "key",
    "operation",
    "method",
    "path",
    "status",
    "since",
    "limit",
    "count",
    "wait",
];
pub(super) const JOB_PARAMETERS: &[&str] =
    &["workspace", "key", "operation", "status", "since", "cursor", "limit", "count", "wait"];
pub(super) const DELIVERY_PARAMETERS: &[&str] = &[
    "workspace",
    "key",
    "operation",
    "event",
    "subject_id",
    "status",
    "since",
    "limit",
    "count",
    "wait",
];
pub(super) const LEDGER_PARAMETERS: &[&str] =
    &["workspace", "wallet", "key", "operation", "since", "cursor", "limit"];

/// What a list shows and waits for, whatever it lists.
struct ListQuery<'q> {
    workspace: Option<&'q str>,
    key: Option<&'q str>,
    operation: Option<&'static str>,
    since: u64,
    limit: usize,
    count: u64,
}

impl<'q> ListQuery<'q> {
    fn read(query: &'q Query) -> Result<Self, ControlApiError> {
        let operation = query.text("operation").map(|name| {
            FaultTarget::from_name(name).map(FaultTarget::name).ok_or_else(|| {
                let nearest = FaultTarget::nearest(name);
                let expected = format!("the name of an operation, such as {nearest}");
                invalid_value("operation", name, &expected)
            })
        });
        let since = query.number("since", 0..=u64::MAX, "a sequence number")?;
        let limit = query.number("limit", 1..=MAX_PAGE_SIZE, "1 to 1000")?;
        wait_of(query)?;
        Ok(Self {
            workspace: query.text("workspace"),
            key: query.text("key"),
            operation: operation.transpose()?,
            since: since.unwrap_or_default(),
            limit: limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX),
            count: query.number("count", 0..=u64::MAX, "a number")?.unwrap_or(1),
        })
    }

    /// Returns whether the source of a job or run is the one asked for.
    fn includes_source(&self, source: Option<&Source>) -> bool {
        let key = source.map(|source| &*source.key);
        let operation = source.map(|source| source.operation.0.name());
        (self.key.is_none() || self.key == key)
            && (self.operation.is_none() || self.operation == operation)
    }

    /// Returns the response with the items that match, oldest first, each with its sequence number.
    fn respond<T>(
        &self,
        matching: impl Iterator<Item = (u64, T)>,
        last_seq: u64,
        view: impl Fn(T) -> Value,
    ) -> Value {
        let (mut matched, mut data, mut last) = (0_u64, Vec::new(), last_seq);
        for (seq, item) in matching {
            matched += 1;
            if data.len() < self.limit {
                data.push(view(item));
                last = seq;
            }
        }
        let is_complete = u64::try_from(data.len()).is_ok_and(|shown| shown == matched);
        json!({
            "data": data,
            "matched": matched,
            "satisfied": matched >= self.count,
            "next_since": if is_complete { last_seq } else { last },
        })
    }
}

/// Returns how long a list waits for what it counts.
pub(super) fn wait_of(query: &Query) -> Result<Duration, ControlApiError> {
    let seconds = query.number("wait", 0..=MAX_WAIT_SECONDS, "0 to 60 seconds")?;
    Ok(Duration::from_secs(seconds.unwrap_or_default()))
}

/// The filter of requests, which verifications use as well.
pub(super) struct RequestFilter<'q> {
    query: ListQuery<'q>,
    method: Option<&'q str>,
    path: Option<&'q str>,
    status: Option<u64>,
}

impl<'q> RequestFilter<'q> {
    pub(super) fn read(query: &'q Query) -> Result<Self, ControlApiError> {
        Ok(Self {
            method: query.text("method"),
            path: query.text("path"),
            status: query.number("status", 100..=599, "an HTTP status")?,
            query: ListQuery::read(query)?,
        })
    }

    /// Returns the sequence number after which requests are compared.
    pub(super) fn since(&self) -> u64 {
        self.query.since
    }

    /// Returns the fields that are compared, and whether those of a request are equal.
    fn comparisons(&self, entry: &LoggedRequest) -> [(&'static str, bool); 6] {
        let path = entry.path.split('?').next().unwrap_or_default();
        let is_same = |expected: Option<&str>, actual: Option<&str>| {
            expected.is_none_or(|it| actual == Some(it))
        };
        let status = entry.status.map(u64::from);
        [
            ("method", self.method.is_none_or(|it| it.eq_ignore_ascii_case(&entry.method))),
            ("path", self.path.is_none_or(|it| it == path || it == entry.path)),
            ("operation", is_same(self.query.operation, entry.operation.as_deref())),
            ("workspace", is_same(self.query.workspace, entry.workspace.as_deref())),
            ("key", is_same(self.query.key, entry.key.as_deref())),
            ("status", self.status.is_none_or(|it| status == Some(it))),
        ]
    }

    pub(super) fn includes(&self, entry: &LoggedRequest) -> bool {
        self.comparisons(entry).iter().all(|(_, is_equal)| *is_equal)
    }

    /// Returns the fields of a request that do not match the filter, with their values in the request.
    pub(super) fn differences(&self, entry: &LoggedRequest) -> Vec<(&'static str, Value)> {
        let differing = self.comparisons(entry).into_iter().filter(|(_, is_equal)| !is_equal);
        let actual = |field| match field {
            "method" => json!(entry.method),
            "path" => json!(entry.path),
            "operation" => json!(entry.operation),
            "workspace" => json!(entry.workspace),
            "key" => json!(entry.key),
            "status" => json!(entry.status),
            _ => Value::Null,
        };
        differing.map(|(field, _)| (field, actual(field))).collect()
    }
}

pub(super) fn requests(request: &mut ControlRequest<'_>) -> ControlResult {
    let filter = RequestFilter::read(&request.query)?;
    let log = &request.mock.simulator.state.request_log;
    let matching = log.after(filter.since()).filter(|entry| filter.includes(entry));
    let matching = matching.map(|entry| (entry.seq, entry));
    ok(filter.query.respond(matching, log.last_seq(), LoggedRequest::view))
}

pub(super) fn request(request: &mut ControlRequest<'_>) -> ControlResult {
    let seq =
        request.id.parse().map_err(|_| invalid_value("id", request.id, "a sequence number"))?;
    let not_found =
        || ControlApiError::not_found(format!("request {seq} not found in the journal"));
    ok(request_view(request.mock, seq).ok_or_else(not_found)?)
}

/// Returns a request in the request log, with its exchange as far as that is stored.
pub(crate) fn request_view(state: &MockState, seq: u64) -> Option<Value> {
    let mut view = state.simulator.request(seq)?;
    let exchange = state.exchanges.view(seq, view.get("headers")?).unwrap_or_else(
        || json!({"duration_ms": null, "request": null, "response": null, "account": null}),
    );
    if let (Some(fields), Value::Object(exchange)) = (view.as_object_mut(), exchange) {
        fields.extend(exchange);
    }
    Some(view)
}

pub(super) fn deliveries(request: &mut ControlRequest<'_>) -> ControlResult {
    let query = ListQuery::read(&request.query)?;
    let status = request.query.text("status").map(|name| {
        serde_json::from_value::<DeliveryStatus>(json!(name)).map_err(|_| {
            let expected = "pending, retrying, delivered, failed or exhausted";
            invalid_value("status", name, expected)
        })
    });
    let status = status.transpose()?;
    let (event, subject) = (request.query.text("event"), request.query.text("subject_id"));
    let state = &request.mock.simulator.state;
    let is_asked_for = |record: &&DeliveryRecord| {
        let id = record.subject_id.as_deref();
        record.seq > query.since
            && query.workspace.is_none_or(|it| record.workspace == it)
            && query.includes_source(id.and_then(|id| state.source_of(id)))
            && event.is_none_or(|it| record.event == it)
            && subject.is_none_or(|it| id == Some(it))
            && status.is_none_or(|it| record.delivery_status == Some(it))
    };
    let log = &state.delivery_log;
    let matching = log.iter().filter(is_asked_for).map(|record| (record.seq, record));
    ok(query.respond(matching, log.last_seq(), DeliveryRecord::view))
}

/// Reads the page of a list that grows without bound: its start and its length.
fn page_of(query: &Query) -> Result<(usize, Option<usize>), ControlApiError> {
    let cursor = query.number("cursor", 0..=u64::MAX, "the next_cursor of a page")?;
    let since = query.number("since", 0..=u64::MAX, "a sequence number")?;
    let start = usize::try_from(cursor.max(since).unwrap_or_default()).unwrap_or(usize::MAX);
    let limit = query.number("limit", 1..=MAX_PAGE_SIZE, "1 to 1000")?;
    let is_page = limit.is_some() || cursor.is_some();
    let limit = usize::try_from(limit.unwrap_or(MAX_PAGE_SIZE)).unwrap_or(usize::MAX);
    Ok((start, is_page.then_some(limit)))
}

pub(super) fn jobs(request: &mut ControlRequest<'_>) -> ControlResult {
    let query = ListQuery::read(&request.query)?;
    let status = request.query.text("status").map(JobStatus::from);
    if let Some(JobStatus::Other(name)) = &status {
        let known: Vec<_> = JobStatus::KNOWN.iter().map(JobStatus::as_str).collect();
        return Err(invalid_value("status", name, &format!("one of {}", known.join(", "))));
    }
    let (start, limit) = page_of(&request.query)?;
    let query = JobQuery {
        workspace: query.workspace.map(str::to_owned),
        key: query.key.map(str::to_owned),
        operation: query.operation.and_then(Operation::from_name),
        status,
        start,
        limit,
        count: query.count,
    };
    if limit.is_some() {
        let simulator = &request.mock.simulator;
        let (state, hosts) = (&simulator.state, simulator.hosts());
        let page = ControlBody::json(&ControlJobs { state, hosts, query: &query });
        return Ok((StatusCode::OK, page));
    }
    let hosts = request.mock.simulator.hosts().clone();
    document(request.mock, move |copy, writer| {
        let (state, hosts, query) = (&copy.state, &hosts, &query);
        serde_json::to_writer(writer, &ControlJobs { state, hosts, query })
    })
}

pub(super) fn job(request: &mut ControlRequest<'_>) -> ControlResult {
    let not_found = || ControlApiError::not_found(format!("job {:?} not found", request.id));
    ok(request.mock.simulator.job(request.id).ok_or_else(not_found)?)
}

pub(super) fn runs(request: &mut ControlRequest<'_>) -> ControlResult {
    let workspace = request.query.text("workspace");
    let runs = request.mock.simulator.runs().into_iter();
    list(runs.filter(|run| workspace.is_none_or(|it| run.get("workspace") == Some(&json!(it)))))
}

pub(super) fn run(request: &mut ControlRequest<'_>) -> ControlResult {
    let not_found = || ControlApiError::not_found(format!("run {:?} not found", request.id));
    ok(request.mock.simulator.run(request.id).ok_or_else(not_found)?)
}

pub(super) fn ledger(request: &mut ControlRequest<'_>) -> ControlResult {
    let list_query = ListQuery::read(&request.query)?;
    let (start, limit) = page_of(&request.query)?;
    let wallet = match request.query.text("wallet") {
        None => None,
        Some("organization") => Some(true),
        Some("workspace") => Some(false),
        Some(other) => return Err(invalid_value("wallet", other, "workspace or organization")),
    };
    let has_source = list_query.key.is_some() || list_query.operation.is_some();
    let subjects = has_source.then(|| {
        let sources = request.mock.simulator.state.sources();
        let asked_for = sources.filter(|(_, source)| list_query.includes_source(*source));
        asked_for.map(|(id, _)| id.to_owned()).collect()
    });
    let query = EntryQuery {
        workspace: list_query.workspace.map(str::to_owned),
        is_organization: wallet,
        subjects,
        start,
        limit,
    };
    if limit.is_some() {
        let ledger = &request.mock.simulator.state.ledger;
        return Ok((StatusCode::OK, ControlBody::json(&ControlLedger { ledger, query: &query })));
    }
    document(request.mock, move |copy, writer| {
        let (ledger, query) = (&copy.state.ledger, &query);
        serde_json::to_writer(writer, &ControlLedger { ledger, query })
    })
}

pub(super) fn limits(request: &mut ControlRequest<'_>) -> ControlResult {
    list(filtered(request.mock.simulator.limits(), &request.query, "key"))
}

pub(super) fn keys(request: &mut ControlRequest<'_>) -> ControlResult {
    list(filtered(request.mock.simulator.keys(), &request.query, "id"))
}

/// Returns the items of the workspace and the key that a query asks for.
fn filtered(items: Vec<Value>, query: &Query, key_field: &str) -> Vec<Value> {
    let is = |item: &Value, field: &str, expected: Option<&str>| {
        expected.is_none_or(|it| item.get(field).and_then(Value::as_str) == Some(it))
    };
    let (workspace, key) = (query.text("workspace"), query.text("key"));
    let items = items.into_iter();
    items.filter(|it| is(it, "workspace", workspace) && is(it, key_field, key)).collect()
}

pub(super) fn top_ups(request: &mut ControlRequest<'_>) -> ControlResult {
    list(filtered(request.mock.simulator.top_ups(), &request.query, "key"))
}
