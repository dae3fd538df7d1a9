//! Bulk queues of Format runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use svc_sdk::contract::RunStatus;
use svc_sdk::developer::Client;
use svc_sdk::download::{OnProgress, Progress};
use svc_sdk::runs::{FormatRun, QueueHandle};
use svc_sdk::types::{Queue, QueueCounts, QueueItem, RequestId, RunReceipt, Usd};
use svc_sdk::{Error, Update, Updates};

use super::run::{RunOf, download_command, terminal_receipt};
use super::{StoredFile, Subject, SubjectId, Told, verdict};
use crate::args::SurfaceChoice;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Table;
use crate::output::live::Live;
use crate::output::untrusted::clean;
use crate::price::{Cap, Price};
use crate::session::Session;
use crate::submit::Order;
use crate::together::together;

/// What a queue came to: each of its items, in order.
#[derive(Debug)]
pub(crate) struct QueueEnd {
    pub(crate) counts: QueueCounts,
    pub(crate) items: Vec<ItemEnd>,
}

/// What an item came to.
#[derive(Debug)]
pub(crate) struct ItemEnd {
    pub(crate) index: u64,
    pub(crate) item: QueueItem,
    /// None where its run was never started, or could not be read.
    pub(crate) receipt: Option<RunReceipt>,
    /// Where they were downloaded.
    pub(crate) files: Option<Vec<StoredFile>>,
    /// What went wrong on this side.
    pub(crate) trouble: Option<Failure>,
}

impl ItemEnd {
    fn status(&self) -> &RunStatus {
        match &self.receipt {
            Some(receipt) => &receipt.status,
            None => &self.item.status,
        }
    }

    /// Where in the folder its files are.
    fn folder(&self, folder: &Path) -> std::path::PathBuf {
        folder.join(self.index.to_string())
    }

    fn why(&self) -> Option<String> {
        let receipt = self.receipt.as_ref()?;
        let error = receipt.error.as_ref().or(receipt.output_error.as_ref())?;
        Some(verdict::said(error))
    }
}

/// An item's line: its index, its receipt's fields, its files.
impl Serialize for ItemEnd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a, T> {
            index: u64,
            #[serde(flatten)]
            run: &'a T,
            #[serde(skip_serializing_if = "Option::is_none")]
            files: Option<&'a Vec<StoredFile>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            trouble: Option<String>,
        }
        let trouble = self.trouble.as_ref().map(Failure::headline);
        let files = self.files.as_ref();
        match &self.receipt {
            Some(run) => Line {
                index: self.index,
                run,
                files,
                trouble,
            }
            .serialize(serializer),
            None => Line {
                index: self.index,
                run: &json!({"run_id": self.item.run_id, "status": self.item.status}),
                files,
                trouble,
            }
            .serialize(serializer),
        }
    }
}

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

    async fn price(client: &Client, order: &Order, looks: bool) -> Result<Price, Failure> {
        let items = order.body.get("items").and_then(Value::as_array);
        let items = items.map_or(&[] as &[Value], Vec::as_slice);
        if let Some(cap) = Cap::of_all(items) {
            return Ok(Price::Cap(cap));
        }
        let own = match looks {
            true => FormatRun::own_cap(client, order).await,
            false => None,
        };
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
        live.update(update, known.then(|| progress(&counts)).as_deref());
        live.rows(&rows(&queue.items));
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
    async fn stop(&self) -> Result<String, Error> {
        let mut updates = self.updates();
        let mut standing = String::new();
        while let Some(update) = updates.next().await {
            let queue = update?.status;
            standing = progress(&queue.counts());
            for item in queue.items.iter().filter(|it| !it.status.is_terminal()) {
                if let Some(run) = self.run(item) {
                    run.cancel().await?;
                }
            }
        }
        Ok(format!("through: {standing}; what was done is billed"))
    }

    fn tell(&self, session: &Session, end: &QueueEnd, _: Told) -> Result<(), Failure> {
        session.printer.many(&end.items, results)?;
        judge(self, session, end)
    }

    async fn tell_receipt(&self, session: &Session) -> Result<(), Failure> {
        let queue = match self.receipt() {
            Some(receipt) => receipt.clone(),
            None => self.get().await?,
        };
        session.printer.one(&queue, table)
    }
}

