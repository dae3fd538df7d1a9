//! Stored API keys: in the platform's keyring, or in a file of mode 0600 next to the configuration.
//!
//! For each profile and surface, `credentials.toml` contains the location of the key and the origin
//! that it was verified with: a stored key is never sent to another host.
//!
//! macOS and Windows have native keyrings. On Linux it is `secret-tool`, the program of libsecret: the key is
//! passed on standard input and output, and is never an argument. Without a keyring, the key is stored in the
//! file, which is reported.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fmt, thread};

use svc_sdk::ApiKey;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::args::SurfaceChoice;
use crate::config::settings::implicit_table;
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::input::{read_or_empty, write_private};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyLocation {
    Keyring,
    File,
}

#[derive(Debug)]
pub(crate) struct KeyStore {
    path: PathBuf,
}

impl KeyStore {
    pub(crate) fn next_to(config: &Path) -> Self {
        Self { path: config.with_file_name("credentials.toml") }
    }

    /// Returns where a key is, without reading it.
    pub(crate) fn find(&self, profile: &str, surface: SurfaceChoice) -> Result<Option<KeyOrigin>> {
        let document = self.load()?;
        let Some(entry) = entry(&document, profile, surface) else { return Ok(None) };
        let text = |name: &str| entry.get(name).and_then(Item::as_str);
        let location = if text("key").is_some() { KeyLocation::File } else { KeyLocation::Keyring };
        Ok(Some(self.origin(profile, location, text("origin").unwrap_or_default())))
    }

    fn origin(&self, profile: &str, location: KeyLocation, host: &str) -> KeyOrigin {
        let (profile, path, host) = (profile.to_owned(), self.path.clone(), host.to_owned());
        KeyOrigin::Stored { profile, location, path, host }
    }

    pub(crate) fn read(&self, profile: &str, surface: SurfaceChoice) -> Result<Option<ApiKey>> {
        let document = self.load()?;
        let Some(entry) = entry(&document, profile, surface) else { return Ok(None) };
        let text = match entry.get("key").and_then(Item::as_str) {
            Some(key) => key.to_owned(),
            None => {
                let account = keyring_account(profile, surface);
                with_timeout(move || platform::read(&account)).map_err(|why| {
                    let why = format!("cannot read the key from the keyring: {why}");
                    let hint = Suggestion::from("unlock the keyring, or log in again with `");
                    Failure::new(Exit::NotAllowed, why).hint(hint.svc(["auth", "login"]).then("`"))
                })?
            }
        };
        let key = ApiKey::new(text).map_err(|error| {
            Failure::new(Exit::NotAllowed, format!("invalid stored key: {error}"))
        })?;
        Ok(Some(key))
    }

