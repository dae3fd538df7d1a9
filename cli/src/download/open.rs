//! Opening files with the platform's default applications.

use std::path::Path;
use std::time::Duration;

use crate::session::Session;
use crate::text::sanitize;

/// How long to watch for the launcher's failure. One that runs longer has found an application.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(3);

/// Opens a file. A failure is a warning.
pub(super) async fn open(session: &Session, path: &Path) {
    if let Err(reason) = open_file(path).await {
        let path = path.display().to_string();
        session.printer.warn(&format!(
            "cannot open {}: {}",
            sanitize(&path),
            sanitize(&reason)
        ));
    }
}

/// Opens a file.
///
/// # Errors
///
/// Returns the reason if no application can be started.
pub(crate) async fn open_file(path: &Path) -> Result<(), String> {
    let target = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        open::that_detached_with_timeout(target, LAUNCH_TIMEOUT)
    });
    match opened.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
