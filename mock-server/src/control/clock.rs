//! Endpoints of the clock and of the whole state.

use std::io::Write;
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::{ControlBody, Document};
use super::error::ControlApiError;
use super::request::{ControlRequest, ControlResult, Query, invalid_value, ok, read_body};
use crate::clock::{ClockMode, NotManual, Speed};
use crate::engine::snapshot::{self, ClockModeName, ClockSetting, ReadState, Snapshot};
use crate::engine::{RestoreError, State, Time};
use crate::json_object::set_field;
use crate::mock_state::MockState;

/// The maximum span of a single advance: a hundred years.
const MAX_ADVANCE_SECONDS: f64 = 3_155_760_000.0;

pub(super) fn reset(request: &mut ControlRequest<'_>) -> ControlResult {
    request.empty_body()?;
    request.mock.reset();
    get(request)
}

pub(super) fn get(request: &mut ControlRequest<'_>) -> ControlResult {
    ok(clock_view(request.mock))
}

pub(crate) fn clock_view(state: &mut MockState) -> Value {
    let now = catch_up(state);
    let ClockSetting { mode, speed } = clock_setting(state);
    json!({
        "now": now.to_string(),
        "mode": mode,
        "speed": speed,
        "epoch": state.clock.epoch().to_string(),
        "next_due": state.simulator.next_due().map(|due| due.to_string()),
    })
}

fn clock_setting(state: &MockState) -> ClockSetting {
    match state.clock.clock_mode() {
        ClockMode::Manual => ClockSetting { mode: ClockModeName::Manual, speed: None },
        ClockMode::Real(speed) => {
            ClockSetting { mode: ClockModeName::Real, speed: Some(speed.factor()) }
        }
    }
}

pub(super) fn set(request: &mut ControlRequest<'_>) -> ControlResult {
    let setting = request.body()?;
    apply(request.mock, setting)?;
    get(request)
}

/// Pauses the clock, or lets it run at a speed.
fn apply(state: &mut MockState, setting: ClockSetting) -> Result<(), ControlApiError> {
    let clock_mode = match setting {
        ClockSetting { mode: ClockModeName::Real, speed: None } => ClockMode::default(),
        ClockSetting { mode: ClockModeName::Real, speed: Some(factor) } => {
            let speed = Speed::new(factor);
            ClockMode::Real(speed.map_err(|error| {
                ControlApiError::invalid(format!("speed: invalid value {factor}: {error}"))
            })?)
        }
        ClockSetting { mode: ClockModeName::Manual, speed: None } => ClockMode::Manual,
        ClockSetting { mode: ClockModeName::Manual, speed: Some(_) } => {
            let message = "speed: only allowed with the mode real";
            return Err(ControlApiError::invalid(message));
        }
    };
    state.clock.set_clock_mode(clock_mode);
    state.simulator.set_speed(match clock_mode {
        ClockMode::Real(speed) => speed.factor(),
        ClockMode::Manual => 1.0,
    });
    Ok(())
}

pub(super) fn advance_clock(request: &mut ControlRequest<'_>) -> ControlResult {
    advance(request.mock, advance_span(request.body)?)?;
    get(request)
}

/// Parses the body of a request to advance the clock.
pub(super) fn advance_span(body: &[u8]) -> Result<Duration, ControlApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Advance {
        seconds: f64,
    }
    let Advance { seconds } = read_body(body)?;
    if !(0.0..=MAX_ADVANCE_SECONDS).contains(&seconds) {
        let message =
            format!("seconds: invalid value {seconds}: expected 0 to {MAX_ADVANCE_SECONDS}");
        return Err(ControlApiError::invalid(message));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Advances a manual clock, and handles everything that becomes due.
pub(crate) fn advance(state: &mut MockState, span: Duration) -> Result<Time, NotManual> {
    let target = state.clock.after(span)?;
    state.catch_up(target);
    state.clock.set(target);
    Ok(target)
}

/// Handles everything that is due, and returns the current time.
fn catch_up(state: &mut MockState) -> Time {
    let now = state.clock.now();
    state.catch_up(now);
    now
}

pub(super) fn export(request: &mut ControlRequest<'_>) -> ControlResult {
    let clock = Some(clock_setting(request.mock));
    document(request.mock, move |copy, writer| {
        copy.clock = clock;
        serde_json::to_writer(writer, copy)
    })
}

/// Responds with a document that is written from a copy of the state.
pub(super) fn document(
    state: &MockState,
    write: impl FnOnce(&mut Snapshot, &mut dyn Write) -> serde_json::Result<()> + Send + 'static,
) -> ControlResult {
    let mut copy = state.simulator.copy_to_write();
    let document = Document::new(move |writer| Ok(write(&mut copy, writer)?));
    Ok((StatusCode::OK, ControlBody::Document(document)))
}

pub(super) fn import(request: &mut ControlRequest<'_>) -> ControlResult {
    let keeps_clock = keeps_clock(&request.query)?;
    replace(request.mock, snapshot::read(&mut &request.body[..])?, keeps_clock)?;
    get(request)
}

/// Returns whether a restore leaves the mode and the speed of the clock as they are.
pub(super) fn keeps_clock(query: &Query) -> Result<bool, ControlApiError> {
    match query.text("clock") {
        None => Ok(false),
        Some("keep") => Ok(true),
        Some(other) => Err(invalid_value("clock", other, "keep")),
    }
}

/// Continues from a state, including the time of its clock and, unless it is kept, how that ran.
/// Returns the state before.
pub(super) fn replace(
    state: &mut MockState,
    (restored, clock): ReadState,
    keeps_clock: bool,
) -> Result<State, ControlApiError> {
    if let Some(setting) = clock.filter(|_| !keeps_clock) {
        apply(state, setting)?;
    }
    let before = state.simulator.replace_state(restored);
    state.clock.set(state.simulator.now());
    Ok(before)
}

/// Returns the complete state, with how its clock runs.
pub(crate) fn snapshot(state: &mut MockState) -> Value {
    let now = catch_up(state);
    let mut document = state.simulator.snapshot(now);
    set_field(&mut document, "clock", json!(clock_setting(state)));
    document
}

pub(crate) fn restore(state: &mut MockState, document: Value) -> Result<(), RestoreError> {
    let restored = replace(state, snapshot::from_value(document)?, false);
    restored.map(drop).map_err(|error| RestoreError(error.message))
}
