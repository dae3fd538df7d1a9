//! Standard error, which messages, logs and progress bars share.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use indicatif::{MultiProgress, ProgressBar};
use svc_sdk::ApiKey;

use crate::args::Color;
use crate::text::shown;

const MAX_HELD_LINES: usize = 1000;

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
    dropped: usize,
}

/// Holds the lines for the terminal back until it is dropped, and then writes them.
#[derive(Debug)]
pub(crate) struct HeldMessages(Arc<Messages>);

impl Drop for HeldMessages {
    fn drop(&mut self) {
        let held = self.0.held().take().unwrap_or_default();
        if held.dropped > 0 {
            self.0.write_line(&format!("({} earlier lines are not shown)", held.dropped));
        }
        for line in held.newest {
            self.0.write_line(&line);
        }
    }
}

impl Messages {
    pub(crate) fn add_progress_bar(&self, bar: ProgressBar) -> ProgressBar {
        self.bars.get_or_init(MultiProgress::new).add(bar)
    }

    pub(crate) fn has_bars(&self) -> bool {
        self.bars.get().is_some()
    }

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

    pub(crate) fn write_line(&self, text: &str) {
        let text = shown(&self.redacted(text)).into_owned();
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
        let long = secrets.iter().map(ApiKey::expose).filter(|key| key.len() >= 8);
        long.fold(text.to_owned(), |text, key| text.replace(key, "[key]"))
    }
}

impl Color {
    /// Returns whether the output to a stream is colored, given whether that is a terminal.
    pub(crate) fn applies(self, terminal: bool) -> bool {
        let set = |name: &str| {
            std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
        };
        self.decide(
            terminal && !is_dumb_terminal(),
            std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
            set("CLICOLOR_FORCE"),
        )
    }

    fn decide(self, terminal: bool, no_color: bool, forced: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !no_color && (forced || terminal),
        }
    }
}

/// Returns whether the terminal cannot move its cursor or show colors.
pub(super) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_used_on_terminals_by_default() {
        let rows = [
            // --color, terminal, NO_COLOR, CLICOLOR_FORCE, expected
            (Color::Auto, true, false, false, true),
            (Color::Auto, false, false, false, false),
            (Color::Auto, true, true, false, false),
            (Color::Auto, false, false, true, true),
            (Color::Auto, false, true, true, false),
            (Color::Always, false, true, false, true),
            (Color::Never, true, false, true, false),
        ];
        for (color, terminal, no_color, forced, expected) in rows {
            assert_eq!(color.decide(terminal, no_color, forced), expected, "{color:?}");
        }
    }
}
