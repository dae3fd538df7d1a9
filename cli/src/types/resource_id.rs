//! Identifiers of jobs, runs, queues and top-ups.

use serde::{Deserialize, Serialize};

/// The id of a submitted resource, such as `{"job_id": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ResourceId {
    /// A job.
    #[serde(rename = "job_id")]
    Job(String),
    /// A run of an Action, a Format or an Agent Completion.
    #[serde(rename = "run_id")]
    Run(String),
    /// A bulk queue of Format runs.
    #[serde(rename = "queue_id")]
    Queue(String),
    /// A top-up of the balance.
    #[serde(rename = "top_up_id")]
    TopUp(String),
}

impl ResourceId {
    /// Returns the noun in messages, such as `job`.
    pub(crate) const fn noun(&self) -> &'static str {
        match self {
            Self::Job(_) => "job",
            Self::Run(_) => "run",
            Self::Queue(_) => "queue",
            Self::TopUp(_) => "top-up",
        }
    }

    /// Returns the name of the JSON field, such as `job_id`.
    pub(crate) const fn field(&self) -> &'static str {
        match self {
            Self::Job(_) => "job_id",
            Self::Run(_) => "run_id",
            Self::Queue(_) => "queue_id",
            Self::TopUp(_) => "top_up_id",
        }
    }

    /// Returns the id without its kind.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Job(id) | Self::Run(id) | Self::Queue(id) | Self::TopUp(id) => id,
        }
    }
}
