//! API keys, which cannot be printed by accident.

use std::fmt;

use http::HeaderValue;
use zeroize::Zeroizing;

use crate::types::InvalidField;

/// An API key: redacted in `Debug`, without `Display`, and wiped from memory when dropped.
///
/// ```
/// use svc_sdk::ApiKey;
///
/// let key = ApiKey::new("svc_open_demo")?;
/// assert_eq!(format!("{key:?}"), "ApiKey(…)");
/// # Ok::<(), svc_sdk::types::InvalidField>(())
/// ```
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// Creates an API key. White space around it, such as a final newline, is removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the key is empty, or has a character that is not visible ASCII. The error
    /// does not show the key.
    pub fn new(key: impl Into<String>) -> Result<Self, InvalidField> {
        let given = Zeroizing::new(key.into());
        let key = given.trim();
        if key.is_empty() {
            return Err(InvalidField::new("API key", "must not be empty"));
        }
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidField::new("API key", "must consist of visible ASCII characters"));
        }
        Ok(Self(Zeroizing::new(key.to_owned())))
    }

    /// Returns the key itself, for storing it. Do not log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn bearer(&self) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("Bearer {}", *self.0));
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl std::str::FromStr for ApiKey {
    type Err = InvalidField;

    fn from_str(key: &str) -> Result<Self, InvalidField> {
        Self::new(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_key_is_rejected_without_showing_it() {
        for bad in ["", "  ", "a b", "canary\u{e9}", "canary\nx"] {
            let error = ApiKey::new(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
        assert_eq!(ApiKey::new("canary\n").unwrap().expose(), "canary");
    }
}