/// How far a queue is: `12 of 20 ended, 4 at work, 2 failed`.
fn progress(counts: &QueueCounts) -> String {
    let mut said = format!("{} of {} ended", counts.ended(), counts.total);
    for (count, word) in [
        (counts.running, "at work"),
        (counts.failed, "failed"),
        (counts.canceled, "canceled"),
        (counts.skipped, "skipped"),
    ] {
        if count > 0 {
            said.push_str(&format!(", {count} {word}"));
        }
    }
    said
}

/// The lines of the items, those first that a person looks for: at work, gone wrong, ended, to come.
fn rows(items: &[QueueItem]) -> Vec<String> {
    let mut rows: Vec<(u8, String)> = items
        .iter()
        .enumerate()
        .map(|(place, item)| {
            let rank = match item.status {
                RunStatus::Running => 0,
                RunStatus::Failed | RunStatus::Canceled | RunStatus::Skipped => 1,
                RunStatus::Completed => 2,
                _ => 3,
            };
            let index = item
                .index
                .map_or_else(|| place.to_string(), |index| index.to_string());
            let run = item.run_id.as_ref().map_or("", |id| id.as_str());
            let line = format!("{index:>3}  {:<9}  {run}", item.status.as_str());
            (rank, clean(line.trim_end()))
        })
        .collect();
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The exit code and the sentence: a failed run outweighs a canceled one.
fn judge(handle: &QueueHandle, session: &Session, end: &QueueEnd) -> Result<(), Failure> {
    let counts = &end.counts;
    // A service that tells no items still counts them.
    let count = |status: &RunStatus, told: u64| match end.items.is_empty() {
        true => usize::try_from(told).unwrap_or(usize::MAX),
        false => end.items.iter().filter(|it| it.status() == status).count(),
    };
    let receipts = || end.items.iter().filter_map(|item| item.receipt.as_ref());
    let [completed, failed, canceled, skipped] = [
        (RunStatus::Completed, counts.completed),
        (RunStatus::Failed, counts.failed),
        (RunStatus::Canceled, counts.canceled),
        (RunStatus::Skipped, counts.skipped),
    ]
    .map(|(status, told)| count(&status, told));
    let short = receipts().filter(|it| it.is_degraded()).count();
    let total = usize::try_from(counts.total).unwrap_or(usize::MAX);
    let total = total.max(end.items.len());
    let spent: Usd = receipts().filter_map(RunReceipt::billable_amount).sum();
    let is_unread = |item: &&ItemEnd| {
        let spent = item.receipt.as_ref().and_then(RunReceipt::billable_amount);
        item.item.run_id.is_some() && spent.is_none()
    };
    let unread = end.items.iter().filter(is_unread).count();
    let mut sentence = format!("{completed} of {total} runs completed");
    for (count, what) in [
        (failed, "failed"),
        (canceled, "canceled"),
        (skipped, "skipped"),
        (short, "could not fill their schema"),
    ] {
        if count > 0 {
            sentence.push_str(&format!(", {count} {what}"));
        }
    }
    sentence.push_str(&format!("; spent {spent} USD"));
    if unread > 0 {
        sentence.push_str(&format!(", and the spend of {unread} is unknown"));
    }
    let trouble = end.items.iter().find_map(|item| item.trouble.as_ref());
    let exit = match trouble {
        _ if failed > 0 => Exit::JobFailed,
        _ if canceled > 0 => Exit::JobCanceled,
        _ if skipped > 0 => Exit::Skipped,
        Some(trouble) => trouble.exit(),
        None if completed < total => Exit::Failure,
        None => {
            session.printer.note(&sentence);
            return Ok(());
        }
    };
    let mut failure = Failure::new(exit, sentence).about(handle.subject_id());
    for item in &end.items {
        let index = item.index;
        if let Some(trouble) = &item.trouble {
            failure = failure.point(format!("item {index}: {}", trouble.headline()));
        } else if *item.status() != RunStatus::Completed {
            let status = item.status();
            let run = item.item.run_id.as_ref();
            let run = run.map(|id| format!(", {id}")).unwrap_or_default();
            let why = item.why().map(|why| format!(": {why}")).unwrap_or_default();
            failure = failure.point(format!("item {index}{run} {status}{why}"));
        }
    }
    let left = end.items.iter().find(|item| {
        let made = item
            .receipt
            .as_ref()
            .is_some_and(|it| !it.artifacts.is_empty());
        made && item.files.is_none() && item.trouble.is_some()
    });
    if let Some(item) = left
        && let Some(id) = &item.item.run_id
        && !session.is_sandbox()
    {
        let folder = item.folder(Path::new("DIR"));
        let command = download_command(session, id.as_str(), "format", &folder);
        failure = failure.next(format!("fetch the files of item {}: {command}", item.index));
    }
    Err(failure)
}

fn results(items: &[ItemEnd]) -> Table {
    let mut table = Table::new(["item", "run", "status", "usd", "what", "where"]);
    for item in items {
        let index = item.index.to_string();
        let run = item.item.run_id.as_ref().map_or("", |id| id.as_str());
        let status = item.status().as_str();
        let spent = match item.receipt.as_ref().map(RunReceipt::billable_amount) {
            Some(Some(spent)) => spent.to_string(),
            Some(None) => "unknown".to_owned(),
            None => String::new(),
        };
        let mut lines: Vec<(&str, String)> = Vec::new();
        if let Some(trouble) = &item.trouble {
            lines.push(("trouble", trouble.headline()));
        }
        if let Some(why) = item.why() {
            lines.push(("error", why));
        }
        if let Some(receipt) = &item.receipt {
            if let Some(output) = &receipt.output {
                lines.push(("output", output.to_string()));
            }
            match &item.files {
                Some(files) => lines.extend(files.iter().map(|it| ("file", it.path.clone()))),
                None => lines.extend(receipt.artifacts.iter().map(|artifact| {
                    let kind = artifact.content_type.as_deref().unwrap_or("artifact");
                    (kind, artifact.url.clone())
                })),
            }
        }
        if lines.is_empty() {
            table.row([&index, run, status, &spent, "", ""]);
        }
        for (place, (what, where_)) in lines.iter().enumerate() {
            match place {
                0 => table.row([&index, run, status, &spent, what, where_]),
                _ => table.row(["", "", "", "", what, where_]),
            }
        }
    }
    table
}

/// A queue, as a table.
pub(crate) fn table(queue: &Queue) -> Table {
    let mut table = Table::of_fields();
    table.field("queue", queue.id());
    table.field("format", queue.format_id.as_ref());
    table.field("status", queue.status.as_ref());
    table.field("runs", Some(progress(&queue.counts())));
    table.field("at once", queue.concurrency);
    table.field("created", queue.created_at.as_ref());
    for (place, item) in queue.items.iter().enumerate() {
        let index = item
            .index
            .map_or_else(|| place.to_string(), |index| index.to_string());
        let run = item.run_id.as_ref().map_or("", |id| id.as_str());
        table.field(
            &format!("item {index}"),
            Some(format!("{}  {run}", item.status).trim_end()),
        );
    }
    table.field("request", queue.request_id.as_ref());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_queue_is_is_said_without_what_there_is_none_of() {
        let counts = json!({"total": 20, "queued": 4, "running": 4, "completed": 11, "failed": 1});
        let queue: Queue = serde_json::from_value(json!({ "counts": counts })).unwrap();
        assert_eq!(
            progress(&queue.counts()),
            "12 of 20 ended, 4 at work, 1 failed"
        );
    }

    #[test]
    fn what_is_at_work_comes_first_and_what_is_to_come_last() {
        let items: Vec<QueueItem> = serde_json::from_value(json!([
            {"index": 0, "status": "completed", "run_id": "run_a"},
            {"index": 1, "status": "failed", "run_id": "run_b"},
            {"index": 2, "status": "running", "run_id": "run_\u{1b}[2Jc"},
            {"index": 3, "status": "queued", "run_id": null}
        ]))
        .unwrap();
        assert_eq!(
            rows(&items),
            [
                "  2  running    run_[2Jc",
                "  1  failed     run_b",
                "  0  completed  run_a",
                "  3  queued"
            ]
        );
    }

    #[test]
    fn an_items_line_has_its_index_beside_its_receipt() {
        let item = ItemEnd {
            index: 3,
            item: serde_json::from_value(json!({"status": "failed", "run_id": "run_1"})).unwrap(),
            receipt: serde_json::from_value(
                json!({"run_id": "run_1", "status": "failed", "output": null, "item_index": 3}),
            )
            .unwrap(),
            files: Some(vec![StoredFile {
                path: "out/3/a.png".into(),
                bytes: 7,
            }]),
            trouble: None,
        };
        assert_eq!(
            serde_json::to_value(&item).unwrap(),
            json!({
                "index": 3, "run_id": "run_1", "status": "failed", "output": null, "item_index": 3,
                "files": [{"path": "out/3/a.png", "bytes": 7}]
            })
        );
    }
}
