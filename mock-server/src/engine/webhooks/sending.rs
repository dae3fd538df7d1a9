//! Webhook delivery: announcements are sent with a limited number of automatic attempts, and again
//! on request.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;
use svc_sdk::contract::limits::{MAX_WEBHOOK_ATTEMPTS, MAX_WEBHOOK_RECEIPT_BYTES};

use super::log::DeliveryRecord;
use super::queue::{Announcement, DeliveryStatus, DeliveryTask};
use super::signature::signature;
use super::{Delivery, DeliveryId, DeliveryOutcome, retry};
use crate::engine::timers::TimerEvent;
use crate::engine::url_placeholders::resolve_placeholders;
use crate::engine::workspaces::Workspace;
use crate::engine::{Hosts, State, Time};
use crate::json_object::set_field;

/// The value of `last_error` for a URL that is not allowed.
const URL_NOT_PUBLIC: &str = "url_not_public";

impl State {
    /// Queues an announcement for delivery. Only the first announcement of a subject is used.
    pub(crate) fn announce(&mut self, announcement: Announcement) {
        let workspace = self.workspaces.get(&announcement.workspace);
        let fingerprint = workspace.map(Workspace::fingerprint).unwrap_or_default();
        if let Some(number) = self.webhook_queue.add(announcement, fingerprint, self.now) {
            self.timers.set(self.now, TimerEvent::WebhookAttempt(number));
        }
    }

    /// Schedules an immediate redelivery for a subject and returns the delivery state; `None` if
    /// nothing was announced.
    pub(crate) fn redeliver(&mut self, subject_id: &str) -> Option<Value> {
        let view = self.webhook_queue.view(subject_id)?;
        self.send_now(DeliveryTask::Redelivery(subject_id.to_owned()));
        Some(view)
    }

    /// Schedules a test delivery, which is not retried.
    pub(crate) fn send_test(&mut self, workspace: String, url: String, body: Value) {
        self.send_now(DeliveryTask::Test { workspace, url, body });
    }

    fn send_now(&mut self, task: DeliveryTask) {
        let number = self.webhook_queue.schedule(task);
        self.webhook_queue.mark_due(number);
    }

    /// Returns up to `limit` due attempts whose workspace and URL match, signed at the current service
    /// time or at a wall-clock time. They are in flight until [`record_outcome`](Self::record_outcome) is called.
    pub(crate) fn take_deliveries(
        &mut self,
        generation: u64,
        hosts: &Hosts,
        limit: usize,
        wall_time: Option<Time>,
        mut matches: impl FnMut(&str, &str) -> bool,
    ) -> Vec<Delivery> {
        let queue = &self.webhook_queue;
        let numbers = queue.ready_to_send();
        let numbers: Vec<_> = numbers
            .filter(|number| {
                let destination = queue.destination(*number);
                destination.is_some_and(|(workspace, url)| matches(workspace, url))
            })
            .take(limit)
            .collect();
        let mut deliveries = Vec::new();
        for number in numbers {
            let id = DeliveryId { generation, number };
            let Some(delivery) = self.delivery(id, hosts, wall_time) else { continue };
            self.webhook_queue.start_attempt(delivery.clone());
            if self.check_webhook_url(&delivery.workspace, &delivery.url).is_ok() {
                deliveries.push(delivery);
            } else {
                self.record_outcome(number, &DeliveryOutcome::failed(URL_NOT_PUBLIC), hosts);
            }
        }
        deliveries
    }

