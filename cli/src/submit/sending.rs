//! Getting the job, run or queue: a new one, or the one that an earlier run of the same command
//! left behind.

use std::time::Duration;

use serde_json::Value;
use svc_sdk::Submit;
use svc_sdk::contract::limits::IDEMPOTENCY_RETENTION;
use svc_sdk::contract::{ErrorCode, RetryClass};
use svc_sdk::types::IdempotencyKey;

use super::Submission;
use crate::clock;
use crate::error::Exit;
use crate::error::Failure;
use crate::journal::{Journal, OpenIntent, RequestHash};
use crate::pricing::Price;
use crate::resource::Resource;
use crate::text::sanitize;
use crate::types::ResourceId;

/// How long a key is surely kept: after that, the same key is a new call. The service may be a
/// little ahead, and the repetitions of a request take their time.
const KEY_RETENTION: Duration = IDEMPOTENCY_RETENTION.saturating_sub(Duration::from_secs(600));

/// What was started, and its intent where there is a journal.
type Sent<H> = (H, Option<OpenIntent>);

impl<H: Resource> Submission<'_, H> {
    /// Gets it: a new one, or the one that an earlier run of the same command left behind.
    pub(super) async fn send(&self, journal: Option<&Journal>) -> Result<Sent<H>, Failure> {
        let Some(journal) = journal else {
            let price = self.check_price(true).await?;
            let (submit, _) = self.prepare(None)?;
            let resource = self.post(submit, None).await?;
            self.announce(&resource, &price);
            return Ok((resource, None));
        };
        let hash = self.hash();
        if self.options.spending.new {
            self.abandon(journal, &hash)?;
        }
        match journal.reopen(&hash)? {
            Some(intent) => match intent.entry().resource.clone() {
                Some(id) => Ok(self.resume(intent, &id)),
                None => self.resend(intent).await,
            },
            None => self.send_first(journal, hash).await,
        }
    }

    async fn send_first(&self, journal: &Journal, hash: RequestHash) -> Result<Sent<H>, Failure> {
        let price = self.check_price(true).await?;
        let (submit, key) = self.prepare(None)?;
        let mut intent = journal.begin(self.intent(hash, key, &price))?;
        match self.post(submit, Some(&intent)).await {
            Ok(resource) => {
                self.record_receipt(&mut intent, &resource);
                self.announce(&resource, &price);
                Ok((resource, Some(intent)))
            }
            Err(failure) => {
                self.close_refused(intent, &failure, false);
                Err(failure)
            }
        }
    }

    /// Goes on with what is paid for: nothing is sent.
    fn resume(&self, intent: OpenIntent, id: &ResourceId) -> Sent<H> {
        self.session.printer.note(&format!(
            "taking up {} {} again, which the same command submitted {} ago (--new makes a new one)",
            id.noun(),
            sanitize(id.id()),
            clock::format_duration(age(&intent)),
        ));
        (H::from_id(&self.access.client, id.id()), Some(intent))
    }

    /// Sends the same once more, with the same key: the service makes no second job of it.
    async fn resend(&self, mut intent: OpenIntent) -> Result<Sent<H>, Failure> {
        let key = intent.entry().intent.idempotency_key.clone();
        if age(&intent) >= KEY_RETENTION || !self.is_idempotent() {
            return Err(self.unresolved(&intent));
        }
        self.check_price(false).await?;
        self.session.printer.note(&format!(
            "the same command was cut off {} ago: sending it again with the same key, so that it is paid for once",
            clock::format_duration(age(&intent)),
        ));
        let (submit, _) = self.prepare(Some(key))?;
        match self.post(submit, Some(&intent)).await {
            Ok(resource) => {
                self.record_receipt(&mut intent, &resource);
                self.announce(&resource, &Price::Unknown);
                Ok((resource, Some(intent)))
            }
            Err(failure) => {
                self.close_refused(intent, &failure, true);
                Err(failure)
            }
        }
    }

    /// Sending it again could pay twice: a person has to look.
    fn unresolved(&self, intent: &OpenIntent) -> Failure {
        let since = clock::format_duration(age(intent));
        let why = match self.is_idempotent() {
            true => "the service has forgotten its key by now",
            false => "the service does not promise that its key is paid for once",
        };
        let why = format!(
            "the same command was cut off {since} ago, and nobody knows whether it was carried out; \
             {why}, so sending it again could pay twice"
        );
        let failure = Failure::new(Exit::Ambiguous, why)
            .context("not submitted")
            .with_idempotency_key(intent.entry().intent.idempotency_key.as_str());
        self.with_list_hint(failure)
    }

    fn with_list_hint(&self, failure: Failure) -> Failure {
        failure
            .hint(format!(
                "look whether the {} exists: {}",
                H::NOUN,
                H::list_command(self.session, self.request)
            ))
            .hint("if it does not, or another one is wanted, run this command with --new")
    }

    /// Whether the operation's idempotency is documented.
    fn is_idempotent(&self) -> bool {
        self.request.operation.retry() == RetryClass::Key
    }

    fn prepare(&self, key: Option<IdempotencyKey>) -> Result<(Submit<H>, IdempotencyKey), Failure> {
        let body = Value::Object(self.request.body.clone());
        let segments: Vec<&str> = self.request.segments.iter().map(String::as_str).collect();
        let client = &self.access.client;
        let mut submit = client.start::<H>(self.request.operation, &segments, &body);
        if let Some(key) = key.or_else(|| self.options.spending.idempotency_key.clone()) {
            submit = submit.with_idempotency_key(key);
        }
        match submit.idempotency_key().cloned() {
            Some(key) => Ok((submit, key)),
            None => Err(Failure::usage(match submit.request() {
                Err(error) => error.to_string(),
                Ok(_) => "the request has no idempotency key".to_owned(),
            })),
        }
    }

    async fn post(&self, submit: Submit<H>, intent: Option<&OpenIntent>) -> Result<H, Failure> {
        let key = submit.idempotency_key().cloned();
        let sent = self.session.send(Box::pin(submit.send())).await;
        sent.map_err(|failure| {
            let failure = failure.context(format!("could not submit the {}", self.request.noun));
            let failure = match &key {
                Some(key) => failure.with_idempotency_key(key.as_str()),
                None => failure,
            };
            self.with_retry_hint(as_ambiguous(failure), intent.is_some(), key.as_ref())
        })
    }

    /// After an ambiguous end: how to find out without paying twice.
    fn with_retry_hint(
        &self,
        failure: Failure,
        journaled: bool,
        key: Option<&IdempotencyKey>,
    ) -> Failure {
        match key {
            Some(_) if failure.exit() != Exit::Ambiguous => failure,
            Some(_) if !self.is_idempotent() => self.with_list_hint(failure),
            Some(_) if journaled => failure
                .hint("run the same command again on this machine: it goes on with the same key"),
            Some(key) => failure.hint(format!(
                "run the same command with --idempotency-key {key}: the same key is paid for once"
            )),
            None => failure,
        }
    }
}

/// A key that is in flight elsewhere belongs to a request whose answer is not known yet.
fn as_ambiguous(failure: Failure) -> Failure {
    match failure.code() {
        Some(code) if code == ErrorCode::IdempotencyKeyInUse.as_str() => {
            failure.with_exit(Exit::Ambiguous)
        }
        _ => failure,
    }
}

fn age(intent: &OpenIntent) -> Duration {
    clock::elapsed(clock::now(), intent.entry().intent.created_at)
}
