//! Webhook events as outcomes of submissions.

use super::Journal;
use super::active_intent::ActiveIntent;
use super::entry::{Entry, Intents};
use super::record::{Ended, Intent, Receipt, ResourceKind};
use crate::contract::{JobStatus, RunStatus};
use crate::error::Result;
use crate::handle::{job_charge, run_charge};
use crate::types::{RunOutcome, RunReceipt, Usd, WebhookEvent, WebhookEventType};

/// The outcome of a job or a run in a webhook event.
struct Outcome {
    id: String,
    /// What it is about, or `None` if it is a run of a kind that this version does not know.
    kind: Option<ResourceKind>,
    status: String,
    /// What the run did spend, if its receipt says so.
    spent: Option<Usd>,
}

impl Journal {
    /// Records how a job or a run ended, as a webhook event says, and returns its submission.
    ///
    /// Returns `None`, and records nothing, if the event does not say how something ended, or if none
    /// of the namespace's submissions that are not acknowledged made it. An event that was recorded
    /// before changes nothing. Verify the delivery first, for example with `svc-webhook-verify`, whose
    /// `Webhook::event_as` returns the event.
    ///
    /// ```no_run
    /// use svc_sdk::journal::Journal;
    /// use svc_sdk::types::WebhookEvent;
    ///
    /// # async fn run(journal: Journal, body: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    /// let event: WebhookEvent = serde_json::from_slice(body)?;
    /// if let Some(entry) = journal.record_event(&event).await? {
    ///     println!("{:?}: {:?}", entry.submission_id, entry.state);
    ///     journal.acknowledge(&entry.id).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn record_event(&self, event: &WebhookEvent) -> Result<Option<Entry>> {
        let Some(outcome) = Outcome::of(event) else { return Ok(None) };
        let Some(mut intent) = self.find_accepted(&outcome).await? else { return Ok(None) };
        if intent.progress.ended.is_none()
            && let Some(active) = ActiveIntent::existing(self, &intent)
        {
            let charge = match outcome.kind {
                Some(ResourceKind::Job) => {
                    job_charge(&JobStatus::from(outcome.status.as_str()), active.charge())
                }
                _ => outcome.spent,
            };
            active.ended(&outcome.status, charge).await?;
            intent.progress.ended = Some(Ended { status: outcome.status, charge_usd: charge });
        }
        Ok(Some(self.entry(&intent)))
    }

    /// Returns the submission that made what an event is about.
    async fn find_accepted(&self, outcome: &Outcome) -> Result<Option<Intent>> {
        let mut intents = Intents::of_resource(self, &outcome.id);
        while let Some(intent) = intents.next().await.transpose()? {
            let accepted = intent.progress.accepted.as_ref();
            if accepted.is_some_and(|accepted| outcome.is_of(accepted)) {
                return Ok(Some(intent));
            }
        }
        Ok(None)
    }
}

impl Outcome {
    /// Returns what an event says, or `None` if it does not say how something ended.
    fn of(event: &WebhookEvent) -> Option<Self> {
        if let Some(status) = event.job_status() {
            return Some(Self {
                id: event.job_id.as_ref()?.to_string(),
                kind: Some(ResourceKind::Job),
                status: status.to_string(),
                spent: None,
            });
        }
        let kind = match &event.event {
            WebhookEventType::ActionRunTerminal => Some(ResourceKind::ActionRun),
            WebhookEventType::FormatRunTerminal => Some(ResourceKind::FormatRun),
            WebhookEventType::AgentRunTerminal => Some(ResourceKind::AgentRun),
            other if other.as_str().ends_with(".run.terminal") => None,
            _ => return None,
        };
        let receipt = event.run_receipt();
        Some(Self {
            id: event.run_id()?.to_string(),
            kind,
            status: run_status(event, receipt.as_ref())?,
            spent: receipt.as_ref().and_then(run_charge),
        })
    }

    fn is_of(&self, accepted: &Receipt) -> bool {
        let is_kind = match self.kind {
            Some(kind) => kind == accepted.kind,
            None => accepted.kind != ResourceKind::Job,
        };
        is_kind && accepted.id == self.id
    }
}

/// Returns the status of a run that has ended. A receipt that is too large for an event leaves only the
/// outcome.
fn run_status(event: &WebhookEvent, receipt: Option<&RunReceipt>) -> Option<String> {
    let status = match (receipt, event.outcome.as_ref()) {
        // An earlier status would say that the run goes on.
        (Some(receipt), _) if !matches!(receipt.status, RunStatus::Queued | RunStatus::Running) => {
            return Some(receipt.status.to_string());
        }
        (_, Some(RunOutcome::Success | RunOutcome::Degraded)) => RunStatus::Completed,
        (_, Some(RunOutcome::Error)) => RunStatus::Failed,
        (_, Some(RunOutcome::Skipped)) => RunStatus::Skipped,
        (_, Some(RunOutcome::Canceled)) => RunStatus::Canceled,
        (_, Some(other)) => return Some(other.to_string()),
        (_, None) => return None,
    };
    Some(status.to_string())
}
