//! Sending of requests: new ones, and those that an earlier run of the same command left open.

use svc_sdk::Call;
use svc_sdk::handle::Handle;
use svc_sdk::types::IdempotencyKey;

use crate::error::{Exit, Failure};
use crate::journal::{Orphan, Submissions};
use crate::pricing::Price;
use crate::resource::ResourceKind;
use crate::submit::Submission;
use crate::submit::paid_request::{
    PaidRequest, note_resent, note_resumed, prepare, same_key_hint, sent_failure,
};

/// The resource that was submitted.
pub(super) struct Sent<R: ResourceKind> {
    pub(super) resource: Handle<R>,
    /// The request of an earlier run of the same command that submitted it.
    pub(super) request_id: Option<String>,
}

impl<R: ResourceKind> Submission<'_, R> {
    /// Returns the resource: a new one, or the one that an earlier run of the same command
    /// submitted.
    pub(super) async fn send(&self, journal: Option<&Submissions>) -> Result<Sent<R>, Failure> {
        let Some(journal) = journal else {
            let price = self.check_price(true).await?;
            let (call, key) = self.prepare()?;
            let resource = self.post(call, &key, None).await?;
            self.announce(&resource, &price);
            return Ok(Sent {
                resource,
                request_id: None,
            });
        };
        let paid = self.paid_request();
        let orphan = paid
            .orphan(journal, self.options.spending.journal.new)
            .await?;
        let price = match &orphan {
            Some(orphan) => self.check_orphan(orphan).await?,
            None => self.check_price(true).await?,
        };
        let (call, key) = self.prepare()?;
        let price_usd = price.estimate().map(|it| it.price_usd);
        let call = journal.submission(call, &paid.intent(key.clone(), price_usd));
        let orphan = orphan.map(|orphan| orphan.entry);
        let key = orphan
            .as_ref()
            .map_or(key, |entry| entry.intent.idempotency_key.clone());
        let resource = self.post(call, &key, Some(journal)).await?;
        let submitted = orphan.filter(|entry| entry.resource.is_some());
        if submitted.is_none() {
            self.announce(&resource, &price);
        }
        Ok(Sent {
            resource,
            request_id: submitted.and_then(|entry| entry.request_id),
        })
    }

    /// Says what is done about what an earlier run left open: its resource is resumed, or its request
    /// is sent again with the same key, so that the service charges it once.
    async fn check_orphan(&self, orphan: &Orphan) -> Result<Price, Failure> {
        let printer = &self.session.printer;
        let age = orphan.age();
        if let Some(id) = &orphan.entry.resource {
            note_resumed(printer, age, id);
            return Ok(Price::Unknown);
        }
        if let Some(reason) = orphan.undecided {
            return Err(self.with_list_hint(self.paid_request().undecided(orphan, reason)));
        }
        self.check_price(false).await?;
        note_resent(printer, age);
        Ok(Price::Unknown)
    }

    async fn post(
        &self,
        call: Call<Handle<R>>,
        key: &IdempotencyKey,
        journal: Option<&Submissions>,
    ) -> Result<Handle<R>, Failure> {
        let sending = async { call.await.map_err(|error| sent_failure(error, journal)) };
        let sent = self.session.send(sending).await;
        let failure = match sent {
            Ok(resource) => return Ok(resource),
            Err(failure) => failure
                .context(format!("cannot submit the {}", self.request.noun))
                .with_idempotency_key(key.as_str()),
        };
        Err(match failure.exit() {
            Exit::Ambiguous if self.paid_request().can_repeat(journal).await => {
                failure.hint(same_key_hint(key, journal.is_some()))
            }
            Exit::Ambiguous => self.with_list_hint(failure),
            Exit::Interrupted if journal.is_some() => failure.with_unsettled_attempt(),
            _ => failure,
        })
    }

    fn paid_request(&self) -> PaidRequest<'_> {
        PaidRequest {
            chosen_key: self.options.spending.idempotency_key.as_ref(),
            max_price: self.options.spending.max_price,
            ..PaidRequest::new(self.access, self.request)
        }
    }

    fn prepare(&self) -> Result<(Call<Handle<R>>, IdempotencyKey), Failure> {
        let client = &self.access.client;
        let client = client.with_account(self.access.key_fingerprint.as_str());
        let key = self.options.spending.idempotency_key.clone();
        prepare(&client, self.request, key)
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
}
