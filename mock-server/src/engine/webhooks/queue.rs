//! The webhook queue: what has been announced to receivers of webhooks, how each delivery stands, and
//! what is to be sent. It knows nothing of jobs or runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Delivery;
use crate::engine::Time;

/// How many attempts of an entry are stored.
const MAX_STORED_ATTEMPTS: usize = 100;

/// The one terminal event of a job or run that has a webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Announcement {
    pub(crate) workspace: String,
    /// The id of the job or run.
    pub(crate) subject_id: String,
    /// Such as `job.completed`.
    pub(crate) event: String,
    pub(crate) url: String,
    /// The whole body; its addresses are placeholders: see `url_placeholders`.
    pub(crate) body: Value,
    /// Where the result is fetched if the payload is too large. Addressed in the same way.
    pub(crate) result_url: String,
}

/// How a delivery stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryState {
    pub(crate) status: DeliveryStatus,
    pub(crate) next_attempt_at: Option<Time>,
    pub(crate) last_status_code: Option<u16>,
    pub(crate) last_error: Option<String>,
    /// Of the newest secret at the last attempt.
    pub(crate) fingerprint: String,
    /// Automatic ones that were made.
    pub(crate) attempts: u32,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeliveryStatus {
    /// The first attempt is to come, or under way.
    Pending,
    /// An attempt failed; another follows.
    Retrying,
    /// The receiver has it.
    Delivered,
    /// The destination is not allowed.
    Failed,
    /// The last attempt failed.
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

/// An announcement and how its delivery fares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) announcement: Announcement,
    #[serde(rename = "standing")]
    pub(crate) state: DeliveryState,
    /// The automatic attempt that is to come, or under way.
    pub(crate) next: Option<(Time, u64)>,
    /// How it stood after each attempt, the newest.
    #[serde(rename = "landings")]
    attempts: VecDeque<(Time, DeliveryState)>,
}

impl Entry {
    /// Writes down how it stands after an attempt.
    pub(crate) fn record_attempt(&mut self, at: Time) {
        while self.attempts.len() >= MAX_STORED_ATTEMPTS {
            self.attempts.pop_front();
        }
        self.attempts.push_back((at, self.state.clone()));
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum DeliveryTask {
    /// An automatic attempt at the entry of that subject.
    Attempt(String),
    /// The entry of that subject once more, because somebody asked.
    Redelivery(String),
    /// A dummy. Nothing is kept of it.
    Test {
        workspace: String,
        url: String,
        body: Value,
    },
}

impl DeliveryTask {
    pub(crate) fn subject(&self) -> Option<&str> {
        match self {
            Self::Attempt(subject) | Self::Redelivery(subject) => Some(subject),
            Self::Test { .. } => None,
        }
    }
}

/// All announcements, and what is to be sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookQueue {
    /// By subject.
    entries: BTreeMap<String, Entry>,
    /// What is to be sent, by number.
    #[serde(rename = "errands")]
    tasks: BTreeMap<u64, DeliveryTask>,
    last_number: u64,
    /// Those whose time has come; those under way are among them.
    due: BTreeSet<u64>,
    /// Those under way. No part of a document: whoever takes it up sends them anew.
    #[serde(skip)]
    in_flight: BTreeMap<u64, Delivery>,
    /// How often something has fallen due since this state is here.
    #[serde(skip)]
    due_count: u64,
}

impl WebhookQueue {
    /// How the delivery of a subject stands: the object `webhook_delivery`. None where nothing was
    /// announced.
    pub(crate) fn view(&self, subject_id: &str) -> Option<Value> {
        self.entries.get(subject_id).map(|entry| entry.state.view())
    }

    /// How it stood after each attempt, oldest first.
    pub(crate) fn attempts(&self, subject_id: &str) -> impl Iterator<Item = (Time, Value)> {
        let attempts = self.entries.get(subject_id).into_iter();
        attempts
            .flat_map(|entry| &entry.attempts)
            .map(|(at, delivery_state)| (*at, delivery_state.view()))
    }

    /// What was announced of a subject.
    pub(crate) fn event(&self, subject_id: &str) -> Option<&str> {
        self.entries
            .get(subject_id)
            .map(|entry| entry.announcement.event.as_str())
    }

