//! Sending of requests: new ones, and those that an earlier run of the same command left open.

use svc_sdk::Call;
use svc_sdk::handle::Handle;
use svc_sdk::types::IdempotencyKey;

use super::Submission;
use super::paid_request::{
    PaidRequest, abandon, ambiguous_if_key_in_use, close_failed, note_resent, note_resumed,
    prepare, same_key_hint,
};
use crate::error::{Exit, Failure};
use crate::journal::{Journal, OpenIntent, RequestHash};
use crate::pricing::Price;
use crate::resource::Resource;
use crate::types::ResourceId;

/// The resource that was submitted, and its intent if there is a journal.
type Sent<R> = (Handle<R>, Option<OpenIntent>);

impl<R: Resource> Submission<'_, R> {
    /// Returns the resource: a new one, or the one that an earlier run of the same command
    /// submitted.
    pub(super) async fn send(&self, journal: Option<&Journal>) -> Result<Sent<R>, Failure> {
        let Some(journal) = journal else {
            let price = self.check_price(true).await?;
            let (submit, _) = self.prepare(None)?;
            let resource = self.post(submit, None).await?;
            self.announce(&resource, &price);
            return Ok((resource, None));
        };
        let hash = self.paid_request().hash();
        if self.options.spending.journal.new {
            abandon(journal, &hash)?;
        }
        match journal.reopen(&hash)? {
            Some(intent) => match intent.entry().resource.clone() {
                Some(id) => Ok(self.resume(intent, &id)),
                None => self.resend(intent).await,
            },
            None => self.send_first(journal, hash).await,
        }
    }

    async fn send_first(&self, journal: &Journal, hash: RequestHash) -> Result<Sent<R>, Failure> {
        let price = self.check_price(true).await?;
        let (submit, key) = self.prepare(None)?;
        let price_usd = price.estimate().map(|it| it.price_usd);
        let intent = journal.begin(self.paid_request().intent(hash, key, price_usd))?;
        self.post_recorded(submit, intent, &price, false).await
    }

    /// Resumes a submitted resource, without a request.
    fn resume(&self, intent: OpenIntent, id: &ResourceId) -> Sent<R> {
        note_resumed(&self.session.printer, &intent, id);
        (R::from_id(&self.access.client, id.id()), Some(intent))
    }

    /// Sends the request again with the same key, so that the service charges it once.
    async fn resend(&self, intent: OpenIntent) -> Result<Sent<R>, Failure> {
        let key = intent.entry().intent.idempotency_key.clone();
        let paid = self.paid_request();
        if !paid.can_resend(&intent) {
            return Err(self.with_list_hint(paid.unresolved(&intent)));
        }
        self.check_price(false).await?;
        note_resent(&self.session.printer, &intent);
        let (submit, _) = self.prepare(Some(key))?;
        self.post_recorded(submit, intent, &Price::Unknown, true)
            .await
    }

    /// Sends the request and records the response in the journal.
    async fn post_recorded(
        &self,
        submit: Call<Handle<R>>,
        mut intent: OpenIntent,
        price: &Price,
        is_retry: bool,
    ) -> Result<Sent<R>, Failure> {
        match self.post(submit, Some(&intent)).await {
            Ok(resource) => {
                self.record_receipt(&mut intent, &resource);
                self.announce(&resource, price);
                Ok((resource, Some(intent)))
            }
            Err(failure) => {
                let printer = &self.session.printer;
                Err(close_failed(printer, intent, failure, is_retry))
            }
        }
    }

    fn record_receipt(&self, intent: &mut OpenIntent, resource: &Handle<R>) {
        let id = R::resource_id(resource);
        let noun = id.noun();
        if let Err(error) = intent.receipt(id, R::request_id(resource), R::charge(resource)) {
            self.session.printer.warn(&format!(
                "cannot write to the journal: {error}; keep the id of the {noun}"
            ));
        }
    }

    async fn post(
        &self,
        submit: Call<Handle<R>>,
        intent: Option<&OpenIntent>,
    ) -> Result<Handle<R>, Failure> {
        let request = submit.request();
        let key = request.ok().and_then(|it| it.idempotency_key.clone());
        let sent = self.session.send(submit).await;
        sent.map_err(|failure| {
            let failure = failure.context(format!("cannot submit the {}", self.request.noun));
            let failure = match &key {
                Some(key) => failure.with_idempotency_key(key.as_str()),
                None => failure,
            };
            let failure = ambiguous_if_key_in_use(failure);
            self.with_retry_hint(failure, intent.is_some(), key.as_ref())
        })
    }

    fn paid_request(&self) -> PaidRequest<'_> {
        PaidRequest {
            chosen_key: self.options.spending.idempotency_key.as_ref(),
            max_price: self.options.spending.max_price,
            ..PaidRequest::new(self.access, self.request)
        }
    }

    fn prepare(
        &self,
        key: Option<IdempotencyKey>,
    ) -> Result<(Call<Handle<R>>, IdempotencyKey), Failure> {
        let key = key.or_else(|| self.options.spending.idempotency_key.clone());
        prepare(&self.access.client, self.request, key)
    }

    fn with_list_hint(&self, failure: Failure) -> Failure {
        failure
            .hint(format!(
                "check whether the {} exists: {}",
                R::NOUN,
                R::list_command(self.session, self.request)
            ))
            .hint("to submit a new one, run the command with --new")
    }

    /// Adds hints to an ambiguous failure: how to find out what happened without paying twice.
    fn with_retry_hint(
        &self,
        failure: Failure,
        journaled: bool,
        key: Option<&IdempotencyKey>,
    ) -> Failure {
        match key {
            Some(_) if failure.exit() != Exit::Ambiguous => failure,
            Some(_) if !self.paid_request().is_idempotent => self.with_list_hint(failure),
            Some(key) => failure.hint(same_key_hint(key, journaled)),
            None => failure,
        }
    }
}
