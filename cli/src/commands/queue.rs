//! `svc queue`: bulk queues of Format runs.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::handle::QueueResource;

use crate::args::{DownloadArgs, PageArgs, ReceiptArgs, WaitArgs, headings};
use crate::commands::history::{self, newest_entry};
use crate::download::DownloadPlan;
use crate::error::Result;
use crate::follow::ResourceKind;
use crate::follow::queue::report;
use crate::follow::wait::{self, Waiter};
use crate::output::ObjectKind;
use crate::resource::ResourceId;
use crate::session::{EMPTY_SANDBOX, Session};

#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// List the bulk queues that this machine submitted, newest first
    List(ListQueues),
    /// Show the status of a queue and of its items
    Get {
        /// Queue id
        #[arg(value_name = "QUEUE_ID")]
        id: String,
    },
    /// Wait until all items have ended, and print their results
    ///
    /// With --download, the files are named after the items: 1.png, and 1-2.png for a second one. The
    /// exit code is 7 if an item failed, or else 8 if one was canceled or skipped.
    Wait(WaitForQueue),
}

#[derive(Args, Debug)]
pub(crate) struct ListQueues {
    /// Ask the service for the current status of each listed queue
    #[arg(long)]
    refresh: bool,
    #[command(flatten)]
    page: PageArgs,
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

pub(crate) async fn run(session: &Session, queue: Queue) -> Result {
    if let Queue::Wait(WaitForQueue { id: None, last: false, .. }) = &queue {
        return Err(wait::no_ids("queue"));
    }
    if let Queue::List(args) = &queue {
        return list(session, args).await;
    }
    let access = session.access::<Developer>()?;
    match queue {
        Queue::List(_) => Ok(()),
        Queue::Get { id } => {
            let call = access.client.queues().handle(id).get();
            session.printer.print_object(ObjectKind::Queue, &call.await?, report::queue)
        }
        Queue::Wait(args) => {
            let plan = DownloadPlan::for_items(session, &args.download)?;
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
                    ReceiptArgs::default(),
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

async fn list(session: &Session, args: &ListQueues) -> Result {
    let mut entries = session.submitted().await?;
    entries.retain(|entry| matches!(entry.resource, Some(ResourceId::Queue(_))));
    history::print(session, entries, &args.page, args.refresh, "queues").await?;
    session.printer.note(match session.is_sandbox() {
        true => EMPTY_SANDBOX,
        false => "these are the queues that this machine submitted: the service does not list them",
    });
    Ok(())
}

async fn newest_queue(session: &Session) -> Result<String> {
    let is_queue = |id: &ResourceId, _: &_| matches!(id, ResourceId::Queue(_));
    let (id, _) = newest_entry(session, "queue", is_queue).await?;
    Ok(id.id().to_owned())
}
