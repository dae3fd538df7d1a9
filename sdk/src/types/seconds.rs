//! Seconds, written back as they came: a whole number stays one.

use serde::{Deserialize, Serialize, Serializer};

/// A span in seconds, as the service told it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Seconds(f64);

impl Seconds {
    /// How many.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl From<f64> for Seconds {
    fn from(seconds: f64) -> Self {
        Self(seconds)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&Some(self.0), serializer)
    }
}

/// The largest span that is written as a whole number; beyond it a float has no exact seconds.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[expect(
    clippy::ref_option,
    clippy::cast_possible_truncation,
    reason = "serde gives a reference; the range is checked"
)]
pub(super) fn serialize<S: Serializer>(
    seconds: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match seconds {
        Some(seconds) if seconds.fract() == 0.0 && seconds.abs() < EXACT => {
            serializer.serialize_i64(*seconds as i64)
        }
        Some(seconds) => serializer.serialize_f64(*seconds),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use crate::types::StatusPayload;

    #[test]
    fn a_whole_number_stays_one() {
        for json in [
            r#"{"next_poll_after_seconds":2}"#,
            r#"{"next_poll_after_seconds":0.25}"#,
            "{}",
        ] {
            let payload: StatusPayload = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&payload).unwrap(), json);
        }
    }
}
