//! The way of a submit: its price, its intent on disk, the request, the wait, the result.
//!
//! The order is what keeps money safe: nothing is sent before the intent is on the disk, and the
//! intent stays open until a person knows the outcome. Whatever cuts the program off in between,
//! the same command goes on where it was.

mod intent;
mod sending;

use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::types::{Estimate, SubmitReceipt, Usd};
use svc_sdk::{Developer, JobHandle, Open};

use crate::args::{SubmitArgs, SurfaceChoice};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::journal::Outcome;
use crate::output::Table;
use crate::output::untrusted::clean;
use crate::price::{self, Priced};
use crate::session::{Access, Session};
use crate::wait::{self, Waiting};

/// What is to be made.
#[derive(Debug)]
pub(crate) struct Order {
    /// What it is called: `video`.
    pub(crate) noun: &'static str,
    /// Which operation makes it.
    pub(crate) operation: Operation,
    /// The values of its path's placeholders.
    pub(crate) segments: Vec<String>,
    /// The request's body.
    pub(crate) body: Map<String, Value>,
}

/// Submits on the open surface, waits, and prints what came of it.
pub(crate) async fn open(
    session: &Session,
    order: Order,
    args: &SubmitArgs,
) -> Result<(), Failure> {
    run::<Open>(session, order, args).await
}

/// Submits on the developer surface, waits, and prints what came of it.
pub(crate) async fn developer(
    session: &Session,
    order: Order,
    args: &SubmitArgs,
) -> Result<(), Failure> {
    if args.surface.surface == Some(SurfaceChoice::Open) {
        let noun = order.noun;
        let why = format!("the open surface makes no {noun}");
        return Err(Failure::usage(why).next("use --surface developer, or leave it out"));
    }
    run::<Developer>(session, order, args).await
}

async fn run<S: Priced>(session: &Session, order: Order, args: &SubmitArgs) -> Result<(), Failure> {
    let access = session.access::<S>()?;
    let submit = Submission {
        session,
        access: &access,
        order: &order,
        args,
    };
    if args.money.dry_run {
        return submit.rehearse().await;
    }
    if let Some(folder) = &args.download {
        wait::can_store(folder).map_err(|failure| failure.during("nothing was sent"))?;
    }
    let journal = if args.money.no_journal {
        None
    } else {
        session.journal()?
    };
    let (job, intent) = submit.send(journal.as_ref()).await?;
    let end = submit
        .deliver(job)
        .await
        .map_err(|failure| match failure.exit() {
            Exit::NotFound => {
                failure.next("if the service has lost this job, run the command with --new")
            }
            _ => failure,
        });
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

struct Submission<'a, S> {
    session: &'a Session,
    access: &'a Access<S>,
    order: &'a Order,
    args: &'a SubmitArgs,
}

impl<S: Priced> Submission<'_, S> {
    /// `--dry-run`: the request and its price, and nothing that costs.
    async fn rehearse(&self) -> Result<(), Failure> {
        let estimate = price::ask(&self.access.client, &self.order.body).await?;
        price::within(
            estimate.as_ref().map(|it| it.price_usd),
            self.args.money.max_price,
        )?;
        let operation = self.order.operation;
        let path = operation
            .expand(&self.order.segments)
            .map_err(|error| Failure::usage(error.to_string()))?;
        let shown = json!({
            "dry_run": true,
            "request": {
                "method": operation.method().as_str(),
                "url": format!("{}{path}", self.access.base_url.trim_end_matches('/')),
                "body": self.order.body,
            },
            "estimate": estimate,
        });
        self.session.printer.one(&shown, |_| {
            let mut table = Table::of_fields();
            table.field(
                "request",
                Some(format!("{} {}", operation.method().as_str(), path)),
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

    /// The price, where someone wants to know it before it is paid.
    async fn settle_price(&self, ask: bool) -> Result<Option<Estimate>, Failure> {
        let money = &self.args.money;
        let somebody_looks = ask && (self.session.printer.can_ask() || self.session.is_sandbox());
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

    /// The id first: from here on nothing is lost, even if this process is.
    fn announce(&self, job: &JobHandle<S>, estimate: Option<&Estimate>) {
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
    async fn deliver(&self, job: JobHandle<S>) -> Result<(), Failure> {
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

    async fn print_receipt(&self, job: &JobHandle<S>) -> Result<(), Failure> {
        if let Some(receipt) = job.receipt() {
            return self.session.printer.one(receipt, receipt_table);
        }
        let envelope = job.get().await?;
        self.session.printer.one(&json!({ "job": envelope }), |_| {
            crate::commands::job::tables::envelope(&envelope)
        })
    }
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
