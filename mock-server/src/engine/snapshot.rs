//! Snapshots: the complete state as one JSON document.

use std::io::{self, BufReader};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::timers::TimerEvent;
use super::{RestoreError, State};

/// The version of the document format, incremented when it changes.
const VERSION: u32 = 3;
const BUFFER_BYTES: usize = 128 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotDocument {
    version: Version,
    #[serde(default)]
    clock: Option<ClockSetting>,
    state: State,
}

/// How the clock of the mock runs whose state a document is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClockSetting {
    pub(crate) mode: ClockModeName,
    /// The speed of a real clock.
    #[serde(default)]
    pub(crate) speed: Option<f64>,
}

/// The name of a mode of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClockModeName {
    Manual,
    Real,
}

/// A state, and how its clock ran if the document says so.
pub(crate) type ReadState = (State, Option<ClockSetting>);

/// The version of a document, which must be the current one.
#[derive(Deserialize)]
#[serde(try_from = "u64")]
struct Version;

impl TryFrom<u64> for Version {
    type Error = String;

    fn try_from(version: u64) -> Result<Self, String> {
        if version == u64::from(VERSION) {
            Ok(Self)
        } else {
            Err(format!("the version must be {VERSION}"))
        }
    }
}

/// A copy of a state to be written. It shares jobs, runs, ledger entries and the other parts that
/// grow, so that it is made quickly, takes little memory, and can be written while the state is
/// used.
#[derive(Debug, Serialize)]
pub(crate) struct Snapshot {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock: Option<ClockSetting>,
    pub(crate) state: State,
}

impl Snapshot {
    /// Copies a state. Its jobs and runs are numbered anew, without gaps, as those of a state that
    /// is read from the document.
    pub(crate) fn of(state: &State) -> Self {
        let (mut jobs, mut runs) = (Vec::new(), Vec::new());
        for (_, event) in state.timers.all() {
            match event {
                TimerEvent::JobStarts(number) | TimerEvent::JobEnds(number) => jobs.push(*number),
                TimerEvent::RunStarts(number)
                | TimerEvent::RunWorks(number, _)
                | TimerEvent::RunEnds(number) => runs.push(*number),
                TimerEvent::WebhookAttempt(_) | TimerEvent::ActionScheduled(_) => {}
            }
        }
        jobs.sort_unstable();
        runs.sort_unstable();
        let jobs = state.jobs.positions(jobs);
        let runs = state.runs.positions(runs);
        let mut copy = state.without_indexes();
        copy.timers = state.timers.renumbered(&jobs, &runs);
        Self { version: VERSION, clock: None, state: copy }
    }

    pub(crate) fn to_value(&self) -> Value {
        let document = serde_json::to_vec(self).and_then(|bytes| serde_json::from_slice(&bytes));
        document.unwrap_or_default()
    }
}

/// Reads and checks the state of a document.
pub(crate) fn from_value(document: Value) -> Result<ReadState, RestoreError> {
    // The fields of the state may differ between versions, so the version is checked first.
    let version = document.get("version").cloned().unwrap_or_default();
    let version = serde_json::from_value(version);
    let Version = version.map_err(|error| RestoreError(error.to_string()))?;
    read(&mut document.to_string().as_bytes())
}

/// Reads and checks the state of a document, item by item. All documents are read in this way, as a
/// state is hundreds of types: each other deserializer would add as much code again.
pub(crate) fn read(reader: &mut dyn io::Read) -> Result<ReadState, RestoreError> {
    let document = serde_json::from_reader(BufReader::with_capacity(BUFFER_BYTES, reader));
    let document: SnapshotDocument = document.map_err(|error| RestoreError(error.to_string()))?;
    let SnapshotDocument { version: Version, clock, state } = document;
    state.check().map_err(RestoreError)?;
    Ok((state, clock))
}
