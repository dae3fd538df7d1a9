//! What a batch shows while it runs: its progress, and the files.

use std::path::PathBuf;

use super::Runner;
use crate::download::{StoredFile, open_file};
use crate::text::sanitize;

impl Runner<'_> {
    /// Shows and opens files, if that is asked for.
    pub(super) fn show_files(&mut self, files: &[StoredFile]) {
        let Some(plan) = &self.clients.download else {
            return;
        };
        for file in files {
            let path = PathBuf::from(&file.path);
            plan.preview(self.session, &path);
            if plan.opens_files() {
                let shown = file.path.clone();
                self.opening
                    .spawn(async move { (shown, open_file(&path).await) });
            }
        }
    }

    /// Waits until files are opened, and warns about those that are not.
    pub(super) async fn report_unopened_files(&mut self) {
        while let Some(opened) = self.opening.join_next().await {
            if let Ok((path, Err(reason))) = opened {
                let warning = format!("cannot open {}: {}", sanitize(&path), sanitize(&reason));
                self.session.printer.warn(&warning);
            }
        }
    }

    pub(super) fn show_progress(&mut self) {
        self.counts.in_flight = self.scheduler.in_flight();
        self.counts.is_slowed = self.scheduler.is_slowed(self.now());
        self.progress.update(self.counts);
    }
}
