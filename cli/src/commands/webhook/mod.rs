//! `svc webhook`: receiving webhooks, and all that one needs for it.
//!
//! `secret` and `test` ask the service; the others need no service.

mod listen;
mod secret;
mod sign;
mod test;
mod trigger;
mod verify;

use clap::Subcommand;

use crate::error::Failure;
use crate::session::Session;

/// Webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// The workspace's signing secret.
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Has the service send a signed test event to a URL.
    Test(test::Test),
    /// Receives webhooks: verifies them, keeps them, and forwards them to a program here.
    ///
    /// It prints one line when it is ready and one for each event. It ends with Ctrl-C, and with a
    /// failure when it can no longer receive.
    Listen(listen::Listen),
    /// Says whether a delivery is genuine. Needs no service.
    Verify(verify::Verify),
    /// Signs a body as the service does. Needs no service.
    Sign(sign::Sign),
    /// Makes an event, signs it, and sends it to a receiver. Needs no service.
    Trigger(trigger::Trigger),
}

/// Runs it.
pub(crate) async fn run(session: &Session, webhook: Webhook) -> Result<(), Failure> {
    match webhook {
        Webhook::Secret(args) => secret::run(session, args).await,
        Webhook::Test(args) => test::run(session, args).await,
        Webhook::Listen(args) => listen::run(session, args).await,
        Webhook::Verify(args) => verify::run(session, &args),
        Webhook::Sign(args) => sign::run(session, &args),
        Webhook::Trigger(args) => trigger::run(session, args).await,
    }
}
