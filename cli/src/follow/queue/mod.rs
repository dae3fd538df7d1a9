//! Bulk queues of Format runs.

pub(crate) mod report;

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;
use svc_sdk::contract::{QueueStatus, RunStatus};
use svc_sdk::developer::Client;
use svc_sdk::download::DownloadProgress;
use svc_sdk::handle::{FormatRun, Handle, QueueResource};
use svc_sdk::types::{Queue, RequestId};
use svc_sdk::{Error, Update, Updates};

use crate::args::{ReceiptArgs, SurfaceChoice};
use crate::download::DownloadPlan;
use crate::error::{Failure, Result, SuggestedCommand};
use crate::follow::queue::report::{FinishedItem, FinishedQueue};
use crate::follow::run::{RunKind, terminal_receipt};
use crate::follow::{OnProgress, ResourceKind, Stopped};
use crate::output::json::to_value;
use crate::output::{ObjectKind, ProgressLine, Table};
use crate::request::SubmitRequest;
use crate::request::pricing::{Price, SpendCap};
use crate::session::Session;

impl ResourceKind for QueueResource {
    type Finished = FinishedQueue;

    const KIND: ObjectKind = ObjectKind::Queue;
    const NOUN: &'static str = "queue";
    const VERB: &'static str = "Start";

    fn handle(client: &Client, id: &str) -> Handle<Self> {
        client.queues().handle(id)
    }

