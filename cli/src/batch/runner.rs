//! The run of a batch: what is submitted, what is shown, and when it ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use svc_sdk::Error;
use svc_sdk::batch::{MixedItem, MixedOutcomes};
use svc_sdk::journal::JournalError;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::journal::{Journal, Note, Records};
use super::manifest::Manifest;
use super::options::BatchOptions;
use super::plan::{Index, NextStep, Plan};
use super::quote::Quote;
use super::report::{Activity, Progress, Report};
use super::requests::{Clients, Followed, Source};
use super::setup::{self, Catalog, ObservedWrites};
use super::status::remember;
use super::summary::{DropReason, Summary};
use crate::clock;
use crate::config::state_dir;
use crate::download::{DownloadPlan, StoredFile, open_with_default};
use crate::error::{Exit, Failure, Result};
use crate::session::Session;
use crate::text::sanitize;

const ANSWER_GRACE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(250);
pub(super) const MAX_TOGETHER: usize = 100;

pub(crate) async fn run(session: &Session, options: BatchOptions) -> Result {
    options.check_stdin(session)?;
    let mut manifest = Manifest::open(&options.manifest, options.defaults())?;
    let mut downloads = DownloadPlan::for_items(session, &options.download)
        .map_err(|failure| failure.context("not submitted"))?;
    if let Some(downloads) = &downloads {
        downloads.check_is_folder("a batch")?;
    }
    let folder = downloads.as_ref().filter(|plan| !plan.is_temporary());
    let folder = folder.map(|plan| plan.folder().to_owned());
    let path = options.journal_path();
    let has_journal = !session.is_sandbox() && path.metadata().is_ok_and(|file| file.len() > 0);
    let records = match has_journal {
        true => read_records(&path, folder.as_deref()).await,
        false => Ok(Records::default()),
    };
    // What is wrong with a journal is reported when it is opened.
    if let Ok(records) = &records
        && options.operation.is_none()
    {
        manifest.submitted = records.operations();
    }
    let catalog = Catalog::set_operations(session, &mut manifest).await?;
    if options.dry_run || !has_journal {
        // Without a journal this only checks the manifest, before a journal is created.
        let plan = Plan::new(session, &manifest, records?, &options)?;
        if options.dry_run {
            setup::warn(session, &manifest, &plan, &options);
            catalog.check_if(plan.to_submit() > 0).await?;
            let quote = Quote::new(session, &manifest, &plan).await?;
            return quote.print(session, &plan, &options);
        }
    }
    let journal = match session.is_sandbox() {
        true => Journal::temporary().await?,
        false => Journal::open(&path).await?,
    };
    if !session.is_sandbox() {
        // Only `svc usage` needs it.
        let _ = remember(&state_dir(session.environment())?, &path);
    }
    let mut records = Records::read(&journal, folder.as_deref()).await?;
    records.release_not_sent(&journal).await?;
    if let Some(downloads) = downloads.as_mut().filter(|_| records.names_files_by_id) {
        downloads.name_by_id();
    }
    let plan = Plan::new(session, &manifest, records, &options)?;
    setup::warn(session, &manifest, &plan, &options);
    if let Some(downloads) = &downloads {
        downloads.check_names_of(plan.items.len())?;
    }
    let writes = ObservedWrites::default();
    let open = setup::access(session, &plan, &options, &journal, &writes)?;
    let developer = setup::access(session, &plan, &options, &journal, &writes)?;
    let clients = Clients::new(open, developer, downloads.map(Arc::new));
    setup::check_account(&plan, &clients)?;
    let is_checked = manifest.is_spreadsheet() || setup::asks(session, &plan, &options);
    catalog.check_if(is_checked && plan.to_submit() > 0).await?;
    setup::confirm(session, &manifest, &plan, &options).await?;
    setup::note_start(session, &plan, &options);
    let runner = Runner::new(session, &options, manifest, plan, journal, clients)?;
    runner.run(&writes).await
}

async fn read_records(path: &Path, folder: Option<&Path>) -> Result<Records> {
    Records::read(&Journal::read_only(path).await?, folder).await
}

pub(super) struct Runner<'a> {
    pub(super) session: &'a Session,
    pub(super) options: &'a BatchOptions,
    pub(super) source: Arc<Source>,
    pub(super) journal: Journal,
    report: Report<'a>,
    is_output_closed: bool,
    /// The items that have ended in this run.
    pub(super) has_ended: Vec<bool>,
    /// The items that ended and are not printed yet, and what the journal notes of them after that.
    pub(super) ended: Vec<(Index, Value)>,
    pub(super) notes: Vec<Note>,
    /// The files that are being opened, and why some could not be.
    opening: JoinSet<(String, Result<(), String>)>,
    progress: Progress,
    watch_tip: Option<String>,
    pub(super) summary: Summary,
    pub(super) stopped: Option<Failure>,
    /// What becomes of the items that are not submitted.
    pub(super) reason: DropReason,
    started: Instant,
}

