//! `svc queue`: bulk queues of Format runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::handle::QueueResource;
use svc_sdk::types::QueueId;

use crate::args::WaitArgs;
use crate::error::Failure;
use crate::resource::queue::tables;
use crate::resource::{ReceiptMode, Resource};
use crate::session::Session;
use crate::wait::{self, Waiter};

/// Bulk queues.
#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// Shows how a queue stands, and each of its items.
    Get {
        /// The queue's id.
        #[arg(value_name = "QUEUE_ID")]
        id: String,
    },
    /// Waits until every item has ended, and prints what each came to. The exit code is 7 where one
    /// failed, else 8 where one was canceled or skipped.
    Wait(Wait),
}

/// The flags of `svc queue wait`.
#[derive(Args, Debug)]
pub(crate) struct Wait {
    /// The queue's id.
    #[arg(value_name = "QUEUE_ID")]
    id: String,
    #[command(flatten)]
    wait: WaitArgs,
    /// Stores what was made: each item's files in a folder of that one, named by its index.
    #[arg(long, value_name = "DIR")]
    download: Option<PathBuf>,
}

/// Runs it.
pub(crate) async fn run(session: &Session, queue: Queue) -> Result<(), Failure> {
    let access = session.access::<Developer>()?;
    match queue {
        Queue::Get { id } => {
            let call = access.client.queues().handle(&QueueId::from(id)).get();
            session.printer.print_item(&call.await?, tables::queue)
        }
        Queue::Wait(args) => {
            if let Some(folder) = &args.download {
                wait::check_writable(folder)?;
            }
            let waiter = Waiter {
                session,
                resource: access.client.queues().handle(args.id),
                args: &args.wait,
                download: args.download.as_deref(),
            };
            let printed = match waiter.wait().await {
                Ok(finished) => QueueResource::print_result(
                    &waiter.resource,
                    session,
                    &finished,
                    ReceiptMode::default(),
                ),
                Err(failure) => Err(failure),
            };
            let id = QueueResource::resource_id(&waiter.resource);
            session.close_intent(&access.base_url, &id, wait::outcome_of(&printed));
            printed
        }
    }
}
