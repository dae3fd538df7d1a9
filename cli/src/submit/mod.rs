//! Submits: price check, journal, request, wait and result.
//!
//! This order prevents double payments: the intent is on disk before the request is sent, and it
//! stays open until the outcome has been reported. If the program is interrupted in between, the
//! same command resumes.

pub(crate) mod payment;

use serde_json::{Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::handle::{Handle, JobResource};
use svc_sdk::types::IdempotencyKey;
use svc_sdk::{Developer, Open};

use crate::args::{ReceiptArgs, SubmitArgs, SubmitOptions, SurfaceChoice};
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::follow::ResourceKind;
use crate::follow::wait::{self, Waiter};
use crate::output::Table;
use crate::output::values::money;
use crate::request::SubmitRequest;
use crate::request::pricing::{self, Price};
use crate::resource::Outcome;
use crate::session::{Access, Session};
use crate::submit::payment::{PaidRequest, Payment, prepare, submitted_with_key};
use crate::text::{nearest, sanitize};

pub(crate) async fn open(session: &Session, request: SubmitRequest, args: &SubmitArgs) -> Result {
    run::<JobResource<Open>>(session, request, &args.options, ReceiptArgs::default(), None).await
}

pub(crate) async fn developer(
    session: &Session,
    request: SubmitRequest,
    args: &SubmitArgs,
) -> Result {
    if args.surface.surface == Some(SurfaceChoice::Open) {
        let noun = request.noun;
        let why = format!("the open surface does not support {noun}");
        return Err(Failure::usage(why).hint("omit --surface, or pass --surface developer"));
    }
    let receipt_mode = ReceiptArgs::default();
    run::<JobResource<Developer>>(session, request, &args.options, receipt_mode, None).await
}

/// Submits a request, waits and prints the result. The journal notes the source that it is made from.
pub(crate) async fn run<R: ResourceKind>(
    session: &Session,
    request: SubmitRequest,
    options: &SubmitOptions,
    receipt_mode: ReceiptArgs,
    source: Option<Value>,
) -> Result {
    let access = session.access::<R::Surface>()?;
    let submit = Submission::<R> {
        session,
        access: &access,
        request: &request,
        options,
        receipt_mode,
        source,
    };
    if options.spending.dry_run {
        return match submit.dry_run().await {
            Ok(()) => Ok(()),
            Err(failure) => Err(with_nearest_model(session, &request, failure).await),
        };
    }
    let download = match R::items(&request) {
        Some(_) => DownloadPlan::for_items(session, &options.download),
        None => DownloadPlan::from_args(session, &options.download),
    };
    let download = download
        .map_err(|failure| failure.context("not submitted"))?
        .map(|plan| plan.with_prompts_of(&request.body));
    if let Some(plan) = &download {
        plan.check_result_of(&request.body)?;
    }
    let reused = submitted_with_key(session, &submit.paid(), options.spending.journal).await?;
    if let Some(id) = reused {
        let resource = R::handle(&access.client, id.id());
        return submit.finish(resource, download.as_ref(), true).await;
    }
    let payment = submit.payment().await?;
    let resource = match submit.send(&payment).await {
        Ok(resource) => resource,
        Err(failure) => return Err(with_nearest_model(session, &request, failure).await),
    };
    if options.no_wait && session.is_sandbox() {
        session.printer.note(
            "The sandbox and its jobs are gone when this command exits; to keep jobs, use `svc mock serve`",
        );
    }
    let key = resource.idempotency_key().cloned();
    let intent = resource.intent_id().cloned();
    let request_id = R::request_id(&resource).map(str::to_owned);
    let earlier_id = payment.submitted().and_then(|it| it.request_id.clone());
    let request_id = request_id.or(earlier_id);
    if session.is_sandbox() && download.is_none() && !options.no_wait {
        session
            .printer
            .note("the sandbox keeps no files after this command: pass --download to save them");
    }
    let finished = submit
        .finish(resource, download.as_ref(), false)
        .await
        .map_err(|failure| {
            let key = key.as_ref().map(IdempotencyKey::as_str);
            failure.with_some(key, Failure::with_idempotency_key)
        })
        .map_err(|failure| match (failure.exit(), request_id) {
            (Exit::JobFailed | Exit::JobCanceled | Exit::Skipped, Some(id)) => {
                failure.with_request_id(id)
            }
            _ => failure,
        });
    let outcome = match wait::outcome_of(&finished) {
        Some(Outcome::Completed) if options.no_wait => Some(Outcome::Submitted),
        outcome => outcome,
    };
    payment.close(&session.printer, intent.as_ref(), outcome).await;
    finished
}

struct Submission<'a, R: ResourceKind> {
    session: &'a Session,
    access: &'a Access<R::Surface>,
    request: &'a SubmitRequest,
    options: &'a SubmitOptions,
    receipt_mode: ReceiptArgs,
    source: Option<Value>,
}