type Outcomes = MixedOutcomes<'static, Followed>;

impl<'a> Runner<'a> {
    fn new(
        session: &'a Session,
        options: &'a BatchOptions,
        manifest: Manifest,
        plan: Plan,
        journal: Journal,
        clients: Clients,
    ) -> Result<Self> {
        if plan.is_overcharged && options.max_spend.is_some() {
            session.printer.warn(
                "an item was charged more than its estimate, so no further items are submitted",
            );
        }
        let mut summary = Summary::new(plan.items.len(), plan.spent);
        for item in plan.items.iter().filter(|item| item.next_step == NextStep::Done) {
            summary.add_earlier(&item.record, manifest.number_at(item.position));
        }
        let submissions = journal.submissions.clone();
        Ok(Self {
            progress: Progress::new(&session.printer, &summary, options.max_spend),
            watch_tip: setup::watch_tip(session, &plan),
            report: Report::new(session),
            is_output_closed: false,
            has_ended: vec![false; plan.items.len()],
            source: Arc::new(Source::new(manifest, plan.items, clients, submissions)),
            session,
            options,
            journal,
            ended: Vec::new(),
            notes: Vec::new(),
            opening: JoinSet::new(),
            summary,
            stopped: None,
            reason: DropReason::Stopped,
            started: clock::monotonic(),
        })
    }

    async fn run(mut self, writes: &ObservedWrites) -> Result {
        let total = u32::try_from(self.source.items.len()).unwrap_or(u32::MAX);
        let command = self.options.stored_command(self.session).to_string();
        self.journal.begin(total, command).await?;
        let mut outcomes = self.start().await?;
        let is_interrupted = match &mut outcomes {
            Some(outcomes) => self.drive(outcomes, writes).await,
            None => Ok(false),
        };
        self.notes.extend(writes.take());
        self.progress.clear();
        self.report_unopened_files().await;
        if is_interrupted? {
            self.flush().await?;
            self.report.finish()?;
            let flags: &[&str] = if self.options.retry_failed { &["--retry-failed"] } else { &[] };
            let again = self.options.command(self.session, flags);
            let why = "interrupted; submitted jobs and runs continue";
            return Err(Failure::new(Exit::Interrupted, why).with_resume(again));
        }
        drop(outcomes);
        self.end_rest().await?;
        self.conclude().await
    }

    /// Begins the batch, unless there is nothing to do.
    async fn start(&mut self) -> Result<Option<Outcomes>> {
        let blocked = self.end_unrepeatable().await?;
        let Some(source) = Arc::get_mut(&mut self.source) else {
            return Err(Failure::other("the batch has begun already"));
        };
        // The requests that may have been carried out come first: their keys expire.
        source.add(NextStep::Resolve);
        source.order.retain(|index| !blocked.contains(index));
        source.add(NextStep::Wait);
        let resumed = u64::try_from(source.order.len()).unwrap_or(u64::MAX);
        source.add(NextStep::Submit);
        if source.order.is_empty() {
            return Ok(None);
        }
        let submissions = Source::submissions(&self.source);
        let clients = &self.source.clients;
        let batch = match (&clients.open, &clients.developer) {
            (Some(access), _) => access.client.mixed_batch(submissions),
            (None, Some(access)) => access.client.mixed_batch(submissions),
            (None, None) => return Err(Failure::other("no client for this batch")),
        };
        let batch = batch.concurrency(self.options.max_in_flight());
        Ok(Some(batch.already_submitted(resumed).run()))
    }

    /// Runs until all items have ended or the time is up. Returns whether it was interrupted before.
    async fn drive(&mut self, outcomes: &mut Outcomes, writes: &ObservedWrites) -> Result<bool> {
        let limit = self.options.timeout.and_then(|timeout| timeout.0);
        let deadline = limit.and_then(|limit| self.started.checked_add(limit));
        loop {
            self.show_progress(outcomes);
            self.note_watch_tip(outcomes.in_flight() > outcomes.submitting());
            tokio::select! {
                biased;
                _ = self.session.interrupts.first() => {
                    if outcomes.submitting() > 0 {
                        let note = "Waiting for responses to requests in flight…";
                        self.session.printer.note(note);
                    }
                    self.await_answers(outcomes).await;
                    return Ok(true);
                }
                next = outcomes.next() => {
                    let Some(next) = next else {
                        self.flush().await?;
                        return self.source.take_failure().map_or(Ok(false), Err);
                    };
                    self.on_next(next, outcomes).await?;
                    let mut count = 1;
                    while count < MAX_TOGETHER
                        && let Some(Some(next)) = outcomes.next().now_or_never()
                    {
                        self.on_next(next, outcomes).await?;
                        count += 1;
                    }
                }
                () = sleep_until(deadline) => {
                    self.reason = DropReason::TimedOut;
                    outcomes.stop();
                    // What does not fit into the budget is returned at once.
                    while let Some(Some(next)) = outcomes.next().now_or_never() {
                        self.on_next(next, outcomes).await?;
                    }
                    self.await_answers(outcomes).await;
                    self.flush().await?;
                    return Ok(false);
                }
                () = tokio::time::sleep(TICK) => {}
            }
            self.notes.extend(writes.take());
            self.flush().await?;
        }
    }

