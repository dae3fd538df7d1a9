//! Submits through a journal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::clock::{self, ClockReading};
use super::deadline::Deadline;
use super::{CallOptions, Core, DecodeContext, Decoder, RawResponse, Request};
use crate::contract::{Operation, RetryClass};
use crate::error::{Error, Result};
use crate::journal::settlement::Settlement;
use crate::journal::{
    ActiveIntent, CostFuture, ExpectedCost, Fingerprint, Journal, JournalError, JournaledRequest,
    Receipt, Reservation, ResourceKind, Reuse, SpendLimit, Start, hex, job_search,
};
use crate::types::{Estimate, EstimateRequest, InvalidField, Usd};

/// How many estimates a client keeps.
const MAX_ESTIMATES: usize = 10_000;
/// How long an estimate is used: the service may change its prices.
const ESTIMATE_LIFETIME: Duration = Duration::from_secs(60);
/// The longest id of a submission, in bytes.
const MAX_SUBMISSION_ID: usize = 512;
/// The field of a run's body that the service enforces.
const SPEND_CAP: &str = "generation_spend_cap_usd";

/// The functions with which a journal handles the result of a submit.
pub(crate) struct SubmitFunctions<T> {
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

/// The options of a submit.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubmitOptions {
    pub(crate) submission_id: Option<String>,
    pub(crate) reuse: Reuse,
    pub(crate) at_most: Option<Usd>,
    pub(crate) notes: Map<String, Value>,
    pub(crate) is_key_chosen: bool,
    /// Another journal than the client's.
    pub(crate) journal: Option<Journal>,
}

/// A submit that is sent at most once for its submission.
pub(crate) struct JournaledSubmit<T> {
    pub(crate) core: Arc<Core>,
    pub(crate) journal: Journal,
    pub(crate) request: Arc<Request>,
    pub(crate) options: CallOptions,
    pub(crate) functions: SubmitFunctions<T>,
    pub(crate) decode: Decoder<T>,
}

