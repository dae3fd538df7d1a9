//! The way of a submit: its price, its intent on disk, the request, the wait, the result.
//!
//! The order is what keeps money safe: nothing is sent before the intent is on the disk, and the
//! intent stays open until a person knows the outcome. Whatever cuts the program off in between,
//! the same command goes on where it was.

use serde_json::{Map, Value, json};
use svc_sdk::contract::{ErrorCode, Operation, RetryClass};
use svc_sdk::types::{Estimate, IdempotencyKey, SubmitReceipt, Usd};
use svc_sdk::{JobHandle, Open, Submit};

use crate::args::{SubmitArgs, SurfaceChoice};
use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::journal::{Intent, Journal, OpenIntent, Outcome, RequestHash};
use crate::output::Table;
use crate::output::untrusted::clean;
use crate::price;
use crate::session::{Access, Session};
use crate::wait::{self, Waiting};

/// What is to be made.
#[derive(Debug)]
pub(crate) struct Order {
    /// What it is called: `video`.
    pub(crate) noun: &'static str,
    /// Which operation makes it.
    pub(crate) operation: Operation,
    /// The request's body.
    pub(crate) body: Map<String, Value>,
}

/// Submits, waits, and prints what came of it.
pub(crate) async fn run(session: &Session, order: Order, args: &SubmitArgs) -> Result<(), Failure> {
    if session.surface(args.surface.surface)? == SurfaceChoice::Developer {
        return Err(Failure::usage(format!(
            "this build cannot make a {} on the developer surface yet",
            order.noun
        ))
        .next("use --surface open"));
    }
    let access = session.access::<Open>()?;
    let submit = Submission {
        session,
        access: &access,
        order: &order,
        args,
    };
    if args.money.dry_run {
        return submit.rehearse().await;
    }
    let journal = if args.money.no_journal {
        None
    } else {
        session.journal()?
    };
    let (job, intent) = submit.send(journal.as_ref()).await?;
    let end = submit.deliver(job).await;
    let known = match wait::outcome_of(&end) {
        Some(Outcome::Completed) if args.no_wait => Some(Outcome::Submitted),
        known => known,
    };
    if let (Some(intent), Some(outcome)) = (intent, known)
        && let Err(error) = intent.close(outcome)
    {
        session.printer.warn(&format!("the journal could not be closed ({error}); the same command would take this job up again"));
    }
    end
}

struct Submission<'a> {
    session: &'a Session,
    access: &'a Access<Open>,
    order: &'a Order,
    args: &'a SubmitArgs,
}

