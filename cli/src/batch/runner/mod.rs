//! The run of a batch: the loop between the scheduler, the service, the journal and the output.

mod actions;
mod display;
mod item_results;
mod setup;
mod task_results;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use svc_sdk::Error;
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::batch::journal::{self, Attempt, Entry, Journal, Status};
use crate::batch::manifest::{Line, Manifest};
use crate::batch::options::BatchOptions;
use crate::batch::plan::{Item, NextStep, Plan, Records};
use crate::batch::prices::{Estimates, Shape};
use crate::batch::progress::{Counts, Progress};
use crate::batch::quote::Quote;
use crate::batch::report::Report;
use crate::batch::request_failure::RequestFailure;
use crate::batch::requests::{
    Clients, EstimateResult, ItemResult, SubmitReceipt, SubmittedHandle, is_idempotent,
};
use crate::batch::scheduler::{Action, DropReason, Event, Index, Limits, Scheduler};
use crate::batch::summary::Summary;
use crate::clock;
use crate::download::DownloadPlan;
use crate::error::{Exit, Failure};
use crate::random;
use crate::session::Session;
use crate::submit::paid_request::KEY_RETENTION;

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
    let manifest = Manifest::open(&options.manifest, options.default_operation())?;
    let downloads = DownloadPlan::from_args(session, &options.download)
        .map_err(|failure| failure.context("not submitted"))?
        .map(Arc::new);
    let path = options.journal_path();
    let has_journal = !session.is_sandbox() && path.exists();
    if options.dry_run || !has_journal {
        let mut records = Records::default();
        if has_journal {
            journal::read(&path, |entry| records.apply(entry))?;
        }
        // Without a journal this only checks the manifest, before a journal is created.
        let plan = Plan::new(session, &manifest, records, &options)?;
        if options.dry_run {
            setup::warn_if_empty(session, &plan, &options);
            let quote = Quote::new(session, &manifest, &plan).await?;
            return quote.print(session, &plan, &options);
        }
    }
    let mut records = Records::default();
    let journal = match session.is_sandbox() {
        true => Journal::temporary()?,
        false => Journal::open(&path, |entry| records.apply(entry))?,
    };
    let plan = Plan::new(session, &manifest, records, &options)?;
    setup::warn_if_empty(session, &plan, &options);
    if let Some(downloads) = &downloads {
        downloads.check_names_of(plan.items.len())?;
    }
    let clients = setup::clients(session, &plan, downloads)?;
    setup::check_account(&plan, &clients)?;
    setup::confirm(session, &manifest, &plan, &options).await?;
    setup::note_start(session, &plan, &options);
    let runner = Runner::new(session, &options, manifest, plan, journal, clients)?;
    runner.run().await
}

