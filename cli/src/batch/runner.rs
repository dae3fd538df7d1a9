//! The run of a batch: the loop between the scheduler, the service, the journal and the output.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;
use svc_sdk::{Developer, Error, Open};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::journal::{self, Attempt, Entry, Intent, Journal, Outcome, Receipt, Status};
use super::manifest::{Line, Manifest};
use super::options::BatchOptions;
use super::plan::{Item, Plan, Records, Work};
use super::prices::{Estimates, PriceSource, Shape, price_source};
use super::progress::{Counts, Progress};
use super::quote::Quote;
use super::report::{EndedItem, Report};
use super::requests::{
    Accepted, Clients, Ended, Estimated, Failed, Rejection, Submitted, default_code, error_json,
    is_idempotent,
};
use super::scheduler::{Action, DropReason, Event, Index, Lane, Limits, Scheduler};
use super::summary::Summary;
use crate::clock;
use crate::error::{Exit, Failure};
use crate::random;
use crate::session::Session;
use crate::submit::paid_request::KEY_RETENTION;
use crate::wait;

/// The attempts of a request without an answer, unless `--retries` sets another number.
const MAX_ATTEMPTS: u32 = 10;
/// The attempts of a request that cannot be sent.
const MAX_UNREACHABLE: u32 = 6;
/// The time that requests under way get to be answered when the batch ends early.
const ANSWER_GRACE: Duration = Duration::from_secs(5);

/// Runs a batch.
///
/// # Errors
///
/// Returns an error if the batch cannot start, and unless all items completed.
pub(crate) async fn run(session: &Session, options: BatchOptions) -> Result<(), Failure> {
    let mut manifest = Manifest::open(&options.manifest, options.default_operation())?;
    let path = options.journal_path();
    let has_journal = !session.is_sandbox() && path.exists();
    if options.dry_run || !has_journal {
        let mut records = Records::default();
        if has_journal {
            journal::read(&path, |entry| records.apply(entry))?;
        }
        // Without a journal this only checks the manifest, before a journal is created.
        let plan = Plan::new(&mut manifest, records, &options)?;
        if options.dry_run {
            let quote = Quote::new(session, &mut manifest, &plan).await?;
            return quote.print(session, &plan, &options);
        }
    }
    if let Some(folder) = &options.download {
        wait::check_writable(folder).map_err(|failure| failure.context("not submitted"))?;
    }
    let mut records = Records::default();
    let journal = match session.is_sandbox() {
        true => Journal::temporary()?,
        false => Journal::open(&path, |entry| records.apply(entry))?,
    };
    let plan = Plan::new(&mut manifest, records, &options)?;
    let clients = clients(session, &plan, &options)?;
    check_account(&plan, &clients)?;
    confirm(session, &mut manifest, &plan, &options).await?;
    note_start(session, &plan, &options);
    let runner = Runner::new(session, &options, manifest, plan, journal, clients)?;
    runner.run().await
}

/// Creates the clients of the surfaces that are needed.
fn clients(session: &Session, plan: &Plan, options: &BatchOptions) -> Result<Clients, Failure> {
    let is_needed = |lane| {
        let mut items = plan.items.iter();
        items.any(|item| item.lane == lane && item.work != Work::Nothing)
    };
    let mut clients = Clients::new(options.download.clone());
    if is_needed(Lane::Open) {
        clients.open = Some(Arc::new(session.access::<Open>()?));
    }
    if is_needed(Lane::Developer) {
        clients.developer = Some(Arc::new(session.access::<Developer>()?));
    }
    Ok(clients)
}

/// Checks that the jobs in flight belong to the service that is configured now.
fn check_account(plan: &Plan, clients: &Clients) -> Result<(), Failure> {
    for item in plan.items.iter().filter(|item| item.work == Work::Follow) {
        let attempt = item.record.attempt.as_ref();
        if let (Some(attempt), Some((base_url, _))) = (attempt, clients.account(item.lane))
            && attempt.base_url != base_url
        {
            return Err(Failure::usage(format!(
                "the batch was submitted to {}, but {base_url} is configured",
                attempt.base_url
            ))
            .hint("configure that URL, or choose another journal with --journal FILE"));
        }
    }
    Ok(())
}

