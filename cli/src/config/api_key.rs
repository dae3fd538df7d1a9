//! API keys with their origins.

use std::fmt;
use std::path::PathBuf;

use svc_sdk::ApiKey;

use super::keys::KeyLocation;

/// The minimum length of a key whose last characters are shown in its redacted form.
const MIN_LENGTH_WITH_TAIL: usize = 24;
/// The maximum length of the prefix in the redacted form, such as `svc_open_`.
const MAX_PREFIX: usize = 12;

/// An API key and its origin.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredKey {
    /// The key.
    pub(crate) key: ApiKey,
    /// The origin of the key.
    pub(crate) origin: KeyOrigin,
}

/// The origin of an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrigin {
    /// An environment variable.
    Variable(&'static str),
    /// The stored keys of a profile.
    Stored {
        /// The name of the profile.
        profile: String,
        /// The location of the key.
        location: KeyLocation,
        /// The path of `credentials.toml`.
        path: PathBuf,
        /// The scheme, host and port that the key was verified with.
        host: String,
    },
    /// Input of this command: a prompt, standard input or a file.
    Input(String),
    /// The sandbox.
    Sandbox,
}

impl ConfiguredKey {
    /// Returns the redacted form of the key: its prefix, and the last four characters of a long
    /// key, such as `svc_open_…k3f9`.
    pub(crate) fn redacted(&self) -> String {
        redacted(self.key.expose())
    }
}

fn redacted(key: &str) -> String {
    let end = key
        .match_indices('_')
        .map(|(index, _)| index + 1)
        .filter(|end| *end <= MAX_PREFIX.min(key.len().saturating_sub(4)))
        .take(2)
        .last();
    let prefix = end.and_then(|end| key.get(..end)).unwrap_or_default();
    let tail = match key.len() >= MIN_LENGTH_WITH_TAIL {
        true => key.get(key.len() - 4..).unwrap_or_default(),
        false => "",
    };
    format!("{prefix}…{tail}")
}

impl fmt::Display for KeyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Stored {
                profile,
                location,
                path,
                host,
            } => match location {
                KeyLocation::Keyring => write!(f, "profile {profile} (keyring, for {host})"),
                KeyLocation::File => {
                    write!(f, "profile {profile} (file {}, for {host})", path.display())
                }
            },
            Self::Input(name) => f.write_str(name),
            Self::Sandbox => f.write_str("the sandbox"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redacted_key_shows_its_prefix_and_the_end_of_a_long_key() {
        let rows = [
            ("svc_open_demo", "svc_open_…"),
            ("svc_dev_demo", "svc_dev_…"),
            ("svc_open_0123456789abcdef", "svc_open_…cdef"),
            ("svc_open_a_b_c_d_e_f_g_h_i", "svc_open_…_h_i"),
            ("0123456789abcdef0123456789", "…6789"),
            ("a_bc", "…"),
            ("x", "…"),
        ];
        for (key, expected) in rows {
            assert_eq!(redacted(key), expected, "{key}");
        }
    }
}
