//! A key that cannot be printed.

use std::fmt;

use http::HeaderValue;
use zeroize::Zeroizing;

use crate::types::InvalidField;

/// An API key: without `Display`, redacted in `Debug`, wiped when dropped.
///
/// ```
/// use svc_sdk::Secret;
///
/// let key = Secret::new("svc_open_demo")?;
/// assert_eq!(format!("{key:?}"), "Secret(…)");
/// # Ok::<(), svc_sdk::types::InvalidField>(())
/// ```
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A key of visible ASCII characters; blanks around it, as a file's last newline, are dropped.
    ///
    /// # Errors
    ///
    /// Where it is empty, or has a character that no header can carry. The error does not show it.
    pub fn new(key: impl Into<String>) -> Result<Self, InvalidField> {
        let given = Zeroizing::new(key.into());
        let key = given.trim();
        if key.is_empty() {
            return Err(InvalidField::new("API key", "is empty"));
        }
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidField::new(
                "API key",
                "must be visible ASCII characters without blanks",
            ));
        }
        Ok(Self(Zeroizing::new(key.to_owned())))
    }

    /// The key itself, for storing it; do not log it.
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

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl std::str::FromStr for Secret {
    type Err = InvalidField;

    fn from_str(key: &str) -> Result<Self, InvalidField> {
        Self::new(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_header_can_carry_is_refused_without_showing_it() {
        for bad in ["", "  ", "a b", "canary\u{e9}", "canary\nx"] {
            let error = Secret::new(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
        assert_eq!(Secret::new("canary\n").unwrap().expose(), "canary");
    }
}
