//! JSON messages over a client: the seam for `svc-mcp`, whose messages have the credential, the rate limit,
//! the retries and the journal of every call.
//!
//! Hidden from the documentation: for the crates of this workspace, and not a stable API.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Map, Value};

use crate::call::deadline::Deadline;
use crate::call::response::{ErrorEnvelope, snippet};
use crate::call::submit::{check_submission_id, journaled_request};
use crate::call::{CallOptions, Core, RawResponse, Request};
use crate::client::Client;
use crate::contract::{Operation, RetryClass};
use crate::error::{Error, Kind, Result};
use crate::journal::settlement::Settlement;
use crate::journal::{
    ActiveIntent, CostFuture, ExpectedCost, IntentId, Journal, Receipt, ResourceKind, Reuse, Start,
};
use crate::surface::Developer;
use crate::types::{ErrorBody, IdempotencyKey, Usd};

const OPERATION: Operation = Operation::Mcp;

/// A client whose base URL is an endpoint for messages.
#[derive(Clone, Debug)]
pub struct MessageChannel {
    core: Arc<Core>,
}

/// A message to the endpoint.
#[derive(Debug)]
pub struct Message<'a> {
    /// The JSON body.
    pub body: &'a Value,
    /// Headers in addition to those of every request.
    pub headers: HeaderMap,
    /// When the message may be sent again after a failure.
    pub retry_class: RetryClass,
    /// The intent in a journal, if the message is paid for.
    pub intent: Option<&'a MessageIntent>,
}

/// A message that is paid for, as a journal sees it.
#[derive(Debug)]
pub struct MessageSubmission<'a> {
    /// The id that the application gave.
    pub submission_id: Option<&'a str>,
    /// What is done if the submission was accepted before.
    pub reuse: Reuse,
    /// The method and the tool, such as `tools/image_generate`.
    pub path: &'a str,
    /// The arguments of the tool, without the idempotency key.
    pub body: &'a [u8],
    /// The idempotency key that the caller chose.
    pub chosen_key: Option<&'a IdempotencyKey>,
    /// Whether the endpoint recognizes the key of a repeated message.
    pub is_key_documented: bool,
    /// Notes for the journal entry.
    pub notes: &'a Map<String, Value>,
}

/// The next step of a message that is paid for.
#[derive(Debug)]
pub enum MessageStart {
    /// Send it, with the key of the intent.
    Send(MessageIntent),
    /// It was accepted before.
    Existing(MessageIntent),
}

/// What the endpoint made for a message.
#[derive(Debug)]
pub struct MessageReceipt {
    /// The kind of what was made.
    pub kind: ResourceKind,
    /// Its id.
    pub id: String,
    /// What was charged.
    pub price_usd: Option<Usd>,
}

/// The intent of a message in a journal, which is active as long as a clone of it exists.
#[derive(Clone, Debug)]
pub struct MessageIntent(Arc<ActiveIntent>);

impl MessageChannel {
    /// Creates a channel from a client.
    #[must_use]
    pub fn new(client: &Client<Developer>) -> Self {
        Self { core: Arc::clone(&client.core) }
    }

    /// Returns the client's journal.
    #[must_use]
    pub fn journal(&self) -> Option<&Journal> {
        self.core.journal.as_ref()
    }

    /// Returns a new idempotency key.
    ///
    /// # Errors
    ///
    /// Returns an error if the operating system provides no random numbers.
    pub fn new_key(&self) -> Result<IdempotencyKey> {
        self.core.random.idempotency_key()
    }

    /// Sends a message until it succeeds or must not be retried, and decodes the response of whatever
    /// status.
    ///
    /// # Errors
    ///
    /// Returns the error of the last attempt, or an earlier one that leaves the outcome unknown.
    pub async fn send<T: Send>(
        &self,
        message: Message<'_>,
        decode: impl FnMut(RawResponse) -> Result<T> + Send,
    ) -> Result<T> {
        // The base URL is already the endpoint's complete URL.
        let request = Request::raw(Some(OPERATION), OPERATION.method(), String::new());
        let mut request = request.with_body(message.body)?;
        request.retry_class = Some(message.retry_class);
        request.headers = message.headers;
        let deadline = Deadline::after(self.core.timeout);
        let intent = message.intent.map(|intent| intent.0.as_ref());
        self.core.execute(&request, &CallOptions::default(), &deadline, intent, decode).await
    }