impl<T> JournaledSubmit<T> {
    /// Sends the request, or returns what it made before.
    pub(crate) async fn run(mut self, deadline: &Deadline) -> Result<(T, RawResponse)> {
        let options = self.options.submit.as_ref();
        check_submission_id(options.and_then(|it| it.submission_id.as_deref()))?;
        self.apply_cap()?;
        loop {
            let request = self.journaled_request().await?;
            let cost = || -> CostFuture<'_> { Box::pin(self.expected_cost(deadline)) };
            let started = Box::pin(self.journal.start(request, deadline, &cost)).await;
            let intent = match started {
                Ok(Start::Send(intent)) => intent,
                Ok(Start::Existing(intent)) => return self.restored(intent),
                Err(error) if self.finds_job(&error, deadline).await => continue,
                Err(error) => return Err(self.request.annotate(error)),
            };
            match Box::pin(self.send(&intent, deadline)).await {
                Err(error) if matches!(error.journal(), Some(JournalError::GenerationTaken)) => {}
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
        let found = self.journal.find_job(&self.core, &undecided.id, key);
        Box::pin(deadline.before(found)).await.unwrap_or_default()
    }

    async fn send(
        &self,
        intent: &Arc<ActiveIntent>,
        deadline: &Deadline,
    ) -> Result<(T, RawResponse)> {
        let mut request = Request::clone(&self.request);
        request.idempotency_key = Some(intent.key().clone());
        if intent.has_key_in_metadata() {
            let mut body = self.body();
            job_search::add_key(&mut body, intent.key());
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
        let api_key = self.core.key.credentials.header().await?;
        let operation = request.operation.map_or("", Operation::name);
        let key = request.idempotency_key.clone();
        Ok(JournaledRequest {
            submission_id: options.submission_id,
            reuse: options.reuse,
            account: Arc::clone(&self.core.account),
            operation: operation.to_owned(),
            path: request.path.clone(),
            fingerprint: Fingerprint::new(
                operation,
                &request.path,
                request.body.as_deref().unwrap_or_default(),
            ),
            origin: self.core.base_url.as_str().to_owned(),
            api_key: api_key.map(|key| key_fingerprint(key.as_bytes())),
            key: match key {
                Some(key) => key,
                None => self.core.random.idempotency_key()?,
            },
            is_key_chosen: options.is_key_chosen,
            is_key_documented: request.retry_class() == RetryClass::Key,
            is_job: self.functions.kind == ResourceKind::Job && !self.body().is_empty(),
            notes: options.notes,
        })
    }

    fn at_most(&self) -> Option<Usd> {
        self.options.submit.as_ref()?.at_most
    }

    /// Sets the spend cap of a run that has none to what the caller allows.
    fn apply_cap(&mut self) -> Result<()> {
        let Some(at_most) = self.at_most().filter(|_| self.is_run()) else { return Ok(()) };
        let mut body = self.body();
        if body.get(SPEND_CAP).is_none_or(Value::is_null) {
            // An amount of dollars is a number in JSON as it is.
            let cap = serde_json::from_str(&at_most.to_string()).unwrap_or_default();
            body.insert(SPEND_CAP.to_owned(), cap);
            Arc::make_mut(&mut self.request).set_body(&body)?;
        }
        Ok(())
    }

    fn body(&self) -> Map<String, Value> {
        let body = self.request.body.as_deref().unwrap_or_default();
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// Returns what the submit may cost, and what is reserved of the client's spend limit.
    async fn expected_cost(&self, deadline: &Deadline) -> Result<ExpectedCost> {
        let limit = self.core.spend_limit.as_ref();
        let is_top_up = self.request.operation == Some(Operation::TopUpsCreate);
        if is_top_up || (limit.is_none() && self.at_most().is_none()) {
            return Ok(ExpectedCost::default());
        }
        let price = self.price(deadline).await?;
        if let Some(at_most) = self.at_most()
            && price > at_most
        {
            return Err(JournalError::TooExpensive { price, at_most }.into());
        }
        Ok(ExpectedCost {
            price_usd: Some(price),
            reservation: limit.map(|limit: &SpendLimit| Reservation {
                budget: limit.name.clone(),
                amount: price,
                limit: limit.limit,
            }),
        })
    }

    /// Returns the most that the submit can cost, as far as the service says so.
    async fn price(&self, deadline: &Deadline) -> Result<Usd> {
        let body = self.body();
        let no_price = |reason| Err(JournalError::NoPrice { reason }.into());
        match self.request.operation {
            Some(Operation::ImageGenerate | Operation::VideoGenerate) => {
                self.estimate(body, deadline).await
            }
            Some(Operation::FormatsBulkCreate | Operation::FormatsBySlugBulkCreate) => {
                let items = body.get("items").and_then(Value::as_array);
                let caps = items.into_iter().flatten().map(|item| spend_cap(item.get(SPEND_CAP)));
                let sum = caps.reduce(|sum, cap| sum?.checked_add(cap?)).flatten();
                sum.map_or_else(|| no_price("each run of the queue needs a spend cap"), Ok)
            }
            _ if self.is_run() => spend_cap(body.get(SPEND_CAP))
                .map_or_else(|| no_price("the run needs a spend cap, or `at_most`"), Ok),
            _ => no_price("the service gives no price for this operation"),
        }
    }

    async fn estimate(&self, body: Map<String, Value>, deadline: &Deadline) -> Result<Usd> {
        let request = EstimateRequest::for_body(body);
        let shape = estimate_shape(&request);
        let known = self.core.estimates.of(shape);
        let price = known.get_or_try_init(async || {
            let call =
                super::Call::<Estimate>::new::<&str>(&self.core, Operation::OpenEstimate, &[])
                    .json(&request)
                    .timeout(deadline.remaining());
            let estimate = call.await.map_err(|error| error.without_field_prefix("input."))?;
            Ok::<_, Error>(estimate.price_usd)
        });
        // Another submit of that shape may be asking, with a longer time limit.
        match deadline.before(price).await {
            Some(price) => price.copied(),
            None => Err(deadline.passed_before_sending()),
        }
    }

    /// Returns whether the request starts a single run.
    fn is_run(&self) -> bool {
        use ResourceKind::{ActionRun, AgentRun, FormatRun};

        matches!(self.functions.kind, ActionRun | FormatRun | AgentRun)
    }
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

fn spend_cap(value: Option<&Value>) -> Option<Usd> {
    let cap: Usd = value?.to_string().trim_matches('"').parse().ok()?;
    (cap > Usd::ZERO).then_some(cap)
}

/// Returns what identifies an API key without revealing it.
pub(crate) fn key_fingerprint(header: &[u8]) -> String {
    let digest = Sha256::digest(header);
    hex(digest.get(..8).unwrap_or_default())
}

/// Returns a digest of everything that the price depends on: all but the text of the prompt.
fn estimate_shape(request: &EstimateRequest) -> [u8; 32] {
    let mut input = request.input.clone();
    if let Some(prompt) = input.get_mut("prompt")
        && prompt.as_str().is_some_and(|prompt| !prompt.is_empty())
    {
        *prompt = Value::Bool(true);
    }
    let body = Value::Object(input).to_string();
    let fingerprint = Fingerprint::new(&request.model, "", body.as_bytes());
    fingerprint.digest()
}

/// Prices by the shape of a request. Each is asked for once in its lifetime, however many submits wait
/// for it.
#[derive(Debug, Default)]
pub(crate) struct Estimates(Mutex<HashMap<[u8; 32], KnownEstimate>>);

#[derive(Debug)]
struct KnownEstimate {
    asked_at: ClockReading,
    price: Arc<OnceCell<Usd>>,
}

impl KnownEstimate {
    fn is_valid(&self) -> bool {
        let age = clock::now().saturating_duration_since(self.asked_at.monotonic());
        age < ESTIMATE_LIFETIME && !self.asked_at.has_slept()
    }
}

impl Estimates {
    fn of(&self, shape: [u8; 32]) -> Arc<OnceCell<Usd>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(estimate) = known.get(&shape).filter(|it| it.is_valid()) {
            return Arc::clone(&estimate.price);
        }
        if known.len() >= MAX_ESTIMATES {
            known.retain(|_, estimate| estimate.is_valid());
        }
        if known.len() >= MAX_ESTIMATES {
            known.clear();
        }
        let price = Arc::default();
        let estimate = KnownEstimate { asked_at: ClockReading::now(), price: Arc::clone(&price) };
        known.insert(shape, estimate);
        price
    }
}
