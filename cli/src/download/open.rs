//! Opening files with the platform's default applications.

use std::path::Path;
use std::time::Duration;

use crate::session::Session;
use crate::text::sanitize;

/// How long to watch for the launcher's failure. One that runs longer has found an application.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(3);

/// Opens a file. A failure is a warning.
pub(super) async fn open(session: &Session, path: &Path) {
    let target = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        open::that_detached_with_timeout(target, LAUNCH_TIMEOUT)
    });
    let reason = match opened.await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let path = path.display().to_string();
    session.printer.warn(&format!(
        "cannot open {}: {}",
        sanitize(&path),
        sanitize(&reason)
    ));
}
