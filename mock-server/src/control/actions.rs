//! What each request of the control API does.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};

use super::error::ControlApiError;
use super::request::{Ask, Done};
use crate::clock::{NotManual, Pace};
use crate::engine::{Fault, NewKey, RestoreError, Time};
use crate::mock_state::MockState;

/// The furthest that the clock moves at once: a hundred years.
const FURTHEST_SECONDS: f64 = 3_155_760_000.0;

fn ok(value: Value) -> Done {
    Ok((StatusCode::OK, value))
}

fn list<T: serde::Serialize>(items: &[T]) -> Done {
    ok(json!({"data": items}))
}

pub(super) fn reset(state: &mut MockState, ask: &Ask<'_>) -> Done {
    ask.nothing()?;
    state.simulator.reset();
    clock(state, ask)
}

pub(super) fn clock(state: &mut MockState, _: &Ask<'_>) -> Done {
    let now = caught_up(state);
    let (mode, speed) = match state.clock.pace() {
        Pace::Manual => ("manual", None),
        Pace::Real(speed) => ("real", Some(speed.factor())),
    };
    ok(json!({
        "now": now.to_string(),
        "mode": mode,
        "speed": speed,
        "epoch": state.clock.epoch().to_string(),
        "next_due": state.simulator.next_due().map(|due| due.to_string()),
    }))
}

pub(super) fn advance_clock(state: &mut MockState, ask: &Ask<'_>) -> Done {
    advance(state, span(ask)?)?;
    clock(state, ask)
}

/// How far the clock is to be moved.
pub(super) fn span(ask: &Ask<'_>) -> Result<Duration, ControlApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Advance {
        seconds: f64,
    }
    let Advance { seconds } = ask.body()?;
    if !(0.0..=FURTHEST_SECONDS).contains(&seconds) {
        let limits = format!("seconds: must be from 0 to {FURTHEST_SECONDS}, but is {seconds}");
        return Err(ControlApiError::invalid(limits));
    }
    Ok(Duration::from_secs_f64(seconds))
}

pub(super) fn faults(state: &mut MockState, _: &Ask<'_>) -> Done {
    list(state.simulator.faults())
}

pub(super) fn add_fault(state: &mut MockState, ask: &Ask<'_>) -> Done {
    let fault: Fault = ask.body()?;
    state.simulator.add_fault(fault)?;
    list(state.simulator.faults())
}

pub(super) fn clear_faults(state: &mut MockState, _: &Ask<'_>) -> Done {
    state.simulator.clear_faults();
    list(state.simulator.faults())
}

pub(super) fn add_key(state: &mut MockState, ask: &Ask<'_>) -> Done {
    let key: NewKey = ask.body()?;
    let now = state.clock.now();
    let added = state.simulator.add_key(now, key)?;
    Ok((StatusCode::CREATED, json!(added)))
}

pub(super) fn settle_top_up(state: &mut MockState, ask: &Ask<'_>) -> Done {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settle {
        status: TopUpStatus,
    }
    let Settle { status } = ask.body()?;
    let now = state.clock.now();
    ok(state.simulator.settle_top_up(now, ask.id, status)?)
}

pub(super) fn jobs(state: &mut MockState, _: &Ask<'_>) -> Done {
    caught_up(state);
    list(&state.simulator.jobs())
}

pub(super) fn end_job(state: &mut MockState, ask: &Ask<'_>) -> Done {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct End {
        status: JobStatus,
        code: Option<ErrorCode>,
    }
    let End { status, code } = ask.body()?;
    let now = state.clock.now();
    ok(state.simulator.end_job(now, ask.id, status, code)?)
}

pub(super) fn requests(state: &mut MockState, ask: &Ask<'_>) -> Done {
    let mut since = 0;
    for pair in ask.query.split('&').filter(|pair| !pair.is_empty()) {
        since = match pair.split_once('=') {
            Some(("since", number)) => number.parse().map_err(|_| {
                ControlApiError::invalid(format!(
                    "since: must be a sequence number, but is {number:?}"
                ))
            })?,
            _ => {
                let unknown = format!("GET /requests takes ?since=N, not {pair:?}");
                return Err(ControlApiError::invalid(unknown));
            }
        };
    }
    list(&state.simulator.journal(since))
}

pub(super) fn deliveries(state: &mut MockState, _: &Ask<'_>) -> Done {
    caught_up(state);
    list(&state.simulator.deliveries())
}

pub(super) fn whole_ledger(state: &mut MockState, _: &Ask<'_>) -> Done {
    ok(ledger(state))
}

pub(super) fn state(state: &mut MockState, _: &Ask<'_>) -> Done {
    ok(snapshot(state))
}

pub(super) fn put_state(state: &mut MockState, ask: &Ask<'_>) -> Done {
    restore(state, ask.body()?)?;
    clock(state, ask)
}

/// Does all that fell due by now, and says when that is.
fn caught_up(state: &mut MockState) -> Time {
    let now = state.clock.now();
    state.catch_up(now);
    now
}

/// Moves a manual clock, and does all that falls due on the way.
pub(crate) fn advance(state: &mut MockState, span: Duration) -> Result<Time, NotManual> {
    let target = state.clock.after(span)?;
    state.catch_up(target);
    state.clock.set(target);
    Ok(target)
}

/// Every entry of the ledger, and each workspace's balance.
pub(crate) fn ledger(state: &mut MockState) -> Value {
    caught_up(state);
    let mut workspaces = Map::new();
    for mut balance in state.simulator.balances() {
        if let Some(Value::String(workspace)) = balance
            .as_object_mut()
            .and_then(|fields| fields.remove("workspace"))
        {
            workspaces.insert(workspace, balance);
        }
    }
    json!({"data": state.simulator.ledger(), "workspaces": workspaces})
}

/// The whole state.
pub(crate) fn snapshot(state: &mut MockState) -> Value {
    let now = caught_up(state);
    state.simulator.snapshot(now)
}

/// Takes up a state; the clock goes on from its moment.
pub(crate) fn restore(state: &mut MockState, document: Value) -> Result<(), RestoreError> {
    let now = state.simulator.restore(document)?;
    state.clock.set(now);
    Ok(())
}
