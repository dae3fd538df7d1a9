//! The webhook queue: announcements, the state of their deliveries, and the tasks to send.
//!
//! The queue is independent of jobs and runs; it knows them only as subject ids.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Delivery;
use crate::engine::Time;
use crate::engine::json_text::JsonText;

const MAX_STORED_ATTEMPTS: usize = 100;

/// The terminal event of a job or run that has a webhook URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Announcement {
    pub(crate) workspace: String,
    /// The id of the job or run.
    pub(crate) subject_id: String,
    /// The event, such as `job.completed`.
    pub(crate) event: String,
    pub(crate) url: String,
    /// The complete body, with placeholders for base URLs (see `url_placeholders`).
    pub(crate) body: JsonText,
    /// The URL of the result, for a payload that is too large, with a placeholder.
    pub(crate) result_url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryState {
    pub(crate) status: DeliveryStatus,
    pub(crate) next_attempt_at: Option<Time>,
    pub(crate) last_status_code: Option<u16>,
    pub(crate) last_error: Option<String>,
    /// The fingerprint of the newest signing secret at the last attempt.
    pub(crate) fingerprint: String,
    /// The number of automatic attempts made.
    pub(crate) attempts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeliveryStatus {
    /// The first attempt is scheduled or in flight.
    Pending,
    /// An attempt failed and a retry is scheduled.
    Retrying,
    /// The receiver accepted the event.
    Delivered,
    /// The destination is not allowed.
    Failed,
    /// The last automatic attempt failed.
    Exhausted,
}

impl DeliveryState {
    pub(crate) fn view(&self) -> Value {
        json!({
            "status": self.status,
            "next_attempt_at": self.next_attempt_at.map(|at| at.to_string()),
            "last_status_code": self.last_status_code,
            "last_error": self.last_error,
            "signing_secret_fingerprint": self.fingerprint,
            "attempts": self.attempts,
        })
    }
}

/// An announcement and the state of its delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueEntry {
    pub(crate) announcement: Announcement,
    #[serde(rename = "standing")]
    pub(crate) state: DeliveryState,
    /// The automatic attempt that is scheduled or in flight, with its time and number.
    pub(crate) next: Option<(Time, u64)>,
    /// The states after the newest attempts, oldest first.
    #[serde(rename = "landings")]
    attempts: VecDeque<(Time, DeliveryState)>,
}

impl QueueEntry {
    pub(crate) fn record_attempt(&mut self, at: Time, state: DeliveryState) {
        while self.attempts.len() >= MAX_STORED_ATTEMPTS {
            self.attempts.pop_front();
        }
        self.attempts.push_back((at, state));
    }
}

/// A delivery to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum DeliveryTask {
    /// An automatic attempt for the subject.
    Attempt(String),
    /// A requested redelivery for the subject.
    Redelivery(String),
    /// A test delivery, whose state is not stored.
    Test { workspace: String, url: String, body: Value },
}

impl DeliveryTask {
    pub(crate) fn subject(&self) -> Option<&str> {
        match self {
            Self::Attempt(subject) | Self::Redelivery(subject) => Some(subject),
            Self::Test { .. } => None,
        }
    }
}

/// The events that were announced, and the deliveries that are still to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookQueue {
    /// The announcements by subject. Clones share them.
    entries: BTreeMap<Arc<str>, Arc<QueueEntry>>,
    /// The pending tasks by number.
    #[serde(rename = "errands")]
    tasks: BTreeMap<u64, DeliveryTask>,
    last_number: u64,
    /// The tasks that are due, including those in flight.
    due: BTreeSet<u64>,
    /// The tasks in flight. They are not part of a snapshot: a restored mock sends them again.
    #[serde(skip)]
    in_flight: BTreeMap<u64, Delivery>,
    /// The number of tasks that became due since the state was created or restored.
    #[serde(skip)]
    due_count: u64,
}

impl WebhookQueue {
    /// Returns the JSON object `webhook_delivery` of a subject; `None` if nothing was announced.
    pub(crate) fn view(&self, subject_id: &str) -> Option<Value> {
        self.entries.get(subject_id).map(|entry| entry.state.view())
    }

    /// Returns the time and resulting state of each attempt for a subject, oldest first.
    pub(crate) fn attempts(&self, subject_id: &str) -> impl Iterator<Item = (Time, Value)> {
        let attempts = self.entries.get(subject_id).into_iter();
        attempts
            .flat_map(|entry| &entry.attempts)
            .map(|(at, delivery_state)| (*at, delivery_state.view()))
    }

    /// Returns the event that was announced for a subject, such as `job.completed`.
    pub(crate) fn event(&self, subject_id: &str) -> Option<&str> {
        self.entries.get(subject_id).map(|entry| entry.announcement.event.as_str())
    }

    /// Adds an announcement and returns the number of its first attempt; `None` if the subject was
    /// announced before.
    pub(crate) fn add(
        &mut self,
        announcement: Announcement,
        fingerprint: String,
        at: Time,
    ) -> Option<u64> {
        let subject = announcement.subject_id.clone();
        if self.entries.contains_key(subject.as_str()) {
            return None;
        }
        let number = self.schedule(DeliveryTask::Attempt(subject.clone()));
        let delivery_state = DeliveryState {
            status: DeliveryStatus::Pending,
            next_attempt_at: None,
            last_status_code: None,
            last_error: None,
            fingerprint,
            attempts: 0,
        };
        let entry = QueueEntry {
            announcement,
            state: delivery_state,
            next: Some((at, number)),
            attempts: VecDeque::new(),
        };
        self.entries.insert(subject.into(), Arc::new(entry));
        Some(number)
    }