/// Asks for confirmation on a terminal.
async fn confirm(
    session: &Session,
    manifest: &mut Manifest,
    plan: &Plan,
    options: &BatchOptions,
) -> Result<(), Failure> {
    let printer = &session.printer;
    if plan.to_submit() == 0 || options.yes || session.is_sandbox() || !printer.can_prompt() {
        return Ok(());
    }
    let quote = Quote::new(session, manifest, plan).await?;
    let items = quote.items;
    let question = match options.max_spend {
        Some(limit) => format!(
            "Submit {items} items for {}, within a limit of {limit} USD?",
            quote.describe()
        ),
        None => format!("Submit {items} items for {}?", quote.describe()),
    };
    match printer.confirm(&question)? {
        true => Ok(()),
        false => Err(Failure::other(
            "not confirmed: nothing was submitted and nothing was charged",
        )),
    }
}

fn note_start(session: &Session, plan: &Plan, options: &BatchOptions) {
    let printer = &session.printer;
    let finished = plan.count(|item| item.work == Work::Nothing);
    let in_flight = plan.count(|item| matches!(item.work, Work::Follow | Work::Resolve));
    if finished + in_flight > 0 {
        printer.note(&format!(
            "Resuming {}: {finished} of {} items are finished, {in_flight} were submitted",
            options.manifest.display(),
            plan.items.len()
        ));
    }
    if plan.missing > 0 {
        printer.warn(&format!(
            "{} items of the journal are not in the manifest any more; what they spent counts, but \
            their results are not fetched",
            plan.missing
        ));
    }
}

/// What a task has found out.
#[derive(Debug)]
enum Done {
    Priced(Shape, Result<Estimated, Failed>),
    Submitted(Index, Operation, Result<Accepted, Failed>),
    Followed(Index, Result<Ended, Box<Error>>),
}

/// A batch that is running.
struct Runner<'a> {
    session: &'a Session,
    options: &'a BatchOptions,
    manifest: Manifest,
    items: Vec<Item>,
    journal: Journal,
    clients: Clients,
    scheduler: Scheduler,
    events: VecDeque<(Index, Event)>,
    tasks: JoinSet<Done>,
    estimates: Estimates,
    /// The ids of the items that are under way.
    ids: HashMap<Index, String>,
    /// What was submitted in this run, until it is followed.
    submitted: HashMap<Index, Submitted>,
    submitting: HashSet<Index>,
    following: HashMap<Index, AbortHandle>,
    /// The latest failure of items that are to be submitted again.
    failures: HashMap<Index, Failure>,
    report: Report<'a>,
    is_output_closed: bool,
    /// The items that ended and are not printed yet, because the journal is written first.
    ended: Vec<Value>,
    progress: Progress,
    summary: Summary,
    counts: Counts,
    stopped: Option<Failure>,
    started: Instant,
}

impl<'a> Runner<'a> {
    fn new(
        session: &'a Session,
        options: &'a BatchOptions,
        manifest: Manifest,
        plan: Plan,
        journal: Journal,
        clients: Clients,
    ) -> Result<Self, Failure> {
        let retries = session
            .global
            .retries
            .map(|retries| retries.saturating_add(1));
        let limits = Limits {
            concurrency: options.max_in_flight(),
            max_spend: options.max_spend,
            committed: plan.committed,
            deadline: options.timeout.and_then(|timeout| timeout.0),
            max_attempts: retries.unwrap_or(MAX_ATTEMPTS),
            max_unreachable: retries.unwrap_or(MAX_UNREACHABLE),
        };
        let mut scheduler = Scheduler::new(plan.items.len(), limits);
        if plan.is_overcharged && options.max_spend.is_some() {
            session.printer.warn(
                "an item was charged more than its estimate, so no further items are submitted",
            );
            scheduler.stop(DropReason::OverBudget);
        }
        let mut spent = plan.missing_spent;
        for item in &plan.items {
            spent = spent.checked_add(item.record.spent()).unwrap_or(spent);
        }
        let mut counts = Counts {
            spent,
            ..Counts::default()
        };
        for item in plan.items.iter().filter(|it| it.work == Work::Nothing) {
            counts.ended += 1;
            let is_failed = matches!(item.record.status, Some(Status::Failed | Status::Canceled));
            counts.failed += usize::from(is_failed);
        }
        Ok(Self {
            progress: Progress::new(&session.printer, plan.items.len()),
            report: Report::new(session)?,
            is_output_closed: false,
            session,
            options,
            manifest,
            items: plan.items,
            journal,
            clients,
            scheduler,
            events: VecDeque::new(),
            tasks: JoinSet::new(),
            estimates: Estimates::default(),
            ids: HashMap::new(),
            submitted: HashMap::new(),
            submitting: HashSet::new(),
            following: HashMap::new(),
            failures: HashMap::new(),
            ended: Vec::new(),
            summary: Summary::default(),
            counts,
            stopped: None,
            started: clock::monotonic(),
        })
    }