    fn request_id(handle: &Handle<Self>) -> Option<&str> {
        let id = handle.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    async fn price(client: &Client, request: &SubmitRequest) -> Result<Price> {
        let items = Self::items(request).unwrap_or_default();
        if let Some(cap) = SpendCap::from_items(items, None) {
            return Ok(Price::SpendCap(cap));
        }
        let default_cap = FormatRun::default_cap(client, request).await;
        let total = SpendCap::from_items(items, default_cap);
        Ok(default_cap
            .zip(total)
            .map_or(Price::Uncapped, |(cap, total)| Price::OwnerCap(cap, total)))
    }

    fn items(request: &SubmitRequest) -> Option<&[Value]> {
        let items = request.body.get("items")?.as_array()?;
        Some(items.as_slice())
    }

    fn list_command(session: &Session, request: &SubmitRequest) -> SuggestedCommand {
        let format = request.segments.join("/");
        session.resume_command(SurfaceChoice::Developer, &["format", "runs", &format])
    }

    fn download_command(
        handle: &Handle<Self>,
        session: &Session,
        plan: &DownloadPlan,
    ) -> SuggestedCommand {
        Self::wait_command(handle, session, Some(plan))
    }

    async fn item_numbers(handle: &Handle<Self>, session: &Session) -> Vec<u64> {
        let id = Self::resource_id(handle);
        let entries = session.submitted().await.unwrap_or_default();
        let queue = entries.into_iter().find(|entry| entry.resource.as_ref() == Some(&id));
        let source = queue.and_then(|entry| entry.source).unwrap_or_default();
        let places = source.get("items").and_then(Value::as_array).into_iter().flatten();
        places.filter_map(|place| place.as_u64()?.checked_add(1)).collect()
    }

    fn show_status(live: &ProgressLine<'_>, update: &Update<Queue>, numbers: &[u64]) {
        let queue = &update.status;
        live.see(queue.status.as_ref().map(QueueStatus::as_str));
        let counts = queue.counts();
        let known = !queue.items.is_empty() || queue.counts.is_some();
        live.update(update, known.then(|| report::progress(&counts)).as_deref());
        live.rows(&report::rows(&queue.items, numbers));
    }

    async fn result(
        handle: &Handle<Self>,
        updates: Updates<Self>,
        numbers: &[u64],
    ) -> Result<FinishedQueue> {
        let (queue, failure) = match updates.result().await {
            Ok(queue) => (queue, None),
            Err(error) => match error.queue().cloned() {
                Some(queue) => (queue, Some(Failure::from(error))),
                None => return Err(error.into()),
            },
        };
        let reads = queue.items.iter().enumerate().map(|(position, item)| {
            let index = item.index.or_else(|| u64::try_from(position).ok());
            let run = handle.item_run(item);
            Box::pin(async move {
                let read = match &run {
                    Some(run) if item.status.is_terminal() => {
                        Some(terminal_receipt(run.updates()).await)
                    }
                    Some(run) => Some(run.get().await),
                    None => None,
                };
                let (receipt, failure) = match read {
                    Some(Ok(receipt)) => (Some(receipt), None),
                    Some(Err(error)) => (None, Some(Failure::from(error))),
                    None => (None, None),
                };
                FinishedItem {
                    number: report::item_number(item, position, numbers),
                    index: index.unwrap_or_default(),
                    item: item.clone(),
                    receipt,
                    files: None,
                    failure,
                }
            })
        });
        let items = join_all(reads).await;
        Ok(FinishedQueue { counts: queue.counts(), items, failure })
    }

    async fn download(
        handle: &Handle<Self>,
        session: &Session,
        finished: &mut FinishedQueue,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    ) {
        let artifacts =
            |item: &FinishedItem| item.receipt.as_ref().map_or(0, |it| it.artifacts.len());
        let count = finished.items.iter().map(artifacts).sum();
        let mut done = 0;
        for item in &mut finished.items {
            let Some((run, receipt)) = handle.item_run(&item.item).zip(item.receipt.as_ref())
            else {
                continue;
            };
            let on_progress = Arc::clone(&on_progress);
            let before = done;
            // The files of all items are counted together.
            let with_offset = move |mut progress: DownloadProgress| {
                progress.index += before;
                progress.count = count;
                on_progress(progress);
            };
            // Artifacts that could not be decoded are reported by the download.
            if !receipt.artifacts.is_empty() || receipt.extra.get("artifacts").is_some() {
                let download = run.download_result(receipt, plan.folder());
                let download = download.on_progress(with_offset);
                let index = usize::try_from(item.index).unwrap_or(usize::MAX);
                let files = plan.configure(index, item.number, download).await;
                let delivery = plan.deliver(session, files).await;
                item.files = delivery.files;
                // The other items are downloaded all the same.
                item.failure = delivery.failure;
            }
            done += receipt.artifacts.len();
        }
    }

    /// Cancels the runs of the queue, including those that start in the meantime.
    async fn stop(handle: &Handle<Self>) -> Result<Stopped, Error> {
        let mut updates = handle.updates();
        let mut progress = String::new();
        let mut canceled = false;
        while let Some(update) = updates.next().await {
            let queue = update?.status;
            progress = report::progress(&queue.counts());
            canceled = queue.items.iter().any(|it| it.status == RunStatus::Canceled);
            for item in queue.items.iter().filter(|it| !it.status.is_terminal()) {
                if let Some(run) = handle.item_run(item) {
                    run.cancel().await?;
                }
            }
        }
        Ok(Stopped {
            description: format!("done: {progress}; completed work is billed"),
            is_canceled: canceled,
        })
    }

    fn print_result(
        handle: &Handle<Self>,
        session: &Session,
        finished: FinishedQueue,
        _: ReceiptArgs,
    ) -> Result {
        let printed = session.printer.print_list(&finished.items, report::results);
        // The result of the queue decides the exit code, even if printing failed.
        let summary = report::summarize(session, handle.id().as_str(), &finished);
        finished.failure.map_or(summary, Err).and(printed)
    }

    async fn receipt(handle: &Handle<Self>) -> Result<(Value, Table), Error> {
        let queue = match handle.receipt() {
            Some(receipt) => receipt.clone(),
            None => handle.get().await?,
        };
        Ok((to_value(&queue).unwrap_or_default(), report::queue(&queue)))
    }
}
