//! The end of a batch: its counts, its exit code, and what to do next.

use std::collections::BTreeMap;

use serde_json::json;
use svc_sdk::contract::NextAction;
use svc_sdk::types::Usd;

use super::journal::{DOWNLOAD_FAILED, ItemResult, Status, status_words};
use super::manifest::Manifest;
use super::options::BatchOptions;
use crate::error::{Exit, Failure, SuggestedCommand, Suggestion};
use crate::output::values::money;
use crate::session::Session;
use crate::text::counted;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DropReason {
    /// It does not fit into the budget.
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

const MAX_LISTED_KEYS: usize = 1000;
const MAX_SHOWN_KEYS: usize = 20;
const MAX_SHOWN_CORRECTIONS: usize = 5;

#[derive(Debug, Default)]
pub(super) struct Summary {
    /// The number of items in each state. `None` is not ended.
    pub(super) counts: BTreeMap<Option<Status>, usize>,
    pub(super) missing_files: usize,
    pub(super) dropped: BTreeMap<DropReason, usize>,
    /// The number of items that failed in this run because the service does not know their jobs.
    pub(super) lost: usize,
    /// The number of failed items whose jobs ended with a status that this version does not know.
    pub(super) unknown_status: usize,
    pub(super) spent: Usd,
    pub(super) ambiguous: Vec<(String, String)>,
    failed_code: Option<String>,
    /// Whether items failed in this run with different codes.
    has_other_codes: bool,
    rejection: Option<String>,
    corrections: Vec<u32>,
    correction_count: usize,
}

impl Summary {
    pub(super) fn drop_item(&mut self, reason: DropReason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    fn count(&self, status: Status) -> usize {
        self.counts.get(&Some(status)).copied().unwrap_or_default()
    }

    fn dropped(&self, reason: DropReason) -> usize {
        self.dropped.get(&reason).copied().unwrap_or_default()
    }

    pub(super) fn add_ambiguous(&mut self, id: String, key: String) {
        if self.ambiguous.len() < MAX_LISTED_KEYS {
            self.ambiguous.push((id, key));
        }
    }

    pub(super) fn add_failure(&mut self, failed: &ItemResult) {
        if let Some(code) = failed.error_text("code") {
            let first = self.failed_code.get_or_insert(code.to_owned());
            self.has_other_codes |= first != code;
        }
        let is_correctable =
            failed.error_text("next_action") == Some(NextAction::FixInput.as_str());
        if is_correctable && self.rejection.is_none() {
            self.rejection = failed.error_text("message").map(str::to_owned);
        }
    }

    pub(super) fn add_correction(&mut self, number: u32) {
        self.correction_count += 1;
        if self.corrections.len() < MAX_SHOWN_CORRECTIONS {
            self.corrections.push(number);
        }
    }

    pub(super) fn sentence(&self) -> String {
        self.sentence_with(None)
    }

    /// Returns the counts in words, with the code of the failure next to what it is about.
    fn sentence_with(&self, failure: Option<(Cause, &str)>) -> String {
        let total: usize = self.counts.values().sum();
        let completed = self.count(Status::Completed);
        let items = counted(total, "item");
        let mut parts = vec![format!("{completed} of {items} completed")];
        let mut add = |count: usize, words: String, cause: Cause| {
            let code = failure.filter(|(it, code)| *it == cause && words != status_words(code));
            let others = match self.has_other_codes && cause == Cause::Status(Status::Failed) {
                true => " and others",
                false => "",
            };
            let code = code.map(|(_, code)| format!(" ({code}{others})"));
            let code = code.unwrap_or_default();
            if count > 0 {
                parts.push(format!("{count} {words}{code}"));
            }
        };
        use Status::{Ambiguous, Canceled, Failed, NotSubmitted, Skipped, TimedOut, Unknown};
        for status in [Failed, Unknown, Canceled, Skipped, Ambiguous, TimedOut, NotSubmitted] {
            let words = status_words(status.as_str());
            add(self.count(status), words, Cause::Status(status));
        }
        let words = "without all files".to_owned();
        add(self.missing_files, words, Cause::MissingFiles);
        format!("{}; spent {}", parts.join(", "), money(self.spent))
    }

    /// Returns the failure of a batch that did not complete, or `None` if it did. `stopped` is the
    /// failure that stopped it.
    pub(super) fn failure(
        &self,
        session: &Session,
        options: &BatchOptions,
        manifest: &Manifest,
        stopped: Option<Failure>,
    ) -> Option<Failure> {
        let new = |exit: Exit, cause: Cause, code: &str| {
            let sentence = self.sentence_with(Some((cause, code)));
            let code = Some(code.to_owned());
            Failure::new(exit, sentence).with_response(code, None, None, None)
        };
        let again = options.command(session, &[]);
        let unlimited = BatchOptions { max_spend: None, ..options.clone() };
        let ambiguous = self.count(Status::Ambiguous);
        let of_failed = self.counts.iter().filter(|(it, _)| it.is_some_and(Status::has_failed));
        let failed: usize = of_failed.map(|(_, count)| count).sum();
        let overcharged = self.dropped(DropReason::Overcharged);
        let over_budget =
            self.dropped(DropReason::OverBudget) + self.dropped(DropReason::Unpriced) + overcharged;
        let unfinished = self.count(Status::TimedOut) + self.count(Status::NotSubmitted);
        let is_funds = stopped.as_ref().is_some_and(|it| it.exit() == Exit::Funds);
        if ambiguous > 0 {
            let cause = Cause::Status(Status::Ambiguous);
            let failure = new(Exit::Ambiguous, cause, "ambiguous");
            let failure = self.ambiguous_failure(failure, again);
            return Some(with_stop(failure, stopped));
        }
        let stop = |failure: Failure| {
            let context = format!("the batch was stopped ({})", self.sentence());
            failure.context(context).with_resume(again.clone())
        };
        if !is_funds && let Some(stopped) = stopped {
            return Some(stop(stopped));
        }
        if failed > 0 {
            let is_used_up = self.dropped(DropReason::OverBudget) > 0
                || options.max_spend.is_some_and(|limit| self.spent >= limit);
            let (retry, how) = match is_used_up && overcharged == 0 {
                true => {
                    let flags = ["--retry-failed", "--max-spend", "USD"];
                    (unlimited.command(session, &flags), "with a higher limit")
                }
                false => (options.command(session, &["--retry-failed"]), "again with"),
            };
            let all = [Status::Failed, Status::Unknown, Status::Canceled];
            let first = all.into_iter().find(|status| self.count(*status) > 0);
            let status = first.unwrap_or(Status::Skipped);
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
            // The sandbox has no journal, so that the command would submit all items again.
            if self.unknown_status == failed || session.is_sandbox() {
                return Some(failure);
            }
            let first = match self.correction(session, options, manifest) {
                Some(correction) => correction.then(", then "),
                None => "".into(),
            };
            let again = first.then(format!("submit the failed items {how}: ")).command(retry);
            return Some(failure.hint(again));
        }
        if let Some(stopped) = stopped {
            return Some(stop(stopped));
        }
        if over_budget > 0 {
            let cause = Cause::Status(Status::NotSubmitted);
            let failure = new(Exit::Funds, cause, "over_budget");
            let hint = match self.dropped(DropReason::Unpriced) {
                _ if overcharged > 0 => {
                    let why = "check the charges, as one was above its estimate; then submit the \
                        rest without a limit: ";
                    Suggestion::from(why).command(unlimited.command(session, &[]))
                }
                0 => {
                    let command = unlimited.command(session, &["--max-spend", "USD"]);
                    Suggestion::from("submit the rest with a higher limit: ").command(command)
                }
                _ => "the price of some items is unknown: run these items in a batch without \
                    --max-spend, or with a model whose price is known"
                    .into(),
            };
            return Some(failure.hint(hint));
        }
        if unfinished > 0 {
            let status = match self.count(Status::TimedOut) {
                0 => Status::NotSubmitted,
                _ => Status::TimedOut,
            };
            let failure = new(Exit::StillRunning, Cause::Status(status), "timed_out");
            return Some(failure.with_resume(again));
        }
        let is_missing = self.missing_files > 0;
        is_missing.then(|| {
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
        if self.correction_count == 0 {
            return None;
        }
        let places = manifest.places(&self.corrections, self.correction_count);
        let path = options.manifest.display();
        let correct = Suggestion::from(format!("correct {places} of {path}"));
        Some(match (&self.rejection, self.correction_count) {
            (Some(reason), 1) => correct.then(format!(" ({reason})")),
            (Some(_), _) => correct,
            (None, _) => correct.then(" (see ").command(options.status_command(session)).then(")"),
        })
    }

    fn ambiguous_failure(&self, failure: Failure, again: SuggestedCommand) -> Failure {
        let listed: Vec<_> = self
            .ambiguous
            .iter()
            .map(|(id, key)| json!({"item": id, "idempotency_key": key}))
            .collect();
        let code = Some("ambiguous".to_owned());
        let details = Some(json!({ "ambiguous": listed }));
        let mut failure = failure.with_response(code, None, None, details);
        for (id, key) in self.ambiguous.iter().take(MAX_SHOWN_KEYS) {
            failure = failure.issue(format!(
                "item {id}: the request may have been carried out (idempotency key {key})"
            ));
        }
        if let Some((_, key)) = self.ambiguous.first() {
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

/// Says what `--retry-failed` does with items whose jobs ended with a status that this version does not
/// know.
pub(super) fn left_alone(count: usize) -> String {
    format!(
        "{} ended with a status that this version of svc does not know, and may have been charged: \
        --retry-failed leaves that alone; to pay again, add the request with another id",
        counted(count, "failed item")
    )
}

/// Adds why the batch was stopped to a failure that is more important.
fn with_stop(failure: Failure, stopped: Option<Failure>) -> Failure {
    match stopped {
        Some(stopped) => failure.with_part(stopped.context("the batch was stopped")),
        None => failure,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Status(Status),
    MissingFiles,
}
