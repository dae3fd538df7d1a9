//! `svc webhook test`: a test event from the service itself.

use clap::Args;
use svc_sdk::Developer;
use svc_sdk::types::TestDeliveryCreate;

use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;

/// The flags of `svc webhook test`.
#[derive(Args, Debug)]
pub(crate) struct Test {
    /// Where it is sent: public https.
    #[arg(value_name = "URL")]
    url: String,
}

/// Runs it.
pub(super) async fn run(session: &Session, args: Test) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let body = TestDeliveryCreate::new(args.url);
    let sent = tokio::select! {
        biased;
        sent = client.test_deliveries_create(&body).send() => sent.map_err(Failure::from),
        () = session.interrupts.first() => Err(Failure::unanswered()),
    };
    let delivery = sent.map_err(|failure| failure.during("could not send a test event"))?;
    session.printer.one(&delivery, |delivery| {
        let mut table = Table::of_fields();
        table.field("delivery", delivery.delivery_id.as_ref());
        table.field("event", delivery.event.as_ref());
        table.field("to", delivery.url.as_ref());
        table.field("status", delivery.status.as_ref());
        table
    })
}
