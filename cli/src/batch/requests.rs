//! The submits of a batch, read from the manifest one after the other, and what follows them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{Stream, stream};
use serde_json::Value;
use svc_sdk::batch::BatchCall;
use svc_sdk::contract::{Operation, RunStatus};
use svc_sdk::download::Download;
use svc_sdk::handle::{AgentRun, Handle, JobResource, RunHandle};
use svc_sdk::journal::{self, EntryState, Reuse};
use svc_sdk::types::Usd;
use svc_sdk::{Developer, Error, ErrorKind, JobHandle, Open};
use tokio::sync::Semaphore;

use super::journal::{ACCOUNT, DOWNLOAD_FAILED, ItemResult, Spent, Status, notes_of};
use super::manifest::{Line, Manifest};
use super::plan::{Index, Item, NextStep, file_stem};
use crate::args::SurfaceChoice;
use crate::clock;
use crate::download::{DownloadPlan, StoredFile, without_media_extension};
use crate::error::{Failure, Result};
use crate::follow::ResourceKind;
use crate::journal::{label, prompt_of};
use crate::output::json::to_value;
use crate::request::pricing::EstimateSource;
use crate::session::Access;

const MAX_DOWNLOADS: usize = 8;
/// The pause before a job whose status could not be read is waited for again.
const POLL_AGAIN: Duration = Duration::from_secs(10);

pub(super) struct Source {
    pub(super) manifest: Manifest,
    pub(super) items: Vec<Item>,
    /// The items that are submitted, or waited for, in that order.
    pub(super) order: Vec<Index>,
    pub(super) clients: Clients,
    journal: journal::Journal,
    taken: AtomicUsize,
    /// What was charged for items that were accepted in this run, until they end.
    charges: Mutex<HashMap<Index, Spent>>,
    failure: Mutex<Option<Failure>>,
}

impl Source {
    pub(super) fn new(
        manifest: Manifest,
        items: Vec<Item>,
        clients: Clients,
        journal: journal::Journal,
    ) -> Self {
        Self {
            manifest,
            items,
            order: Vec::new(),
            clients,
            journal,
            taken: AtomicUsize::new(0),
            charges: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    pub(super) fn submissions(
        source: &Arc<Self>,
    ) -> impl Stream<Item = BatchCall<Followed>> + Send + use<> {
        stream::unfold(Arc::clone(source), |source| async move {
            let place = source.taken.fetch_add(1, Ordering::Relaxed);
            let index = *source.order.get(place)?;
            match Self::submission(&source, index).await {
                Ok(submission) => Some((submission, source)),
                Err(failure) => {
                    *lock(&source.failure) = Some(failure);
                    None
                }
            }
        })
    }

    async fn submission(source: &Arc<Self>, index: Index) -> Result<BatchCall<Followed>> {
        let line = source.line(index)?;
        let item = source.item(index)?;
        let reuse = match item.next_step {
            NextStep::Submit if item.record.generation > 0 => {
                source.end_lost(&line.id).await?;
                // The plan has checked that its line is the same, or may change.
                Reuse::ReplaceUnsuccessful
            }
            _ => Reuse::ReturnExisting,
        };
        let accepted = Arc::clone(source);
        let on_accepted = Arc::new(move |charge: Option<Usd>| {
            lock(&accepted.charges).insert(index, charge.into());
        });
        let line_number = item.position.line;
        let name = match (file_stem(&line.id), item.is_name_taken) {
            (name, true) => format!("{}_L{line_number}", without_media_extension(&name)),
            (name, false) => name,
        };
        source.clients.submission(line, name, reuse, on_accepted)
    }

    /// Records that a job has failed which the service does not know any more.
    async fn end_lost(&self, id: &str) -> Result {
        if let Some(entry) = self.journal.find(ACCOUNT, id).await?
            && entry.state == EntryState::Accepted
        {
            let failed = Status::Failed.as_str();
            self.journal.record_end(&entry.id, failed, None).await?;
        }
        Ok(())
    }

    pub(super) fn line(&self, index: Index) -> Result<Line> {
        let item = self.item(index)?;
        let line = self.manifest.line_at(item.position)?;
        if line.hash() != item.hash {
            return Err(self.manifest.changed(item.position));
        }
        Ok(line)
    }

    pub(super) fn item(&self, index: Index) -> Result<&Item> {
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        let item = self.items.get(place);
        item.ok_or_else(|| Failure::other("no such item"))
    }

    pub(super) fn add(&mut self, step: NextStep) {
        let items = self.items.iter().zip(0..);
        let matching = items.filter(|(item, _)| item.next_step == step);
        self.order.extend(matching.map(|(_, index)| index));
    }

    pub(super) fn was_taken(&self, place: usize) -> bool {
        place < self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        lock(&self.failure).take()
    }

    pub(super) fn take_charge(&self, index: Index) {
        lock(&self.charges).remove(&index);
    }

    pub(super) fn charged(&self) -> Spent {
        lock(&self.charges).values().copied().sum()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Debug)]
pub(super) struct Clients {
    pub(super) open: Option<Arc<Access<Open>>>,
    pub(super) developer: Option<Arc<Access<Developer>>>,
    pub(super) download: Option<Arc<DownloadPlan>>,
    downloads: Arc<Semaphore>,
}

/// How a job or run ended, or why that cannot be found out.
pub(super) type Followed = Result<ItemResult, Box<Error>>;

struct ItemFiles {
    name: String,
    prompt: Option<String>,
}

pub(super) type OnAccepted = Arc<dyn Fn(Option<Usd>) + Send + Sync>;

impl Clients {
    pub(super) fn new(
        open: Option<Arc<Access<Open>>>,
        developer: Option<Arc<Access<Developer>>>,
        download: Option<Arc<DownloadPlan>>,
    ) -> Self {
        Self { open, developer, download, downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)) }
    }