    /// Builds the signed delivery of a task.
    fn delivery(&self, id: DeliveryId, hosts: &Hosts, wall_time: Option<Time>) -> Option<Delivery> {
        let task = self.webhook_queue.task(id.number)?;
        let (owner, event, url, body) = match task {
            DeliveryTask::Attempt(subject) | DeliveryTask::Redelivery(subject) => {
                let announcement = &self.webhook_queue.entry(subject)?.announcement;
                let body = body_within_limit(announcement, hosts);
                (&announcement.workspace, announcement.event.as_str(), &announcement.url, body)
            }
            DeliveryTask::Test { workspace, url, body } => {
                (workspace, "webhook.test", url, body.to_string())
            }
        };
        let workspace = self.workspaces.get(owner)?;
        // Receivers compare the timestamp with their own clock.
        let timestamp = wall_time.unwrap_or(self.now).as_secs().to_string();
        let secrets = workspace.secrets(self.now);
        let signature = signature(&secrets, &timestamp, body.as_bytes());
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("user-agent", "svc-webhooks/1".to_owned()),
            ("x-svc-webhook-timestamp", timestamp),
            ("x-svc-webhook-signature", signature),
            ("x-svc-webhook-secret-fingerprint", workspace.fingerprint()),
        ];
        Some(Delivery {
            id,
            workspace: owner.clone(),
            event: event.to_owned(),
            url: url.clone(),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
            body: Bytes::from(body),
            at: self.now,
            wall_time,
        })
    }

    /// Records the outcome of an attempt. Outcomes of attempts that are not in flight are ignored.
    pub(crate) fn record_outcome(&mut self, number: u64, outcome: &DeliveryOutcome, hosts: &Hosts) {
        let Some((task, delivery)) = self.webhook_queue.take_in_flight(number) else { return };
        let status = match task.subject() {
            Some(subject) => {
                let automatic = matches!(task, DeliveryTask::Attempt(_));
                self.update_delivery(subject, number, automatic, outcome, &delivery, hosts)
            }
            None if outcome.is_success() => DeliveryStatus::Delivered,
            None => DeliveryStatus::Failed,
        };
        let subject = task.subject().map(str::to_owned);
        self.delivery_log.record(DeliveryRecord::new(subject, delivery, outcome, status));
    }

    /// Updates the delivery state of a subject after an attempt, and schedules or cancels retries.
    /// Returns the status after the attempt.
    fn update_delivery(
        &mut self,
        subject: &str,
        number: u64,
        automatic: bool,
        outcome: &DeliveryOutcome,
        delivery: &Delivery,
        hosts: &Hosts,
    ) -> DeliveryStatus {
        let now = self.now;
        let Some(entry) = self.webhook_queue.entry_mut(subject) else {
            return DeliveryStatus::Failed;
        };
        let is_refused = *outcome == DeliveryOutcome::failed(URL_NOT_PUBLIC);
        let mut state = entry.state.clone();
        state.last_status_code = outcome.status();
        state.last_error = outcome.error();
        state.fingerprint = fingerprint_of(delivery);
        if automatic {
            state.attempts = state.attempts.saturating_add(1);
        }
        let attempts = state.attempts;
        let is_next = automatic && entry.next.is_some_and(|(_, next)| next == number);
        let mut obsolete = None;
        let mut retry_at = None;
        if outcome.is_success() {
            // The receiver has the event, so a scheduled retry is canceled.
            (state.status, state.next_attempt_at) = (DeliveryStatus::Delivered, None);
            obsolete = entry.next.take();
        } else if is_refused {
            // A destination that is not public is not attempted again.
            (state.status, state.next_attempt_at) = (DeliveryStatus::Failed, None);
            obsolete = entry.next.take();
        } else if is_next {
            entry.next = None;
            state.next_attempt_at = None;
            if attempts >= MAX_WEBHOOK_ATTEMPTS {
                state.status = DeliveryStatus::Exhausted;
            } else {
                state.status = DeliveryStatus::Retrying;
                retry_at =
                    Some(now.after(retry::wait_before_retry(attempts, outcome, delivery, hosts)));
                state.next_attempt_at = retry_at;
            }
        } else if state.status == DeliveryStatus::Delivered {
            // The receiver has the event already: only the attempt failed.
            state.status = DeliveryStatus::Failed;
        }
        if entry.state.status != DeliveryStatus::Delivered || outcome.is_success() || is_refused {
            entry.state = state.clone();
        } else {
            entry.state.attempts = attempts;
        }
        let status = state.status;
        entry.record_attempt(now, state);
        if let Some(at) = retry_at {
            let next = self.webhook_queue.schedule(DeliveryTask::Attempt(subject.to_owned()));
            self.timers.set(at, TimerEvent::WebhookAttempt(next));
            if let Some(entry) = self.webhook_queue.entry_mut(subject) {
                entry.next = Some((at, next));
            }
        }
        if let Some((at, canceled)) =
            obsolete.filter(|(_, next)| self.webhook_queue.is_scheduled(*next))
        {
            self.webhook_queue.remove(canceled);
            self.timers.cancel(at, TimerEvent::WebhookAttempt(canceled));
        }
        status
    }
}

fn fingerprint_of(delivery: &Delivery) -> String {
    let header =
        delivery.headers.iter().find(|(name, _)| name == "x-svc-webhook-secret-fingerprint");
    header.map_or_else(String::new, |(_, value)| value.clone())
}

/// Returns the body to send. A payload that is too large is replaced by an error with the URL of
/// the result; the status is not changed.
fn body_within_limit(announcement: &Announcement, hosts: &Hosts) -> String {
    let mut body = resolve_placeholders(announcement.body.to_value(), hosts);
    let payload = body.get("payload").map(Value::to_string);
    if payload.is_none_or(|payload| payload.len() <= MAX_WEBHOOK_RECEIPT_BYTES) {
        return body.to_string();
    }
    let error = json!({
        "code": ErrorCode::PayloadTooLarge,
        "message": format!("The payload is larger than {MAX_WEBHOOK_RECEIPT_BYTES} bytes."),
        "result_url": resolve_placeholders(json!(announcement.result_url), hosts),
    });
    set_field(&mut body, "payload", Value::Null);
    set_field(&mut body, "error", error);
    body.to_string()
}
