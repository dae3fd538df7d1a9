//! The ids of submitted resources, and the outcomes of submits.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The receipt was printed, without waiting for the result.
    Submitted,
    /// The resource completed, and its result was printed.
    Completed,
    Failed,
    Canceled,
    Skipped,
    /// The service rejected the submit: nothing ran and nothing was charged.
    Refused,
    /// The request never reached the service.
    NotSent,
    /// The user abandoned it for a new call (`--new`).
    Abandoned,
}

impl Outcome {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
            Self::NotSent => "not sent",
            Self::Abandoned => "abandoned",
        }
    }

    /// Returns the outcome that a status stands for, if it is one that ends a job or run.
    pub(crate) fn of_status(status: &str) -> Option<Self> {
        use Outcome::{Abandoned, Canceled, Completed, Failed, Skipped};
        let known = [Completed, Failed, Canceled, Skipped, Abandoned];
        known.into_iter().find(|it| it.as_str() == status)
    }

    /// Returns whether what was submitted has ended.
    pub(crate) fn is_end(self) -> bool {
        Self::of_status(self.as_str()).is_some()
    }
}

/// What can be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Job,
    /// A run of an Action, a Format or an Agent Completion.
    Run,
    /// A bulk queue of Format runs.
    Queue,
    TopUp,
}

impl ObjectKind {
    /// The name in JSON, the field of the id, and the noun of the commands.
    const fn names(self) -> [&'static str; 3] {
        match self {
            Self::Job => ["job", "job_id", "job"],
            Self::Run => ["run", "run_id", "run"],
            Self::Queue => ["queue", "queue_id", "queue"],
            Self::TopUp => ["top_up", "top_up_id", "top-up"],
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        let [name, _, _] = self.names();
        name
    }

    pub(crate) const fn id_field(self) -> &'static str {
        let [_, field, _] = self.names();
        field
    }

    pub(crate) const fn noun(self) -> &'static str {
        let [_, _, noun] = self.names();
        noun
    }
}

/// The id of a submitted resource, such as `{"job_id": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ResourceId {
    #[serde(rename = "job_id")]
    Job(String),
    #[serde(rename = "run_id")]
    Run(String),
    #[serde(rename = "queue_id")]
    Queue(String),
    #[serde(rename = "top_up_id")]
    TopUp(String),
}

impl ResourceId {
    pub(crate) const fn kind(&self) -> ObjectKind {
        match self {
            Self::Job(_) => ObjectKind::Job,
            Self::Run(_) => ObjectKind::Run,
            Self::Queue(_) => ObjectKind::Queue,
            Self::TopUp(_) => ObjectKind::TopUp,
        }
    }

    pub(crate) const fn noun(&self) -> &'static str {
        self.kind().noun()
    }

    pub(crate) const fn field(&self) -> &'static str {
        self.kind().id_field()
    }

    /// Returns the id without its kind.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Job(id) | Self::Run(id) | Self::Queue(id) | Self::TopUp(id) => id,
        }
    }
}

/// Returns the noun for the beginning of an id, which may be that of another kind than expected.
pub(crate) fn noun_of_id(id: &str) -> Option<&'static str> {
    let (prefix, _) = id.split_once('_')?;
    Some(match prefix {
        "job" => "job",
        "run" => "run",
        "frq" => "queue",
        "top" => "top-up",
        "act" => "action",
        "fmt" => "format",
        _ => return None,
    })
}
