//! Endpoints that change what the mock has: faults, keys, workspaces, assets, jobs and others.

use serde::Deserialize;
use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, TopUpStatus};
use svc_sdk::types::Usd;

use super::error::ControlApiError;
use super::request::{ControlRequest, ControlResult, created, list, ok};
use crate::addresses::{Addresses, DEMO_WORKSPACE};
use crate::engine::actions::ACTIONS;
use crate::engine::ledger::organization_account;
use crate::engine::workspaces::amount;
use crate::engine::{
    ControlError, CreatedWorkspace, Fault, Grant, HostAddress, NewAsset, NewKey, NewWorkspace,
    State, WorkspaceUpdate,
};
use crate::mock_state::MockState;
use crate::simulator::with_workspace;
use crate::webhook_route::ActiveRoute;

pub(super) fn faults(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let workspace = request.query.text("workspace");
    let rules = state.simulator.state.fault_rules.all().iter();
    let rules =
        rules.filter(|it| workspace.is_none() || it.fault.workspace.as_deref() == workspace);
    list(&rules.collect::<Vec<_>>())
}

pub(super) fn add_fault(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let fault: Fault = request.body()?;
    let id = state.simulator.state.add_fault(fault)?;
    ok(json!({"data": state.simulator.state.fault_rules.all(), "id": id}))
}

pub(super) fn clear_faults(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    state.simulator.state.fault_rules.clear(request.query.text("workspace"));
    list(state.simulator.state.fault_rules.all())
}

pub(super) fn remove_fault(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    state.simulator.state.remove_fault(request.id)?;
    list(state.simulator.state.fault_rules.all())
}

pub(super) fn add_key(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let key: NewKey = request.body()?;
    created(&state.simulator.state.add_key(key)?)
}

pub(super) fn revoke_key(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    ok(revoked(&mut state.simulator.state, request.id)?)
}

/// Revokes a key by its id and returns it.
pub(crate) fn revoked(state: &mut State, id: &str) -> Result<Value, ControlError> {
    let key = state.revoke_key(id)?;
    Ok(json!({
        "id": key.id,
        "workspace": key.workspace,
        "scopes": key.scopes,
        "revoked": key.revoked,
    }))
}

pub(super) fn create_workspace(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    let new: NewWorkspace = request.body()?;
    let addresses = state.addresses.clone();
    created(&created_workspace(&mut state.simulator.state, new, &addresses)?)
}

/// Creates a workspace, and returns what a test needs to use it.
pub(crate) fn created_workspace(
    state: &mut State,
    new: NewWorkspace,
    addresses: &Addresses,
) -> Result<CreatedWorkspace, ControlError> {
    let [open, developer] = state.create_workspace(new)?;
    let secret = state.workspaces.get(&open.workspace).map(|it| it.signing_secret.clone());
    let secret = secret.unwrap_or_default();
    let env = addresses.environment(&open.key, &developer.key, secret.clone());
    Ok(CreatedWorkspace {
        id: open.workspace,
        open_api_key: open.key,
        developer_api_key: developer.key,
        webhook_secret: secret,
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    })
}

pub(super) fn update_workspace(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    let update: WorkspaceUpdate = request.body()?;
    ok(updated_workspace(&mut state.simulator.state, request.id, update)?)
}

/// Changes a workspace, or creates it if it does not exist, and returns it.
pub(crate) fn updated_workspace(
    state: &mut State,
    id: &str,
    update: WorkspaceUpdate,
) -> Result<Value, ControlError> {
    state.update_workspace(id, update)?;
    let workspace = state.workspaces.get(id);
    let organization = state.ledger.account(&organization_account(id));
    Ok(json!({
        "id": id,
        "name": workspace.map(|workspace| &workspace.name),
        "kind": workspace.map(|workspace| workspace.kind),
        "plan": workspace.map(|workspace| &workspace.plan),
        "balance_usd": state.ledger.available(id),
        "organization_wallet": workspace.map(|workspace| workspace.organization_wallet),
        "organization_balance_usd": organization.map(|account| account.available),
    }))
}

pub(super) fn grant(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let grant: Grant = request.body()?;
    created(&state.simulator.state.grant(grant)?)
}

