//! Where values come from: flag, then environment, then profile, then nothing.
//!
//! There is no hidden default: what is not configured is an error that says what to set. API keys
//! are in `keys`; they are never an argument and never in the profile.

mod environment;
mod file;
mod keyring;
mod keys;
mod paths;
mod settings;

pub(crate) use environment::Environment;
pub(crate) use file::{ConfigFile, PROFILE_KEYS};
pub(crate) use keys::{KeyLocation, KeyStore};
pub(crate) use paths::{config_file, state_dir};
pub(crate) use settings::{Origin, Setting, Settings, origin_of};