/// What a task has found out.
#[derive(Debug)]
enum TaskResult {
    Priced(Shape, Result<EstimateResult, RequestFailure>),
    Submitted(Index, Operation, Result<SubmitReceipt, RequestFailure>),
    Followed(Index, Result<ItemResult, Box<Error>>),
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
    tasks: JoinSet<TaskResult>,
    estimates: Estimates,
    /// The ids of the items that are under way.
    ids: HashMap<Index, String>,
    /// What was submitted in this run, until it is followed.
    submitted: HashMap<Index, SubmittedHandle>,
    submitting: HashSet<Index>,
    following: HashMap<Index, AbortHandle>,
    /// The latest failure of items that are to be submitted again.
    failures: HashMap<Index, Failure>,
    report: Report<'a>,
    is_output_closed: bool,
    /// The items that ended and are not printed yet, and what the journal records of them after that.
    ended: Vec<Value>,
    outcomes: Vec<Entry>,
    /// The files that are being opened, and why some could not be.
    opening: JoinSet<(String, Result<(), String>)>,
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
            scheduler.stop(DropReason::Overcharged);
        }
        setup::resume_quotas(&mut scheduler, &plan);
        let mut spent = plan.missing_spent;
        for item in &plan.items {
            spent = spent.checked_add(item.record.spent()).unwrap_or(spent);
        }
        let mut counts = Counts {
            spent,
            ..Counts::default()
        };
        for item in plan
            .items
            .iter()
            .filter(|it| it.next_step == NextStep::Done)
        {
            counts.ended += 1;
            let has_status = |status| usize::from(item.record.status == Some(status));
            counts.failed += has_status(Status::Failed);
            counts.canceled += has_status(Status::Canceled);
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
            outcomes: Vec::new(),
            opening: JoinSet::new(),
            summary: Summary::default(),
            counts,
            stopped: None,
            started: clock::monotonic(),
        })
    }

    async fn run(mut self) -> Result<(), Failure> {
        let total = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let command = self.options.command(self.session, &[]);
        self.journal.begin(total, command);
        self.enqueue()?;
        let finished = self.drive().await;
        self.tasks.abort_all();
        self.progress.clear();
        self.report_unopened_files().await;
        let is_interrupted = finished?;
        if is_interrupted {
            self.flush()?;
            self.report.finish()?;
            let flags: &[&str] = match self.options.retry_failed {
                true => &["--retry-failed"],
                false => &[],
            };
            let again = self.options.command(self.session, flags);
            let why = "interrupted; submitted jobs and runs continue";
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
        for step in [NextStep::Resolve, NextStep::Wait, NextStep::Submit] {
            for index in 0..u32::try_from(self.items.len()).unwrap_or(u32::MAX) {
                let Some(item) = self.item(index).filter(|item| item.next_step == step) else {
                    continue;
                };
                let account = item.account;
                let attempt = item.record.attempt.as_deref();
                match step {
                    NextStep::Submit => self.scheduler.add(index, account),
                    NextStep::Wait => {
                        let reserved_or_charged = attempt.and_then(Attempt::reserved_or_charged);
                        self.scheduler
                            .add_submitted(index, account, reserved_or_charged);
                    }
                    NextStep::Resolve => {
                        if attempt.is_some_and(|it| {
                            can_resend(it, self.clients.url_and_fingerprint(account))
                        }) {
                            let price = attempt.and_then(|it| it.price);
                            self.scheduler.add_resend(index, account, price);
                        } else {
                            self.leave_ambiguous(index)?;
                        }
                    }
                    NextStep::Done => {}
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
                    self.handle_task_result(done)?;
                    while let Some(done) = self.tasks.try_join_next() {
                        self.handle_task_result(done)?;
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
            self.session
                .printer
                .note("Waiting for responses to requests in flight…");
        }
        while !self.submitting.is_empty() {
            tokio::select! {
                Some(done) = self.tasks.join_next() => self.handle_task_result(done)?,
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

    /// Writes the journal, prints the items that ended, and records that they did.
    ///
    /// If the process is killed in between, the next run prints the items again.
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
        for outcome in self.outcomes.drain(..) {
            self.journal.add(&outcome);
        }
        self.journal.sync()
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
            if item.record.needs_correction {
                self.summary
                    .add_correction(self.manifest.number_at(item.position));
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
            .failure(self.session, self.options, &self.manifest, self.stopped)
        {
            Some(failure) => Err(failure),
            None => {
                self.session.printer.note(&self.summary.sentence());
                Ok(())
            }
        }
    }

    fn add_spend_change(&mut self, after: Usd, before: Usd) {
        let spent = self
            .counts
            .spent
            .checked_add(after)
            .and_then(|spent| spent.checked_sub(before));
        self.counts.spent = spent.unwrap_or(self.counts.spent);
    }

    /// Stops the batch: no further request would succeed. The one that failed was not carried out.
    fn stop(&mut self, failure: Failure) {
        self.scheduler.stop(DropReason::Stopped);
        let failure = failure.without_idempotency_key();
        self.stopped.get_or_insert(failure);
    }

    /// Reads the line of an item, and checks that it has not changed.
    fn load(&mut self, index: Index) -> Result<Line, Failure> {
        let Some(item) = self.items.get(to_usize(index)) else {
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
        self.items.get(to_usize(index))
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

fn to_usize(index: Index) -> usize {
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
