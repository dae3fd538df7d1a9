//! Standard error, which messages, logs and progress bars share.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use indicatif::{MultiProgress, ProgressBar};
use svc_sdk::ApiKey;

/// The maximum number of lines that are held while a screen is shown.
const MAX_HELD_LINES: usize = 1000;

/// A writer of lines to standard error, above the progress bars and without secrets.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    bars: OnceLock<MultiProgress>,
    secrets: Mutex<Vec<ApiKey>>,
    held: Mutex<Option<HeldLines>>,
}

/// The newest lines of those that are written while a screen covers the terminal.
#[derive(Debug, Default)]
struct HeldLines {
    newest: VecDeque<String>,
    /// The number of older lines.
    dropped: usize,
}

/// Holds the lines for the terminal back until it is dropped, and then writes them.
#[derive(Debug)]
pub(crate) struct HeldMessages(Arc<Messages>);

impl Drop for HeldMessages {
    fn drop(&mut self) {
        let held = self.0.held().take().unwrap_or_default();
        if held.dropped > 0 {
            self.0
                .write_line(&format!("({} earlier lines are not shown)", held.dropped));
        }
        for line in held.newest {
            self.0.write_line(&line);
        }
    }
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

    /// Holds lines back while a screen covers the terminal.
    pub(crate) fn hold(self: &Arc<Self>) -> HeldMessages {
        *self.held() = Some(HeldLines::default());
        HeldMessages(Arc::clone(self))
    }

    fn held(&self) -> MutexGuard<'_, Option<HeldLines>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line, or several.
    pub(crate) fn write_line(&self, text: &str) {
        let text = self.redacted(text);
        if let Some(held) = &mut *self.held() {
            if held.newest.len() == MAX_HELD_LINES {
                held.newest.pop_front();
                held.dropped += 1;
            }
            return held.newest.push_back(text);
        }
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
