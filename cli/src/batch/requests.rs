//! The requests of a batch.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_sdk::contract::{Operation, RetryClass, RunStatus};
use svc_sdk::download::Download;
use svc_sdk::handle::{AgentRun, Handle, JobResource, RunHandle};
use svc_sdk::types::{IdempotencyKey, RunReceipt, Usd};
use svc_sdk::{Client, Developer, Error, JobHandle, Open, RateLimit};
use tokio::sync::Semaphore;

use super::journal::{DOWNLOAD_FAILED, Status};
use super::plan::account_of;
use super::request_failure::{FailureClass, RequestFailure, error_json};
use super::scheduler::{Account, WriteLimit};
use crate::download::{DownloadPlan, StoredFile};
use crate::error::Failure;
use crate::pricing::{EstimateSource, estimate_request};
use crate::resource::Resource;
use crate::session::Access;
use crate::types::ResourceId;

/// The maximum number of jobs whose files are downloaded at the same time.
const MAX_DOWNLOADS: usize = 8;

/// The clients of the surfaces that a batch needs.
#[derive(Clone, Debug)]
pub(super) struct Clients {
    pub(super) open: Option<Arc<Access<Open>>>,
    pub(super) developer: Option<Arc<Access<Developer>>>,
    pub(super) download: Option<Arc<DownloadPlan>>,
    downloads: Arc<Semaphore>,
}

/// A job or run that was submitted.
#[derive(Clone, Debug)]
pub(super) enum SubmittedHandle {
    OpenJob(JobHandle<Open>),
    DeveloperJob(JobHandle<Developer>),
    Run(RunHandle<AgentRun>),
}