    pub(super) fn url_and_fingerprint(&self, surface: SurfaceChoice) -> Option<(&str, &str)> {
        fn of<S>(access: &Access<S>) -> (&str, &str) {
            (&access.base_url, &access.key_fingerprint)
        }
        match surface {
            SurfaceChoice::Open => self.open.as_deref().map(of),
            SurfaceChoice::Developer => self.developer.as_deref().map(of),
        }
    }

    pub(super) async fn drain(&self) {
        if let Some(access) = &self.open {
            access.client.drain().await;
        }
        if let Some(access) = &self.developer {
            access.client.drain().await;
        }
    }

    pub(super) fn submission(
        &self,
        line: Line,
        name: String,
        reuse: Reuse,
        on_accepted: OnAccepted,
    ) -> Result<BatchCall<Followed>> {
        let (open, developer) = (self.open.as_deref(), self.developer.as_deref());
        match (SurfaceChoice::of(line.operation.surface()), line.operation) {
            (SurfaceChoice::Open, _) => {
                self.submit::<JobResource<Open>>(open, line, name, reuse, on_accepted)
            }
            (SurfaceChoice::Developer, Operation::AgentCompletionsCreate) => {
                self.submit::<AgentRun>(developer, line, name, reuse, on_accepted)
            }
            (SurfaceChoice::Developer, _) => {
                self.submit::<JobResource<Developer>>(developer, line, name, reuse, on_accepted)
            }
        }
    }

    fn submit<R: Follow>(
        &self,
        access: Option<&Access<R::Surface>>,
        line: Line,
        name: String,
        reuse: Reuse,
        on_accepted: OnAccepted,
    ) -> Result<BatchCall<Followed>> {
        let access = access.ok_or_else(|| Failure::other("no client for this operation"))?;
        let plan = self.download.as_ref().filter(|plan| plan.has_template());
        let prompt = prompt_of(&line.body);
        let label = prompt.filter(|_| access.keeps_labels).and_then(label);
        let notes = notes_of(line.hash(), &access.base_url, &access.key_fingerprint, label);
        let prompt = prompt.filter(|_| plan.is_some()).map(str::to_owned);
        let body = Value::Object(line.body);
        let call = access
            .client
            .submit_json::<R>(line.operation, &[], &body)
            // Another batch may have an item with the same id.
            .idempotency_key(clock::idempotency_key()?)
            .submission_id(line.id)
            .reuse(reuse);
        let call = notes.into_iter().fold(call, |call, (name, value)| call.note(name, value));
        let clients = self.clone();
        let files = Arc::new(ItemFiles { name, prompt });
        Ok(call.followed_by(move |handle| {
            if !handle.is_resumed() {
                on_accepted(R::charge(&handle));
            }
            let (clients, files) = (clients.clone(), Arc::clone(&files));
            async move { R::follow(clients, handle, &files).await }
        }))
    }