pub(super) fn add_asset(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    let asset: NewAsset = request.body()?;
    let mut view = json!(asset);
    let id = state.simulator.state.add_asset(asset)?;
    if let Some(fields) = view.as_object_mut() {
        let url = state.simulator.state.assets.url(&id, state.simulator.hosts());
        fields.insert("asset_id".to_owned(), json!(id));
        fields.insert("url".to_owned(), json!(url));
    }
    created(&view)
}

pub(super) fn host_addresses(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.simulator.state.host_addresses.all().collect::<Vec<_>>())
}

pub(super) fn set_host_address(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    let entry: HostAddress = request.body()?;
    state.simulator.state.set_host_address(&entry)?;
    host_addresses(state, request)
}

pub(super) fn clear_host_addresses(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    state.simulator.state.host_addresses.clear();
    host_addresses(state, request)
}

pub(super) fn pay_in(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct PayIn {
        workspace: Option<String>,
        #[serde(deserialize_with = "amount")]
        amount_usd: Option<Usd>,
    }
    let PayIn { workspace, amount_usd } = request.body()?;
    let amount = amount_usd.unwrap_or_default();
    let workspace = workspace.unwrap_or_else(|| DEMO_WORKSPACE.to_owned());
    let hosts = state.simulator.hosts().clone();
    let top_up = state.simulator.state.pay_in(&workspace, amount)?;
    created(&with_workspace(top_up.view(&hosts), &workspace))
}

pub(super) fn settle_top_up(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settle {
        status: TopUpStatus,
    }
    let Settle { status } = request.body()?;
    ok(state.simulator.settle_top_up(request.id, status)?)
}

pub(super) fn end_job(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct End {
        status: JobStatus,
        code: Option<ErrorCode>,
    }
    let End { status, code } = request.body()?;
    ok(state.simulator.end_job(request.id, status, code)?)
}

pub(super) fn redeliver(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    request.empty_body()?;
    ok(state.simulator.redeliver(request.id)?)
}

pub(super) fn actions(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    let actions = ACTIONS.iter().map(|action| action.id);
    list(&actions.map(|id| action_view(&state.simulator.state, id)).collect::<Vec<_>>())
}

pub(super) fn set_schedule(state: &mut MockState, request: &ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct SetSchedule {
        schedule_active: bool,
    }
    let SetSchedule { schedule_active } = request.body()?;
    state.simulator.state.set_schedule_active(request.id, schedule_active)?;
    ok(action_view(&state.simulator.state, request.id))
}

fn action_view(state: &State, id: &str) -> Value {
    let actions = ACTIONS.iter().enumerate();
    let next = actions.filter(|(_, action)| action.id == id);
    let next = next.filter_map(|(number, _)| state.next_scheduled_run(number)).next();
    json!({
        "id": id,
        "schedule_active": next.is_some(),
        "next_run_at": next.map(|at| at.to_string()),
    })
}

pub(super) fn webhook_routes(state: &mut MockState, _: &ControlRequest<'_>) -> ControlResult {
    list(&state.dispatch.routes.iter().map(ActiveRoute::view).collect::<Vec<_>>())
}

pub(super) fn add_webhook_route(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NewRoute {
        origin: String,
        to: String,
        workspace: Option<String>,
    }
    let NewRoute { origin, to, workspace } = request.body()?;
    let hosts = &state.addresses.allowed_hosts;
    let route = crate::WebhookRoute::new(&origin, &to, hosts)
        .map_err(|error| ControlApiError::invalid(error.to_string()))?;
    if let Some(workspace) = &workspace {
        state.simulator.state.check_has_workspace(workspace)?;
    }
    let id = state.add_webhook_route(route, workspace);
    let view = state.dispatch.routes.iter().find(|route| route.id == id).map(ActiveRoute::view);
    created(&view)
}

pub(super) fn remove_webhook_route(
    state: &mut MockState,
    request: &ControlRequest<'_>,
) -> ControlResult {
    if !state.remove_webhook_route(request.id) {
        return Err(ControlApiError::not_found(format!("route {:?} not found", request.id)));
    }
    webhook_routes(state, request)
}
