//! Handlers of the endpoints that show more of the state, and of those that the dashboard needs.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::actions::{clock, list, ok};
use super::error::ControlApiError;
use super::request::{ControlRequest, ControlResult};
use crate::addresses::DEMO_WORKSPACE;
use crate::clock::{ClockMode, Speed};
use crate::mock_state::MockState;

pub(super) fn set_clock(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct SetClock {
        mode: Mode,
        speed: Option<f64>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Manual,
        Real,
    }
    let SetClock { mode, speed } = request.body()?;
    let clock_mode = match (mode, speed) {
        (Mode::Real, None) => ClockMode::default(),
        (Mode::Real, Some(factor)) => {
            let speed = Speed::new(factor);
            ClockMode::Real(speed.map_err(|error| {
                ControlApiError::invalid(format!("speed: invalid value {factor}: {error}"))
            })?)
        }
        (Mode::Manual, None) => ClockMode::Manual,
        (Mode::Manual, Some(_)) => {
            let message = "speed: only allowed with the mode real";
            return Err(ControlApiError::invalid(message));
        }
    };
    state.clock.set_clock_mode(clock_mode);
    state.simulator.set_speed(match clock_mode {
        ClockMode::Real(speed) => speed.factor(),
        ClockMode::Manual => 1.0,
    });
    clock(state, request)
}

pub(super) fn keys(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.keys())
}

pub(super) fn workspaces(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.workspaces())
}

pub(super) fn limits(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.limits())
}

pub(super) fn top_ups(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.top_ups())
}

pub(super) fn pay_in(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct PayIn {
        workspace: Option<String>,
        amount_usd: String,
    }
    let PayIn { workspace, amount_usd } = request.body()?;
    let amount = amount_usd.trim().parse().map_err(|_| {
        ControlApiError::invalid(format!(
            "amount_usd: invalid amount {amount_usd:?}: expected dollars, such as 20.00"
        ))
    })?;
    let workspace = workspace.unwrap_or_else(|| DEMO_WORKSPACE.to_owned());
    let now = state.clock.now();
    let top_up = state.simulator.pay_in(now, &workspace, amount)?;
    Ok((StatusCode::CREATED, top_up.into()))
}

pub(super) fn runs(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.runs())
}

pub(super) fn request(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let seq = request.id.parse().map_err(|_| {
        let id = request.id;
        ControlApiError::invalid(format!("invalid value {id:?}: expected a sequence number"))
    })?;
    let view = request_view(state, seq);
    ok(view.ok_or_else(|| {
        ControlApiError::not_found(format!("request {seq} not found in the journal"))
    })?)
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

pub(super) fn redeliver(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    request.empty_body()?;
    let now = state.clock.now();
    ok(state.simulator.redeliver(now, request.id)?)
}
