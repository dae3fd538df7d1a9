//! `svc webhook`: tools for receivers of webhooks.
//!
//! `secret` and `test` call the service; the others work offline.

mod inbox;
mod listen;
mod secret;
mod sign;
mod test;
mod trigger;
mod verify;

use clap::Subcommand;

use crate::error::Failure;
use crate::session::Session;

/// The subcommands of `svc webhook`.
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Show and rotate the workspace's signing secret
    #[command(subcommand)]
    Secret(secret::Secret),
    /// Send a signed test event from the service to a URL
    Test(test::Test),
    /// Receive webhooks on this machine: verify, store and forward them
    ///
    /// Prints one line when it is ready, and one for each event. Runs until Ctrl-C, or until it can
    /// no longer receive events.
    Listen(listen::Listen),
    /// List, show, replay and purge received events
    #[command(subcommand)]
    Inbox(inbox::Inbox),
    /// Verify the signature of a delivery (offline)
    ///
    /// The exit code is 0 if the delivery is genuine and recent, and 1 if it is rejected; the reason
    /// is printed to stderr.
    Verify(verify::Verify),
    /// Sign a body as the service does (offline)
    Sign(sign::Sign),
    /// Create and sign an event, and send it to a receiver (does not call the service)
    ///
    /// The exit code is 0 if the receiver returns a 2xx status, 1 if it returns another status, and
    /// 10 if it cannot be reached.
    Trigger(trigger::Trigger),
}

/// Runs the command.
pub(crate) async fn run(session: &Session, webhook: Webhook) -> Result<(), Failure> {
    match webhook {
        Webhook::Secret(args) => secret::run(session, args).await,
        Webhook::Test(args) => test::run(session, args).await,
        Webhook::Listen(args) => listen::run(session, args).await,
        Webhook::Inbox(args) => inbox::run(session, args).await,
        Webhook::Verify(args) => verify::run(session, &args),
        Webhook::Sign(args) => sign::run(session, &args),
        Webhook::Trigger(args) => trigger::run(session, args).await,
    }
}