impl<R: ResourceKind> Submission<'_, R> {
    async fn dry_run(&self) -> Result {
        let price = R::price(&self.access.client, self.request).await?;
        pricing::check_model_kind(&price, self.request)?;
        self.check_max_price(&price)?;
        let base_url = self.access.base_url.trim_end_matches('/');
        print_dry_run(self.session, self.request, base_url, &price, R::items(self.request))
    }

    /// Fetches the price only if a limit or a question needs it.
    async fn check_price(&self, confirm: bool) -> Result<Price> {
        let spending = &self.options.spending;
        // A queue starts many runs. Their cost is said before, even where no question is asked.
        let is_queue = R::items(self.request).is_some();
        let is_asked = self.session.printer.can_prompt() || self.session.is_sandbox();
        let is_shown = confirm && (is_asked || is_queue);
        if spending.max_price.is_none() && !is_shown {
            return Ok(Price::Unknown);
        }
        let price = R::price(&self.access.client, self.request);
        let price = pricing::before_submit(self.session, price).await?;
        pricing::check_model_kind(&price, self.request)?;
        self.check_max_price(&price)?;
        if confirm {
            let what = format!("{} this {}", R::VERB, self.request.noun);
            pricing::confirm(self.session, &what, &price, spending).await?;
        }
        Ok(price)
    }

    fn check_max_price(&self, price: &Price) -> Result {
        let checked = pricing::check_max_price(price, self.options.spending.max_price);
        match (price, R::items(self.request)) {
            (Price::SpendCap(_), Some(_)) => checked.map_err(|failure| {
                failure.without_hints().hint(
                    "lower the caps of the items (`generation_spend_cap_usd`, or --cap for items \
                     without it), or pass a higher --max-price",
                )
            }),
            _ => checked,
        }
    }

    fn paid(&self) -> PaidRequest<'_> {
        let spending = &self.options.spending;
        PaidRequest {
            chosen_key: spending.idempotency_key.as_ref(),
            max_price: spending.max_price,
            source: self.source.as_ref(),
            ..PaidRequest::new(self.access, self.request)
        }
    }

    /// Returns the payment of the request, through the journal unless `--no-journal` is given.
    async fn payment(&self) -> Result<Payment<'_>> {
        let list = R::list_command(self.session, self.request);
        let hint = Suggestion::from(format!("look for a {} created at that time: ", R::NOUN));
        new_payment(self.session, self.paid(), self.options, hint.command(list)).await
    }

    /// Returns the resource: a new one, or the one that an earlier run of the same command submitted.
    async fn send(&self, payment: &Payment<'_>) -> Result<Handle<R>> {
        let price = match payment.submitted() {
            Some(_) => Price::Unknown,
            None => self.check_price(payment.is_new()).await?,
        };
        payment.announce(&self.session.printer);
        let client = &self.access.client;
        let client = client.with_account(self.access.key_fingerprint.as_str());
        let key = self.options.spending.idempotency_key.clone();
        let (call, key) = prepare::<R>(&client, self.request, key)?;
        let estimate = price.estimate().map(|it| it.price_usd);
        let (call, key) = payment.record(call, key, estimate);
        let sending = async { call.await.map_err(|error| payment.failure(error)) };
        let failed = format!("cannot submit the {}", self.request.noun);
        let resource = payment.send(self.session, sending, &key, failed).await?;
        if payment.submitted().is_none() {
            self.announce(&resource, &price);
        }
        Ok(resource)
    }

    /// Prints the id at once, so that the resource can be found if this process ends.
    fn announce(&self, resource: &Handle<R>, price: &Price) {
        let charge = R::charge(resource);
        let charge_note = charge.map(|price| format!(" ({})", money(price))).unwrap_or_default();
        let prefix = match resource.is_replay() {
            true => "Found an existing submission with this idempotency key:",
            false => "Submitted",
        };
        let id = R::resource_id(resource);
        let noun = id.noun();
        let id = sanitize(id.id());
        self.session.printer.note(&format!("{prefix} {noun} {id}{charge_note}"));
        let limit = self.options.spending.max_price.or(price.upper_bound());
        if let (Some(charge), Some(limit)) = (charge, limit)
            && charge > limit
        {
            self.session.printer.warn(&format!(
                "the service charged {}, which is more than the expected {}",
                money(charge),
                money(limit)
            ));
        }
    }

    /// `is_reused` is whether an earlier command submitted it.
    async fn finish(
        &self,
        resource: Handle<R>,
        download: Option<&DownloadPlan>,
        is_reused: bool,
    ) -> Result {
        if self.options.no_wait {
            let receipt = R::receipt(&resource).await;
            let (mut shown, table) = receipt.map_err(|error| lost_hint::<R>(error.into()))?;
            if let Some(fields) = shown.as_object_mut().filter(|_| is_reused) {
                fields.insert("reused".to_owned(), true.into());
            }
            let printer = &self.session.printer;
            let key = resource.idempotency_key().or(self.paid().chosen_key);
            let printed = printer.print_submitted(R::KIND, &shown, key, |_| table);
            printed.map_err(|failure| self.with_resume(failure, &resource, download))?;
            if !self.session.is_sandbox() {
                let command = R::wait_command(&resource, self.session, download);
                let flag = match download {
                    None => " --download",
                    Some(_) => "",
                };
                printer.note(&format!("next: {command}{flag}"));
            }
            return Ok(());
        }
        let waiter = Waiter { session: self.session, resource, args: &self.options.wait, download };
        let mut finished = waiter.wait().await.map_err(lost_hint::<R>)?;
        if is_reused {
            R::set_reused(&mut finished);
        }
        let resource = &waiter.resource;
        R::print_result(resource, self.session, finished, self.receipt_mode)
            .map_err(|failure| self.with_resume(failure, resource, download))
    }

    /// Adds the resource, and the command that prints a result that could not be printed.
    fn with_resume(
        &self,
        failure: Failure,
        resource: &Handle<R>,
        download: Option<&DownloadPlan>,
    ) -> Failure {
        let failure = failure.for_resource(R::resource_id(resource));
        if failure.exit() != Exit::Failure || self.session.is_sandbox() {
            return failure;
        }
        failure.with_resume(R::wait_command(resource, self.session, download))
    }
}

