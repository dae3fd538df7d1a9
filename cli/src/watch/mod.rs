//! `svc job watch`: the status of jobs as it changes, on a live screen or as lines.
//!
//! `feed` polls the jobs. On a terminal, `screen` shows them: `model` is what is shown and what
//! the keys do to it, `view` and `bars` draw it, `tasks` cancels, downloads and opens. Elsewhere, `lines`
//! prints a line for each change.

mod bars;
mod feed;
mod lines;
mod model;
mod screen;
mod tasks;
mod view;

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Failure;
use crate::pricing::EstimateSource;
use crate::session::{Access, Session};

/// What to watch.
#[derive(Debug)]
pub(crate) struct WatchOptions {
    /// The ids of the jobs, or none for all jobs of the API key, newest first.
    pub(crate) ids: Vec<String>,
    /// How long to watch.
    pub(crate) timeout: Option<Duration>,
    /// The folder that the key `d` downloads to.
    pub(crate) folder: PathBuf,
}

/// Watches jobs until all given ones have ended, or until the user leaves the screen.
///
/// # Errors
///
/// Returns an error if a job failed or was canceled, if the time is over, or if a status cannot be
/// read.
pub(crate) async fn watch<S: EstimateSource>(
    session: &Session,
    access: &Access<S>,
    options: WatchOptions,
) -> Result<(), Failure> {
    if session.printer.can_show_screen() {
        return screen::run(session, access, options).await;
    }
    if options.ids.is_empty() {
        let why = "no job ids given: without a terminal, svc job watch needs to know which jobs to \
            wait for";
        let hint = "pass job ids (list them with: svc job list --status processing)";
        return Err(Failure::usage(why).hint(hint));
    }
    lines::run(session, access, options).await
}
