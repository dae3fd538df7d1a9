//! `svc queue`: bulk queues of Format runs.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::handle::QueueResource;

use crate::args::{DownloadArgs, WaitArgs, headings};
use crate::commands::history::newest_entry;
use crate::download::DownloadPlan;
use crate::error::Failure;
use crate::output::ObjectKind;
use crate::resource::queue::report;
use crate::resource::{ReceiptMode, ResourceId, ResourceKind};
use crate::session::Session;
use crate::wait::{self, Waiter};

#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// Show the status of a queue and of its items
    Get {
        /// Queue id
        #[arg(value_name = "QUEUE_ID")]
        id: String,
    },
    /// Wait until all items have ended, and print their results
    ///
    /// With --download, the files of each item are stored in a subdirectory named by its index. The
    /// exit code is 7 if an item failed, or else 8 if one was canceled or skipped.
    Wait(WaitForQueue),
}

#[derive(Args, Debug)]
pub(crate) struct WaitForQueue {
    /// Queue id, such as frq_123 (required unless --last)
    #[arg(value_name = "QUEUE_ID")]
    id: Option<String>,
    /// Wait for the newest queue that this machine submitted
    #[arg(long, conflicts_with = "id", help_heading = headings::REQUEST)]
    last: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    download: DownloadArgs,
}

pub(crate) async fn run(session: &Session, queue: Queue) -> Result<(), Failure> {
    if let Queue::Wait(WaitForQueue { id: None, last: false, .. }) = &queue {
        return Err(wait::no_ids("queue"));
    }
    let access = session.access::<Developer>()?;
    match queue {
        Queue::Get { id } => {
            let call = access.client.queues().handle(id).get();
            session.printer.print_object(ObjectKind::Queue, &call.await?, report::queue)
        }
        Queue::Wait(args) => {
            let plan = DownloadPlan::from_args(session, &args.download)?;
            if let Some(plan) = &plan {
                plan.check_is_folder("a bulk queue")?;
            }
            let id = match args.id {
                Some(id) => id,
                None => newest_queue(session).await?,
            };
            let waiter = Waiter {
                session,
                resource: access.client.queues().handle(id),
                args: &args.wait,
                download: plan.as_ref(),
            };
            let printed = match waiter.wait().await {
                Ok(finished) => QueueResource::print_result(
                    &waiter.resource,
                    session,
                    finished,
                    ReceiptMode::default(),
                ),
                Err(failure) => Err(failure),
            };
            let id = QueueResource::resource_id(&waiter.resource);
            let outcome = wait::outcome_of(&printed);
            session.close_intent(&access.base_url, &id, outcome).await;
            printed
        }
    }
}

/// Returns the id of the newest queue in the journal.
async fn newest_queue(session: &Session) -> Result<String, Failure> {
    let is_queue = |id: &ResourceId, _: &_| matches!(id, ResourceId::Queue(_));
    let (id, _) = newest_entry(session, "queue", is_queue).await?;
    Ok(id.id().to_owned())
}