/// The receipt of a submit.
#[derive(Debug)]
pub(super) struct SubmitReceipt {
    pub(super) submitted: SubmittedHandle,
    pub(super) charge: Option<Usd>,
    pub(super) request_id: Option<String>,
    pub(super) writes: Option<WriteLimit>,
}

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
    pub(super) fn url_and_fingerprint(&self, account: Account) -> Option<(&str, &str)> {
        match account {
            Account::Open => {
                let access = self.open.as_ref()?;
                Some((&access.base_url, &access.key_fingerprint))
            }
            Account::Developer => {
                let access = self.developer.as_ref()?;
                Some((&access.base_url, &access.key_fingerprint))
            }
        }
    }

    /// Returns a handle of what an earlier run submitted.
    pub(super) fn handle(&self, operation: Operation, id: &ResourceId) -> Option<SubmittedHandle> {
        let (account, id) = (account_of(operation), id.id());
        Some(match account {
            Account::Open => SubmittedHandle::OpenJob(self.open.as_ref()?.client.jobs().handle(id)),
            Account::Developer if operation == Operation::AgentCompletionsCreate => {
                let client = &self.developer.as_ref()?.client;
                SubmittedHandle::Run(client.agent_runs().handle(id))
            }
            Account::Developer => {
                SubmittedHandle::DeveloperJob(self.developer.as_ref()?.client.jobs().handle(id))
            }
        })
    }

    /// Submits a request, in a single attempt.
    pub(super) async fn submit(
        self,
        operation: Operation,
        body: Map<String, Value>,
        key: IdempotencyKey,
    ) -> Result<SubmitReceipt, RequestFailure> {
        let body = Value::Object(body);
        match (account_of(operation), &self.open, &self.developer) {
            (Account::Open, Some(access), _) => {
                let sent = submit::<JobResource<Open>>(&access.client, operation, &body, key);
                sent.await.map(|it| it.map(SubmittedHandle::OpenJob))
            }
            (Account::Developer, _, Some(access))
                if operation == Operation::AgentCompletionsCreate =>
            {
                let sent = submit::<AgentRun>(&access.client, operation, &body, key);
                sent.await.map(|it| it.map(SubmittedHandle::Run))
            }
            (Account::Developer, _, Some(access)) => {
                let sent = submit::<JobResource<Developer>>(&access.client, operation, &body, key);
                sent.await.map(|it| it.map(SubmittedHandle::DeveloperJob))
            }
            _ => Err(RequestFailure::new(
                Failure::other("no client for this operation"),
                FailureClass::StopsBatch,
            )),
        }
        .map(ResponseWithQuota::into_receipt)
    }

    /// Fetches the estimate of a request, in a single attempt. Returns `None` if there is none.
    pub(super) async fn estimate(
        self,
        body: Map<String, Value>,
    ) -> Result<EstimateResult, RequestFailure> {
        let access = self.open.as_ref();
        let call = access.and_then(|it| Open::estimate(&it.client, estimate_request(&body)));
        let Some(call) = call else {
            return Ok((None, None));
        };
        match call.max_retries(0).with_response().await {
            Ok(response) => {
                let writes = response.rate_limit().map(WriteLimit::from);
                Ok((Some(response.value.price_usd), writes))
            }
            Err(error) if error.is_decode() || error.is_not_found() => Ok((None, None)),
            Err(error) => Err(RequestFailure::of(error)),
        }
    }

    /// Waits for the end of a job or run, and downloads its files, whose names may contain the
    /// prompt.
    pub(super) async fn follow(
        self,
        submitted: SubmittedHandle,
        prompt: Option<String>,
    ) -> Result<ItemResult, Box<Error>> {
        let prompt = prompt.as_deref();
        match submitted {
            SubmittedHandle::OpenJob(job) => self.follow_job(job, prompt).await,
            SubmittedHandle::DeveloperJob(job) => self.follow_job(job, prompt).await,
            SubmittedHandle::Run(run) => self.follow_run(run, prompt).await,
        }
        .map_err(Box::new)
    }

    async fn follow_job<S: EstimateSource>(
        self,
        job: JobHandle<S>,
        prompt: Option<&str>,
    ) -> Result<ItemResult, Error> {
        let result = match job.wait().no_timeout().await {
            Ok(result) => result,
            Err(error) if error.is_job_failed() || error.is_job_canceled() => {
                let status = match error.is_job_canceled() {
                    true => Status::Canceled,
                    false => Status::Failed,
                };
                let code = error.code().map(|code| code.as_str().to_owned());
                let code = code.unwrap_or_else(|| status.as_str().to_owned());
                return Ok(ItemResult {
                    status,
                    // The charge is refunded.
                    cost: Some(Usd::ZERO),
                    artifacts: Vec::new(),
                    files: Vec::new(),
                    error: Some(error_json(&Failure::from(error), &code)),
                });
            }
            Err(error) => return Err(error),
        };
        let artifacts = result.artifacts().iter().map(|it| json!(it)).collect();
        let (files, error) = match &self.download {
            Some(plan) => {
                let download = job.download_result(&result, plan.folder());
                self.download(plan, prompt, download).await
            }
            None => (Vec::new(), None),
        };
        Ok(ItemResult {
            status: Status::Completed,
            cost: None,
            artifacts,
            files,
            error,
        })
    }

    async fn follow_run(
        self,
        run: RunHandle<AgentRun>,
        prompt: Option<&str>,
    ) -> Result<ItemResult, Error> {
        let (receipt, error) = match run.wait().no_timeout().await {
            Ok(receipt) => (receipt, None),
            Err(error) => {
                let ended =
                    error.is_run_failed() || error.is_run_canceled() || error.is_run_skipped();
                match error.run_receipt().cloned() {
                    Some(receipt) if ended => (receipt, Some(error)),
                    _ => return Err(error),
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

impl SubmittedHandle {
    /// Returns the id.
    pub(super) fn resource_id(&self) -> ResourceId {
        match self {
            Self::OpenJob(job) => <JobResource<Open> as Resource>::resource_id(job),
            Self::DeveloperJob(job) => <JobResource<Developer> as Resource>::resource_id(job),
            Self::Run(run) => <AgentRun as Resource>::resource_id(run),
        }
    }
}

/// The price, if there is one, and what is left of the write quota.
pub(super) type EstimateResult = (Option<Usd>, Option<WriteLimit>);

impl From<RateLimit> for WriteLimit {
    fn from(limit: RateLimit) -> Self {
        Self {
            limit: limit.limit,
            remaining: limit.remaining,
            reset_after: limit.reset_after,
        }
    }
}

struct ResponseWithQuota<T> {
    handle: T,
    charge: Option<Usd>,
    request_id: Option<String>,
    rate_limit: Option<RateLimit>,
}

impl<T> ResponseWithQuota<T> {
    fn map<U>(self, into: impl FnOnce(T) -> U) -> ResponseWithQuota<U> {
        ResponseWithQuota {
            handle: into(self.handle),
            charge: self.charge,
            request_id: self.request_id,
            rate_limit: self.rate_limit,
        }
    }
}

impl ResponseWithQuota<SubmittedHandle> {
    fn into_receipt(self) -> SubmitReceipt {
        SubmitReceipt {
            submitted: self.handle,
            charge: self.charge,
            request_id: self.request_id,
            writes: self.rate_limit.map(WriteLimit::from),
        }
    }
}

async fn submit<R: Resource>(
    client: &Client<R::Surface>,
    operation: Operation,
    body: &Value,
    key: IdempotencyKey,
) -> Result<ResponseWithQuota<Handle<R>>, RequestFailure> {
    let call = client
        .submit_json::<R>(operation, &[], body)
        .idempotency_key(key)
        .max_retries(0);
    match call.with_response().await {
        Ok(response) => Ok(ResponseWithQuota {
            rate_limit: response.rate_limit(),
            charge: R::charge(&response.value),
            request_id: R::request_id(&response.value).map(str::to_owned),
            handle: response.value,
        }),
        Err(error) => Err(RequestFailure::of(error)),
    }
}

/// Returns whether a request of that operation can be sent again with its key.
pub(super) fn is_idempotent(operation: Operation) -> bool {
    operation.retry() == RetryClass::Key
}

fn run_error_code(receipt: &RunReceipt, error: &Error) -> String {
    if error.is_run_canceled() {
        return "canceled".to_owned();
    }
    if error.is_run_skipped() {
        return "skipped".to_owned();
    }
    match &receipt.error {
        Some(error) if !error.code.as_str().is_empty() => error.code.as_str().to_owned(),
        _ => "failed".to_owned(),
    }
}
