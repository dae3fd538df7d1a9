//! `svc webhook inbox`: the events that `svc webhook listen`, or a receiver with the same store,
//! has received.

mod item;
mod list;
mod purge;
mod replay;
mod show;

use clap::{Args, Subcommand};

use crate::error::{ClientCode, Exit, Failure};
use crate::session::Session;
use crate::webhook::StoreAddress;

/// The subcommands of `svc webhook inbox`.
#[derive(Debug, Subcommand)]
pub(crate) enum Inbox {
    /// List received events, newest first
    List(list::List),
    /// Show an event with its headers and body
    Show(show::Show),
    /// Have events handled again
    ///
    /// Handled and dead events become pending. A running `svc webhook listen` on the same server or
    /// database forwards them; with a file, the next one does.
    Replay(replay::Replay),
    /// Remove old events that are handled or dead
    ///
    /// If the service delivers a removed event again, it counts as new.
    Purge(purge::Purge),
}

/// The flag `--store` of commands that need one.
#[derive(Args, Debug)]
struct StoreArgs {
    /// Store of the events: a file, or a URL that begins with sqlite:, postgres://, redis:// or
    /// nats:// (required) [env: SVC_WEBHOOK_STORE]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<StoreAddress>,
}

impl StoreArgs {
    fn require(self, session: &Session) -> Result<StoreAddress, Failure> {
        StoreAddress::require(self.store, session)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, inbox: Inbox) -> Result<(), Failure> {
    match inbox {
        Inbox::List(args) => list::run(session, args).await,
        Inbox::Show(args) => show::run(session, args).await,
        Inbox::Replay(args) => replay::run(session, args).await,
        Inbox::Purge(args) => purge::run(session, args).await,
    }
}

fn not_found(id: &str, store: &StoreAddress) -> Failure {
    Failure::new(
        Exit::NotFound,
        format!("there is no event `{id}` in {store}"),
    )
    .with_client_code(ClientCode::NotFound)
}
