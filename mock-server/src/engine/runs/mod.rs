//! Runs of Actions, Formats and Agent Completions: what is known of each, and the shelves on which
//! they are found. How a run goes is in `life`, what it spends in `spend`, what it delivers in
//! `delivery`.

mod delivery;
mod life;
mod spend;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::Usd;

pub(crate) use delivery::Delivery;
pub(crate) use spend::Spend;

use super::jobs::Artifact;
use super::{Course, Time};

/// What a run is a run of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunKind {
    Action,
    Format,
    Agent,
}

impl RunKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Format => "format",
            Self::Agent => "agent",
        }
    }
}

/// How a run ends, unless somebody or its cap intervenes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    Completes,
    /// Completes with media and without output.
    Degraded,
    Skipped,
    Fails(ErrorCode),
}

/// What a run is asked for, once that is judged. A queue keeps the orders of those that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The request that asked for it.
    pub(crate) request_id: String,
    pub(crate) workspace: String,
    pub(crate) kind: RunKind,
    /// The Format or the Action, by id.
    pub(crate) subject: Option<String>,
    pub(crate) previous_run_id: Option<String>,
    pub(crate) fate: Fate,
    /// Microseconds from its beginning to its end.
    pub(crate) takes: u64,
    /// Never ends.
    pub(crate) stuck: bool,
    /// What it would spend if there were no cap.
    pub(crate) cost: Usd,
    pub(crate) cap: Usd,
    /// What it spends cannot be read.
    pub(crate) usage_unreadable: bool,
    /// Its output is there at the second reading only.
    pub(crate) harvest_unavailable: bool,
    /// So many reads of it meet an outage.
    pub(crate) outages: u32,
    /// What its output has to fit.
    pub(crate) schema: Option<Value>,
    /// Whether it makes an image.
    pub(crate) makes_image: bool,
    pub(crate) webhook_url: Option<String>,
}

/// The place of a run in a bulk queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) queue_id: String,
    pub(crate) index: usize,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failing {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) order: Order,
    pub(crate) place: Option<Place>,
    pub(crate) status: RunStatus,
    /// Whether the agent ever began.
    pub(crate) started: bool,
    pub(crate) updated_at: Time,
    pub(crate) course: Course,
    pub(crate) spend: Spend,
    pub(crate) failing: Option<Failing>,
    /// Known from the start, shown once they are made.
    pub(crate) artifacts: Vec<Artifact>,
    /// Whether they are.
    pub(crate) made: bool,
    /// Whether its output cannot be read yet.
    pub(crate) unharvested: bool,
    /// How many reads will still meet an outage.
    pub(crate) outages: u32,
}

impl Run {
    /// What it has made so far.
    pub(crate) fn made(&self) -> &[Artifact] {
        if self.made { &self.artifacts } else { &[] }
    }

    /// Whether there is a conversation that another run can take up.
    pub(crate) fn has_thread(&self) -> bool {
        let tools_missing = |failing: &Failing| failing.code == ErrorCode::McpUnavailable;
        self.started && !self.failing.as_ref().is_some_and(tools_missing)
    }
}

/// All runs. Each is found by id, by the token of its artifacts, and on the shelf of what it is a
/// run of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runs {
    /// In the order of their beginnings.
    runs: Vec<Run>,
    by_id: BTreeMap<String, usize>,
    by_token: BTreeMap<String, (usize, usize)>,
    shelves: BTreeMap<Shelf, BTreeSet<usize>>,
    in_flight: BTreeSet<usize>,
}

/// A workspace's runs of one Action, of one Format, or of the agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shelf {
    pub(crate) workspace: String,
    pub(crate) kind: RunKind,
    pub(crate) subject: Option<String>,
}

impl Shelf {
    fn of(run: &Run) -> Self {
        Self {
            workspace: run.order.workspace.clone(),
            kind: run.order.kind,
            subject: run.order.subject.clone(),
        }
    }
}

impl Runs {
    /// Takes in a run and gives its number.
    fn add(&mut self, run: Run) -> usize {
        let number = self.runs.len();
        self.by_id.insert(run.id.clone(), number);
        for (place, artifact) in run.artifacts.iter().enumerate() {
            self.by_token
                .insert(artifact.token.clone(), (number, place));
        }
        self.shelves
            .entry(Shelf::of(&run))
            .or_default()
            .insert(number);
        if !run.status.is_terminal() {
            self.in_flight.insert(number);
        }
        self.runs.push(run);
        number
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Run> {
        self.runs.get(number)
    }

    /// What changes here must not change where the run is found: see `turn`.
    fn get_mut(&mut self, number: usize) -> Option<&mut Run> {
        self.runs.get_mut(number)
    }

    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Run> {
        self.get(self.number(id)?)
    }

    /// The run that makes a file, and the file.
    pub(crate) fn by_token(&self, token: &str) -> Option<(&Run, &Artifact)> {
        let (number, place) = self.by_token.get(token)?;
        let run = self.get(*number)?;
        Some((run, run.artifacts.get(*place)?))
    }

    /// Puts a run into another status.
    fn turn(&mut self, number: usize, status: RunStatus, failing: Option<Failing>, at: Time) {
        let Some(run) = self.runs.get_mut(number) else {
            return;
        };
        if status.is_terminal() {
            self.in_flight.remove(&number);
        }
        (run.status, run.failing, run.updated_at) = (status, failing, at);
    }

    /// The runs of a shelf, newest first, older than `before`.
    pub(crate) fn newest_first(
        &self,
        shelf: &Shelf,
        before: Option<usize>,
    ) -> impl Iterator<Item = &Run> {
        let numbers = self.shelves.get(shelf).into_iter();
        let before = before.unwrap_or(usize::MAX);
        numbers
            .flat_map(move |numbers| numbers.range(..before).rev())
            .filter_map(|number| self.get(*number))
    }

    /// Whether a run of that shelf has not ended.
    pub(crate) fn any_in_flight(&self, shelf: &Shelf) -> bool {
        let mut running = self.in_flight.iter().filter_map(|number| self.get(*number));
        running.any(|run| Shelf::of(run) == *shelf)
    }

    /// Oldest first.
    pub(crate) fn all(&self) -> &[Run] {
        &self.runs
    }

    /// Notes that the output can be read from now on.
    pub(crate) fn harvest(&mut self, id: &str) {
        if let Some(run) = self.number(id).and_then(|number| self.get_mut(number)) {
            run.unharvested = false;
        }
    }

    /// Whether a read meets an outage; there is one less to come.
    pub(crate) fn meets_an_outage(&mut self, id: &str) -> bool {
        let run = self.number(id).and_then(|number| self.get_mut(number));
        match run {
            Some(run) if run.outages > 0 => {
                run.outages -= 1;
                true
            }
            _ => false,
        }
    }
}

/// The runs alone: the rest follows from them.
impl Serialize for Runs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.runs.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Runs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut runs = Self::default();
        for run in Vec::<Run>::deserialize(deserializer)? {
            runs.add(run);
        }
        Ok(runs)
    }
}