    async fn run(mut self) -> Result<(), Failure> {
        self.journal
            .begin(u32::try_from(self.items.len()).unwrap_or(u32::MAX));
        self.enqueue()?;
        let finished = self.drive().await;
        self.tasks.abort_all();
        self.progress.clear();
        let is_interrupted = finished?;
        if is_interrupted {
            self.flush()?;
            self.report.finish()?;
            let again = self.options.command(self.session, &[]);
            let why = "interrupted; what was submitted keeps running";
            let code = Some("interrupted".to_owned());
            return Err(Failure::new(Exit::Interrupted, why)
                .with_response(code, None, None, None)
                .with_resume(again));
        }
        self.conclude()
    }

    /// Adds the items to the scheduler.
    fn enqueue(&mut self) -> Result<(), Failure> {
        // The requests that may have been carried out come first: their keys expire.
        for work in [Work::Resolve, Work::Follow, Work::Submit] {
            for index in 0..u32::try_from(self.items.len()).unwrap_or(u32::MAX) {
                let Some(item) = self.item(index).filter(|item| item.work == work) else {
                    continue;
                };
                let lane = item.lane;
                let attempt = item.record.attempt.as_deref();
                match work {
                    Work::Submit => self.scheduler.add(index, lane),
                    Work::Follow => {
                        let held = attempt.and_then(Attempt::held);
                        self.scheduler.add_submitted(index, lane, held);
                    }
                    Work::Resolve => {
                        if attempt.is_some_and(|it| can_resend(it, self.clients.account(lane))) {
                            let price = attempt.and_then(|it| it.price);
                            self.scheduler.add_resend(index, lane, price);
                        } else {
                            self.leave_ambiguous(index)?;
                        }
                    }
                    Work::Nothing => {}
                }
            }
        }
        Ok(())
    }