fn print_dry_run(
    session: &Session,
    request: &SubmitRequest,
    base_url: &str,
    price: &Price,
    items: Option<&[Value]>,
) -> Result {
    let operation = request.operation;
    let path =
        operation.expand(&request.segments).map_err(|error| Failure::usage(error.to_string()))?;
    let mut shown = json!({
        "dry_run": true,
        "request": {
            "method": operation.method().as_str(),
            "url": format!("{base_url}{path}"),
            "body": request.body,
        },
        "estimate": price.estimate(),
    });
    if let (Price::SpendCap(cap), Some(shown)) = (price, shown.as_object_mut()) {
        shown.insert("cap_usd".to_owned(), json!(cap.max_usd));
    }
    let cap_total = price.cap_total();
    if let (Some(items), Some(shown)) = (items, shown.as_object_mut()) {
        shown.insert("items".to_owned(), json!(items.len()));
        shown.insert("cap_total_usd".to_owned(), json!(cap_total));
    }
    session.printer.print_item(&shown, |_| {
        let mut table = Table::key_value();
        table.field("request", Some(format!("{} {}", operation.method().as_str(), path)));
        table.field("body", Some(Value::Object(request.body.clone())));
        let price_text = match price {
            Price::Unknown | Price::Uncapped => "unknown".to_owned(),
            price => price.describe(),
        };
        table.field("price", Some(price_text));
        if let Some(items) = items {
            table.field("items", Some(items.len()));
            let total = cap_total.map(money);
            table.field("cap total", Some(total.unwrap_or("unknown".to_owned())));
        }
        table.field("sent", Some("no (dry run)"));
        table
    })
}

/// Names the model that may be meant, if the service rejects the one of the request.
async fn with_nearest_model(
    session: &Session,
    request: &SubmitRequest,
    failure: Failure,
) -> Failure {
    let operation = request.operation;
    let is_media = matches!(operation, Operation::ImageGenerate | Operation::VideoGenerate);
    let Some(model) = request.body.get("model").and_then(Value::as_str) else {
        return failure;
    };
    if !is_media || !failure.is_about_field("model") {
        return failure;
    }
    let Ok(access) = session.access::<Open>() else { return failure };
    let models = access.client.models();
    let listed = match operation {
        Operation::ImageGenerate => models.list_images().await,
        _ => models.list_videos().await,
    };
    let Ok(listed) = listed else { return failure };
    let ids: Vec<String> = listed.items.into_iter().map(|it| it.id).collect();
    let near = nearest(model, ids.iter().map(String::as_str)).filter(|it| *it != model);
    failure.with_some(near, |it, near| it.and(&format!("did you mean {near}?")))
}

async fn new_payment<'a>(
    session: &Session,
    paid: PaidRequest<'a>,
    options: &SubmitOptions,
    hint: Suggestion,
) -> Result<Payment<'a>> {
    let hints =
        vec![hint, "if there is none, run the command with --new to submit a new one".into()];
    let options = options.spending.journal;
    let journal = session.submissions(options).await?;
    let payment = Payment::new(paid, journal, options.new, hints).await?;
    payment.warn_of_other_url(session).await?;
    Ok(payment)
}

/// Adds what to do if a resource that was submitted is not found.
fn lost_hint<R: ResourceKind>(failure: Failure) -> Failure {
    match failure.exit() {
        Exit::NotFound => failure
            .hint(format!("if the service has lost the {}, submit a new one with --new", R::NOUN)),
        _ => failure,
    }
}
