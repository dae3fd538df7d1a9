//! The end of a batch: its counts, its exit code, and what to do next.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use svc_sdk::journal::Entry;

use super::journal::{
    DOWNLOAD_FAILED, ItemResult, Record, Spent, Status, has_unknown_status, status_words,
};
use super::manifest::Manifest;
use super::options::BatchOptions;
use super::plan::Index;
use crate::error::{Exit, Failure, SuggestedCommand, Suggestion};
use crate::session::Session;
use crate::text::counted;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DropReason {
    OverBudget,
    /// A charge was above its estimate, so that the other estimates may be too low as well.
    Overcharged,
    /// Its price is unknown, so that it may not fit.
    Unpriced,
    Stopped,
    TimedOut,
}

impl DropReason {
    /// Returns whether the limit of the batch is why.
    pub(super) const fn is_limit(self) -> bool {
        matches!(self, Self::OverBudget | Self::Overcharged | Self::Unpriced)
    }
}

/// What the command of a dry run is for, if items do not fit into the limit.
pub(super) const FIND_LIMIT: &str = "find out which --max-spend is enough for";

const MAX_LISTED_KEYS: usize = 1000;
const MAX_SHOWN_KEYS: usize = 20;
const MAX_SHOWN_CORRECTIONS: usize = 5;

/// What became of the items so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) total: usize,
    counts: BTreeMap<Status, usize>,
    missing_files: usize,
    /// The number of items that do not fit into the limit, and the first of them.
    left_out: BTreeMap<DropReason, usize>,
    first_left_out: Option<Index>,
    /// The number of items that failed in this run because the service does not know their jobs.
    pub(super) lost: usize,
    /// The number of failed items whose jobs ended with a status that this version does not know.
    pub(super) unknown_status: usize,
    pub(super) spent: Spent,
    /// The ids and keys of ambiguous items, in the order of the manifest.
    ambiguous: BTreeMap<Index, (String, String)>,
    failed_code: Option<String>,
    /// Whether items failed in this run with different codes.
    has_other_codes: bool,
    rejection: Option<String>,
    /// The lines that have to be corrected.
    corrections: BTreeSet<u32>,
}

impl Summary {
    pub(super) fn new(total: usize, spent: Spent) -> Self {
        Self { total, spent, ..Self::default() }
    }

    pub(super) fn add(&mut self, status: Status) {
        *self.counts.entry(status).or_default() += 1;
    }

    /// Adds an item that ended in an earlier run, in that line.
    pub(super) fn add_earlier(&mut self, record: &Record, line: u32) {
        let Some(status) = record.status() else { return };
        self.add(status);
        self.missing_files += usize::from(record.has_missing_files());
        self.unknown_status += usize::from(record.has_unknown_status);
        if record.needs_correction() {
            self.corrections.insert(line);
        }
    }

    pub(super) fn leave_out(&mut self, reason: DropReason, index: Index) {
        self.add(Status::NotSubmitted);
        *self.left_out.entry(reason).or_default() += 1;
        self.first_left_out = Some(self.first_left_out.map_or(index, |first| first.min(index)));
    }

    /// Returns how many items were left out, and the first of them.
    pub(super) fn left_out(&self) -> Option<(usize, Index)> {
        self.first_left_out.map(|first| (self.left_out.values().sum(), first))
    }

    pub(super) fn add_ambiguous(&mut self, index: Index, id: String, key: String) {
        self.ambiguous.insert(index, (id, key));
    }

