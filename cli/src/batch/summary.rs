//! The end of a batch: its counts, its exit code, and what to do next.

use std::collections::BTreeMap;

use serde_json::json;
use svc_sdk::types::Usd;

use super::journal::Status;
use super::options::BatchOptions;
use super::scheduler::DropReason;
use crate::error::{Exit, Failure};
use crate::session::Session;

/// The maximum number of ambiguous items that are listed with their keys.
const MAX_LISTED_KEYS: usize = 1000;
/// The maximum number of keys in the text of an error.
const MAX_SHOWN_KEYS: usize = 20;

/// The state of a batch at the end of a run.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// The number of items in each state. `None` is not ended.
    pub(super) counts: BTreeMap<Option<Status>, usize>,
    /// The number of completed items without their files.
    pub(super) missing_files: usize,
    /// The number of items that this run gave up, by reason.
    pub(super) dropped: BTreeMap<&'static str, usize>,
    pub(super) spent: Usd,
    /// The ids and idempotency keys of ambiguous items.
    pub(super) ambiguous: Vec<(String, String)>,
    /// The code of the first failed item.
    pub(super) failed_code: Option<String>,
}

impl Summary {
    /// Counts an item that was given up.
    pub(super) fn drop_item(&mut self, reason: DropReason) {
        *self.dropped.entry(reason_name(reason)).or_default() += 1;
    }

    fn count(&self, status: Status) -> usize {
        self.counts.get(&Some(status)).copied().unwrap_or_default()
    }

    fn dropped(&self, reason: DropReason) -> usize {
        let count = self.dropped.get(reason_name(reason));
        count.copied().unwrap_or_default()
    }

    /// Adds an ambiguous item, to be listed with its key.
    pub(super) fn add_ambiguous(&mut self, id: String, key: String) {
        if self.ambiguous.len() < MAX_LISTED_KEYS {
            self.ambiguous.push((id, key));
        }
    }

    /// Returns the counts in words.
    pub(super) fn sentence(&self) -> String {
        let total: usize = self.counts.values().sum();
        let completed = self.count(Status::Completed);
        let mut parts = vec![format!("{completed} of {total} items completed")];
        let rows = [
            (Status::Failed, "failed"),
            (Status::Canceled, "canceled"),
            (Status::Ambiguous, "ambiguous"),
            (Status::TimedOut, "still running"),
            (Status::NotSubmitted, "not submitted"),
        ];
        for (status, words) in rows {
            match self.count(status) {
                0 => {}
                count => parts.push(format!("{count} {words}")),
            }
        }
        if self.missing_files > 0 {
            parts.push(format!("{} without their files", self.missing_files));
        }
        format!("{}; spent {} USD", parts.join(", "), self.spent)
    }

    /// Returns the failure of a batch that did not complete, or `None` if it did. `stopped` is the
    /// failure that stopped it.
    pub(super) fn failure(
        &self,
        session: &Session,
        options: &BatchOptions,
        stopped: Option<Failure>,
    ) -> Option<Failure> {
        let sentence = self.sentence();
        let new = |exit: Exit, code: &str| {
            let code = Some(code.to_owned());
            Failure::new(exit, sentence.clone()).with_response(code, None, None, None)
        };
        let again = options.command(session, &[]);
        let ambiguous = self.count(Status::Ambiguous);
        let failed = self.count(Status::Failed) + self.count(Status::Canceled);
        let over_budget = self.dropped(DropReason::OverBudget) + self.dropped(DropReason::Unpriced);
        let unfinished = self.count(Status::TimedOut) + self.count(Status::NotSubmitted);
        let is_funds = stopped.as_ref().is_some_and(|it| it.exit() == Exit::Funds);
        if ambiguous > 0 {
            return Some(self.ambiguous_failure(new(Exit::Ambiguous, "ambiguous"), &again));
        }
        let stopped = stopped.map(|failure| {
            let context = format!("the batch was stopped ({sentence})");
            failure.context(context).with_resume(again.clone())
        });
        if stopped.is_some() && !is_funds {
            return stopped;
        }
        if failed > 0 {
            let code = self.failed_code.as_deref().unwrap_or("failed");
            let retry = options.command(session, &["--retry-failed"]);
            let failure = new(Exit::JobFailed, code);
            return Some(failure.hint(format!("submit the failed items again with: {retry}")));
        }
        if stopped.is_some() {
            return stopped;
        }
        if over_budget > 0 {
            let failure = new(Exit::Funds, "over_budget");
            let hint = match self.dropped(DropReason::Unpriced) {
                0 => {
                    let unlimited = BatchOptions {
                        max_spend: None,
                        ..options.clone()
                    };
                    let command = unlimited.command(session, &["--max-spend", "USD"]);
                    format!("submit the rest with a higher limit: {command}")
                }
                _ => "the price of some items is unknown: run these items in a batch without \
                    --max-spend, or with a model whose price is known"
                    .to_owned(),
            };
            return Some(failure.hint(hint));
        }
        if unfinished > 0 {
            return Some(new(Exit::StillRunning, "timed_out").with_resume(again));
        }
        let is_missing = self.missing_files > 0;
        is_missing.then(|| {
            let failure = new(Exit::Failure, "download_failed");
            match &options.download.download {
                Some(_) => failure.hint(format!("download the missing files with: {again}")),
                None => failure.hint("pass --download to download the missing files"),
            }
        })
    }

    fn ambiguous_failure(&self, failure: Failure, again: &str) -> Failure {
        let listed: Vec<_> = self
            .ambiguous
            .iter()
            .map(|(id, key)| json!({"id": id, "idempotency_key": key}))
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
            .hint(format!(
                "resume with: {again} (only requests whose idempotency key the service honors are \
                 sent again)"
            ))
            .hint("check the jobs with svc job list, and submit what is missing in another batch")
    }
}

const fn reason_name(reason: DropReason) -> &'static str {
    match reason {
        DropReason::OverBudget => "over_budget",
        DropReason::Unpriced => "unpriced",
        DropReason::Stopped => "stopped",
        DropReason::NoAnswer => "no_answer",
        DropReason::Unreachable => "unreachable",
        DropReason::TimedOut => "timed_out",
    }
}
