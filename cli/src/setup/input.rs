//! API keys from a prompt, standard input or a file, and never from an argument.

use std::io;
use std::path::Path;

use console::Term;
use dialoguer::Password;
use svc_sdk::ApiKey;

use crate::config::{ConfiguredKey, KeyOrigin};
use crate::error::Failure;
use crate::input::read_file;
use crate::interrupt::restore_terminal_when_terminated;

/// Makes SIGTERM restore the modes of the terminal, which prompts change.
///
/// # Errors
///
/// Returns an error if the handler cannot be installed.
pub(crate) fn prepare_prompts() -> Result<(), Failure> {
    restore_terminal_when_terminated()
        .map_err(|error| Failure::other(format!("cannot prompt: {error}")))
}

/// Prompts for a key without showing it. Returns `None` for an empty answer.
///
/// # Errors
///
/// Returns an error if the prompt is interrupted, or if the text is not a valid key.
pub(crate) fn prompt_for_key(prompt: &str) -> Result<Option<ConfiguredKey>, Failure> {
    let terminal = Term::stderr();
    let text = Password::new()
        .with_prompt(prompt)
        .allow_empty_password(true)
        .report(false)
        .interact_on(&terminal)
        .map_err(prompt_failure)?;
    let text = text.trim();
    // It shows that a key was read.
    let shown = if text.is_empty() { "" } else { " [hidden]" };
    let written = terminal.write_line(&format!("{prompt}:{shown}"));
    written.map_err(|error| prompt_failure(error.into()))?;
    match text {
        "" => Ok(None),
        text => configured(text.to_owned(), "the prompt".to_owned()).map(Some),
    }
}

/// Reads a key from a file, or from standard input for `-`.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or if the text is not a valid key.
pub(crate) fn key_from_file(flag: &str, path: &Path) -> Result<ConfiguredKey, Failure> {
    let text = key_text(read_file(flag, path)?)?;
    let name = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => format!("file {}", path.display()),
    };
    configured(text, name)
}

/// Reads a key from standard input. Returns `None` if it is empty.
///
/// # Errors
///
/// Returns an error if standard input cannot be read, or if the text is not a valid key.
pub(crate) fn key_from_stdin() -> Result<Option<ConfiguredKey>, Failure> {
    let text = key_text(read_file("standard input", Path::new("-"))?)?;
    match text.trim() {
        "" => Ok(None),
        _ => configured(text, "standard input".to_owned()).map(Some),
    }
}

/// Converts the error of a prompt.
pub(crate) fn prompt_failure(error: dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    match error.kind() {
        io::ErrorKind::Interrupted => Failure::interrupted(),
        _ => Failure::other(format!("cannot prompt: {error}")),
    }
}

fn configured(text: String, origin: String) -> Result<ConfiguredKey, Failure> {
    let key = ApiKey::new(text).map_err(|error| Failure::usage(error.to_string()))?;
    let origin = KeyOrigin::Input(origin);
    Ok(ConfiguredKey { key, origin })
}

fn key_text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage("invalid key: expected UTF-8 text"))
}