    /// Takes an announcement in, and gives the number of its first attempt. Nothing is announced
    /// twice.
    pub(crate) fn add(
        &mut self,
        announcement: Announcement,
        fingerprint: String,
        at: Time,
    ) -> Option<u64> {
        let subject = announcement.subject_id.clone();
        if self.entries.contains_key(&subject) {
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
        self.entries.insert(
            subject,
            Entry {
                announcement,
                state: delivery_state,
                next: Some((at, number)),
                attempts: VecDeque::new(),
            },
        );
        Some(number)
    }

    /// Takes in what is to be sent, and gives its number.
    pub(crate) fn schedule(&mut self, task: DeliveryTask) -> u64 {
        self.last_number = self.last_number.saturating_add(1);
        self.tasks.insert(self.last_number, task);
        self.last_number
    }

    /// Its time has come.
    pub(crate) fn mark_due(&mut self, number: u64) {
        if self.tasks.contains_key(&number) {
            self.due.insert(number);
            self.due_count = self.due_count.wrapping_add(1);
        }
    }

    pub(crate) fn entry(&self, subject_id: &str) -> Option<&Entry> {
        self.entries.get(subject_id)
    }

    pub(crate) fn entry_mut(&mut self, subject_id: &str) -> Option<&mut Entry> {
        self.entries.get_mut(subject_id)
    }

    /// What is due and not under way, in order.
    pub(crate) fn ready_to_send(&self) -> impl Iterator<Item = u64> {
        let numbers = self.due.iter().copied();
        numbers.filter(|number| !self.in_flight.contains_key(number))
    }

    #[cfg(feature = "face")]
    pub(crate) fn due_count(&self) -> u64 {
        self.due_count
    }

    pub(crate) fn task(&self, number: u64) -> Option<&DeliveryTask> {
        self.tasks.get(&number)
    }

    /// The URL that a task is sent to.
    pub(crate) fn url(&self, number: u64) -> Option<&str> {
        match self.task(number)? {
            DeliveryTask::Attempt(subject) | DeliveryTask::Redelivery(subject) => {
                Some(&self.entry(subject)?.announcement.url)
            }
            DeliveryTask::Test { url, .. } => Some(url),
        }
    }

    pub(crate) fn is_in_flight(&self, number: u64) -> bool {
        self.in_flight.contains_key(&number)
    }

    /// Whether anything is due or under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether that is still to come.
    pub(crate) fn is_scheduled(&self, number: u64) -> bool {
        self.tasks.contains_key(&number) && !self.due.contains(&number)
    }

    /// How many are still to come.
    pub(crate) fn scheduled_count(&self) -> usize {
        self.tasks.len() - self.due.len()
    }

    pub(crate) fn start_attempt(&mut self, delivery: Delivery) {
        self.in_flight.insert(delivery.id.number, delivery);
    }

    /// Removes a task, with its attempt in flight.
    pub(crate) fn remove(&mut self, number: u64) -> Option<(DeliveryTask, Option<Delivery>)> {
        let task = self.tasks.remove(&number)?;
        self.due.remove(&number);
        Some((task, self.in_flight.remove(&number)))
    }

    /// Whether this can be a webhook queue: what is expected comes, and what comes is known.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (subject, entry) in &self.entries {
            if *subject != entry.announcement.subject_id {
                return Err(format!("{subject} is announced as something else"));
            }
            let expects = matches!(
                entry.state.status,
                DeliveryStatus::Pending | DeliveryStatus::Retrying
            );
            let task = entry.next.and_then(|(_, number)| self.task(number));
            let comes = matches!(task, Some(DeliveryTask::Attempt(of)) if of == subject);
            if expects != comes {
                return Err(format!("the webhook of {subject} has a wrong next attempt"));
            }
        }
        for (number, task) in &self.tasks {
            let known = task
                .subject()
                .is_none_or(|subject| self.entries.contains_key(subject));
            if !known || *number > self.last_number {
                return Err(format!("there is nothing to be sent as number {number}"));
            }
        }
        match self.due.iter().all(|due| self.tasks.contains_key(due)) {
            true => Ok(()),
            false => Err("a webhook is due that is not there".to_owned()),
        }
    }

    /// Whose workspaces these are.
    pub(crate) fn workspaces(&self) -> impl Iterator<Item = (&str, &str)> {
        let tests = self.tasks.values().filter_map(|task| match task {
            DeliveryTask::Test { workspace, .. } => Some((workspace.as_str(), "a test delivery")),
            DeliveryTask::Attempt(_) | DeliveryTask::Redelivery(_) => None,
        });
        let entries = self.entries.values().map(|entry| &entry.announcement);
        entries
            .map(|announcement| {
                (
                    announcement.workspace.as_str(),
                    announcement.subject_id.as_str(),
                )
            })
            .chain(tests)
    }
}
