//! The caller's account: key and workspace, balance, and usage.

use serde_json::{Value, json};

use super::pagination;
use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::keys::ApiKey;
use crate::engine::ledger::LedgerView;
use crate::engine::workspaces::{Workspace, WorkspaceKind};
use crate::engine::{KeyKind, Time};

/// `GET /v1/me`: the key, its owner and its workspace. The response never contains the secret of the
/// key.
pub(super) fn me(request: &mut Request<'_>) -> ApiResult {
    let id = request.workspace();
    let workspaces = &request.state.workspaces;
    let Some((key, workspace)) = request.caller.zip(workspaces.get(id)) else {
        return Ok(ApiResponse::data(200, Value::Null));
    };
    let me = json!({
        "key": key_view(key, request.now()),
        "owner": owner(key, workspace),
        "workspace": {
            "id": id,
            "name": workspace.name,
            "kind": workspace.kind,
            "plan": workspace.plan,
        },
        "generation_limits": {
            "concurrent_jobs": request.state.plan_limits.concurrent_jobs(&workspace.plan),
            "in_flight": request.state.jobs.in_flight(id),
        },
    });
    Ok(ApiResponse::data(200, me))
}

fn key_view(key: &ApiKey, now: Time) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "prefix": key.kind.prefix(),
        "scopes": key.scopes,
        "last_used_at": now.to_string(),
    })
}

/// Returns the owner of a key: a service account, or else the team or user that the workspace
/// belongs to.
fn owner(key: &ApiKey, workspace: &Workspace) -> Value {
    let (kind, prefix) = match (key.kind, workspace.kind) {
        (KeyKind::ServiceAccount, _) => ("service_account", "sa"),
        (_, WorkspaceKind::Team) => ("team", "team"),
        (_, WorkspaceKind::Personal) => ("user", "usr"),
    };
    let name = &workspace.name;
    json!({"type": kind, "id": format!("{prefix}_{name}"), "name": name})
}

/// `GET /v1/balance`.
pub(super) fn balance(request: &mut Request<'_>) -> ApiResult {
    let account = request.state.ledger.account(request.workspace());
    let (available, reserved) =
        account.map(|account| (account.available, account.reserved)).unwrap_or_default();
    let balance = json!({
        "available_usd": available,
        "reserved_usd": reserved,
        "currency": "USD",
    });
    Ok(ApiResponse::data(200, balance))
}

/// `GET /v1/usage`: the ledger, newest first. `limit` and `cursor` page through it.
pub(super) fn usage(request: &mut Request<'_>) -> ApiResult {
    let limit = pagination::limit(request)?;
    let ledger = &request.state.ledger;
    let before = pagination::before(request, |cursor| {
        cursor.parse().ok().filter(|seq| ledger.has(request.workspace(), *seq))
    })?;
    let (entries, next) = pagination::page(ledger.newest_first(request.workspace(), before), limit);
    let next_cursor = next.map(|(seq, _)| seq.to_string());
    let items = entries.iter().map(|(_, entry)| LedgerView(entry)).collect();
    Ok(ApiResponse::page(items, next_cursor.as_deref()))
}
