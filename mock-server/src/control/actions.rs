//! Handlers of the control API endpoints.

use std::io::Write;
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use super::body::{ControlBody, Document};
use super::error::ControlApiError;
use super::request::{ControlRequest, ControlResult};
use crate::api::ControlJobs;
use crate::clock::{ClockMode, NotManual};
use crate::engine::ledger::ControlLedger;
use crate::engine::snapshot::{self, Snapshot};
use crate::engine::{Fault, NewKey, RestoreError, State, Time};
use crate::mock_state::MockState;

/// The maximum span of a single advance: a hundred years.
const MAX_ADVANCE_SECONDS: f64 = 3_155_760_000.0;

pub(super) fn ok(value: Value) -> ControlResult {
    Ok((StatusCode::OK, value.into()))
}

pub(super) fn list<T: serde::Serialize>(items: &[T]) -> ControlResult {
    ok(json!({"data": items}))
}

pub(super) fn reset(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    request.empty_body()?;
    state.simulator.reset();
    clock(state, request)
}

pub(super) fn clock(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    ok(clock_view(state))
}

/// Returns the JSON representation of the clock.
pub(crate) fn clock_view(state: &mut MockState) -> Value {
    let now = catch_up_clock(state);
    let (mode, speed) = match state.clock.clock_mode() {
        ClockMode::Manual => ("manual", None),
        ClockMode::Real(speed) => ("real", Some(speed.factor())),
    };
    json!({
        "now": now.to_string(),
        "mode": mode,
        "speed": speed,
        "epoch": state.clock.epoch().to_string(),
        "next_due": state.simulator.next_due().map(|due| due.to_string()),
    })
}

pub(super) fn advance_clock(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    advance(state, advance_span(request)?)?;
    clock(state, request)
}

/// Parses the span of a request to advance the clock.
pub(super) fn advance_span(request: &ControlRequest<'_>) -> Result<Duration, ControlApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Advance {
        seconds: f64,
    }
    let Advance { seconds } = request.body()?;
    if !(0.0..=MAX_ADVANCE_SECONDS).contains(&seconds) {
        let message =
            format!("seconds: invalid value {seconds}: expected 0 to {MAX_ADVANCE_SECONDS}");
        return Err(ControlApiError::invalid(message));
    }
    Ok(Duration::from_secs_f64(seconds))
}

pub(super) fn faults(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(state.simulator.faults())
}

pub(super) fn add_fault(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let fault: Fault = request.body()?;
    state.simulator.add_fault(fault)?;
    list(state.simulator.faults())
}

pub(super) fn clear_faults(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    state.simulator.clear_faults();
    list(state.simulator.faults())
}

pub(super) fn add_key(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let key: NewKey = request.body()?;
    let now = state.clock.now();
    let added = state.simulator.add_key(now, key)?;
    Ok((StatusCode::CREATED, json!(added).into()))
}

pub(super) fn settle_top_up(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settle {
        status: TopUpStatus,
    }
    let Settle { status } = request.body()?;
    let now = state.clock.now();
    ok(state.simulator.settle_top_up(now, request.id, status)?)
}

pub(super) fn jobs(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    catch_up_clock(state);
    if let Some(page) = request.page()? {
        let page = ControlBody::json(&state.simulator.jobs_page(Some(page)));
        return Ok((StatusCode::OK, page));
    }
    let hosts = state.simulator.hosts().clone();
    document(state, move |copy, writer| {
        let (state, hosts, page) = (&copy.state, &hosts, None);
        serde_json::to_writer(writer, &ControlJobs { state, hosts, page })
    })
}

pub(super) fn end_job(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct End {
        status: JobStatus,
        code: Option<ErrorCode>,
    }
    let End { status, code } = request.body()?;
    let now = state.clock.now();
    ok(state.simulator.end_job(now, request.id, status, code)?)
}

pub(super) fn requests(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let mut since = 0;
    for pair in request.query.split('&').filter(|pair| !pair.is_empty()) {
        since = match pair.split_once('=') {
            Some(("since", number)) => number.parse().map_err(|_| {
                ControlApiError::invalid(format!(
                    "since: invalid value {number:?}: expected a sequence number"
                ))
            })?,
            _ => {
                let message = format!("unknown query parameter {pair:?}: expected ?since=N");
                return Err(ControlApiError::invalid(message));
            }
        };
    }
    list(&state.simulator.requests(since))
}

pub(super) fn deliveries(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    catch_up_clock(state);
    list(&state.simulator.deliveries())
}

pub(super) fn get_ledger(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    catch_up_clock(state);
    if let Some(page) = request.page()? {
        let page = ControlBody::json(&state.simulator.ledger_page(Some(page)));
        return Ok((StatusCode::OK, page));
    }
    document(state, |copy, writer| {
        let (ledger, page) = (&copy.state.ledger, None);
        serde_json::to_writer(writer, &ControlLedger { ledger, page })
    })
}

pub(super) fn state(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    catch_up_clock(state);
    document(state, |copy, writer| serde_json::to_writer(writer, copy))
}

/// Responds with a document that is written from a copy of the state.
fn document(
    state: &MockState,
    write: impl FnOnce(&Snapshot, &mut dyn Write) -> serde_json::Result<()> + Send + 'static,
) -> ControlResult {
    let copy = state.simulator.copy_to_write();
    let document = Document::new(move |writer| Ok(write(&copy, writer)?));
    Ok((StatusCode::OK, ControlBody::Document(document)))
}

pub(super) fn restore_state(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    replace(state, snapshot::read(&request.body[..])?);
    clock(state, request)
}

/// Continues from a state, including the time of its clock, and returns the one before.
pub(super) fn replace(state: &mut MockState, restored: State) -> State {
    let before = state.simulator.replace_state(restored);
    state.clock.set(state.simulator.now());
    before
}

/// Handles everything that is due, and returns the current time.
fn catch_up_clock(state: &mut MockState) -> Time {
    let now = state.clock.now();
    state.catch_up(now);
    now
}

/// Advances a manual clock, and handles everything that becomes due.
pub(crate) fn advance(state: &mut MockState, span: Duration) -> Result<Time, NotManual> {
    let target = state.clock.after(span)?;
    state.catch_up(target);
    state.clock.set(target);
    Ok(target)
}

/// Returns all ledger entries and the balance of each workspace.
pub(crate) fn ledger(state: &mut MockState) -> Value {
    catch_up_clock(state);
    json!(state.simulator.ledger_page(None))
}

pub(crate) fn snapshot(state: &mut MockState) -> Value {
    let now = catch_up_clock(state);
    state.simulator.snapshot(now)
}

/// Restores a state, including the time of the clock.
pub(crate) fn restore(state: &mut MockState, document: Value) -> Result<(), RestoreError> {
    let now = state.simulator.restore(document)?;
    state.clock.set(now);
    Ok(())
}
