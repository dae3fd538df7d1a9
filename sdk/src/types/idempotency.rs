//! Idempotency keys.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::InvalidField;
use crate::contract::limits::IDEMPOTENCY_KEY_LENGTH_RANGE;

/// A valid `Idempotency-Key`: 1 to 255 printable ASCII characters.
///
/// A request with a key that was used before is not executed again: it returns the original receipt.
///
/// ```
/// use svc_sdk::types::IdempotencyKey;
///
/// let key: IdempotencyKey = "order-4711".parse()?;
/// assert_eq!(key.as_str(), "order-4711");
/// assert!("tab\there".parse::<IdempotencyKey>().is_err());
/// # Ok::<(), svc_sdk::types::InvalidField>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Returns the key as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = InvalidField;

    fn try_from(key: String) -> Result<Self, InvalidField> {
        let printable = key.bytes().all(|b| (b' '..=b'~').contains(&b));
        // HTTP strips spaces at both ends of a header value, which would change the key.
        let survives_http = key.trim_matches(' ').len() == key.len();
        if printable && survives_http && IDEMPOTENCY_KEY_LENGTH_RANGE.contains(&key.len()) {
            Ok(Self(key))
        } else {
            Err(InvalidField::new(
                "Idempotency-Key",
                "must be 1 to 255 printable ASCII characters, without a space at either end",
            ))
        }
    }
}

impl FromStr for IdempotencyKey {
    type Err = InvalidField;

    fn from_str(key: &str) -> Result<Self, InvalidField> {
        key.to_owned().try_into()
    }
}

impl From<IdempotencyKey> for String {
    fn from(key: IdempotencyKey) -> Self {
        key.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_displayed_and_stored_as_it_is() {
        let key: IdempotencyKey = "order-4711".parse().unwrap();
        assert_eq!(format!("{key:>12}"), "  order-4711");
        assert_eq!(String::from(key.clone()), "order-4711");
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(json, "\"order-4711\"");
        assert_eq!(serde_json::from_str::<IdempotencyKey>(&json).unwrap(), key);
        assert!(serde_json::from_str::<IdempotencyKey>("\" \"").is_err());
    }

    #[test]
    fn accepts_1_to_255_printable_ascii_characters() {
        for good in ["a", "~ !", &"k".repeat(255)] {
            assert!(good.parse::<IdempotencyKey>().is_ok(), "{good:?}");
        }
        for bad in ["", " ", "a ", "a\tb", "ä", "a\n", "\u{7f}", &"k".repeat(256)] {
            assert!(bad.parse::<IdempotencyKey>().is_err(), "{bad:?}");
        }
    }
}
