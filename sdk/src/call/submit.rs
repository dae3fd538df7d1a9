//! Submits through a journal, and the functions that handle their results.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use super::core::Core;
use super::deadline::Deadline;
use super::job_search::{add_key, find_job};
use super::options::CallOptions;
use super::price;
use super::raw_response::RawResponse;
use super::request::Request;
use crate::contract::{Operation, RetryClass};
use crate::error::{Error, Result};
use crate::journal::settlement::Settlement;
use crate::journal::{
    ActiveIntent, CostFuture, Facts, Fingerprint, Journal, JournalError, JournaledRequest, Receipt,
    ResourceKind, Reuse, Start, key_fingerprint,
};
use crate::types::{IdempotencyKey, InvalidField};

/// The longest id of a submission, in bytes.
const MAX_SUBMISSION_ID: usize = 512;

/// What a decoder needs to know of the call that it decodes the response of.
pub(crate) struct DecodeContext<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) request: &'a Request,
}

pub(crate) type Decoder<T> = fn(&DecodeContext<'_>, &RawResponse) -> Result<T>;

/// A submit under way, with its value and its response.
pub(crate) type Submitting<T> = Pin<Box<dyn Future<Output = Result<(T, RawResponse)>> + Send>>;

/// The functions with which a journal handles the result of a submit.
pub(crate) struct SubmitFunctions<T> {
    /// Is [`JournaledSubmit::run`]: calls that are not submits do not contain it.
    pub(crate) run: fn(JournaledSubmit<T>, Deadline) -> Submitting<T>,
    pub(crate) kind: ResourceKind,
    /// Returns what the service accepted.
    pub(crate) receipt: fn(&T) -> Receipt,
    /// Keeps the intent, so that the outcome can be recorded.
    pub(crate) attach: fn(&mut T, Arc<ActiveIntent>),
    /// Returns what was accepted before, from its id.
    pub(crate) restore: fn(&Arc<Core>, String, Arc<ActiveIntent>) -> T,
}

impl<T> Clone for SubmitFunctions<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SubmitFunctions<T> {}

/// A submit that is sent at most once for its submission.
pub(crate) struct JournaledSubmit<T> {
    pub(crate) core: Arc<Core>,
    pub(crate) journal: Journal,
    pub(crate) request: Arc<Request>,
    pub(crate) options: CallOptions,
    pub(crate) functions: SubmitFunctions<T>,
    pub(crate) decode: Decoder<T>,
}

impl<T: Send> JournaledSubmit<T> {
    /// Sends the request, or returns what it made before.
    pub(crate) async fn run(mut self, deadline: Deadline) -> Result<(T, RawResponse)> {
        let deadline = &deadline;
        let options = self.options.submit.as_ref();
        check_submission_id(options.and_then(|it| it.submission_id.as_deref()))?;
        let at_most = options.and_then(|it| it.at_most);
        let kind = self.functions.kind;
        price::apply_cap(&mut self.request, kind, at_most)?;
        loop {
            let request = self.journaled_request().await?;
            let cost = || -> CostFuture<'_> {
                Box::pin(price::expected_cost(&self.core, &self.request, kind, at_most, deadline))
            };
            let started = Box::pin(self.journal.start(request, deadline, &cost)).await;
            let intent = match started {
                Ok(Start::Send(intent)) => intent,
                Ok(Start::Existing(intent)) => return self.restored(intent),
                Err(error) if self.finds_job(&error, deadline).await => continue,
                Err(error) => return Err(self.request.annotate(error)),
            };
            match Box::pin(self.send(&intent, deadline)).await {
                Err(error) if matches!(error.journal(), Some(JournalError::GenerationTaken)) => {
                    // What another process does again and again ends with the time limit.
                    if deadline.has_passed() {
                        return Err(self.request.annotate(deadline.passed_before_sending()));
                    }
                }
                Err(error) => return self.failed(intent, error).await,
                Ok((mut value, response)) => {
                    let receipt = (self.functions.receipt)(&value);
                    if let Err(error) = intent.accepted(receipt).await {
                        self.core.report_journal_failure(&intent, &error);
                    }
                    (self.functions.attach)(&mut value, intent);
                    return Ok((value, response));
                }
            }
        }
    }

    /// Whether an undecided submission turns out to be a job.
    async fn finds_job(&self, error: &Error, deadline: &Deadline) -> bool {
        let Some(JournalError::Undecided(undecided)) = error.journal() else { return false };
        let Some(key) = undecided.idempotency_key.as_ref().filter(|_| self.journal.searches_jobs())
        else {
            return false;
        };
        let found = find_job(&self.journal, &self.core, &undecided.id, key);
        Box::pin(deadline.before(found)).await.unwrap_or_default()
    }

    async fn send(
        &self,
        intent: &Arc<ActiveIntent>,
        deadline: &Deadline,
    ) -> Result<(T, RawResponse)> {
        let mut request = Request::clone(&self.request);
        request.idempotency_key = Some(intent.key().clone());
        if intent.facts.has_key_in_metadata {
            let mut body = request.json_body();
            add_key(&mut body, intent.key());
            request.set_body(&body)?;
        }
        let context = DecodeContext { core: &self.core, request: &request };
        let intent = Some(intent.as_ref());
        let decode = self.decode;
        let sending = self.core.execute(&request, &self.options, deadline, intent, |response| {
            let response = response.into_success()?;
            let value = decode(&context, &response)?;
            Ok((value, response))
        });
        sending.await
    }

    /// Records the failure. Returns the queue that it names, or the error.
    async fn failed(&self, intent: Arc<ActiveIntent>, error: Error) -> Result<(T, RawResponse)> {
        let error = error.with_key(Some(intent.key()));
        match intent.failed(&error).await {
            Settlement::Arrived(Some(_)) => self.restored(intent),
            // The last attempt was refused, but an earlier one may have been carried out.
            Settlement::Unknown if !error.is_ambiguous() => Err(error.with_unsettled_attempt()),
            _ => Err(error),
        }
    }

    fn restored(&self, intent: Arc<ActiveIntent>) -> Result<(T, RawResponse)> {
        let id = intent.resource().map(|(_, id)| id).unwrap_or_default();
        let value = (self.functions.restore)(&self.core, id, intent);
        Ok((value, RawResponse::new(200, HeaderMap::new(), Bytes::new())))
    }

    async fn journaled_request(&self) -> Result<JournaledRequest> {
        let request = &self.request;
        let options = self.options.submit.as_deref().cloned().unwrap_or_default();
        let operation = request.operation.map_or("", Operation::name);
        let body = request.body.as_deref().unwrap_or_default();
        let key = request.idempotency_key.as_ref();
        let mut journaled =
            journaled_request(&self.core, operation, &request.path, body, key).await?;
        journaled.submission_id = options.submission_id;
        journaled.reuse = options.reuse;
        journaled.is_job =
            self.functions.kind == ResourceKind::Job && !request.json_body().is_empty();
        journaled.facts.is_key_chosen = options.is_key_chosen;
        journaled.facts.is_key_documented = request.retry_class() == RetryClass::Key;
        journaled.facts.notes = options.notes;
        Ok(journaled)
    }
}

