//! `svc top-up`: funds added to the balance.

use std::future::IntoFuture;

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_sdk::contract::Operation;
use svc_sdk::handle::{TopUpHandle, TopUpResource};
use svc_sdk::types::{IdempotencyKey, TopUp as Record, TopUpId, Usd};
use svc_sdk::{Call, Open};

use crate::args::{BodyArgs, JournalArgs, SurfaceChoice, Timeout, headings};
use crate::error::{Exit, Failure};
use crate::journal::OpenIntent;
use crate::output::Table;
use crate::output::values::money;
use crate::request_body::RequestBody;
use crate::session::{Access, Session};
use crate::submit::paid_request::{
    PaidRequest, abandon, ambiguous_if_key_in_use, close, close_failed, note_resent, note_resumed,
    prepare, same_key_hint,
};
use crate::types::{Outcome, ResourceId, SubmitRequest};
use crate::wait;

/// The subcommands of `svc top-up`.
#[derive(Debug, Subcommand)]
pub(crate) enum TopUp {
    /// Create a top-up, and print its checkout URL
    Create(Create),
    /// Show a top-up
    Get {
        /// Top-up id
        #[arg(value_name = "TOP_UP_ID")]
        id: String,
    },
    /// Wait until a top-up is paid
    Wait {
        /// Top-up id
        #[arg(value_name = "TOP_UP_ID")]
        id: String,
        /// Time to wait before giving up, such as 30s, 5m, 1h, a number of seconds, or none
        /// [default: 20m]
        #[arg(long, value_name = "TIME")]
        timeout: Option<Timeout>,
    },
}

/// The flags of `svc top-up create`.
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Amount in whole US cents, 500 to 1000000 (required)
    #[arg(long, value_name = "N", required_unless_present_any = ["params", "input"], help_heading = headings::INPUT)]
    amount_usd_cents: Option<u64>,
    /// URL to redirect to after the payment (HTTPS)
    #[arg(long, value_name = "URL", help_heading = headings::REQUEST)]
    success_url: Option<String>,
    /// URL to redirect to if the payment is canceled (HTTPS)
    #[arg(long, value_name = "URL", help_heading = headings::REQUEST)]
    cancel_url: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
    /// Idempotency key: the same key returns the same top-up [default: generated]
    #[arg(long, value_name = "KEY", help_heading = headings::REPETITION)]
    idempotency_key: Option<IdempotencyKey>,
    #[command(flatten)]
    journal: JournalArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, top_up: TopUp) -> Result<(), Failure> {
    match top_up {
        TopUp::Create(args) => create(session, args).await,
        TopUp::Get { id } => {
            let top_up = session
                .access::<Open>()?
                .client
                .top_ups()
                .handle(id)
                .get()
                .await?;
            session.printer.print_item(&top_up, table)
        }
        TopUp::Wait { id, timeout } => wait_until_paid(session, TopUpId::from(id), timeout).await,
    }
}

async fn create(session: &Session, args: Create) -> Result<(), Failure> {
    let mut body = RequestBody::read(&args.body)?;
    body.set("amount_usd_cents", args.amount_usd_cents)?;
    body.set("success_url", args.success_url)?;
    body.set("cancel_url", args.cancel_url)?;
    let request = SubmitRequest {
        noun: "top-up",
        operation: Operation::TopUpsCreate,
        segments: Vec::new(),
        body: body.finish()?,
    };
    let amount = request.body.get("amount_usd_cents");
    if amount.and_then(Value::as_u64).is_none() {
        let why = "invalid amount_usd_cents: expected a whole number of cents";
        return Err(Failure::usage(why));
    }
    let access = session.access::<Open>()?;
    let submission = Submission {
        session,
        access: &access,
        request: &request,
        chosen_key: args.idempotency_key.as_ref(),
    };
    let (top_up, intent) = submission.send(args.journal).await?;
    let record = match top_up.receipt() {
        Some(record) => record.clone(),
        None => top_up.get().await?,
    };
    let printed = session.printer.print_item(&record, table);
    if let Some(intent) = intent
        && wait::outcome_of(&printed).is_some()
    {
        close(&session.printer, intent, Outcome::Submitted);
    }
    printed?;
    if session.is_sandbox() {
        return Ok(());
    }
    let words = ["top-up", "wait", top_up.id().as_str()];
    session.printer.note(&format!(
        "open the checkout URL in a browser, then wait for the payment with: {}",
        session.resume_command(SurfaceChoice::Open, &words)
    ));
    Ok(())
}

/// A request for a top-up, with the account that it is for.
struct Submission<'a> {
    session: &'a Session,
    access: &'a Access<Open>,
    request: &'a SubmitRequest,
    chosen_key: Option<&'a IdempotencyKey>,
}