impl Submission<'_> {
    /// `--dry-run`: the request and its price, and nothing that costs.
    async fn rehearse(&self) -> Result<(), Failure> {
        let estimate = price::ask(&self.access.client, &self.order.body).await?;
        price::within(
            estimate.as_ref().map(|it| it.price_usd),
            self.args.money.max_price,
        )?;
        let operation = self.order.operation;
        let shown = json!({
            "dry_run": true,
            "request": {
                "method": operation.method().as_str(),
                "url": format!("{}{}", self.access.base_url.trim_end_matches('/'), operation.path()),
                "body": self.order.body,
            },
            "estimate": estimate,
        });
        self.session.printer.one(&shown, |_| {
            let mut table = Table::of_fields();
            table.field(
                "request",
                Some(format!(
                    "{} {}",
                    operation.method().as_str(),
                    operation.path()
                )),
            );
            table.field("body", Some(Value::Object(self.order.body.clone())));
            table.field(
                "price",
                Some(
                    estimate
                        .as_ref()
                        .map_or_else(|| "unknown".to_owned(), price::describe),
                ),
            );
            table.field("sent", Some("nothing: this was a dry run"));
            table
        })
    }

    /// Gets the job: a new one, or the one that an earlier run of the same command left behind.
    async fn send(
        &self,
        journal: Option<&Journal>,
    ) -> Result<(JobHandle<Open>, Option<OpenIntent>), Failure> {
        let Some(journal) = journal else {
            let estimate = self.settle_price(true).await?;
            let (submit, _) = self.prepare(None)?;
            let job = self.post(submit, None).await?;
            self.announce(&job, estimate.as_ref());
            return Ok((job, None));
        };
        let hash = self.hash();
        if self.args.money.new {
            self.abandon(journal, &hash)?;
        }
        match journal.take_up(&hash)? {
            Some(intent) if intent.entry().job_id.is_some() => Ok(self.take_up_job(intent)),
            Some(intent) => self.send_again(intent).await,
            None => self.send_first(journal, hash).await,
        }
    }

    async fn send_first(
        &self,
        journal: &Journal,
        hash: RequestHash,
    ) -> Result<(JobHandle<Open>, Option<OpenIntent>), Failure> {
        let estimate = self.settle_price(true).await?;
        let (submit, key) = self.prepare(None)?;
        let mut intent = journal.begin(self.intent(hash, key, estimate.as_ref()))?;
        match self.post(submit, Some(&intent)).await {
            Ok(job) => {
                self.note_receipt(&mut intent, &job);
                self.announce(&job, estimate.as_ref());
                Ok((job, Some(intent)))
            }
            Err(failure) => {
                self.close_refused(intent, &failure, false);
                Err(failure)
            }
        }
    }

    /// Goes on with a job that is paid for: nothing is sent.
    fn take_up_job(&self, intent: OpenIntent) -> (JobHandle<Open>, Option<OpenIntent>) {
        let id = intent.entry().job_id.clone().unwrap_or_default();
        self.session.printer.note(&format!(
            "taking up job {} again, which the same command submitted {} ago (--new makes a new one)",
            clean(&id),
            clock::say(age(&intent)),
        ));
        (self.access.client.job(id), Some(intent))
    }

    /// Sends the same once more, with the same key: the service makes no second job of it.
    async fn send_again(
        &self,
        mut intent: OpenIntent,
    ) -> Result<(JobHandle<Open>, Option<OpenIntent>), Failure> {
        let key = intent.entry().intent.idempotency_key.clone();
        let repeatable = intent
            .entry()
            .intent
            .operation()
            .is_some_and(|op| op.retry() == RetryClass::Key);
        if age(&intent) >= price::KEY_IS_KEPT || !repeatable {
            return Err(self.too_late(&intent));
        }
        self.settle_price(false).await?;
        self.session.printer.note(&format!(
            "the same command was cut off {} ago: sending it again with the same key, so that it is paid for once",
            clock::say(age(&intent)),
        ));
        let (submit, _) = self.prepare(Some(key))?;
        match self.post(submit, Some(&intent)).await {
            Ok(job) => {
                self.note_receipt(&mut intent, &job);
                self.announce(&job, None);
                Ok((job, Some(intent)))
            }
            Err(failure) => {
                self.close_refused(intent, &failure, true);
                Err(failure)
            }
        }
    }

    fn too_late(&self, intent: &OpenIntent) -> Failure {
        let since = clock::say(age(intent));
        let why = format!(
            "the same command was cut off {since} ago, and nobody knows whether it was carried out; \
             the service has forgotten its key by now, so sending it again could pay twice"
        );
        Failure::new(Exit::Ambiguous, why)
            .during("not submitted")
            .key(intent.entry().intent.idempotency_key.as_str())
            .next("look whether the job exists: svc job list")
            .next("if it does not, or another one is wanted, run this command with --new")
    }

    /// The price, where someone wants to know it before it is paid.
    async fn settle_price(&self, ask: bool) -> Result<Option<Estimate>, Failure> {
        let money = &self.args.money;
        let somebody_looks = ask && self.session.printer.can_ask() && !self.session.is_sandbox();
        if money.max_price.is_none() && !somebody_looks {
            return Ok(None);
        }
        let estimate = price::ask(&self.access.client, &self.order.body).await?;
        price::within(estimate.as_ref().map(|it| it.price_usd), money.max_price)?;
        if ask {
            price::confirm(self.session, self.order.noun, estimate.as_ref(), money)?;
        }
        Ok(estimate)
    }

    fn prepare(
        &self,
        key: Option<IdempotencyKey>,
    ) -> Result<(Submit<Open>, IdempotencyKey), Failure> {
        let body = Value::Object(self.order.body.clone());
        let mut submit = self.access.client.submit(self.order.operation, &body);
        if let Some(key) = key.or_else(|| self.args.money.idempotency_key.clone()) {
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

    async fn post(
        &self,
        submit: Submit<Open>,
        intent: Option<&OpenIntent>,
    ) -> Result<JobHandle<Open>, Failure> {
        let key = submit.idempotency_key().cloned();
        let sent = tokio::select! {
            biased;
            sent = Box::pin(submit.send()) => sent.map_err(Failure::from),
            () = self.session.interrupts.first() => Err(Failure::new(
                Exit::Ambiguous,
                "interrupted before the service answered: it may have been carried out",
            )),
        };
        sent.map_err(|failure| {
            let failure = failure.during(format!("could not submit the {}", self.order.noun));
            let failure = match &key {
                Some(key) => failure.key(key.as_str()),
                None => failure,
            };
            self.with_next_step(as_ambiguous(failure), intent.is_some(), key.as_ref())
        })
    }

    /// After an ambiguous end: how to find out without paying twice.
    fn with_next_step(
        &self,
        failure: Failure,
        journaled: bool,
        key: Option<&IdempotencyKey>,
    ) -> Failure {
        match key {
            Some(_) if failure.exit() != Exit::Ambiguous => failure,
            Some(_) if journaled => failure
                .next("run the same command again on this machine: it goes on with the same key"),
            Some(key) => failure.next(format!(
                "run the same command with --idempotency-key {key}: the same key is paid for once"
            )),
            None => failure,
        }
    }

    /// The id first: from here on nothing is lost, even if this process is.
    fn announce(&self, job: &JobHandle<Open>, estimate: Option<&Estimate>) {
        let price = job.receipt().and_then(|receipt| receipt.job.price_usd);
        let said = price
            .map(|price| format!(" ({price} USD)"))
            .unwrap_or_default();
        let again = if job.is_replay() {
            ", found again by its key"
        } else {
            ""
        };
        self.session
            .printer
            .note(&format!("job {}{said}{again}", clean(job.id().as_str())));
        let limit = self
            .args
            .money
            .max_price
            .or(estimate.map(|it| it.price_usd));
        if let (Some(price), Some(limit)) = (price, limit)
            && price > limit
        {
            self.session.printer.warn(&format!(
                "the service charged {price} USD, more than the {limit} USD that were agreed"
            ));
        }
    }

    /// Prints the receipt, or waits and prints the result.
    async fn deliver(&self, job: JobHandle<Open>) -> Result<(), Failure> {
        if self.args.no_wait {
            return self.print_receipt(&job).await;
        }
        let waiting = Waiting {
            session: self.session,
            job,
            args: &self.args.wait,
            download: self.args.download.as_deref(),
        };
        let finished = waiting.finish().await?;
        self.session
            .printer
            .one(&finished, wait::table)
            .map_err(|failure| failure.job(waiting.job.id().as_str()))
    }

    async fn print_receipt(&self, job: &JobHandle<Open>) -> Result<(), Failure> {
        if let Some(receipt) = job.receipt() {
            return self.session.printer.one(receipt, receipt_table);
        }
        let envelope = job.get().await?;
        self.session.printer.one(&json!({ "job": envelope }), |_| {
            crate::commands::job::envelope_table(&envelope)
        })
    }

    fn hash(&self) -> RequestHash {
        RequestHash::of(
            &self.access.base_url,
            &self.access.key_fingerprint,
            self.order.operation,
            &Value::Object(self.order.body.clone()),
            self.args.money.idempotency_key.as_ref(),
        )
    }

    fn intent(
        &self,
        hash: RequestHash,
        key: IdempotencyKey,
        estimate: Option<&Estimate>,
    ) -> Intent {
        let made: String = key
            .as_str()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(24)
            .collect();
        let created_at = clock::now();
        Intent {
            id: format!("{:x}-{made}", created_at.as_nanosecond()),
            request_hash: hash,
            surface: SurfaceChoice::Open.as_str().to_owned(),
            base_url: self.access.base_url.clone(),
            key_fingerprint: self.access.key_fingerprint.clone(),
            operation: self.order.operation.name().to_owned(),
            idempotency_key: key,
            summary: summary(self.order),
            price_usd: estimate.map(|it| it.price_usd),
            max_price_usd: self.args.money.max_price,
            created_at,
        }
    }

    fn note_receipt(&self, intent: &mut OpenIntent, job: &JobHandle<Open>) {
        let request_id = job
            .receipt()
            .and_then(|receipt| receipt.request_id.as_ref());
        if let Err(error) = intent.receipt(
            job.id().as_str(),
            request_id.map(svc_sdk::types::RequestId::as_str),
        ) {
            self.session.printer.warn(&format!(
                "the journal could not be written ({error}); note the job's id"
            ));
        }
    }

    /// Closes an intent that the service refused. What is ambiguous stays open.
    fn close_refused(&self, intent: OpenIntent, failure: &Failure, repeated: bool) {
        let outcome = match failure.exit() {
            Exit::Ambiguous | Exit::Interrupted => None,
            // What was turned away at the door says nothing about the first time.
            Exit::Unreachable | Exit::NotAllowed | Exit::Overloaded if repeated => None,
            Exit::Unreachable => Some(Outcome::NotSent),
            _ => Some(Outcome::Refused),
        };
        if let Some(outcome) = outcome
            && let Err(error) = intent.close(outcome)
        {
            self.session
                .printer
                .warn(&format!("the journal could not be closed: {error}"));
        }
    }

    fn abandon(&self, journal: &Journal, hash: &RequestHash) -> Result<(), Failure> {
        while let Some(intent) = journal.take_up(hash)? {
            intent.close(Outcome::Abandoned).map_err(|error| {
                Failure::other(format!(
                    "the journal cannot be written: {error}; nothing was sent"
                ))
            })?;
        }
        Ok(())
    }
}

/// A key that is in flight elsewhere belongs to a request whose answer is not known yet.
fn as_ambiguous(failure: Failure) -> Failure {
    match failure.code() {
        Some(code) if code == ErrorCode::IdempotencyKeyInUse.as_str() => {
            failure.ending(Exit::Ambiguous)
        }
        _ => failure,
    }
}

fn age(intent: &OpenIntent) -> std::time::Duration {
    clock::age(clock::now(), intent.entry().intent.created_at)
}

/// What was ordered, without its texts.
fn summary(order: &Order) -> String {
    let mut parts = vec![order.noun.to_owned()];
    for name in [
        "model",
        "duration",
        "resolution",
        "aspect_ratio",
        "num_images",
    ] {
        match order.body.get(name) {
            Some(Value::String(text)) => parts.push(format!("{name} {text}")),
            Some(Value::Number(number)) => parts.push(format!("{name} {number}")),
            _ => {}
        }
    }
    parts.join(", ")
}

fn receipt_table(receipt: &SubmitReceipt) -> Table {
    let mut table = Table::of_fields();
    table.field("job", Some(&receipt.job.id));
    table.field("status", Some(&receipt.job.status));
    table.field(
        "price",
        receipt
            .job
            .price_usd
            .map(|price: Usd| format!("{price} USD")),
    );
    table.field("status url", receipt.status_url.as_ref());
    table.field("result url", receipt.result_url.as_ref());
    table.field("request", receipt.request_id.as_ref());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_no_text_of_the_person() {
        let body = json!({"model": "video-f", "duration": 5, "prompt": "secret plans", "metadata": {"a": "secret"}});
        let order = Order {
            noun: "video",
            operation: Operation::VideoGenerate,
            body: body.as_object().cloned().unwrap_or_default(),
        };
        assert_eq!(summary(&order), "video, model video-f, duration 5");
    }
}
