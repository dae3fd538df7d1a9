//! Snapshots: the complete state as one JSON document.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RestoreError, State};

/// The version of the document format, incremented when it changes.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<S> {
    version: u32,
    state: S,
}

/// Returns the document of a state.
pub(crate) fn take(state: &State) -> Value {
    serde_json::to_value(Document {
        version: VERSION,
        state,
    })
    .unwrap_or_default()
}

/// Reads and checks the state of a document.
///
/// # Errors
///
/// Returns an error if the document has another version, or is not a consistent state.
pub(crate) fn read(document: Value) -> Result<State, RestoreError> {
    let version = document.get("version").and_then(Value::as_u64);
    if version != Some(u64::from(VERSION)) {
        return Err(RestoreError(format!("the version must be {VERSION}")));
    }
    let document: Document<State> =
        serde_json::from_value(document).map_err(|error| RestoreError(error.to_string()))?;
    document.state.check().map_err(RestoreError)?;
    Ok(document.state)
}
