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
    ControlError, CreatedWorkspace, NewAsset, NewWorkspace, State, WorkspaceUpdate,
};
use crate::json_object::set_field;
use crate::mock_state::MockState;
use crate::simulator::with_workspace;
use crate::webhook_route::ActiveRoute;

pub(super) fn faults(request: &mut ControlRequest<'_>) -> ControlResult {
    let workspace = request.query.text("workspace");
    let rules = request.mock.simulator.state.fault_rules.all().iter();
    list(rules.filter(|it| workspace.is_none() || it.fault.workspace.as_deref() == workspace))
}

pub(super) fn add_fault(request: &mut ControlRequest<'_>) -> ControlResult {
    let id = request.change(State::add_fault)?;
    ok(json!({"data": request.state().fault_rules.all(), "id": id}))
}

pub(super) fn clear_faults(request: &mut ControlRequest<'_>) -> ControlResult {
    let rules = &mut request.mock.simulator.state.fault_rules;
    rules.clear(request.query.text("workspace"));
    list(rules.all())
}

pub(super) fn remove_fault(request: &mut ControlRequest<'_>) -> ControlResult {
    let id = request.id;
    request.state().remove_fault(id)?;
    list(request.state().fault_rules.all())
}

pub(super) fn revoke_key(request: &mut ControlRequest<'_>) -> ControlResult {
    let id = request.id;
    ok(revoked(request.state(), id)?)
}

pub(crate) fn revoked(state: &mut State, id: &str) -> Result<Value, ControlError> {
    let key = state.revoke_key(id)?;
    Ok(json!({
        "id": key.id,
        "workspace": key.workspace,
        "scopes": key.scopes,
        "revoked": key.revoked,
    }))
}

pub(super) fn create_workspace(request: &mut ControlRequest<'_>) -> ControlResult {
    let new: NewWorkspace = request.body()?;
    let MockState { simulator, addresses, .. } = &mut *request.mock;
    created(created_workspace(&mut simulator.state, new, addresses)?)
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

pub(super) fn update_workspace(request: &mut ControlRequest<'_>) -> ControlResult {
    let id = request.id;
    ok(request.change(|state, update| updated_workspace(state, id, update))?)
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

pub(super) fn add_asset(request: &mut ControlRequest<'_>) -> ControlResult {
    let asset: NewAsset = request.body()?;
    let mut view = json!(asset);
    let id = request.state().add_asset(asset)?;
    let simulator = &request.mock.simulator;
    set_field(&mut view, "url", json!(simulator.state.assets.url(&id, simulator.hosts())));
    set_field(&mut view, "asset_id", json!(id));
    created(view)
}

pub(super) fn host_addresses(request: &mut ControlRequest<'_>) -> ControlResult {
    list(request.state().host_addresses.all())
}

pub(super) fn set_host_address(request: &mut ControlRequest<'_>) -> ControlResult {
    request.change(|state, entry| state.set_host_address(&entry))?;
    host_addresses(request)
}

pub(super) fn clear_host_addresses(request: &mut ControlRequest<'_>) -> ControlResult {
    request.state().host_addresses.clear();
    host_addresses(request)
}

pub(super) fn pay_in(request: &mut ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct PayIn {
        workspace: Option<String>,
        #[serde(deserialize_with = "amount")]
        amount_usd: Option<Usd>,
    }
    let PayIn { workspace, amount_usd } = request.body()?;
    let workspace = workspace.unwrap_or_else(|| DEMO_WORKSPACE.to_owned());
    let top_up = request.state().pay_in(&workspace, amount_usd.unwrap_or_default())?.clone();
    created(with_workspace(top_up.view(request.mock.simulator.hosts()), &workspace))
}

pub(super) fn settle_top_up(request: &mut ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settle {
        status: TopUpStatus,
    }
    let Settle { status } = request.body()?;
    ok(request.mock.simulator.settle_top_up(request.id, status)?)
}

pub(super) fn end_job(request: &mut ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct End {
        status: JobStatus,
        code: Option<ErrorCode>,
    }
    let End { status, code } = request.body()?;
    ok(request.mock.simulator.end_job(request.id, status, code)?)
}

pub(super) fn redeliver(request: &mut ControlRequest<'_>) -> ControlResult {
    request.empty_body()?;
    ok(request.mock.simulator.redeliver(request.id)?)
}

pub(super) fn actions(request: &mut ControlRequest<'_>) -> ControlResult {
    let state = request.state();
    list(ACTIONS.iter().map(|action| action_view(state, action.id)))
}

pub(super) fn set_schedule(request: &mut ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct SetSchedule {
        schedule_active: bool,
    }
    let id = request.id;
    let SetSchedule { schedule_active } = request.body()?;
    request.state().set_schedule_active(id, schedule_active)?;
    ok(action_view(request.state(), id))
}

fn action_view(state: &State, id: &str) -> Value {
    let number = ACTIONS.iter().position(|action| action.id == id);
    let next = number.and_then(|number| state.next_scheduled_run(number));
    json!({
        "id": id,
        "schedule_active": next.is_some(),
        "next_run_at": next.map(|at| at.to_string()),
    })
}

pub(super) fn webhook_routes(request: &mut ControlRequest<'_>) -> ControlResult {
    list(request.mock.dispatch.routes.iter().map(ActiveRoute::view))
}

pub(super) fn add_webhook_route(request: &mut ControlRequest<'_>) -> ControlResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NewRoute {
        origin: String,
        to: String,
        workspace: Option<String>,
    }
    let NewRoute { origin, to, workspace } = request.body()?;
    let hosts = &request.mock.addresses.allowed_hosts;
    let route = crate::WebhookRoute::new(&origin, &to, hosts)
        .map_err(|error| ControlApiError::invalid(error.to_string()))?;
    if let Some(workspace) = &workspace {
        request.state().check_has_workspace(workspace)?;
    }
    let id = request.mock.add_webhook_route(route, workspace);
    let mut routes = request.mock.dispatch.routes.iter();
    created(routes.find(|route| route.id == id).map(ActiveRoute::view))
}

pub(super) fn remove_webhook_route(request: &mut ControlRequest<'_>) -> ControlResult {
    if !request.mock.remove_webhook_route(request.id) {
        return Err(ControlApiError::not_found(format!("route {:?} not found", request.id)));
    }
    webhook_routes(request)
}
