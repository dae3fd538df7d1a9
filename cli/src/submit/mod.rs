//! The way of a submit: its price, its intent on disk, the request, the wait, the result.
//!
//! The order is what keeps money safe: nothing is sent before the intent is on the disk, and the
//! intent stays open until a person knows the outcome. Whatever cuts the program off in between,
//! the same command goes on where it was.

pub(crate) mod paid_request;
mod sending;

use serde_json::{Value, json};
use svc_sdk::handle::{Handle, JobResource};
use svc_sdk::{Developer, Open};

use crate::args::{SubmitArgs, SubmitOptions, SurfaceChoice};
use crate::error::{Exit, Failure};
use crate::output::Table;
use crate::pricing::{self, Price};
use crate::resource::{ReceiptMode, Resource};
use crate::session::{Access, Session};
use crate::text::sanitize;
use crate::types::{Outcome, SubmitRequest};
use crate::wait::{self, Waiter};

/// Submits a job on the open surface, waits, and prints what came of it.
pub(crate) async fn open(
    session: &Session,
    request: SubmitRequest,
    args: &SubmitArgs,
) -> Result<(), Failure> {
    run::<JobResource<Open>>(session, request, &args.options, ReceiptMode::default()).await
}

/// Submits a job on the developer surface, waits, and prints what came of it.
pub(crate) async fn developer(
    session: &Session,
    request: SubmitRequest,
    args: &SubmitArgs,
) -> Result<(), Failure> {
    if args.surface.surface == Some(SurfaceChoice::Open) {
        let noun = request.noun;
        let why = format!("the open surface makes no {noun}");
        return Err(Failure::usage(why).hint("use --surface developer, or leave it out"));
    }
    run::<JobResource<Developer>>(session, request, &args.options, ReceiptMode::default()).await
}

/// Submits, waits, and prints what came of it: a job, a run or a bulk queue.
pub(crate) async fn run<R: Resource>(
    session: &Session,
    request: SubmitRequest,
    options: &SubmitOptions,
    receipt_mode: ReceiptMode,
) -> Result<(), Failure> {
    let access = session.access::<R::Surface>()?;
    let submit = Submission::<R> {
        session,
        access: &access,
        request: &request,
        options,
        receipt_mode,
    };
    if options.spending.dry_run {
        return submit.dry_run_request().await;
    }
    if let Some(folder) = &options.download {
        wait::check_writable(folder).map_err(|failure| failure.context("nothing was sent"))?;
    }
    let journal = if options.spending.no_journal {
        None
    } else {
        session.journal()?
    };
    let (resource, intent) = submit.send(journal.as_ref()).await?;
    let noun = R::NOUN;
    let finished = submit
        .finish(resource)
        .await
        .map_err(|failure| match failure.exit() {
            Exit::NotFound => failure.hint(format!(
                "if the service has lost this {noun}, run the command with --new"
            )),
            _ => failure,
        });
    let outcome = match wait::outcome_of(&finished) {
        Some(Outcome::Completed) if options.no_wait => Some(Outcome::Submitted),
        outcome => outcome,
    };
    if let (Some(intent), Some(outcome)) = (intent, outcome)
        && let Err(error) = intent.close(outcome)
    {
        session.printer.warn(&format!("the journal could not be closed ({error}); the same command would take this {noun} up again"));
    }
    finished
}

struct Submission<'a, R: Resource> {
    session: &'a Session,
    access: &'a Access<R::Surface>,
    request: &'a SubmitRequest,
    options: &'a SubmitOptions,
    receipt_mode: ReceiptMode,
}

impl<R: Resource> Submission<'_, R> {
    /// `--dry-run`: the request and its price, and nothing that costs.
    async fn dry_run_request(&self) -> Result<(), Failure> {
        let price = R::price(&self.access.client, self.request).await?;
        pricing::check_max_price(&price, self.options.spending.max_price)?;
        let operation = self.request.operation;
        let path = operation
            .expand(&self.request.segments)
            .map_err(|error| Failure::usage(error.to_string()))?;
        let mut shown = json!({
            "dry_run": true,
            "request": {
                "method": operation.method().as_str(),
                "url": format!("{}{path}", self.access.base_url.trim_end_matches('/')),
                "body": self.request.body,
            },
            "estimate": price.estimate(),
        });
        if let (Price::SpendCap(cap), Some(shown)) = (&price, shown.as_object_mut()) {
            shown.insert("cap_usd".to_owned(), json!(cap.max_usd));
        }
        self.session.printer.print_item(&shown, |_| {
            let mut table = Table::key_value();
            table.field(
                "request",
                Some(format!("{} {}", operation.method().as_str(), path)),
            );
            table.field("body", Some(Value::Object(self.request.body.clone())));
            let price_text = match &price {
                Price::Unknown => "unknown".to_owned(),
                price => price.describe(),
            };
            table.field("price", Some(price_text));
            table.field("sent", Some("nothing: this was a dry run"));
            table
        })
    }

    /// The price, where someone wants to know it before it is paid.
    async fn check_price(&self, ask: bool) -> Result<Price, Failure> {
        let spending = &self.options.spending;
        let is_shown = ask && (self.session.printer.can_prompt() || self.session.is_sandbox());
        if spending.max_price.is_none() && !is_shown {
            return Ok(Price::Unknown);
        }
        let price = R::price(&self.access.client, self.request).await?;
        pricing::check_max_price(&price, spending.max_price)?;
        if ask {
            let what = format!("{} this {}", R::VERB, self.request.noun);
            pricing::confirm(self.session, &what, &price, spending)?;
        }
        Ok(price)
    }

    /// The id first: from here on nothing is lost, even if this process is.
    fn announce(&self, resource: &Handle<R>, price: &Price) {
        let charge = R::charge(resource);
        let charge_note = charge
            .map(|price| format!(" ({price} USD)"))
            .unwrap_or_default();
        let replay_note = if resource.is_replay() {
            ", found again by its key"
        } else {
            ""
        };
        let id = R::resource_id(resource);
        self.session.printer.note(&format!(
            "{} {}{charge_note}{replay_note}",
            id.noun(),
            sanitize(id.id())
        ));
        let limit = self.options.spending.max_price.or(price.upper_bound());
        if let (Some(charge), Some(limit)) = (charge, limit)
            && charge > limit
        {
            self.session.printer.warn(&format!(
                "the service charged {charge} USD, more than the {limit} USD that were agreed"
            ));
        }
    }

    /// Prints the receipt, or waits and prints the result.
    async fn finish(&self, resource: Handle<R>) -> Result<(), Failure> {
        if self.options.no_wait {
            return R::print_receipt(&resource, self.session).await;
        }
        let waiter = Waiter {
            session: self.session,
            resource,
            args: &self.options.wait,
            download: self.options.download.as_deref(),
        };
        let finished = waiter.wait().await?;
        let resource = &waiter.resource;
        R::print_result(resource, self.session, &finished, self.receipt_mode)
            .map_err(|failure| failure.for_resource(R::resource_id(resource)))
    }
}