    pub(super) fn add_result(&mut self, result: &ItemResult, entry: Option<&Entry>, line: u32) {
        self.add(result.status);
        let code = result.error_text("code");
        match result.status {
            Status::Completed if code == Some(DOWNLOAD_FAILED) => self.missing_files += 1,
            Status::Failed | Status::Unknown => {
                self.unknown_status += usize::from(entry.is_some_and(has_unknown_status));
                if let Some(code) = code {
                    let first = self.failed_code.get_or_insert(code.to_owned());
                    self.has_other_codes |= first != code;
                }
                if result.is_rejection() {
                    let message = result.error_text("message");
                    self.rejection = self.rejection.take().or(message.map(str::to_owned));
                    if entry.is_none_or(|entry| entry.resource.is_none()) {
                        self.corrections.insert(line);
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn ended(&self) -> usize {
        self.counts.values().sum()
    }

    pub(super) fn count(&self, status: Status) -> usize {
        self.counts.get(&status).copied().unwrap_or_default()
    }

    /// Returns the counts in words, with the code of the failure next to what it is about.
    pub(super) fn sentence(&self, failure: Option<(Cause, &str)>) -> String {
        use Status::{Ambiguous, Canceled, Failed, NotSubmitted, Skipped, TimedOut, Unknown};
        let statuses = [Failed, Unknown, Canceled, Skipped, Ambiguous, TimedOut, NotSubmitted];
        let counts = statuses.map(|status| {
            (self.count(status), status_words(status.as_str()), Cause::Status(status))
        });
        let files = (self.missing_files, "without all files".to_owned(), Cause::MissingFiles);
        let (completed, items) = (self.count(Status::Completed), counted(self.total, "item"));
        let mut sentence = format!("{completed} of {items} completed");
        for (count, words, cause) in counts.into_iter().chain([files]) {
            if count == 0 {
                continue;
            }
            sentence.push_str(&format!(", {count} {words}"));
            if let Some((_, code)) = failure.filter(|(it, _)| *it == cause)
                && words != status_words(code)
            {
                let has_others = self.has_other_codes && cause == Cause::Status(Failed);
                let others = if has_others { " and others" } else { "" };
                sentence.push_str(&format!(" ({code}{others})"));
            }
        }
        format!("{sentence}; spent {}", self.spent)
    }

    /// `stopped` is the failure that stopped the batch.
    pub(super) fn failure(
        &self,
        session: &Session,
        options: &BatchOptions,
        manifest: &Manifest,
        stopped: Option<Failure>,
    ) -> Option<Failure> {
        let new = |exit: Exit, cause: Cause, code: &str| {
            let sentence = self.sentence(Some((cause, code)));
            let code = Some(code.to_owned());
            Failure::new(exit, sentence).with_response(code, None, None, None)
        };
        let again = options.command(session, &[]);
        let unlimited = BatchOptions { max_spend: None, ..options.clone() };
        let left_out = |reason: DropReason| self.left_out.get(&reason).copied().unwrap_or_default();
        let overcharged = left_out(DropReason::Overcharged);
        if self.count(Status::Ambiguous) > 0 {
            let failure = new(Exit::Ambiguous, Cause::Status(Status::Ambiguous), "ambiguous");
            return Some(with_stop(self.ambiguous_failure(failure, again), stopped));
        }
        let stop = |failure: Failure| {
            let context = format!("the batch was stopped ({})", self.sentence(None));
            failure.context(context).with_resume(again.clone())
        };
        let is_funds = stopped.as_ref().is_some_and(|it| it.exit() == Exit::Funds);
        if !is_funds && let Some(stopped) = stopped {
            return Some(stop(stopped));
        }
        let failed = [Status::Failed, Status::Unknown, Status::Canceled, Status::Skipped];
        if let Some(status) = failed.into_iter().find(|status| self.count(*status) > 0) {
            let is_used_up = left_out(DropReason::OverBudget) > 0
                || options.max_spend.is_some_and(|limit| self.spent.usd >= limit);
            let which = retried(self.count(Status::Failed) + self.count(Status::Unknown) == 0);
            let (how, flags): (String, &[&str]) = match is_used_up && overcharged == 0 {
                true => (format!("{FIND_LIMIT} {which}: "), &["--retry-failed", "--dry-run"]),
                false => (format!("submit {which} again with: "), &["--retry-failed"]),
            };
            let code = match status {
                Status::Canceled | Status::Skipped => status.as_str(),
                status => self.failed_code.as_deref().unwrap_or(status.as_str()),
            };
            let mut failure = new(Exit::JobFailed, Cause::Status(status), code);
            if self.unknown_status > 0 {
                failure = failure.issue(left_alone(self.unknown_status));
            }
            if self.lost > 0 {
                failure = failure.issue(format!(
                    "{} may have been charged although the service does not know the job or run: \
                    --retry-failed submits and pays again",
                    counted(self.lost, "failed item")
                ));
            }
            let failure = with_stop(failure, stopped);
            let count: usize = failed.map(|status| self.count(status)).into_iter().sum();
            // The sandbox has no journal, so that the command would submit all items again.
            if self.unknown_status == count || session.is_sandbox() {
                return Some(failure);
            }
            let first = match self.correction(session, options, manifest) {
                Some(correction) => correction.then(", then "),
                None => "".into(),
            };
            return Some(failure.hint(first.then(how).command(options.command(session, flags))));
        }
        if let Some(stopped) = stopped {
            return Some(stop(stopped));
        }
        if self.first_left_out.is_some() {
            let cause = Cause::Status(Status::NotSubmitted);
            let failure = new(Exit::Funds, cause, "over_budget");
            let hint = match left_out(DropReason::Unpriced) {
                _ if overcharged > 0 => {
                    let why = "check the charges, as one was above its estimate; then submit the \
                        rest without a limit: ";
                    Suggestion::from(why).command(unlimited.command(session, &[]))
                }
                0 => {
                    let command = options.command(session, &["--dry-run"]);
                    Suggestion::from(format!("{FIND_LIMIT} the rest: ")).command(command)
                }
                _ => "the price of some items is unknown: run these items in a batch without \
                    --max-spend, or with a model whose price is known"
                    .into(),
            };
            return Some(failure.hint(hint));
        }
        let unfinished = [Status::TimedOut, Status::NotSubmitted];
        if let Some(status) = unfinished.into_iter().find(|status| self.count(*status) > 0) {
            let failure = new(Exit::StillRunning, Cause::Status(status), "timed_out");
            return Some(failure.with_resume(again));
        }
        (self.missing_files > 0).then(|| {
            let failure = new(Exit::Failure, Cause::MissingFiles, DOWNLOAD_FAILED);
            match &options.download.download {
                Some(_) => failure
                    .hint(Suggestion::from("download the missing files with: ").command(again)),
                None => failure.hint("pass --download to download the missing files"),
            }
        })
    }

    fn correction(
        &self,
        session: &Session,
        options: &BatchOptions,
        manifest: &Manifest,
    ) -> Option<Suggestion> {
        let shown: Vec<u32> =
            self.corrections.iter().copied().take(MAX_SHOWN_CORRECTIONS).collect();
        if shown.is_empty() {
            return None;
        }
        let places = manifest.places(&shown, self.corrections.len());
        let path = options.manifest.display();
        let correct = Suggestion::from(format!("correct {places} of {path}"));
        Some(match (&self.rejection, self.corrections.len()) {
            (Some(reason), 1) => correct.then(format!(" ({reason})")),
            (Some(_), _) => correct,
            (None, _) => correct.then(" (see ").command(options.status_command(session)).then(")"),
        })
    }

    fn ambiguous_failure(&self, failure: Failure, again: SuggestedCommand) -> Failure {
        let items = self.ambiguous.values();
        let listed = items.clone().take(MAX_LISTED_KEYS);
        let listed = listed.map(|(id, key)| json!({"item": id, "idempotency_key": key}));
        let listed: Vec<_> = listed.collect();
        let code = Some("ambiguous".to_owned());
        let details = Some(json!({ "ambiguous": listed }));
        let mut failure = failure.with_response(code, None, None, details);
        for (id, key) in items.take(MAX_SHOWN_KEYS) {
            failure = failure.issue(format!(
                "item {id}: the request may have been carried out (idempotency key {key})"
            ));
        }
        if let Some((_, (_, key))) = self.ambiguous.first_key_value() {
            failure = failure.with_idempotency_key(key.as_str());
        }
        failure
            .hint(
                Suggestion::from("resume with: ").command(again).then(
                    " (only requests whose idempotency key the service honors are sent again)",
                ),
            )
            .hint(
                Suggestion::from("check the jobs with ")
                    .svc(["job", "list"])
                    .then(", and submit what is missing in another batch"),
            )
    }
}

pub(super) const fn retried(has_only_canceled: bool) -> &'static str {
    if has_only_canceled { "the canceled items" } else { "the failed items" }
}

/// Says what `--retry-failed` does with items of a status that this version does not know.
pub(super) fn left_alone(count: usize) -> String {
    format!(
        "{} ended with a status that this version of svc does not know, and may have been charged: \
        --retry-failed leaves that alone; to pay again, add the request with another id",
        counted(count, "failed item")
    )
}

/// Adds why the batch was stopped to a failure that is more important.
fn with_stop(failure: Failure, stopped: Option<Failure>) -> Failure {
    let stopped = stopped.map(|stopped| stopped.context("the batch was stopped"));
    failure.with_some(stopped, Failure::with_part)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Status(Status),
    MissingFiles,
}
