//! Handlers of the endpoints that change workspaces and what they have access to.

use http::StatusCode;
use serde_json::json;

use super::actions::{list, ok};
use super::request::{ControlRequest, ControlResult};
use crate::engine::{Grant, HostAddress, NewAsset, WorkspaceUpdate};
use crate::mock_state::MockState;

pub(super) fn revoke_key(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let now = state.clock.now();
    ok(state.simulator.revoke_key(now, request.id)?)
}

pub(super) fn update_workspace(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    let update: WorkspaceUpdate = request.body()?;
    let now = state.clock.now();
    ok(state.simulator.update_workspace(now, request.id, update)?)
}

pub(super) fn grants(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.grants())
}

pub(super) fn grant_format(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let grant: Grant = request.body()?;
    let granted = state.simulator.grant_format(grant)?;
    Ok((StatusCode::CREATED, json!(granted).into()))
}

pub(super) fn add_asset(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let asset: NewAsset = request.body()?;
    let mut created = json!(asset);
    let id = state.simulator.add_asset(asset)?;
    if let Some(fields) = created.as_object_mut() {
        fields.insert("asset_id".to_owned(), json!(id));
    }
    Ok((StatusCode::CREATED, created.into()))
}

pub(super) fn host_addresses(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.host_addresses())
}

pub(super) fn set_host_address(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    let entry: HostAddress = request.body()?;
    state.simulator.set_host_address(&entry)?;
    list(&state.simulator.host_addresses())
}

pub(super) fn clear_host_addresses(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    state.simulator.clear_host_addresses();
    list(&state.simulator.host_addresses())
}
