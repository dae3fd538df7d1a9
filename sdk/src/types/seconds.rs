//! Seconds, written back as they came: a whole number stays one.

use serde::Serializer;

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
