//! `svc health`, `svc catalog`, `svc me` and `svc balance`.

use serde_json::Value;
use svc_sdk::Developer;
use svc_sdk::contract::{Operation, Scope};
use svc_sdk::types::{Me, ServiceCatalog};

use crate::commands::operations::command_of;
use crate::error::Result;
use crate::output::Table;
use crate::output::layout::{cut, required, whole};
use crate::session::Session;

pub(crate) async fn health(session: &Session) -> Result {
    let client = session.access_without_key::<Developer>()?.client;
    let health = client.catalog().health().await?;
    session.printer.print_item(&health, |health| {
        let mut table = Table::key_value();
        table.status_field("status", health.status.as_ref());
        for (name, value) in health.extra.iter() {
            table.field(name, Some(value));
        }
        table
    })
}

pub(crate) async fn catalog(session: &Session) -> Result {
    let client = session.access_without_key::<Developer>()?.client;
    let catalog = client.catalog().get().await?;
    session.printer.print_item(&catalog, catalog_table)
}

fn catalog_table(catalog: &ServiceCatalog) -> Table {
    if catalog.models.is_empty() {
        return Table::of(catalog, "capabilities, runtime, pricing");
    }
    let columns = [required("id"), whole("type"), cut("name"), cut("pricing")];
    Table::rows(&catalog.models, columns)
}

pub(crate) async fn me(session: &Session) -> Result {
    let client = session.access::<Developer>()?.client;
    let me = client.account().me().await?;
    session.printer.print_item(&me, me_table)
}

fn me_table(me: &Me) -> Table {
    let mut table = Table::key_value();
    if let Some(key) = &me.key {
        table.fields(key, "key=id, name, prefix, last used=last_used_at");
    }
    table.fields(me, "workspace=workspace.id, plan=workspace.plan");
    table.field("owner", me.owner.as_ref().map(format_owner));
    if let Some(limits) = me.generation_limits.as_ref() {
        let count = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let in_flight = count(limits.in_flight);
        let limit = count(limits.concurrent_jobs);
        table.field("jobs in flight", Some(format!("{in_flight} of {limit}")));
    }
    let Some(key) = &me.key else { return table };
    for scope in Scope::KNOWN {
        let allowed = if key.scopes.contains(scope) { "yes" } else { "no" };
        table.field(scope.as_str(), Some(format!("{allowed}: {}", commands_with_scope(scope))));
    }
    for scope in key.scopes.iter().filter(|it| !Scope::KNOWN.contains(it)) {
        table.field(scope.as_str(), Some("yes"));
    }
    table
}

/// Returns the name and the id of an owner, or all its fields if it has neither.
fn format_owner(owner: &Value) -> String {
    let text = |name: &str| owner.get(name).and_then(Value::as_str);
    match (text("name"), text("id")) {
        (Some(name), Some(id)) => format!("{name} ({id})"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => owner.to_string(),
    }
}

fn commands_with_scope(scope: &Scope) -> String {
    let mut commands: Vec<String> = Vec::new();
    for operation in Operation::ALL {
        let words = command_words(command_of(*operation));
        if operation.scope().as_ref() == Some(scope) && !commands.contains(&words) {
            commands.push(words);
        }
    }
    commands.join(", ")
}

/// Returns `run get` for `svc run get RUN_ID --kind action`.
fn command_words(cli: &str) -> String {
    let words = cli.split(' ').skip(1);
    let words: Vec<_> =
        words.take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    words.join(" ")
}

pub(crate) async fn balance(session: &Session) -> Result {
    let client = session.access::<Developer>()?.client;
    let balance = client.account().balance().await?;
    let fields = "available=available_usd, reserved=reserved_usd";
    session.printer.print_item(&balance, |balance| Table::of(balance, fields))
}
