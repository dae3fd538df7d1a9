//! Submits: calls whose value is a handle, and their options.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tracing::Span;

use super::{Handle, Resource, Submission};
use crate::call::json::parse_lenient;
use crate::call::submit::SubmitFunctions;
use crate::call::{Call, Core, DecodeContext, RawResponse, Request};
use crate::client::Client;
use crate::contract::Operation;
use crate::error::{Error, Result};
use crate::journal::{Journal, Receipt, Reuse};
use crate::observe::trace;
use crate::surface::ClientSurface;
use crate::types::{InvalidField, Usd};

impl<R: Resource> Call<Handle<R>> {
    /// Creates a call that submits such a resource.
    pub(crate) fn submit(core: &Arc<Core>, operation: Operation, segments: &[&str]) -> Self {
        Self::submit_request(core, Request::new(operation, segments))
    }

    fn submit_request(core: &Arc<Core>, request: Result<Request>) -> Self {
        Self::with_decoder(core, request, decode_handle).with_submit_functions(SubmitFunctions {
            run: |submit, deadline| Box::pin(submit.run(deadline)),
            kind: R::JOURNAL_KIND,
            receipt: |handle| Receipt {
                kind: R::JOURNAL_KIND,
                id: handle.id.as_ref().to_owned(),
                request_id: handle
                    .receipt()
                    .and_then(R::receipt_request_id)
                    .map(ToString::to_string),
                price_usd: handle.receipt().and_then(R::receipt_price),
            },
            attach: |handle, intent| {
                if let Some(submission) = &mut handle.submission {
                    submission.intent = Some(intent);
                }
            },
            restore: Handle::restore,
        })
    }
}

/// Options of submits that are in a journal ([`ClientBuilder::journal`](crate::ClientBuilder::journal)).
impl<R: Resource> Call<Handle<R>> {
    /// Names the submission: an order, a row, a message. Submits with the same id are one submission,
    /// in every process that has the journal, and paid for once.
    ///
    /// Without a journal the call fails, and nothing is sent.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error with a [`JournalError`](crate::journal::JournalError) if it cannot
    /// be sent: another body under the same id, another account, an outcome that is unknown.
    pub fn submission_id(mut self, id: impl Into<String>) -> Self {
        self.submit_options().submission_id = Some(id.into());
        self
    }

    /// Sets what is done if the submission was accepted before. The default is
    /// [`Reuse::ReturnExisting`].
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.submit_options().reuse = reuse;
        self
    }

    /// Sets what it may cost at most. A run without a spend cap gets this one; a job that is estimated
    /// to cost more, a run with a higher cap, and what has no price are refused.
    ///
    /// It needs a journal, as [`submission_id`](Self::submission_id) does.
    pub fn at_most(mut self, amount: Usd) -> Self {
        self.submit_options().at_most = Some(amount);
        self
    }

    /// Sets the journal, in place of the client's.
    pub fn journal(mut self, journal: &Journal) -> Self {
        self.submit_options().journal = Some(journal.clone());
        self
    }

    /// Notes something about the submission in its journal entry, such as a description.
    pub fn note(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.submit_options().notes.insert(name.into(), value.into());
        self
    }
}

/// A receipt that is put on the heap as soon as it is decoded, as it is too large to be moved again.
struct SharedReceipt<T>(Arc<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SharedReceipt<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|receipt| Self(Arc::new(receipt)))
    }
}

/// Decodes the response to a submit. A receipt that cannot be decoded is left out if it has an id,
/// which is all that a wait needs.
fn decode_handle<R: Resource>(
    context: &DecodeContext<'_>,
    response: &RawResponse,
) -> Result<Handle<R>> {
    let receipt = response.decode(context.core.wrapping);
    let decoded = receipt.and_then(|SharedReceipt::<R::Receipt>(receipt)| {
        let id = R::receipt_id(&receipt).ok_or_else(|| response.missing_id())?;
        Ok((id, Some(receipt)))
    });
    let (id, receipt) = decoded.or_else(|error| {
        let body = parse_lenient(&response.body);
        let id = body.and_then(|body| R::salvage_id(body.get("data").unwrap_or(&body)));
        let id = id.filter(|id| !id.as_ref().is_empty());
        id.map(|id| (id, None)).ok_or(error)
    })?;
    let span = Span::current();
    if !span.is_disabled() {
        trace::record_resource(&span, &R::resource_ref(&id, None));
    }
    Ok(Handle {
        core: Arc::clone(context.core),
        id,
        submission: Some(Submission {
            is_replay: response.status == 200
                && receipt.as_deref().is_none_or(|receipt| R::is_replay(receipt)),
            receipt,
            idempotency_key: context.request.idempotency_key.clone(),
            intent: None,
        }),
    })
}

impl<S: ClientSurface> Client<S> {
    /// Submits a JSON body as it is, for fields that this build may not know.
    ///
    /// `segments` are the values of the placeholders in the operation's path. Nothing is checked but
    /// that the operation is one of this surface and submits such a resource.
    ///
    /// ```no_run
    /// use serde_json::json;
    /// use svc_sdk::contract::Operation;
    /// use svc_sdk::{JobHandle, Open};
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let body = json!({"model": "auto", "prompt": "a red fox in snow"});
    /// let job: JobHandle<Open> = client.submit_json(Operation::VideoGenerate, &[], &body).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As any [`Call`].
    pub fn submit_json<R: Resource<Surface = S>>(
        &self,
        operation: Operation,
        segments: &[&str],
        body: &Value,
    ) -> Call<Handle<R>> {
        let is_submit =
            operation.surface().includes(S::SURFACE) && operation.retry().sends_idempotency_key();
        let request = if !is_submit || !R::is_submitted_by(operation) {
            let reason = format!("`{operation}` does not submit this kind of resource here");
            Err(Error::from(InvalidField::new("operation", reason)))
        } else {
            Request::new(operation, segments).and_then(|request| request.with_body(body))
        };
        Call::submit_request(&self.core, request)
    }
}