    /// Downloads files, and returns those that are complete and the error about the others.
    async fn download(
        &self,
        plan: &DownloadPlan,
        files: &ItemFiles,
        download: Download,
    ) -> (Option<Vec<StoredFile>>, Option<Value>) {
        // The semaphore is never closed.
        let _permit = self.downloads.acquire().await;
        match plan.configure_item(&files.name, files.prompt.as_deref(), download).await {
            Ok(files) => (Some(files.into_iter().map(StoredFile::from).collect()), None),
            Err(error) => {
                let files = error.downloaded_files().iter().cloned().map(StoredFile::from);
                let files = Some(files.collect());
                let mut error = error_json(&Failure::from(error));
                if let Some(error) = error.as_object_mut() {
                    error.insert("code".to_owned(), DOWNLOAD_FAILED.into());
                }
                (files, Some(error))
            }
        }
    }
}

trait Follow: ResourceKind {
    /// Waits until it has ended, and downloads its files.
    fn follow(
        clients: Clients,
        handle: Handle<Self>,
        files: &ItemFiles,
    ) -> impl Future<Output = Followed> + Send;
}

impl<S: EstimateSource> Follow for JobResource<S> {
    async fn follow(clients: Clients, job: JobHandle<S>, names: &ItemFiles) -> Followed {
        let result = match until_known(|| job.wait().no_timeout()).await {
            Ok(result) => result,
            Err(error) if error.terminal_status().is_some() => {
                let status = match error.kind() {
                    ErrorKind::JobCanceled => Status::Canceled,
                    ErrorKind::UnknownStatus => Status::Unknown,
                    _ => Status::Failed,
                };
                let is_refunded = error.kind() != ErrorKind::UnknownStatus;
                let error = error_json(&Failure::from(error));
                return Ok(ItemResult::error(status, is_refunded.then_some(Usd::ZERO), error));
            }
            Err(error) => return Err(Box::new(error)),
        };
        let (files, error) = match &clients.download {
            Some(plan) => {
                let download = job.download_result(&result, plan.folder());
                clients.download(plan, names, download).await
            }
            None => (None, None),
        };
        let artifacts =
            result.artifacts().iter().map(|it| to_value(it).unwrap_or_default()).collect();
        Ok(ItemResult { status: Status::Completed, price_usd: None, files, error, artifacts })
    }
}

impl Follow for AgentRun {
    async fn follow(clients: Clients, run: RunHandle<Self>, names: &ItemFiles) -> Followed {
        let (receipt, error) = match until_known(|| run.wait().no_timeout()).await {
            Ok(receipt) => (receipt, None),
            Err(error) => match error.run_receipt().cloned() {
                Some(receipt) if error.terminal_status().is_some() => (receipt, Some(error)),
                _ => return Err(Box::new(error)),
            },
        };
        let status = match (&receipt.status, &error) {
            (RunStatus::Canceled, _) => Status::Canceled,
            (RunStatus::Skipped, _) => Status::Skipped,
            (RunStatus::Other(_), Some(_)) => Status::Unknown,
            (_, Some(_)) => Status::Failed,
            (_, None) => Status::Completed,
        };
        let (files, missing) = match &clients.download {
            Some(plan) if !receipt.artifacts.is_empty() => {
                let download = run.download_result(&receipt, plan.folder());
                clients.download(plan, names, download).await
            }
            plan => (plan.as_ref().map(|_| Vec::new()), None),
        };
        let error = error.map(|error| error_json(&Failure::from(error)));
        Ok(ItemResult {
            status,
            price_usd: receipt.billable_amount(),
            artifacts: receipt
                .artifacts
                .iter()
                .map(|it| to_value(it).unwrap_or_default())
                .collect(),
            files,
            error: error.or(missing),
        })
    }
}

/// Waits again until the outcome is known, or cannot be found out.
async fn until_known<T, F>(wait: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        match wait().await {
            Err(error)
                if error.terminal_status().is_none()
                    && !error.is_not_found()
                    && !stops_polling(&error) =>
            {
                let pause = error.retry_after().unwrap_or_default();
                tokio::time::sleep(pause.max(POLL_AGAIN)).await;
            }
            ended => return ended,
        }
    }
}

pub(super) fn stops_polling(error: &Error) -> bool {
    matches!(error.status(), Some(401 | 403)) || error.is_unreachable()
}

pub(super) fn error_json(failure: &Failure) -> Value {
    let mut error = match failure.to_json() {
        Value::Object(mut fields) => fields.remove("error").unwrap_or_default(),
        _ => Value::Null,
    };
    if let Some(fields) = error.as_object_mut() {
        for name in ["exit_code", "resume", "job_id", "run_id", "idempotency_key"] {
            fields.remove(name);
        }
        // A failed item can be submitted again, whatever its job or run allows.
        if fields.get("next_action").is_some_and(|it| it == "none") {
            fields.remove("next_action");
        }
    }
    error
}
