//! Points in time.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json_schema::json_schema;
use super::response::Text;

/// A point in time, in JSON an RFC 3339 string.
///
/// The string is kept and written back unchanged. Comparisons use the point in time, so two
/// timestamps with different UTC offsets can be equal.
///
/// ```
/// use svc_sdk::types::Timestamp;
///
/// let timestamp: Timestamp = "2026-01-02T10:00:00+01:00".parse()?;
/// assert_eq!(timestamp.unix_seconds(), 1_767_344_400);
/// assert_eq!(timestamp.as_str(), "2026-01-02T10:00:00+01:00");
/// assert_eq!(timestamp, "2026-01-02T09:00:00Z".parse()?);
/// # Ok::<(), svc_sdk::types::ParseTimestampError>(())
/// ```
#[derive(Clone)]
pub struct Timestamp {
    text: Box<str>,
    instant: jiff::Timestamp,
}

impl Timestamp {
    /// Returns the seconds since the Unix epoch, without the fraction.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        self.instant.as_second()
    }

    /// Returns the original text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.instant.into()
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(instant) => Ok(Self { text: text.into(), instant }),
            Err(_) => Err(ParseTimestampError { text: text.chars().take(40).collect() }),
        }
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.instant == other.instant
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.instant.cmp(&other.instant)
    }
}

impl Hash for Timestamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.instant.hash(state);
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({})", self.text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(text) = Text::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

json_schema! { inline Timestamp {"type": "string", "format": "date-time"} }

/// An error returned when parsing a [`Timestamp`] fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTimestampError {
    text: String,
}

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid timestamp `{}`: expected RFC 3339, such as 2026-01-02T10:00:00Z",
            self.text
        )
    }
}

impl std::error::Error for ParseTimestampError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_preserved_and_order_is_by_instant() {
        let json = "\"2026-01-02T10:00:00.120+02:00\"";
        let later: Timestamp = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&later).unwrap(), json);
        let earlier: Timestamp = "2026-01-02T08:00:00Z".parse().unwrap();
        assert!(earlier < later);
        assert_eq!(earlier.unix_seconds(), later.unix_seconds());
    }

    #[test]
    fn converts_to_system_time() {
        let timestamp: Timestamp = "1970-01-01T00:01:30Z".parse().unwrap();
        let since_epoch = SystemTime::from(timestamp).duration_since(SystemTime::UNIX_EPOCH);
        assert_eq!(since_epoch.unwrap().as_secs(), 90);
    }

    #[test]
    fn rejects_other_text() {
        for text in ["", "yesterday", "2026-01-02", "1767348000", "2026-01-02T10:00:00"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text:?}");
        }
        let error = "soon".parse::<Timestamp>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid timestamp `soon`: expected RFC 3339, such as 2026-01-02T10:00:00Z"
        );
    }
}