    /// Adds a task and returns its number.
    pub(crate) fn schedule(&mut self, task: DeliveryTask) -> u64 {
        self.last_number = self.last_number.saturating_add(1);
        self.tasks.insert(self.last_number, task);
        self.last_number
    }

    pub(crate) fn mark_due(&mut self, number: u64) {
        if self.tasks.contains_key(&number) {
            self.due.insert(number);
            self.due_count = self.due_count.wrapping_add(1);
        }
    }

    pub(crate) fn entry(&self, subject_id: &str) -> Option<&QueueEntry> {
        self.entries.get(subject_id).map(|entry| &**entry)
    }

    pub(crate) fn entry_mut(&mut self, subject_id: &str) -> Option<&mut QueueEntry> {
        self.entries.get_mut(subject_id).map(Arc::make_mut)
    }

    /// Removes the announcement of a subject and its tasks. Returns the time and number of a
    /// scheduled attempt.
    pub(crate) fn forget(&mut self, subject_id: &str) -> Option<(Time, u64)> {
        let entry = self.entries.remove(subject_id)?;
        let is_about = |number: &u64| {
            let task = self.tasks.get(number);
            task.and_then(DeliveryTask::subject) == Some(subject_id)
        };
        let due: Vec<u64> = self.due.iter().copied().filter(is_about).collect();
        let next = entry.next;
        for number in due.into_iter().chain(next.map(|(_, number)| number)) {
            self.remove(number);
        }
        next
    }

    /// Returns the tasks that are due and not in flight, in order.
    pub(crate) fn ready_to_send(&self) -> impl Iterator<Item = u64> {
        let numbers = self.due.iter().copied();
        numbers.filter(|number| !self.in_flight.contains_key(number))
    }

    /// Returns the number of tasks that became due since the state was created or restored.
    pub(crate) fn due_count(&self) -> u64 {
        self.due_count
    }

    pub(crate) fn task(&self, number: u64) -> Option<&DeliveryTask> {
        self.tasks.get(&number)
    }

    /// Returns the workspace of a task and the URL that it is sent to.
    pub(crate) fn destination(&self, number: u64) -> Option<(&str, &str)> {
        match self.task(number)? {
            DeliveryTask::Attempt(subject) | DeliveryTask::Redelivery(subject) => {
                let announcement = &self.entry(subject)?.announcement;
                Some((&announcement.workspace, &announcement.url))
            }
            DeliveryTask::Test { workspace, url, .. } => Some((workspace, url)),
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.due.is_empty()
    }

    /// Returns `true` if the task is pending and not due yet.
    pub(crate) fn is_scheduled(&self, number: u64) -> bool {
        self.tasks.contains_key(&number) && !self.due.contains(&number)
    }

    /// Returns the number of tasks that are not due yet.
    pub(crate) fn scheduled_count(&self) -> usize {
        self.tasks.len() - self.due.len()
    }

    pub(crate) fn start_attempt(&mut self, delivery: Delivery) {
        self.in_flight.insert(delivery.id.number, delivery);
    }

    /// Removes a task and returns it with its delivery, if it is in flight.
    pub(crate) fn take_in_flight(&mut self, number: u64) -> Option<(DeliveryTask, Delivery)> {
        let delivery = self.in_flight.remove(&number)?;
        Some((self.remove(number)?, delivery))
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<DeliveryTask> {
        self.due.remove(&number);
        self.in_flight.remove(&number);
        self.tasks.remove(&number)
    }

    /// Checks that entries and tasks refer to each other consistently.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (subject, entry) in &self.entries {
            if **subject != *entry.announcement.subject_id {
                return Err(format!("{subject}: the announcement has another subject"));
            }
            let is_unfinished =
                matches!(entry.state.status, DeliveryStatus::Pending | DeliveryStatus::Retrying);
            let task = entry.next.and_then(|(_, number)| self.task(number));
            let has_attempt =
                matches!(task, Some(DeliveryTask::Attempt(target)) if **target == **subject);
            if is_unfinished != has_attempt {
                return Err(format!(
                    "{subject}: the next webhook attempt does not match the status"
                ));
            }
        }
        for (number, task) in &self.tasks {
            let is_known = task.subject().is_none_or(|subject| self.entries.contains_key(subject));
            if !is_known || *number > self.last_number {
                return Err(format!("invalid webhook task {number}"));
            }
        }
        match self.due.iter().find(|due| !self.tasks.contains_key(due)) {
            None => Ok(()),
            Some(due) => Err(format!("unknown webhook task {due} is due")),
        }
    }

    /// Returns all references to workspaces, each with a name for error messages.
    pub(crate) fn workspaces(&self) -> impl Iterator<Item = (&str, &str)> {
        let tests = self.tasks.values().filter_map(|task| match task {
            DeliveryTask::Test { workspace, .. } => Some((workspace.as_str(), "a test delivery")),
            DeliveryTask::Attempt(_) | DeliveryTask::Redelivery(_) => None,
        });
        let entries = self.entries.values().map(|entry| &entry.announcement);
        entries
            .map(|announcement| (announcement.workspace.as_str(), announcement.subject_id.as_str()))
            .chain(tests)
    }
}