    async fn await_answers(&self, outcomes: &mut Outcomes) {
        outcomes.stop();
        let clients = self.source.clients.clone();
        // If they are not, the next run finds out what became of them.
        let _ = tokio::time::timeout(ANSWER_GRACE, clients.drain()).await;
    }

    fn note_watch_tip(&mut self, has_job: bool) {
        if let Some(tip) = self.watch_tip.take_if(|_| has_job) {
            self.session.printer.note(&tip);
        }
    }

    async fn on_next(
        &mut self,
        next: Result<MixedItem<Followed>, Error>,
        outcomes: &mut Outcomes,
    ) -> Result {
        match next {
            Ok(item) => {
                let place = usize::try_from(item.index).unwrap_or(usize::MAX);
                let Some(index) = self.source.order.get(place).copied() else {
                    return Err(Failure::other("no such item"));
                };
                let id = item.submission_id.unwrap_or_default();
                self.note_watch_tip(item.outcome.is_ok());
                match item.outcome {
                    Ok(Ok(result)) => self.end_followed(index, id, result).await,
                    Ok(Err(error)) => {
                        let is_fatal = self.end_unread(index, id, *error).await?;
                        if is_fatal {
                            outcomes.stop();
                        }
                        Ok(())
                    }
                    Err(error) => self.end_failed(index, id, error).await,
                }
            }
            Err(error) => self.on_stopped(error),
        }
    }

    fn on_stopped(&mut self, error: Error) -> Result {
        match error.journal() {
            Some(JournalError::Store(error)) => return Err(self.journal.failure(error)),
            Some(JournalError::OverBudget { totals, .. }) => {
                self.reason = match totals.is_stopped {
                    true => DropReason::Overcharged,
                    false => DropReason::OverBudget,
                };
            }
            _ => self.stop(Failure::from(error)),
        }
        Ok(())
    }

    /// Stops the batch: no further request would succeed. The one that failed was not carried out.
    pub(super) fn stop(&mut self, failure: Failure) {
        self.stopped.get_or_insert(failure.without_idempotency_key());
    }

    /// Prints the items that ended before that is noted: a killed process prints them again.
    pub(super) async fn flush(&mut self) -> Result {
        for (index, item) in self.ended.drain(..) {
            if self.is_output_closed {
                continue;
            }
            match self.report.add(index, item) {
                // The batch goes on when its output is closed, as by `head`.
                Err(failure) if failure.exit() == Exit::Done => self.is_output_closed = true,
                added => added?,
            }
        }
        let notes = std::mem::take(&mut self.notes);
        self.journal.add(&notes).await
    }

    async fn conclude(mut self) -> Result {
        let left_out = self.summary.left_out();
        self.notes.extend(left_out.map(|(count, _)| Note::OverBudget { count }));
        self.flush().await?;
        if let Some((count, first)) = left_out.filter(|_| !self.is_output_closed) {
            let position = self.source.item(first)?.position;
            let (manifest, line) = (&self.source.manifest, self.source.line(first)?);
            let name = manifest.item_name(position, &line.id);
            self.report.add_left_out(count, first, manifest.number_at(position), &name)?;
        }
        self.report.finish()?;
        let manifest = &self.source.manifest;
        match self.summary.failure(self.session, self.options, manifest, self.stopped) {
            Some(failure) => Err(failure),
            None => {
                self.session.printer.note(&self.summary.sentence(None));
                Ok(())
            }
        }
    }

    pub(super) fn show_files(&mut self, files: &[StoredFile]) {
        let Some(plan) = &self.source.clients.download else { return };
        for file in files {
            let path = PathBuf::from(&file.path);
            plan.preview(self.session, &path);
            if plan.opens_files() {
                let shown = file.path.clone();
                self.opening.spawn(async move { (shown, open_with_default(&path).await) });
            }
        }
    }

    /// Waits until files are opened, and warns about those that are not.
    async fn report_unopened_files(&mut self) {
        while let Some(opened) = self.opening.join_next().await {
            if let Ok((path, Err(reason))) = opened {
                let warning = format!("cannot open {}: {}", sanitize(&path), sanitize(&reason));
                self.session.printer.warn(&warning);
            }
        }
    }

    fn show_progress(&self, outcomes: &Outcomes) {
        let activity = Activity {
            in_flight: outcomes.in_flight() - outcomes.submitting(),
            charged: self.source.charged(),
            is_slowed: outcomes.is_slowed(),
        };
        self.progress.update(&self.summary, activity);
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
