//! Setting up access to the service: reading, verifying and storing API keys. Shared by `svc auth`,
//! `svc init` and `svc doctor`.

mod input;
mod probe;
mod store;

pub(crate) use input::{
    key_from_file, key_from_stdin, prepare_prompts, prompt_failure, prompt_for_key,
};
#[cfg(feature = "mcp")]
pub(crate) use probe::count_tools;
pub(crate) use probe::{probe, verify};
pub(crate) use store::{note_unused_keyring, store_key, url_setting, warn_of_overrides};