    /// Stores a key that is for a host. Returns where it is, and why the keyring was not used.
    pub(crate) fn write(
        &self,
        profile: &str,
        surface: SurfaceChoice,
        key: &ApiKey,
        host: &str,
    ) -> Result<(KeyOrigin, Option<String>)> {
        let account = keyring_account(profile, surface);
        let keyring_error = write_to_keyring(account, key.expose()).err();
        let mut document = self.load()?;
        let profiles = document.entry("profiles").or_insert_with(implicit_table);
        let table = profiles
            .as_table_like_mut()
            .map(|profiles| profiles.entry(profile).or_insert_with(implicit_table))
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| {
                let why = format!("{profile} in the file of stored keys is not a table");
                Failure::configuration(why).hint("remove the file, and log in again")
            })?;
        let mut entry = Table::new();
        entry.insert("origin", value(host));
        if keyring_error.is_some() {
            entry.insert("key", value(key.expose()));
        }
        table.insert(surface.as_str(), Item::Table(entry));
        self.save(&document)?;
        let location = match keyring_error {
            Some(_) => KeyLocation::File,
            None => KeyLocation::Keyring,
        };
        Ok((self.origin(profile, location, host), keyring_error))
    }

    pub(crate) fn remove(&self, profile: &str, surface: SurfaceChoice) -> Result<bool> {
        let Some(stored) = self.find(profile, surface)? else { return Ok(false) };
        if matches!(stored, KeyOrigin::Stored { location: KeyLocation::Keyring, .. }) {
            let account = keyring_account(profile, surface);
            with_timeout(move || platform::remove(&account)).map_err(|why| {
                Failure::other(format!("cannot remove the key from the keyring: {why}"))
            })?;
        }
        let mut document = self.load()?;
        if let Some(table) = document
            .get_mut("profiles")
            .and_then(|profiles| profiles.get_mut(profile))
            .and_then(Item::as_table_like_mut)
        {
            table.remove(surface.as_str());
        }
        self.save(&document)?;
        Ok(true)
    }

    pub(crate) fn permission_warning(&self) -> Option<String> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let mode = std::fs::metadata(&self.path).ok()?.permissions().mode();
            if mode & 0o077 != 0 {
                let path = self.path.display();
                return Some(format!(
                    "other users can read the keys in {path}: run chmod 600 {path}"
                ));
            }
        }
        None
    }

    fn load(&self) -> Result<DocumentMut> {
        let path = self.path.display();
        let text = read_or_empty(&self.path)
            .map_err(|error| Failure::configuration(format!("cannot read {path}: {error}")))?;
        // The parser's message is left out, because it quotes the file and so possibly a key.
        text.parse().map_err(|_| {
            Failure::configuration(format!("{path} is not valid TOML"))
                .hint("remove the file, and log in again")
        })
    }

    fn save(&self, document: &DocumentMut) -> Result {
        write_private(&self.path, document.to_string().as_bytes())
            .map_err(|error| Failure::file("cannot write", &self.path, &error))
    }
}

fn entry<'a>(document: &'a DocumentMut, profile: &str, surface: SurfaceChoice) -> Option<&'a Item> {
    document.get("profiles")?.get(profile)?.get(surface.as_str())
}

fn keyring_account(profile: &str, surface: SurfaceChoice) -> String {
    format!("{profile}/{}", surface.as_str())
}

/// The minimum length of a key whose last characters are shown in its redacted form.
const MIN_LENGTH_WITH_TAIL: usize = 24;
const MAX_PREFIX: usize = 12;

