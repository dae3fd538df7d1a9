//! What the journal says about an item.

use jiff::Timestamp;
use svc_sdk::contract::{NextAction, Operation};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::entry::{Entry, Intent, Status};
use crate::types::ResourceId;

/// An item in the journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::batch) struct Record {
    /// How the item ended last, or `None` if it has not.
    pub(in crate::batch) status: Option<Status>,
    /// The latest attempt, unless it is finished or was not carried out.
    pub(in crate::batch) attempt: Option<Box<Attempt>>,
    /// The hash of the body that was submitted.
    pub(in crate::batch) hash: Option<u64>,
    /// The operation of the latest submit.
    pub(in crate::batch) operation: Option<Operation>,
    /// Whether the service rejected the request for an error that a correction of the line removes.
    pub(in crate::batch) needs_correction: bool,
    /// What the finished attempts cost.
    pub(in crate::batch) finished_cost: Usd,
    /// Whether a receipt was above its estimate.
    pub(in crate::batch) is_overcharged: bool,
}

/// A submit whose outcome is unknown, or whose job or run has not ended.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::batch) struct Attempt {
    pub(in crate::batch) operation: Option<Operation>,
    pub(in crate::batch) key: IdempotencyKey,
    pub(in crate::batch) base_url: String,
    pub(in crate::batch) key_fingerprint: String,
    pub(in crate::batch) at: Timestamp,
    /// The estimate or the cap.
    pub(in crate::batch) price: Option<Usd>,
    /// The charge in the receipt.
    pub(in crate::batch) charge: Option<Usd>,
    /// What was submitted, once it is known.
    pub(in crate::batch) resource: Option<ResourceId>,
    /// Whether an earlier request with the key may have been carried out.
    pub(in crate::batch) is_unknown: bool,
    /// Whether the costs are part of [`Record::finished_cost`], and only the files are missing.
    pub(in crate::batch) is_cost_counted: bool,
}

impl Attempt {
    pub(in crate::batch) fn new(intent: Intent) -> Self {
        Self {
            operation: Operation::from_name(&intent.operation),
            key: intent.idempotency_key,
            base_url: intent.base_url,
            key_fingerprint: intent.key_fingerprint,
            at: intent.at,
            price: intent.price_usd,
            charge: None,
            resource: None,
            is_unknown: true,
            is_cost_counted: false,
        }
    }

    /// Returns the amount that is reserved or charged, if it is known.
    pub(in crate::batch) fn reserved_or_charged(&self) -> Option<Usd> {
        match self.is_cost_counted {
            true => None,
            false => self.charge.or(self.price),
        }
    }
}

impl Record {
    /// Takes in an entry about this item.
    pub(in crate::batch) fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Batch { .. } | Entry::Quota(_) => {}
            Entry::Intent(intent) => {
                self.status = None;
                self.hash = Some(intent.hash);
                self.operation = Operation::from_name(&intent.operation);
                self.needs_correction = false;
                self.attempt = Some(Box::new(Attempt::new(*intent)));
            }
            Entry::Released { .. } => {
                self.attempt = None;
                self.hash = None;
            }
            Entry::Receipt(receipt) => {
                if let Some(attempt) = &mut self.attempt {
                    self.is_overcharged |= matches!(
                        (receipt.price_usd, attempt.price),
                        (Some(charge), Some(price)) if charge > price
                    );
                    attempt.charge = receipt.price_usd;
                    attempt.resource = Some(receipt.resource);
                }
            }
            Entry::Outcome(outcome) => {
                self.status = Some(outcome.status);
                let attempt = self.attempt.as_ref();
                self.needs_correction = outcome.status == Status::Failed
                    && attempt.is_none_or(|it| it.resource.is_none())
                    && is_correctable(outcome.error.as_ref());
                match outcome.status {
                    Status::Completed | Status::Failed | Status::Canceled => {
                        self.finish_attempt(
                            outcome.price_usd,
                            has_missing_files(outcome.error.as_ref()),
                        );
                    }
                    Status::Ambiguous | Status::NotSubmitted | Status::TimedOut => {}
                }
            }
        }
    }

    fn finish_attempt(&mut self, cost: Option<Usd>, has_missing_files: bool) {
        let Some(mut attempt) = self.attempt.take() else {
            return;
        };
        let cost = match attempt.is_cost_counted {
            true => None,
            false => cost.or(attempt.reserved_or_charged()),
        };
        let finished_cost = self.finished_cost.checked_add(cost.unwrap_or(Usd::ZERO));
        self.finished_cost = finished_cost.unwrap_or(self.finished_cost);
        if attempt.resource.is_none() {
            // The service rejected the request. The line may be corrected.
            self.hash = None;
        }
        if has_missing_files {
            attempt.is_cost_counted = true;
            self.attempt = Some(attempt);
        }
    }

    /// Returns what is spent and reserved.
    pub(in crate::batch) fn committed(&self) -> Usd {
        let reserved_or_charged = self
            .attempt
            .as_ref()
            .and_then(|it| it.reserved_or_charged());
        self.finished_cost
            .checked_add(reserved_or_charged.unwrap_or(Usd::ZERO))
            .unwrap_or(self.finished_cost)
    }

    /// Returns what is spent. A finished run whose spend cannot be read counts with its cap.
    pub(in crate::batch) fn spent(&self) -> Usd {
        let attempt = self.attempt.as_ref().filter(|it| !it.is_cost_counted);
        let charge = attempt.and_then(|it| it.charge).unwrap_or(Usd::ZERO);
        self.finished_cost
            .checked_add(charge)
            .unwrap_or(self.finished_cost)
    }
}

/// Returns whether the service says that the request has to be corrected.
fn is_correctable(error: Option<&serde_json::Value>) -> bool {
    let action = error.and_then(|error| error.get("next_action")?.as_str());
    action == Some(NextAction::FixInput.as_str())
}

/// The code of an error about files that could not be downloaded.
pub(in crate::batch) const DOWNLOAD_FAILED: &str = "download_failed";

/// Returns whether the error of an item says that its files could not be downloaded.
pub(in crate::batch) fn has_missing_files(error: Option<&serde_json::Value>) -> bool {
    error
        .and_then(|error| error.get("code")?.as_str())
        .is_some_and(|code| code == DOWNLOAD_FAILED)
}
