//! The identity of events.

use std::string::String;

/// The identity of an event. Deliveries with equal keys report the same event.
///
/// It is usually obtained from [`Event::dedupe_key`](crate::Event::dedupe_key).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupeKey {
    event: String,
    resource_id: String,
}

impl DedupeKey {
    /// Creates a key from the name of an event and the ID of the resource that it reports.
    ///
    /// The ID is preceded by its kind: `job:job_1`, `run:run_1`, or, for an event without
    /// these IDs, `result:` and a URL or `request:` and the ID of a request.
    pub fn new(event: impl Into<String>, resource_id: impl Into<String>) -> Self {
        Self { event: event.into(), resource_id: resource_id.into() }
    }

    /// Returns the name of the event, such as `job.completed`.
    #[must_use]
    pub fn event(&self) -> &str {
        &self.event
    }

    /// Returns the ID of the job, run, receipt or request, such as `job:job_1`.
    #[must_use]
    pub fn resource_id(&self) -> &str {
        &self.resource_id
    }
}
