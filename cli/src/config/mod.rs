//! Configuration, with this precedence: flag, environment variable, profile.
//!
//! There are no implicit defaults: a missing value is an error that says what to set. API keys are
//! stored by `keys`. They are never passed as arguments and never stored in the profile.

mod api_key;
mod environment;
mod file;
mod keyring;
mod keys;
mod paths;
mod settings;

pub(crate) use api_key::{ConfiguredKey, KeyOrigin};
pub(crate) use environment::Environment;
pub(crate) use file::{ConfigFile, PROFILE_KEYS};
pub(crate) use keyring::probe as probe_keyring;
pub(crate) use keys::{KeyLocation, KeyStore};
pub(crate) use paths::{config_file, state_dir};
pub(crate) use settings::{Origin, Setting, Settings, origin_of};