    /// Decides what is done about a message that is paid for.
    ///
    /// # Errors
    ///
    /// Returns an error if it must not be sent, or if the journal fails.
    pub async fn start(
        &self,
        journal: &Journal,
        submission: &MessageSubmission<'_>,
    ) -> Result<MessageStart> {
        check_submission_id(submission.submission_id)?;
        let MessageSubmission { path, body, chosen_key, .. } = submission;
        let mut request =
            journaled_request(&self.core, OPERATION.name(), path, body, *chosen_key).await?;
        request.submission_id = submission.submission_id.map(str::to_owned);
        request.reuse = submission.reuse;
        request.facts.is_key_chosen = chosen_key.is_some();
        request.facts.is_key_documented = submission.is_key_documented;
        request.facts.notes = submission.notes.clone();
        let deadline = Deadline::after(self.core.timeout);
        let no_cost = || -> CostFuture<'_> { Box::pin(async { Ok(ExpectedCost::default()) }) };
        Ok(match Box::pin(journal.start(request, &deadline, &no_cost)).await? {
            Start::Send(intent) => MessageStart::Send(MessageIntent(intent)),
            Start::Existing(intent) => MessageStart::Existing(MessageIntent(intent)),
        })
    }

    /// Writes what the endpoint made to the journal. A failure is reported to the client's observers.
    pub async fn accepted(&self, intent: &MessageIntent, receipt: MessageReceipt) {
        let MessageReceipt { kind, id, price_usd } = receipt;
        let receipt = Receipt { kind, id, request_id: None, price_usd };
        if let Err(error) = intent.0.accepted(receipt).await {
            self.core.report_journal_failure(&intent.0, &error);
        }
    }
}

impl MessageIntent {
    /// Returns the identifier of the intent.
    #[must_use]
    pub fn id(&self) -> &IntentId {
        self.0.id()
    }

    /// Returns the idempotency key of each of its attempts.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        self.0.key()
    }

    /// Returns what was made, and its id.
    #[must_use]
    pub fn resource(&self) -> Option<(ResourceKind, String)> {
        self.0.resource()
    }

    /// Writes that the application has the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be written.
    pub async fn acknowledge(&self) -> Result<()> {
        self.0.acknowledge().await
    }

    /// Writes the failure of the message, and returns it with what it leaves unknown.
    pub async fn failed(&self, error: Error) -> Error {
        // A reply that cannot be read does not say that the message was carried out.
        let is_unknown = !matches!(error.variant(), Kind::Decode { .. })
            && self.0.failed(&error).await == Settlement::Unknown;
        match is_unknown && !error.is_ambiguous() {
            true => error.with_unsettled_attempt(),
            false => error,
        }
    }
}

impl PartialEq for MessageIntent {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

/// Creates the error of a configuration that is not valid.
#[must_use]
pub fn configuration_error(reason: impl Into<String>) -> Error {
    Error::configuration(reason)
}

/// Adds the idempotency key of a message to its error.
#[must_use]
pub fn with_key(error: Error, key: Option<&IdempotencyKey>) -> Error {
    error.with_key(key)
}

/// Returns the response if its status is a success, and else the error that it is.
///
/// # Errors
///
/// Returns the error of a response without success.
pub fn into_success(response: RawResponse) -> Result<RawResponse> {
    response.into_success()
}

/// Parses a text as the JSON of an error of the service.
#[must_use]
pub fn error_body(text: &str) -> Option<ErrorBody> {
    serde_json::from_str::<ErrorEnvelope>(text).ok().map(|envelope| envelope.error)
}

/// Creates the error of a message that the endpoint refused with an error of the service.
#[must_use]
pub fn refused(response: &RawResponse, status: u16, body: ErrorBody) -> Error {
    let retry_after = body.retry_after;
    let kind = Kind::Api { status, retry_after, body: Box::new(body) };
    Error::new(kind).with_response(response.clone())
}

/// Creates the error of a message that was rejected before the endpoint looked for its idempotency key:
/// this attempt did not run, and nothing is said of an earlier one.
#[must_use]
pub fn rejected(response: &RawResponse) -> Error {
    let snippet = snippet(&response.body);
    with_response(Kind::NoEnvelope { status: 400, snippet, retry_after: None }, response)
}

/// Creates the error of a reply that does not say whether the message was carried out.
#[must_use]
pub fn undecided(response: &RawResponse, path: &str, reason: &str) -> Error {
    let kind = Kind::Decode {
        status: response.status,
        path: path.to_owned(),
        reason: reason.to_owned(),
        snippet: snippet(&response.body),
    };
    with_response(kind, response)
}

/// Creates the error of a response without any reply.
#[must_use]
pub fn not_json(response: &RawResponse) -> Error {
    let snippet = snippet(&response.body);
    with_response(Kind::NotJson { status: response.status, snippet }, response)
}

/// Creates the error of a result that is not one of the message.
#[must_use]
pub fn unexpected_result(reason: String) -> Error {
    let path = "result".to_owned();
    let kind = Kind::Decode { status: 200, path, reason, snippet: String::new() };
    Error::new(kind).with_operation(Some(OPERATION))
}

fn with_response(kind: Kind, response: &RawResponse) -> Error {
    Error::new(kind).with_request_id(response.request_id()).with_response(response.clone())
}
