//! Environment variables.

use std::collections::BTreeMap;

/// The environment variables of the process or of a test.
#[derive(Default)]
pub(crate) struct Environment(pub(super) BTreeMap<String, String>);

impl Environment {
    /// Reads the `SVC_` variables of the process. Empty variables are ignored.
    pub(crate) fn from_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(
            std::env::vars_os()
                .filter_map(text)
                .filter(|(name, value)| name.starts_with("SVC_") && !value.is_empty())
                .collect(),
        )
    }

    /// Returns the value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl std::fmt::Debug for Environment {
    /// Shows only the names, because some values are API keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        Self(
            variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        )
    }
}