#[derive(Clone, Debug)]
pub(crate) struct ConfiguredKey {
    pub(crate) key: ApiKey,
    pub(crate) origin: KeyOrigin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrigin {
    Variable(&'static str),
    /// The stored keys of a profile, for the scheme, host and port that the key was verified with.
    Stored {
        profile: String,
        location: KeyLocation,
        path: PathBuf,
        host: String,
    },
    Input(String),
    Sandbox,
}

impl ConfiguredKey {
    /// Such as `svc_open_…k3f9`: the prefix, and the last four characters of a long key.
    pub(crate) fn redacted(&self) -> String {
        let key = self.key.expose();
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
}

impl KeyOrigin {
    /// Returns where a stored key is, such as `in the keyring`.
    pub(crate) fn stored_location(&self) -> String {
        match self {
            Self::Stored { location: KeyLocation::File, path, .. } => {
                format!("in {}", path.display())
            }
            Self::Stored { .. } => "in the keyring".to_owned(),
            other => format!("in {other}"),
        }
    }
}

impl fmt::Display for KeyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Stored { profile, location, path, host } => match location {
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

const KEYRING_TIMEOUT: Duration = Duration::from_secs(3);
#[cfg(feature = "keyring")]
const SERVICE: &str = "svc";

/// Stores a key and reads it back, because some keyrings accept a key and lose it.
fn write_to_keyring(account: String, key: &str) -> Result<(), String> {
    let (at, text) = (account.clone(), key.to_owned());
    with_timeout(move || platform::write(&at, &text))?;
    match with_timeout(move || platform::read(&account)) {
        Ok(found) if found == key => Ok(()),
        Ok(_) => Err("it returned a different key from the one that was stored".to_owned()),
        Err(why) => Err(format!("it did not return the stored key: {why}")),
    }
}

/// Checks that the keyring responds, without changing it.
pub(crate) fn probe_keyring() -> Result<(), String> {
    with_timeout(platform::probe)
}

/// Runs an operation with a timeout, because a keyring may wait for the user to unlock it.
fn with_timeout<T: Send + 'static>(
    operation: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(operation()));
    receiver
        .recv_timeout(KEYRING_TIMEOUT)
        .unwrap_or_else(|_| Err("it did not respond within 3 seconds".to_owned()))
}

#[cfg(all(feature = "keyring", not(any(target_os = "macos", windows))))]
mod platform {
    use std::io::{self, Write};
    use std::process::{Command, Output, Stdio};

    pub(super) fn write(account: &str, key: &str) -> Result<(), String> {
        let label = format!("svc ({account})");
        run(&["store", "--label", &label], account, key).map(drop)
    }

    pub(super) fn read(account: &str) -> Result<String, String> {
        let output = run(&["lookup"], account, "")?;
        String::from_utf8(output.stdout)
            .map_err(|_| "it returned a value that is not valid UTF-8".to_owned())
    }

    pub(super) fn remove(account: &str) -> Result<(), String> {
        run(&["clear"], account, "").map(drop)
    }

    /// A lookup that finds nothing fails without a message; a lookup without a keyring has one.
    pub(super) fn probe() -> Result<(), String> {
        let output = output(&["lookup"], "doctor", "")?;
        let message = String::from_utf8_lossy(&output.stderr);
        match message.trim().lines().next() {
            Some(line) if !output.status.success() => Err(line.to_owned()),
            _ => Ok(()),
        }
    }

    fn run(verb: &[&str], account: &str, input: &str) -> Result<Output, String> {
        let output = output(verb, account, input)?;
        if output.status.success() {
            Ok(output)
        } else {
            Err(format!("`secret-tool` failed ({})", output.status))
        }
    }

    fn output(verb: &[&str], account: &str, input: &str) -> Result<Output, String> {
        let mut child = Command::new("secret-tool")
            .args(verb)
            .args(["service", super::SERVICE, "account", account])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => "`secret-tool` is not installed".to_owned(),
                _ => format!("cannot start `secret-tool`: {error}"),
            })?;
        if let Some(mut stdin) = child.stdin.take() {
            // Commands that read nothing may have closed the pipe already.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output().map_err(|error| error.to_string())
    }
}

#[cfg(all(feature = "keyring", any(target_os = "macos", windows)))]
mod platform {
    use keyring_core::Entry;

    pub(super) fn write(account: &str, key: &str) -> Result<(), String> {
        entry(account)?.set_password(key).map_err(|error| error.to_string())
    }

    pub(super) fn read(account: &str) -> Result<String, String> {
        entry(account)?.get_password().map_err(|error| error.to_string())
    }

    pub(super) fn remove(account: &str) -> Result<(), String> {
        entry(account)?.delete_credential().map_err(|error| error.to_string())
    }

    pub(super) fn probe() -> Result<(), String> {
        match entry("doctor")?.get_password() {
            Ok(_) | Err(keyring_core::Error::NoEntry) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn entry(account: &str) -> Result<Entry, String> {
        #[cfg(target_os = "macos")]
        let store = apple_native_keyring_store::keychain::Store::new();
        #[cfg(windows)]
        let store = windows_native_keyring_store::Store::new();
        keyring_core::set_default_store(store.map_err(|error| error.to_string())?);
        Entry::new(super::SERVICE, account).map_err(|error| error.to_string())
    }
}

#[cfg(not(feature = "keyring"))]
mod platform {
    const UNSUPPORTED: &str = "this build does not support it";

    pub(super) fn write(_: &str, _: &str) -> Result<(), String> {
        Err(UNSUPPORTED.to_owned())
    }

    pub(super) fn read(_: &str) -> Result<String, String> {
        Err(UNSUPPORTED.to_owned())
    }

    pub(super) fn remove(_: &str) -> Result<(), String> {
        Err(UNSUPPORTED.to_owned())
    }

    pub(super) fn probe() -> Result<(), String> {
        Err(UNSUPPORTED.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_that_does_not_respond_times_out() {
        let (sender, receiver) = mpsc::channel::<()>();
        let result = with_timeout(move || receiver.recv().map_err(|error| error.to_string()));
        assert!(result.unwrap_err().contains("3 seconds"));
        drop(sender);
    }
}
