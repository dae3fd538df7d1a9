//! `svc webhook inbox show`: one event with its headers and body.

use std::collections::BTreeMap;

use clap::Args;
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use svc_webhook_inbox::EventId;

use super::item::{Item, age};
use super::{StoreArgs, not_found};
use crate::error::Failure;
use crate::output::{Table, write_stdout};
use crate::session::Session;
use crate::text::sanitize;
use crate::webhook::store_failure;

/// The flags of `svc webhook inbox show`.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Id of the event, as `svc webhook inbox list` prints it
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    store: StoreArgs,
    /// Print only the raw body, byte for byte
    #[arg(long)]
    body: bool,
}

/// An event with its headers and body.
#[derive(Serialize)]
struct Details {
    #[serde(flatten)]
    item: Item,
    headers: BTreeMap<String, Vec<String>>,
    /// The body as JSON, or as text if it is not JSON.
    body: Value,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Show) -> Result<(), Failure> {
    let address = args.store.require(session)?;
    let store = address.open_read_only().await?;
    let event = store.get(&EventId::new(&args.id)).await;
    let event = event.map_err(|error| store_failure(&error))?;
    let event = event.ok_or_else(|| not_found(&args.id, &address))?;
    if args.body {
        return write_stdout(&event.body);
    }
    let text = || Value::String(String::from_utf8_lossy(&event.body).into_owned());
    let details = Details {
        item: Item::new(&event),
        headers: header_values(&event.headers),
        body: serde_json::from_slice(&event.body).unwrap_or_else(|_| text()),
    };
    session.printer.print_item(&details, |details| {
        let item = &details.item;
        let mut table = Table::key_value();
        table.field("id", Some(&item.id));
        table.field("event", Some(sanitize(&item.event)));
        table.field("job", item.job_id.as_deref().map(sanitize));
        table.field("run", item.run_id.as_deref().map(sanitize));
        table.status_field("state", Some(item.state));
        table.field("attempts", Some(item.attempts));
        let received = format!("{} ({})", age(item.received_at), item.received_at);
        table.field("received", Some(received));
        table.field("due", item.due_at);
        table.field("finished", item.finished_at);
        table.field("error", item.error.as_deref().map(sanitize));
        for (name, values) in &details.headers {
            table.field(name, Some(sanitize(&values.join(", "))));
        }
        table.field("body", Some(sanitize(&details.body.to_string())));
        table
    })
}

fn header_values(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        values.entry(name.to_string()).or_default().push(value);
    }
    values
}
