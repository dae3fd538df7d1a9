//! The platform's keyring, with a timeout.
//!
//! macOS and Windows have native stores. On Linux it is `secret-tool`, the program of libsecret:
//! the key is passed on standard input and output, and is never an argument. Without a keyring, the
//! caller stores the key in a file and reports it.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const KEYRING_TIMEOUT: Duration = Duration::from_secs(3);
#[cfg(feature = "keyring")]
const SERVICE: &str = "svc";

/// Stores a key and reads it back, because some keyrings accept a key and lose it.
pub(super) fn write(account: &str, key: &str) -> Result<(), String> {
    let (at, text) = (account.to_owned(), key.to_owned());
    with_timeout(move || platform::write(&at, &text))?;
    match read(account) {
        Ok(found) if found == key => Ok(()),
        Ok(_) => Err("it returned a different key from the one that was stored".to_owned()),
        Err(why) => Err(format!("it did not return the stored key: {why}")),
    }
}

pub(super) fn read(account: &str) -> Result<String, String> {
    let at = account.to_owned();
    with_timeout(move || platform::read(&at))
}

/// Checks that the keyring responds, without changing it.
pub(crate) fn probe() -> Result<(), String> {
    with_timeout(platform::probe)
}

pub(super) fn remove(account: &str) -> Result<(), String> {
    let at = account.to_owned();
    with_timeout(move || platform::remove(&at))
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
