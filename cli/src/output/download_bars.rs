//! Progress bars of files that are downloaded.

use std::collections::BTreeMap;

use indicatif::{ProgressBar, ProgressStyle};
use svc_sdk::download::{DownloadEvent, DownloadProgress};

/// The bar of a file whose size is known, and that of any other.
const WITH_TOTAL: &str = "  {prefix} [{bar:24}] {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {msg}";
const WITHOUT_TOTAL: &str = "  {prefix} {decimal_bytes}  {decimal_bytes_per_sec}  {msg}";

/// The bars of the files that are under way, by their position.
#[derive(Debug, Default)]
pub(super) struct DownloadBars {
    bars: BTreeMap<usize, ProgressBar>,
    done: usize,
}

impl DownloadBars {
    /// Shows an event, and returns how many files are complete.
    pub(super) fn update(
        &mut self,
        progress: &DownloadProgress,
        add_bar: impl FnOnce(ProgressBar) -> ProgressBar,
    ) -> usize {
        let index = progress.index;
        match &progress.event {
            DownloadEvent::Started { bytes, total, .. } => {
                let bar = ProgressBar::hidden();
                bar.set_prefix(format!("{} of {}", index + 1, progress.count));
                set_total(&bar, *total);
                bar.set_position(*bytes);
                // What was there before says nothing about the rate.
                bar.reset_eta();
                self.bars.insert(index, add_bar(bar));
            }
            DownloadEvent::Advanced { bytes, total, .. } => {
                if let Some(bar) = self.bars.get(&index) {
                    if bar.length() != *total {
                        set_total(bar, *total);
                    }
                    bar.set_message("");
                    bar.set_position(*bytes);
                }
            }
            DownloadEvent::Retrying { delay, .. } => {
                if let Some(bar) = self.bars.get(&index) {
                    bar.set_message(format!("retrying in {} s", delay.as_secs().max(1)));
                }
            }
            DownloadEvent::Finished { .. } => {
                self.done += 1;
                self.remove(index);
            }
            _ => self.remove(index),
        }
        self.done
    }

    /// Removes all bars from the terminal.
    pub(super) fn clear(&self) {
        self.bars.values().for_each(ProgressBar::finish_and_clear);
    }

    fn remove(&mut self, index: usize) {
        if let Some(bar) = self.bars.remove(&index) {
            bar.finish_and_clear();
        }
    }
}

fn set_total(bar: &ProgressBar, total: Option<u64>) {
    let template = match total {
        Some(total) => {
            bar.set_length(total);
            WITH_TOTAL
        }
        None => {
            bar.unset_length();
            WITHOUT_TOTAL
        }
    };
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
}
