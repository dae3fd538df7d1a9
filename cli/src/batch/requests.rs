//! The submits of a batch, and what follows them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::batch::BatchCall;
use svc_sdk::contract::{Operation, RunStatus};
use svc_sdk::download::Download;
use svc_sdk::handle::{AgentRun, Handle, JobResource, RunHandle};
use svc_sdk::journal::Reuse;
use svc_sdk::types::{RunReceipt, Usd};
use svc_sdk::{Call, Developer, Error, ErrorKind, JobHandle, Open};
use tokio::sync::Semaphore;

use crate::args::SurfaceChoice;
use crate::batch::journal::{DOWNLOAD_FAILED, Status, notes_of};
use crate::batch::manifest::Line;
use crate::batch::plan::surface_of;
use crate::clock;
use crate::download::{DownloadPlan, StoredFile, prompt_of};
use crate::error::{Exit, Failure};
use crate::pricing::EstimateSource;
use crate::resource::ResourceKind;
use crate::session::Access;

/// The maximum number of jobs whose files are downloaded at the same time.
const MAX_DOWNLOADS: usize = 8;
/// The pause before a job whose status could not be read is waited for again.
const POLL_AGAIN: Duration = Duration::from_secs(10);

/// The clients of the surfaces that a batch needs.
#[derive(Clone, Debug)]
pub(super) struct Clients {
    pub(super) open: Option<Arc<Access<Open>>>,
    pub(super) developer: Option<Arc<Access<Developer>>>,
    pub(super) download: Option<Arc<DownloadPlan>>,
    downloads: Arc<Semaphore>,
}

/// How a job or run ended, or why that cannot be found out.
pub(super) type Followed = Result<ItemResult, Box<Error>>;

/// How a job or run ended.
#[derive(Debug)]
pub(super) struct ItemResult {
    pub(super) status: Status,
    /// What it cost, or `None` if it is the charge of the receipt.
    pub(super) cost: Option<Usd>,
    pub(super) artifacts: Vec<Value>,
    pub(super) files: Vec<StoredFile>,
    pub(super) error: Option<Value>,
}

/// A function that is called with the charge of what was submitted now.
pub(super) type OnAccepted = Arc<dyn Fn(Option<Usd>) + Send + Sync>;

impl Clients {
    pub(super) fn new(download: Option<Arc<DownloadPlan>>) -> Self {
        Self {
            open: None,
            developer: None,
            download,
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
        }
    }

    /// Returns the base URL and the fingerprint of the API key.
    pub(super) fn url_and_fingerprint(&self, surface: SurfaceChoice) -> Option<(&str, &str)> {
        match surface {
            SurfaceChoice::Open => {
                let access = self.open.as_ref()?;
                Some((&access.base_url, &access.key_fingerprint))
            }
            SurfaceChoice::Developer => {
                let access = self.developer.as_ref()?;
                Some((&access.base_url, &access.key_fingerprint))
            }
        }
    }

    /// Waits until the requests in flight are answered.
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
        reuse: Reuse,
        on_accepted: OnAccepted,
    ) -> Result<BatchCall<Followed>, Failure> {
        let plan = self.download.as_ref();
        let prompt = plan.filter(|plan| plan.has_template());
        let prompt = prompt.and_then(|_| prompt_of(&line.body));
        let missing = || Failure::other("no client for this operation");
        let is_run = line.operation == Operation::AgentCompletionsCreate;
        let (open, developer) = (self.open.as_ref(), self.developer.as_ref());
        match surface_of(line.operation) {
            SurfaceChoice::Open => {
                let call = call::<JobResource<Open>>(open.ok_or_else(missing)?, line, reuse)?;
                Ok(self.followed(call, prompt, on_accepted))
            }
            SurfaceChoice::Developer if is_run => {
                let call = call::<AgentRun>(developer.ok_or_else(missing)?, line, reuse)?;
                Ok(self.followed(call, prompt, on_accepted))
            }
            SurfaceChoice::Developer => {
                let access = developer.ok_or_else(missing)?;
                let call = call::<JobResource<Developer>>(access, line, reuse)?;
                Ok(self.followed(call, prompt, on_accepted))
            }
        }
    }

    fn followed<R: Follow>(
        &self,
        call: Call<Handle<R>>,
        prompt: Option<String>,
        on_accepted: OnAccepted,
    ) -> BatchCall<Followed> {
        let clients = self.clone();
        call.followed_by(move |handle| {
            if !handle.is_resumed() {
                on_accepted(R::charge(&handle));
            }
            let (clients, prompt) = (clients.clone(), prompt.clone());
            async move { R::follow(clients, handle, prompt.as_deref()).await }
        })
    }

    async fn follow_job<S: EstimateSource>(
        self,
        job: JobHandle<S>,
        prompt: Option<&str>,
    ) -> Followed {
        let result = match until_known(|| job.wait().no_timeout()).await {
            Ok(result) => result,
            Err(error) if error.terminal_status().is_some() => {
                let status = match error.kind() {
                    ErrorKind::JobCanceled => Status::Canceled,
                    _ => Status::Failed,
                };
                let is_refunded = error.kind() != ErrorKind::UnknownStatus;
                let code = error.code().map(|code| code.as_str().to_owned());
                let code = code.unwrap_or_else(|| status.as_str().to_owned());
                return Ok(ItemResult {
                    status,
                    cost: is_refunded.then_some(Usd::ZERO),
                    artifacts: Vec::new(),
                    files: Vec::new(),
                    error: Some(error_json(&Failure::from(error), &code)),
                });
            }
            Err(error) => return Err(Box::new(error)),
        };
        let artifacts = result.artifacts().iter().map(|it| json!(it)).collect();
        let (files, error) = match &self.download {
            Some(plan) => {
                let download = job.download_result(&result, plan.folder());
                self.download(plan, prompt, download).await
            }
            None => (Vec::new(), None),
        };
        Ok(ItemResult { status: Status::Completed, cost: None, artifacts, files, error })
    }

    async fn follow_run(self, run: RunHandle<AgentRun>, prompt: Option<&str>) -> Followed {
        let (receipt, error) = match until_known(|| run.wait().no_timeout()).await {
            Ok(receipt) => (receipt, None),
            Err(error) => {
                let has_ended = error.terminal_status().is_some();
                match error.run_receipt().cloned() {
                    Some(receipt) if has_ended => (receipt, Some(error)),
                    _ => return Err(Box::new(error)),
                }
            }
        };
        let status = match (&receipt.status, &error) {
            (RunStatus::Canceled | RunStatus::Skipped, _) => Status::Canceled,
            (_, Some(_)) => Status::Failed,
            (_, None) => Status::Completed,
        };
        let (files, missing) = match &self.download {
            Some(plan) if !receipt.artifacts.is_empty() => {
                let download = run.download_result(&receipt, plan.folder());
                self.download(plan, prompt, download).await
            }
            _ => (Vec::new(), None),
        };
        let error = error.map(|error| {
            let code = run_error_code(&receipt, &error);
            error_json(&Failure::from(error), &code)
        });
        Ok(ItemResult {
            status,
            cost: receipt.billable_amount(),
            artifacts: receipt.artifacts.iter().map(|it| json!(it)).collect(),
            files,
            error: error.or(missing),
        })
    }

    /// Downloads files, and returns those that are complete and the error about the others.
    async fn download(
        &self,
        plan: &DownloadPlan,
        prompt: Option<&str>,
        download: Download,
    ) -> (Vec<StoredFile>, Option<Value>) {
        // The semaphore is never closed.
        let _permit = self.downloads.acquire().await;
        match plan.configure_with_prompt(prompt, download).await {
            Ok(files) => (files.into_iter().map(StoredFile::from).collect(), None),
            Err(error) => {
                let files = error.downloaded_files().iter().cloned();
                let files = files.map(StoredFile::from).collect();
                let mut error = error_json(&Failure::from(error), DOWNLOAD_FAILED);
                if let Some(error) = error.as_object_mut() {
                    error.insert("code".to_owned(), DOWNLOAD_FAILED.into());
                }
                (files, Some(error))
            }
        }
    }
}

