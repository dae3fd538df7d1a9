//! Standard error, which messages, logs and progress bars share.

use std::io::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use indicatif::{MultiProgress, ProgressBar};
use svc_sdk::ApiKey;

/// A writer of lines to standard error, above the progress bars and without secrets.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    bars: OnceLock<MultiProgress>,
    secrets: Mutex<Vec<ApiKey>>,
}

impl Messages {
    /// Adds a progress bar at the bottom of the terminal. Lines appear above it.
    pub(crate) fn add_progress_bar(&self, bar: ProgressBar) -> ProgressBar {
        self.bars.get_or_init(MultiProgress::new).add(bar)
    }

    /// Redacts a key in all lines.
    pub(crate) fn redact(&self, secret: &ApiKey) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.push(secret.clone());
    }

    /// Writes a line, or several.
    pub(crate) fn write_line(&self, text: &str) {
        let text = self.redacted(text);
        // There is nowhere to report that standard error cannot be written.
        let _ = self.above_bars(|| writeln!(io::stderr().lock(), "{text}"));
    }

    /// Calls a function that writes to the terminal, while the progress bars are hidden.
    pub(crate) fn above_bars<T>(&self, write: impl FnOnce() -> T) -> T {
        match self.bars.get() {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }

    fn redacted(&self, text: &str) -> String {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        // Shorter keys could be part of ordinary words.
        let long = secrets
            .iter()
            .map(ApiKey::expose)
            .filter(|key| key.len() >= 8);
        long.fold(text.to_owned(), |text, key| text.replace(key, "[key]"))
    }
}