    /// Runs until nothing is left to do. Returns whether it was interrupted.
    async fn drive(&mut self) -> Result<bool, Failure> {
        loop {
            while let Some((index, event)) = self.events.pop_front() {
                let now = self.now();
                self.scheduler.handle(index, event, now, random::fraction());
            }
            let now = self.now();
            let mut submits = Vec::new();
            for action in self.scheduler.next(now) {
                match action {
                    Action::Price(index) => self.price(index)?,
                    Action::Submit(index) => submits.push(self.begin_submit(index)?),
                    Action::Follow(index) => self.follow(index)?,
                    Action::Drop(index, reason) => self.drop_item(index, reason)?,
                }
            }
            self.flush()?;
            for (index, line, attempt) in submits {
                self.send(index, line, &attempt);
            }
            self.show_progress();
            if !self.events.is_empty() {
                continue;
            }
            if self.scheduler.is_done() {
                return Ok(false);
            }
            let is_timed_out = self.is_past_deadline();
            let wake_at = match is_timed_out {
                true => Some(self.now() + ANSWER_GRACE),
                false => self.scheduler.wake_at(now),
            };
            tokio::select! {
                biased;
                () = self.session.interrupts.first() => {
                    self.await_answers().await?;
                    return Ok(true);
                }
                Some(done) = self.tasks.join_next() => {
                    self.take_in(done)?;
                    while let Some(done) = self.tasks.try_join_next() {
                        self.take_in(done)?;
                    }
                }
                () = sleep_until(self.started, wake_at) => {
                    if is_timed_out {
                        self.give_up_answers()?;
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn is_past_deadline(&self) -> bool {
        let deadline = self.options.timeout.and_then(|timeout| timeout.0);
        deadline.is_some_and(|deadline| self.now() >= deadline)
    }

    /// Gives requests under way a moment to be answered, so that their outcomes are known.
    async fn await_answers(&mut self) -> Result<(), Failure> {
        let until = clock::monotonic() + ANSWER_GRACE;
        if !self.submitting.is_empty() {
            self.session.printer.note("Waiting for open requests…");
        }
        while !self.submitting.is_empty() {
            tokio::select! {
                Some(done) = self.tasks.join_next() => self.take_in(done)?,
                () = tokio::time::sleep_until(until) => break,
                else => break,
            }
        }
        self.flush()
    }

    /// Reports the requests that were not answered in time.
    fn give_up_answers(&mut self) -> Result<(), Failure> {
        let open: Vec<Index> = self.submitting.drain().collect();
        for index in open {
            self.summary.drop_item(DropReason::TimedOut);
            self.end_ambiguous(index, None)?;
        }
        for index in self.estimates.take_all_waiting() {
            self.drop_item(index, DropReason::TimedOut)?;
        }
        self.flush()
    }

    /// Finds out the price of an item.
    fn price(&mut self, index: Index) -> Result<(), Failure> {
        let line = self.load(index)?;
        match price_source(line.operation, &line.body) {
            PriceSource::Known(price) => self.price_event(index, Some(price)),
            PriceSource::Unknown => self.price_event(index, None),
            PriceSource::Estimate(shape) => match self.estimates.get(shape) {
                Some(price) => self.price_event(index, price),
                None => {
                    if self.estimates.wait(shape, index) {
                        let estimate = self.clients.clone().estimate(line.body);
                        self.tasks
                            .spawn(async move { Done::Priced(shape, estimate.await) });
                    }
                }
            },
        }
        Ok(())
    }

    /// Adds the intent of a submit to the journal.
    fn begin_submit(&mut self, index: Index) -> Result<(Index, Line, Attempt), Failure> {
        let line = self.load(index)?;
        let hash = line.hash();
        let price = match price_source(line.operation, &line.body) {
            PriceSource::Known(cap) => Some(cap),
            PriceSource::Estimate(_) | PriceSource::Unknown => self.scheduler.price(index),
        };
        let Some(item) = self.items.get_mut(place(index)) else {
            return Err(Failure::other("no such item"));
        };
        let (base_url, fingerprint) = self.clients.account(item.lane).unwrap_or_default();
        // A request that may have been carried out keeps its key, and the time of its first use.
        let earlier = item.record.attempt.take();
        let (key, at, is_unknown) = match earlier.filter(|it| it.resource.is_none()) {
            Some(attempt) => (attempt.key, attempt.at, attempt.is_unknown),
            None => (random::idempotency_key()?, clock::now(), false),
        };
        let intent = Box::new(Intent {
            id: line.id.clone(),
            hash,
            operation: line.operation.name().to_owned(),
            idempotency_key: key,
            price_usd: price,
            base_url: base_url.to_owned(),
            key_fingerprint: fingerprint.to_owned(),
            at,
        });
        let attempt = Attempt {
            is_unknown,
            ..Attempt::new((*intent).clone())
        };
        let entry = Entry::Intent(intent);
        self.journal.add(&entry);
        item.record.apply(entry);
        item.record.attempt = Some(Box::new(attempt.clone()));
        Ok((index, line, attempt))
    }

    /// Sends a request whose intent is on disk.
    fn send(&mut self, index: Index, line: Line, attempt: &Attempt) {
        self.submitting.insert(index);
        let operation = line.operation;
        let submit = self
            .clients
            .clone()
            .submit(operation, line.body, attempt.key.clone());
        self.tasks
            .spawn(async move { Done::Submitted(index, operation, submit.await) });
    }

    /// Waits for the result of an item.
    fn follow(&mut self, index: Index) -> Result<(), Failure> {
        let submitted = match self.submitted.remove(&index) {
            Some(submitted) => Some(submitted),
            None => {
                let line = self.load(index)?;
                let attempt = self.attempt(index);
                let operation = attempt.and_then(|it| it.operation);
                let id = attempt.and_then(|it| it.resource.as_ref());
                id.and_then(|id| {
                    let operation = operation.unwrap_or(line.operation);
                    self.clients.handle(operation, id)
                })
            }
        };
        let Some(submitted) = submitted else {
            return Err(Failure::other("no client for this item"));
        };
        let follow = self.clients.clone().follow(submitted);
        let task = self
            .tasks
            .spawn(async move { Done::Followed(index, follow.await) });
        self.following.insert(index, task);
        Ok(())
    }

    /// Takes in what a task has found out.
    fn take_in(&mut self, done: Result<Done, tokio::task::JoinError>) -> Result<(), Failure> {
        match done {
            Ok(Done::Priced(shape, priced)) => self.priced(shape, priced),
            Ok(Done::Submitted(index, operation, Ok(accepted))) => {
                self.submitting.remove(&index);
                self.accepted(index, operation, accepted);
                Ok(())
            }
            Ok(Done::Submitted(index, operation, Err(failed))) => {
                self.submitting.remove(&index);
                self.rejected(index, operation, failed)
            }
            Ok(Done::Followed(index, ended)) => {
                self.following.remove(&index);
                match ended {
                    Ok(ended) => self.ended(index, ended),
                    Err(error) => self.not_followed(index, *error),
                }
            }
            // The task of an item that was given up.
            Err(error) if error.is_cancelled() => Ok(()),
            Err(error) => Err(Failure::other(format!("a task failed: {error}"))),
        }
    }

    fn priced(&mut self, shape: Shape, priced: Result<Estimated, Failed>) -> Result<(), Failure> {
        let waiting = self.estimates.take_waiting(shape);
        match priced {
            Ok((price, writes)) => {
                self.estimates.insert(shape, price);
                for index in waiting {
                    self.event(index, Event::Priced { price, writes });
                }
            }
            Err(failed) => {
                let Failed {
                    failure,
                    rejection,
                    retry_after,
                    writes,
                    ..
                } = failed;
                let first = waiting.first().copied();
                for index in waiting {
                    match rejection {
                        Rejection::PushedBack(reason) => self.event(
                            index,
                            Event::PushedBack {
                                reason,
                                retry_after,
                                writes,
                            },
                        ),
                        Rejection::NoAnswer | Rejection::NotSent => {
                            self.event(index, Event::NotSent);
                        }
                        Rejection::Stop | Rejection::Final => {
                            self.end_unpriced(index, &failure, rejection)?;
                        }
                    }
                }
                match (rejection, first) {
                    (Rejection::Stop, _) => self.stop(failure),
                    (Rejection::NotSent | Rejection::NoAnswer, Some(first)) => {
                        self.failures.insert(first, failure);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Ends an item whose estimate was rejected.
    fn end_unpriced(
        &mut self,
        index: Index,
        failure: &Failure,
        rejection: Rejection,
    ) -> Result<(), Failure> {
        let error = error_json(failure, default_code(failure.exit()));
        if self.attempt(index).is_some_and(|it| it.is_unknown) {
            return self.end_ambiguous(index, Some(failure));
        }
        match rejection {
            Rejection::Stop => self.end_not_submitted(index, DropReason::Stopped, Some(error)),
            _ => self.end_rejected(index, error),
        }
    }

    fn accepted(&mut self, index: Index, operation: Operation, accepted: Accepted) {
        let Accepted {
            submitted,
            charge,
            request_id,
            writes,
        } = accepted;
        let resource = submitted.resource_id();
        self.submitted.insert(index, submitted);
        let receipt = Entry::Receipt(Box::new(Receipt {
            id: self.id(index),
            resource,
            price_usd: charge,
            request_id,
        }));
        self.journal.add(&receipt);
        let price = self.attempt(index).and_then(|it| it.price);
        if let Some(item) = self.items.get_mut(place(index)) {
            item.record.apply(receipt);
        }
        self.failures.remove(&index);
        self.spend(charge.unwrap_or(Usd::ZERO), Usd::ZERO);
        if let (Some(charge), Some(price), Some(_)) = (charge, price, self.options.max_spend)
            && charge > price
        {
            self.session.printer.warn(&format!(
                "item {} was charged {charge} USD, which is more than its estimate of {price} USD; no \
                further items are submitted ({})",
                self.id(index),
                operation.name(),
            ));
        }
        self.event(index, Event::Accepted { charge, writes });
    }

    fn rejected(
        &mut self,
        index: Index,
        operation: Operation,
        failed: Failed,
    ) -> Result<(), Failure> {
        if let Some(resource) = &failed.resource
            && let Some(submitted) = self.clients.handle(operation, resource)
        {
            let accepted = Accepted {
                submitted,
                charge: None,
                request_id: None,
                writes: failed.writes,
            };
            self.accepted(index, operation, accepted);
            return Ok(());
        }
        let is_unknown = self.attempt(index).is_some_and(|it| it.is_unknown);
        let failure = failed.failure;
        match failed.rejection {
            Rejection::PushedBack(reason) => {
                self.release(index);
                self.event(
                    index,
                    Event::PushedBack {
                        reason,
                        retry_after: failed.retry_after,
                        writes: failed.writes,
                    },
                );
            }
            Rejection::NotSent => {
                self.release(index);
                self.failures.insert(index, failure);
                self.event(index, Event::NotSent);
            }
            Rejection::NoAnswer if is_idempotent(operation) => {
                if let Some(item) = self.items.get_mut(place(index))
                    && let Some(attempt) = &mut item.record.attempt
                {
                    attempt.is_unknown = true;
                }
                self.failures.insert(index, failure);
                self.event(index, Event::NoAnswer);
            }
            Rejection::NoAnswer => self.end_ambiguous(index, Some(&failure))?,
            Rejection::Stop => {
                if is_unknown {
                    self.end_ambiguous(index, Some(&failure))?;
                } else {
                    self.release(index);
                    let error = error_json(&failure, default_code(failure.exit()));
                    self.end_not_submitted(index, DropReason::Stopped, Some(error))?;
                }
                self.stop(failure);
            }
            Rejection::Final if is_unknown && !failed.is_conflict => {
                self.end_ambiguous(index, Some(&failure))?;
            }
            Rejection::Final => {
                let error = error_json(&failure, default_code(failure.exit()));
                self.end_rejected(index, error)?;
            }
        }
        Ok(())
    }

    fn ended(&mut self, index: Index, ended: Ended) -> Result<(), Failure> {
        let attempt = self.attempt(index);
        let known = attempt.and_then(|it| it.charge.or(it.price));
        let is_run = self.item(index).is_some_and(|it| it.is_run);
        let cost = match is_run {
            // The spend of a run that cannot be read is unknown, rather than its cap.
            true => ended.cost,
            false => ended.cost.or(known),
        };
        self.event(index, Event::Finished { cost });
        self.end(
            index,
            ended.status,
            cost,
            ended.artifacts,
            ended.files,
            ended.error,
        )
    }

    /// Handles a job or run whose result could not be read.
    fn not_followed(&mut self, index: Index, error: Error) -> Result<(), Failure> {
        let is_lost = error.is_not_found();
        let is_fatal = error.is_unauthorized() || error.is_forbidden() || error.is_unreachable();
        let retry_after = error.retry_after();
        if !is_lost && !is_fatal {
            self.event(index, Event::FollowLater { retry_after });
            return Ok(());
        }
        let failure = Failure::from(error);
        let error = error_json(&failure, default_code(failure.exit()));
        if is_fatal {
            self.stop(failure);
        }
        self.event(index, Event::Finished { cost: None });
        let charge = self.attempt(index).and_then(|it| it.charge);
        self.end(
            index,
            Status::TimedOut,
            charge,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }

    fn drop_item(&mut self, index: Index, reason: DropReason) -> Result<(), Failure> {
        if let Some(task) = self.following.remove(&index) {
            task.abort();
        }
        let attempt = self.attempt(index);
        let is_accepted = attempt.is_some_and(|it| it.resource.is_some());
        let is_unknown = attempt.is_some_and(|it| it.is_unknown && it.resource.is_none());
        let charge = attempt.and_then(|it| it.charge);
        let failure = self.failures.remove(&index);
        self.summary.drop_item(reason);
        if is_accepted {
            let message = "the job was still running when the time of the batch was over";
            let error = json!({"code": "timed_out", "message": message});
            let (artifacts, files) = (Vec::new(), Vec::new());
            return self.end(
                index,
                Status::TimedOut,
                charge,
                artifacts,
                files,
                Some(error),
            );
        }
        if is_unknown {
            return self.end_ambiguous(index, failure.as_ref());
        }
        let error = failure
            .as_ref()
            .map(|failure| error_json(failure, default_code(failure.exit())));
        if let (DropReason::Unreachable, Some(failure)) = (reason, failure) {
            self.stop(failure);
        }
        self.end_not_submitted(index, reason, error)
    }

    /// Ends an item that was rejected: nothing ran and nothing was charged.
    fn end_rejected(&mut self, index: Index, error: Value) -> Result<(), Failure> {
        let cost = Some(Usd::ZERO);
        self.event(index, Event::Finished { cost });
        self.end(
            index,
            Status::Failed,
            cost,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }

    fn end_not_submitted(
        &mut self,
        index: Index,
        reason: DropReason,
        error: Option<Value>,
    ) -> Result<(), Failure> {
        self.event(
            index,
            Event::Finished {
                cost: Some(Usd::ZERO),
            },
        );
        let error = error.unwrap_or_else(|| self.drop_error(reason));
        self.end(
            index,
            Status::NotSubmitted,
            None,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }

    /// Ends an item of which it is unknown whether it was submitted.
    fn end_ambiguous(&mut self, index: Index, failure: Option<&Failure>) -> Result<(), Failure> {
        self.event(index, Event::Finished { cost: None });
        let mut error = match failure {
            Some(failure) => error_json(failure, "ambiguous"),
            None => {
                json!({"message": "the request was not answered: it may have been carried out"})
            }
        };
        let key = self.attempt(index).map(|it| it.key.clone());
        if let Some(fields) = error.as_object_mut() {
            fields.insert("code".to_owned(), "ambiguous".into());
            fields.insert("idempotency_key".to_owned(), json!(key));
        }
        self.end(
            index,
            Status::Ambiguous,
            None,
            Vec::new(),
            Vec::new(),
            Some(error),
        )
    }

    /// Reports an item of an earlier run that must not be sent again, unless that run has.
    fn leave_ambiguous(&mut self, index: Index) -> Result<(), Failure> {
        let item = self.item(index);
        if item.is_some_and(|item| item.record.status == Some(Status::Ambiguous)) {
            self.counts.ended += 1;
            self.counts.ambiguous += 1;
            return Ok(());
        }
        self.load(index)?;
        let why = "the batch was interrupted before the service answered, and sending the request \
            again could charge twice";
        let failure = Failure::new(Exit::Ambiguous, why);
        self.end_ambiguous(index, Some(&failure))
    }

    /// Records the end of an item, and queues it for the output.
    fn end(
        &mut self,
        index: Index,
        status: Status,
        price: Option<Usd>,
        artifacts: Vec<Value>,
        files: Vec<crate::resource::StoredFile>,
        error: Option<Value>,
    ) -> Result<(), Failure> {
        if !self.ids.contains_key(&index) {
            self.load(index)?;
        }
        let id = self.ids.remove(&index).unwrap_or_default();
        self.failures.remove(&index);
        let Some(item) = self.items.get_mut(place(index)) else {
            return Ok(());
        };
        let before = item.record.spent();
        let attempt = item.record.attempt.as_ref();
        let ended = EndedItem {
            id: id.clone(),
            status,
            resource: attempt.and_then(|it| it.resource.clone()),
            price,
            artifacts,
            files: files.clone(),
            error: error.clone(),
        };
        if status == Status::Failed && self.summary.failed_code.is_none() {
            let code = error.as_ref().and_then(|it| it.get("code")?.as_str());
            self.summary.failed_code = code.map(str::to_owned);
        }
        let is_repeated =
            status == Status::NotSubmitted && item.record.status == Some(Status::NotSubmitted);
        let outcome = Entry::Outcome(Box::new(Outcome {
            id,
            status,
            price_usd: price,
            files,
            error,
            at: clock::now(),
        }));
        if !is_repeated {
            self.journal.add(&outcome);
        }
        item.record.apply(outcome);
        let after = item.record.spent();
        self.ended.push(ended.to_json(item.is_run));
        self.spend(after, before);
        self.counts.ended += 1;
        match status {
            Status::Failed | Status::Canceled => self.counts.failed += 1,
            Status::Ambiguous => self.counts.ambiguous += 1,
            Status::Completed | Status::NotSubmitted | Status::TimedOut => {}
        }
        Ok(())
    }

    /// Records that a request was not carried out, unless an earlier one with its key may have been.
    fn release(&mut self, index: Index) {
        if self.attempt(index).is_some_and(|it| !it.is_unknown) {
            let entry = Entry::Released { id: self.id(index) };
            self.journal.add(&entry);
            if let Some(item) = self.items.get_mut(place(index)) {
                item.record.apply(entry);
            }
        }
    }

    /// Stops the batch: no further request would succeed.
    fn stop(&mut self, failure: Failure) {
        self.scheduler.stop(DropReason::Stopped);
        self.stopped.get_or_insert(failure);
    }

    /// Writes the journal, and then prints the items that ended.
    fn flush(&mut self) -> Result<(), Failure> {
        self.journal.sync()?;
        for item in self.ended.drain(..) {
            if self.is_output_closed {
                continue;
            }
            match self.report.add(&item) {
                // The batch goes on when its output is closed, as by `head`.
                Err(failure) if failure.exit() == Exit::Done => self.is_output_closed = true,
                added => added?,
            }
        }
        Ok(())
    }

    /// Prints the end of the batch, and returns its failure.
    fn conclude(mut self) -> Result<(), Failure> {
        self.flush()?;
        let mut ambiguous = Vec::new();
        for (item, index) in self.items.iter().zip(0..) {
            let status = item.record.status;
            *self.summary.counts.entry(status).or_default() += 1;
            let attempt = item.record.attempt.as_ref();
            match (status, attempt) {
                (Some(Status::Ambiguous), Some(attempt)) => {
                    ambiguous.push((index, attempt.key.to_string()));
                }
                (Some(Status::Completed), Some(_)) => self.summary.missing_files += 1,
                _ => {}
            }
        }
        for (index, key) in ambiguous {
            let id = self.load(index)?.id;
            self.summary.add_ambiguous(id, key);
        }
        self.summary.spent = self.counts.spent;
        self.report.finish()?;
        match self
            .summary
            .failure(self.session, self.options, self.stopped)
        {
            Some(failure) => Err(failure),
            None => {
                self.session.printer.note(&self.summary.sentence());
                Ok(())
            }
        }
    }

    fn show_progress(&mut self) {
        self.counts.in_flight = self.scheduler.in_flight();
        self.counts.is_slowed = self.scheduler.is_slowed(self.now());
        self.progress.update(self.counts);
    }

    fn spend(&mut self, after: Usd, before: Usd) {
        let spent = self
            .counts
            .spent
            .checked_add(after)
            .and_then(|spent| spent.checked_sub(before));
        self.counts.spent = spent.unwrap_or(self.counts.spent);
    }

    fn drop_error(&self, reason: DropReason) -> Value {
        let limit = self.options.max_spend.unwrap_or(Usd::ZERO);
        let (code, message) = match reason {
            DropReason::OverBudget => (
                "over_budget",
                format!("it does not fit into --max-spend {limit}"),
            ),
            DropReason::Unpriced => (
                "over_budget",
                format!("its price is unknown, so --max-spend {limit} is not guaranteed"),
            ),
            DropReason::TimedOut => (
                "timed_out",
                "the time of the batch was over before it was submitted".to_owned(),
            ),
            DropReason::Stopped | DropReason::NoAnswer | DropReason::Unreachable => {
                let stopped = self.stopped.as_ref();
                let code = stopped.map_or("connection_failed", |failure| {
                    failure.code().unwrap_or(default_code(failure.exit()))
                });
                let why = stopped.map(Failure::headline).unwrap_or_default();
                return json!({"code": code, "message": format!("the batch was stopped: {why}")});
            }
        };
        json!({"code": code, "message": message})
    }

    /// Reads the line of an item, and checks that it has not changed.
    fn load(&mut self, index: Index) -> Result<Line, Failure> {
        let Some(item) = self.items.get(place(index)) else {
            return Err(Failure::other("no such item"));
        };
        let line = self.manifest.line_at(item.position)?;
        if line.hash() != item.hash {
            let number = self.manifest.number_at(item.position);
            return Err(self.manifest.changed(number));
        }
        self.ids.insert(index, line.id.clone());
        Ok(line)
    }

    fn price_event(&mut self, index: Index, price: Option<Usd>) {
        let writes = None;
        self.event(index, Event::Priced { price, writes });
    }

    fn event(&mut self, index: Index, event: Event) {
        self.events.push_back((index, event));
    }

    fn item(&self, index: Index) -> Option<&Item> {
        self.items.get(place(index))
    }

    fn attempt(&self, index: Index) -> Option<&Attempt> {
        self.item(index)?.record.attempt.as_deref()
    }

    fn id(&self, index: Index) -> String {
        self.ids.get(&index).cloned().unwrap_or_default()
    }

    /// Returns the time since the batch was started.
    fn now(&self) -> Duration {
        clock::monotonic().saturating_duration_since(self.started)
    }
}

fn place(index: Index) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// Returns whether a request that may have been carried out can be sent again without paying twice.
fn can_resend(attempt: &Attempt, account: Option<(&str, &str)>) -> bool {
    let age = clock::elapsed(clock::now(), attempt.at);
    attempt.operation.is_some_and(is_idempotent)
        && account == Some((&attempt.base_url, &attempt.key_fingerprint))
        && age < KEY_RETENTION
}

async fn sleep_until(started: Instant, at: Option<Duration>) {
    match at {
        Some(at) => tokio::time::sleep_until(started + at).await,
        None => std::future::pending().await,
    }
}