/// A resource that a batch submits.
trait Follow: ResourceKind {
    /// Waits until it has ended, and downloads its files.
    fn follow(
        clients: Clients,
        handle: Handle<Self>,
        prompt: Option<&str>,
    ) -> impl Future<Output = Followed> + Send;
}

impl<S: EstimateSource> Follow for JobResource<S> {
    async fn follow(clients: Clients, handle: JobHandle<S>, prompt: Option<&str>) -> Followed {
        clients.follow_job(handle, prompt).await
    }
}

impl Follow for AgentRun {
    async fn follow(clients: Clients, handle: RunHandle<Self>, prompt: Option<&str>) -> Followed {
        clients.follow_run(handle, prompt).await
    }
}

fn call<R: ResourceKind>(
    access: &Access<R::Surface>,
    line: Line,
    reuse: Reuse,
) -> Result<Call<Handle<R>>, Failure> {
    let notes = notes_of(line.hash(), &access.base_url, &access.key_fingerprint);
    let body = Value::Object(line.body);
    let call = access
        .client
        .submit_json::<R>(line.operation, &[], &body)
        // Another batch may have an item with the same id.
        .idempotency_key(clock::idempotency_key()?)
        .submission_id(line.id)
        .reuse(reuse);
    Ok(notes.into_iter().fold(call, |call, (name, value)| call.note(name, value)))
}

/// Waits again until the outcome is known, or cannot be found out.
async fn until_known<T, F>(wait: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        match wait().await {
            Err(error) if error.terminal_status().is_none() && !is_lost(&error) => {
                let pause = error.retry_after().unwrap_or_default();
                tokio::time::sleep(pause.max(POLL_AGAIN)).await;
            }
            ended => return ended,
        }
    }
}

/// Returns whether it is of no use to ask again.
fn is_lost(error: &Error) -> bool {
    error.is_not_found() || stops_polling(error)
}

/// Returns whether no status can be read any more.
pub(super) fn stops_polling(error: &Error) -> bool {
    matches!(error.status(), Some(401 | 403)) || error.is_unreachable()
}

fn run_error_code(receipt: &RunReceipt, error: &Error) -> String {
    match error.kind() {
        ErrorKind::RunCanceled => return "canceled".to_owned(),
        ErrorKind::RunSkipped => return "skipped".to_owned(),
        _ => {}
    }
    match &receipt.error {
        Some(error) if !error.code.as_str().is_empty() => error.code.as_str().to_owned(),
        _ => "failed".to_owned(),
    }
}

/// Returns the error of an item as JSON. It always has a code.
pub(super) fn error_json(failure: &Failure, code: &str) -> Value {
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
        fields.entry("code").or_insert_with(|| Value::String(code.to_owned()));
    }
    error
}

/// Returns the code of a failure that is not the service's.
pub(super) fn default_code(exit: Exit) -> &'static str {
    match exit {
        Exit::Ambiguous => "ambiguous",
        Exit::Unreachable => "connection_failed",
        Exit::Overloaded => "bad_gateway",
        Exit::Usage => "usage",
        Exit::StillRunning => "timed_out",
        Exit::Funds => "over_budget",
        Exit::NotFound => "not_found",
        _ => "http_error",
    }
}