impl Submission<'_> {
    /// Returns the top-up, with its intent if it is recorded: a new one, or the one that an earlier
    /// run of the same command created.
    async fn send(
        &self,
        journal_args: JournalArgs,
    ) -> Result<(TopUpHandle, Option<OpenIntent>), Failure> {
        let Some(journal) = self.session.journal_for(journal_args)? else {
            let (call, key) = self.prepare(None)?;
            let sent = self.session.send(call).await;
            let top_up = sent.map_err(|failure| submit_failure(failure, &key, false))?;
            return Ok((top_up, None));
        };
        let paid = PaidRequest {
            chosen_key: self.chosen_key,
            ..PaidRequest::new(self.access, self.request)
        };
        let hash = paid.hash();
        if journal_args.new {
            abandon(&journal, &hash)?;
        }
        let printer = &self.session.printer;
        let (call, key, mut intent, is_retry) = match journal.reopen(&hash)? {
            Some(intent) => {
                if let Some(id) = &intent.entry().resource {
                    note_resumed(printer, &intent, id);
                    let top_up = self.access.client.top_ups().handle(id.id());
                    return Ok((top_up, Some(intent)));
                }
                // The service keeps the key of a top-up for as long as the top-up exists, so the age
                // of the intent does not matter.
                note_resent(printer, &intent);
                let (call, key) = self.prepare(Some(&intent.entry().intent.idempotency_key))?;
                (call, key, intent, true)
            }
            None => {
                let (call, key) = self.prepare(None)?;
                let intent = journal.begin(paid.intent(hash, key.clone(), None))?;
                (call, key, intent, false)
            }
        };
        match self.session.send(call).await {
            Ok(top_up) => {
                let id = ResourceId::TopUp(top_up.id().as_str().to_owned());
                if let Err(error) = intent.receipt(id, None, None) {
                    printer.warn(&format!(
                        "cannot write to the journal: {error}; keep the id of the top-up"
                    ));
                }
                Ok((top_up, Some(intent)))
            }
            Err(failure) => {
                let failure = submit_failure(failure, &key, true);
                Err(close_failed(printer, intent, failure, is_retry))
            }
        }
    }

    fn prepare(
        &self,
        key: Option<&IdempotencyKey>,
    ) -> Result<(Call<TopUpHandle>, IdempotencyKey), Failure> {
        let key = key.or(self.chosen_key).cloned();
        prepare::<TopUpResource>(&self.access.client, self.request, key)
    }
}

fn submit_failure(failure: Failure, key: &IdempotencyKey, is_journaled: bool) -> Failure {
    let failure = ambiguous_if_key_in_use(failure)
        .context("could not create the top-up")
        .with_idempotency_key(key.as_str());
    match failure.exit() {
        Exit::Ambiguous => failure.hint(same_key_hint(key, is_journaled)),
        _ => failure,
    }
}

async fn wait_until_paid(
    session: &Session,
    id: TopUpId,
    timeout: Option<Timeout>,
) -> Result<(), Failure> {
    let client = session.access::<Open>()?.client;
    let wait = client.top_ups().handle(&id).wait();
    let wait = match timeout {
        None => wait,
        Some(Timeout(Some(timeout))) => wait.timeout(timeout),
        Some(Timeout(None)) => wait.no_timeout(),
    };
    let wait_command =
        || session.resume_command(SurfaceChoice::Open, &["top-up", "wait", id.as_str()]);
    let resume = |failure: Failure| {
        let failure = failure.for_resource(ResourceId::TopUp(id.as_str().to_owned()));
        match failure.exit() {
            Exit::JobFailed | Exit::JobCanceled | Exit::NotFound => failure,
            Exit::StillRunning => failure
                .hint("the payment may still arrive")
                .with_resume(wait_command()),
            _ => failure.with_resume(wait_command()),
        }
    };
    session
        .printer
        .note(&format!("Waiting for the payment of {id}…"));
    let paid = tokio::select! {
        biased;
        paid = wait.into_future() => paid.map_err(Failure::from),
        () = session.interrupts.first() => {
            let why = format!("interrupted; the top-up {id} remains open");
            Err(Failure::new(Exit::Interrupted, why))
        }
    };
    session.printer.print_item(&paid.map_err(resume)?, table)
}

fn table(top_up: &Record) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&top_up.id));
    table.status_field("status", Some(&top_up.status));
    let cents = top_up.amount_usd_cents;
    let amount = cents.and_then(|cents| Usd::from_cents(i64::try_from(cents).ok()?));
    table.field("amount", amount.map(money));
    table.field("checkout", top_up.checkout_url.as_ref());
    table
}
