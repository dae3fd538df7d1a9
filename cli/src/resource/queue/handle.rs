//! Handles of bulk queues, as resources.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use svc_sdk::contract::RunStatus;
use svc_sdk::developer::Client;
use svc_sdk::download::{OnProgress, Progress};
use svc_sdk::runs::{FormatRun, QueueHandle};
use svc_sdk::types::{Queue, RequestId};
use svc_sdk::{Error, Update, Updates};

use super::finished::{ItemEnd, QueueEnd};
use super::{summary, tables};
use crate::args::SurfaceChoice;
use crate::error::Failure;
use crate::join_all::together;
use crate::output::Live;
use crate::pricing::{Cap, Price};
use crate::resource::run::{RunOf, terminal_receipt};
use crate::resource::{Stopped, Subject, Told};
use crate::session::Session;
use crate::types::{Order, SubjectId};

impl Subject for QueueHandle {
    type End = QueueEnd;

    const NOUN: &'static str = "queue";
    const VERB: &'static str = "Start";
    const PATIENCE: Option<Duration> = None;

    fn taken_up(client: &Client, id: &str) -> Self {
        client.format_queue(id)
    }

    fn subject_id(&self) -> SubjectId {
        SubjectId::Queue(self.id().as_str().to_owned())
    }

    fn was_there(&self) -> bool {
        self.is_replay()
    }

    fn is_receipted(&self) -> bool {
        self.receipt().is_some()
    }

    fn started_by(&self) -> Option<&str> {
        let id = self.receipt()?.request_id.as_ref();
        id.map(RequestId::as_str)
    }

    async fn price(client: &Client, order: &Order) -> Result<Price, Failure> {
        let items = order.body.get("items").and_then(Value::as_array);
        let items = items.map_or(&[] as &[Value], Vec::as_slice);
        if let Some(cap) = Cap::of_all(items) {
            return Ok(Price::Cap(cap));
        }
        let own = FormatRun::own_cap(client, order).await;
        Ok(own.map_or(Price::Unknown, |cap| Price::Owners(cap, items.len())))
    }

    fn listing(session: &Session, order: &Order) -> String {
        let format = order.segments.join("/");
        session.resume(SurfaceChoice::Developer, &["format", "runs", &format])
    }

    fn again(&self, session: &Session, folder: Option<&Path>) -> String {
        let folder = folder.map(|folder| folder.display().to_string());
        let mut words = vec!["queue", "wait", self.id().as_str()];
        if let Some(folder) = &folder {
            words.extend(["--download", folder]);
        }
        session.resume(SurfaceChoice::Developer, &words)
    }

    fn fetch_again(&self, session: &Session, folder: &Path) -> String {
        self.again(session, Some(folder))
    }

    fn watch(&self) -> Updates<Self> {
        self.updates()
    }

    fn show(live: &Live<'_>, update: &Update<Queue>) {
        let queue = &update.status;
        let counts = queue.counts();
        let known = !queue.items.is_empty() || queue.counts.is_some();
        live.update(update, known.then(|| tables::progress(&counts)).as_deref());
        live.rows(&tables::rows(&queue.items));
    }

    async fn end(&self, queue: Queue) -> Result<QueueEnd, Failure> {
        let reads = queue.items.iter().enumerate().map(|(place, item)| {
            let index = item.index.or_else(|| u64::try_from(place).ok());
            let run = self.run(item);
            Box::pin(async move {
                let read = match &run {
                    Some(run) if item.status.is_terminal() => Some(terminal_receipt(run).await),
                    Some(run) => Some(run.get().await),
                    None => None,
                };
                let (receipt, trouble) = match read {
                    Some(Ok(receipt)) => (Some(receipt), None),
                    Some(Err(error)) => (None, Some(Failure::from(error))),
                    None => (None, None),
                };
                ItemEnd {
                    index: index.unwrap_or_default(),
                    item: item.clone(),
                    receipt,
                    files: None,
                    trouble,
                }
            })
        });
        let items = together(reads.collect()).await;
        Ok(QueueEnd {
            counts: queue.counts(),
            items,
        })
    }

    async fn fetch(
        &self,
        end: &mut QueueEnd,
        folder: &Path,
        on_progress: OnProgress,
    ) -> Result<(), Failure> {
        let mut done = 0;
        for item in &mut end.items {
            let Some((run, receipt)) = self.run(&item.item).zip(item.receipt.as_ref()) else {
                continue;
            };
            let tell = Arc::clone(&on_progress);
            let before = done;
            // Its files are counted on from those of the items before it.
            let told = move |progress: Progress| {
                let mut all = progress;
                all.index += before;
                tell(all);
            };
            if !receipt.artifacts.is_empty() {
                let into = item.folder(folder);
                let files = run.download_receipt(receipt, into, Some(Arc::new(told)));
                match files.await {
                    Ok(files) => item.files = Some(files.into_iter().map(Into::into).collect()),
                    // One that cannot be fetched does not hide the others.
                    Err(error) => item.trouble = Some(error.into()),
                }
            }
            done += receipt.artifacts.len();
        }
        Ok(())
    }

    /// A queue is canceled by canceling its runs, those too that begin meanwhile.
    async fn stop(&self) -> Result<Stopped, Error> {
        let mut updates = self.updates();
        let mut standing = String::new();
        let mut canceled = false;
        while let Some(update) = updates.next().await {
            let queue = update?.status;
            standing = tables::progress(&queue.counts());
            canceled = queue
                .items
                .iter()
                .any(|it| it.status == RunStatus::Canceled);
            for item in queue.items.iter().filter(|it| !it.status.is_terminal()) {
                if let Some(run) = self.run(item) {
                    run.cancel().await?;
                }
            }
        }
        Ok(Stopped {
            said: format!("through: {standing}; what was done is billed"),
            canceled,
        })
    }

    fn tell(&self, session: &Session, end: &QueueEnd, _: Told) -> Result<(), Failure> {
        let printed = session.printer.many(&end.items, tables::results);
        // How they ended is the exit code, whether or not their receipts could be printed.
        summary::of(session, self.id().as_str(), end).and(printed)
    }

    async fn tell_receipt(&self, session: &Session) -> Result<(), Failure> {
        let queue = match self.receipt() {
            Some(receipt) => receipt.clone(),
            None => self.get().await?,
        };
        session.printer.one(&queue, tables::queue)
    }
}
