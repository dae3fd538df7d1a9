//! Configuration, with this precedence: flag, environment variable, profile.
//!
//! There are no implicit defaults: a missing value is an error that says what to set. API keys are
//! stored by `keys`. They are never passed as arguments and never stored in the profile.

mod keys;
mod settings;

pub(crate) use crate::config::keys::{ConfiguredKey, KeyOrigin, KeyStore, probe_keyring};
pub(crate) use crate::config::settings::{
    ConfigFile, DEFAULT_PROFILE, Environment, Origin, PROFILE_KEYS, Setting, Settings, config_file,
    origin_of, state_dir, with_scheme,
};
