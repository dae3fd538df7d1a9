//! The way of a submit: its price, its intent on disk, the request, the wait, the result.
//!
//! The order is what keeps money safe: nothing is sent before the intent is on the disk, and the
//! intent stays open until a person knows the outcome. Whatever cuts the program off in between,
//! the same command goes on where it was.

mod intent;
mod sending;

use serde_json::{Value, json};
use svc_sdk::{Developer, JobHandle, Open, Started};

use crate::args::{SubmitArgs, SurfaceChoice, Terms};
use crate::error::Exit;
use crate::error::Failure;
use crate::output::Table;
use crate::pricing::{self, Price};
use crate::resource::{Subject, Told};
use crate::session::{Access, Session};
use crate::text::clean;
use crate::types::{Order, Outcome};
use crate::wait::{self, Waiting};

/// Submits a job on the open surface, waits, and prints what came of it.
pub(crate) async fn open(
    session: &Session,
    order: Order,
    args: &SubmitArgs,
) -> Result<(), Failure> {
    run::<JobHandle<Open>>(session, order, &args.terms, Told::default()).await
}

/// Submits a job on the developer surface, waits, and prints what came of it.
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
    run::<JobHandle<Developer>>(session, order, &args.terms, Told::default()).await
}

/// Submits, waits, and prints what came of it: a job, a run or a bulk queue.
pub(crate) async fn run<H: Subject>(
    session: &Session,
    order: Order,
    terms: &Terms,
    told: Told,
) -> Result<(), Failure> {
    let access = session.access::<H::Surface>()?;
    let submit = Submission::<H> {
        session,
        access: &access,
        order: &order,
        terms,
        told,
    };
    if terms.money.dry_run {
        return submit.rehearse().await;
    }
    if let Some(folder) = &terms.download {
        wait::can_store(folder).map_err(|failure| failure.during("nothing was sent"))?;
    }
    let journal = if terms.money.no_journal {
        None
    } else {
        session.journal()?
    };
    let (subject, intent) = submit.send(journal.as_ref()).await?;
    let noun = H::NOUN;
    let end = submit
        .deliver(subject)
        .await
        .map_err(|failure| match failure.exit() {
            Exit::NotFound => failure.next(format!(
                "if the service has lost this {noun}, run the command with --new"
            )),
            _ => failure,
        });
    let known = match wait::outcome_of(&end) {
        Some(Outcome::Completed) if terms.no_wait => Some(Outcome::Submitted),
        known => known,
    };
    if let (Some(intent), Some(outcome)) = (intent, known)
        && let Err(error) = intent.close(outcome)
    {
        session.printer.warn(&format!("the journal could not be closed ({error}); the same command would take this {noun} up again"));
    }
    end
}

struct Submission<'a, H: Started> {
    session: &'a Session,
    access: &'a Access<H::Surface>,
    order: &'a Order,
    terms: &'a Terms,
    told: Told,
}

impl<H: Subject> Submission<'_, H> {
    /// `--dry-run`: the request and its price, and nothing that costs.
    async fn rehearse(&self) -> Result<(), Failure> {
        let price = H::price(&self.access.client, self.order).await?;
        pricing::within(&price, self.terms.money.max_price)?;
        let operation = self.order.operation;
        let path = operation
            .expand(&self.order.segments)
            .map_err(|error| Failure::usage(error.to_string()))?;
        let mut shown = json!({
            "dry_run": true,
            "request": {
                "method": operation.method().as_str(),
                "url": format!("{}{path}", self.access.base_url.trim_end_matches('/')),
                "body": self.order.body,
            },
            "estimate": price.estimate(),
        });
        if let (Price::Cap(cap), Some(shown)) = (&price, shown.as_object_mut()) {
            shown.insert("cap_usd".to_owned(), json!(cap.most));
        }
        self.session.printer.one(&shown, |_| {
            let mut table = Table::of_fields();
            table.field(
                "request",
                Some(format!("{} {}", operation.method().as_str(), path)),
            );
            table.field("body", Some(Value::Object(self.order.body.clone())));
            let said = match &price {
                Price::Unknown => "unknown".to_owned(),
                price => price.describe(),
            };
            table.field("price", Some(said));
            table.field("sent", Some("nothing: this was a dry run"));
            table
        })
    }

    /// The price, where someone wants to know it before it is paid.
    async fn settle_price(&self, ask: bool) -> Result<Price, Failure> {
        let money = &self.terms.money;
        let somebody_looks = ask && (self.session.printer.can_ask() || self.session.is_sandbox());
        if money.max_price.is_none() && !somebody_looks {
            return Ok(Price::Unknown);
        }
        let price = H::price(&self.access.client, self.order).await?;
        pricing::within(&price, money.max_price)?;
        if ask {
            let what = format!("{} this {}", H::VERB, self.order.noun);
            pricing::confirm(self.session, &what, &price, money)?;
        }
        Ok(price)
    }

    /// The id first: from here on nothing is lost, even if this process is.
    fn announce(&self, subject: &H, price: &Price) {
        let charge = subject.charge();
        let said = charge
            .map(|price| format!(" ({price} USD)"))
            .unwrap_or_default();
        let again = if subject.was_there() {
            ", found again by its key"
        } else {
            ""
        };
        let id = subject.subject_id();
        self.session
            .printer
            .note(&format!("{} {}{said}{again}", id.noun(), clean(id.id())));
        let limit = self.terms.money.max_price.or(price.most());
        if let (Some(charge), Some(limit)) = (charge, limit)
            && charge > limit
        {
            self.session.printer.warn(&format!(
                "the service charged {charge} USD, more than the {limit} USD that were agreed"
            ));
        }
    }

    /// Prints the receipt, or waits and prints the result.
    async fn deliver(&self, subject: H) -> Result<(), Failure> {
        if self.terms.no_wait {
            return subject.tell_receipt(self.session).await;
        }
        let waiting = Waiting {
            session: self.session,
            subject,
            args: &self.terms.wait,
            download: self.terms.download.as_deref(),
        };
        let end = waiting.finish().await?;
        let subject = &waiting.subject;
        subject
            .tell(self.session, &end, self.told)
            .map_err(|failure| failure.about(subject.subject_id()))
    }
}
