//! `svc webhook test`: a test event, sent by the service.

use clap::Args;
use svc_sdk::Developer;
use svc_sdk::types::TestDeliveryCreate;

use crate::args::BodyArgs;
use crate::error::Failure;
use crate::output::Table;
use crate::request_body::RequestBody;
use crate::session::Session;

/// The flags of `svc webhook test`.
#[derive(Args, Debug)]
pub(crate) struct Test {
    /// Public HTTPS URL to send the event to
    #[arg(value_name = "URL", required_unless_present_any = ["params", "input"])]
    url: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Test) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let (url, fields) = RequestBody::read(&args.body)?
        .with("url", args.url)?
        .finish_with_text("url")?;
    let body = TestDeliveryCreate::new(url);
    let body = fields
        .into_iter()
        .fold(body, |body, (name, value)| body.field(name, value));
    let sent = session.send(client.webhooks().send_test(&body)).await;
    let delivery = sent.map_err(|failure| failure.context("could not send a test event"))?;
    session.printer.print_item(&delivery, |delivery| {
        let mut table = Table::key_value();
        table.field("delivery", delivery.delivery_id.as_ref());
        table.field("event", delivery.event.as_ref());
        table.field("to", delivery.url.as_ref());
        table.field("status", delivery.status.as_ref());
        table
    })
}