/// Returns a request without the options of its submit. If `key` is `None`, it gets a new one.
pub(crate) async fn journaled_request(
    core: &Core,
    operation: &str,
    path: &str,
    body: &[u8],
    key: Option<&IdempotencyKey>,
) -> Result<JournaledRequest> {
    let api_key = core.key.credentials.header().await?;
    let key = key.map_or_else(|| core.random.idempotency_key(), |key| Ok(key.clone()))?;
    Ok(JournaledRequest {
        submission_id: None,
        reuse: Reuse::default(),
        account: Arc::clone(&core.account),
        facts: Facts {
            path: path.to_owned(),
            origin: core.base_url.as_str().to_owned(),
            api_key: api_key.map(|key| key_fingerprint(key.as_bytes())),
            ..Facts::new(operation, key)
        },
        fingerprint: Fingerprint::new(operation, path, body),
        is_job: false,
    })
}

/// Stores have limits, and an id with control characters is a mistake.
pub(crate) fn check_submission_id(id: Option<&str>) -> Result<()> {
    match id {
        Some(id) if id.len() > MAX_SUBMISSION_ID || id.chars().any(char::is_control) => {
            let reason = "must be at most 512 bytes without control characters";
            Err(Error::from(InvalidField::new("submission_id", reason)))
        }
        _ => Ok(()),
    }
}
