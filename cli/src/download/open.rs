//! Opening files with the platform's default applications.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::error::{Failure, Result};
use crate::session::Session;
use crate::text::sanitize;

/// How long to watch for the launcher's failure. One that runs longer has found an application.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) async fn open(session: &Session, path: &Path) {
    if let Err(reason) = open_with_default(path).await {
        let path = path.display().to_string();
        session.printer.warn(&format!("cannot open {}: {}", sanitize(&path), sanitize(&reason)));
    }
}

pub(crate) async fn open_with_default(target: impl AsRef<OsStr>) -> Result<(), String> {
    let target = target.as_ref().to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        open::that_detached_with_timeout(target, LAUNCH_TIMEOUT)
    });
    match opened.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(reason_of(&error)),
        Err(error) => Err(error.to_string()),
    }
}

/// Describes a launcher that failed, whose error is the debug form of a command and of its status.
fn reason_of(error: &io::Error) -> String {
    let text = error.to_string();
    let program = text.strip_prefix("Launcher \"").and_then(|rest| rest.split_once('"'));
    let Some((program, rest)) = program else {
        return match error.kind() {
            io::ErrorKind::NotFound => "no program that opens files was found".to_owned(),
            _ => text,
        };
    };
    let status = rest.rsplit(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty());
    // On Unix, the lowest byte of a wait status is a signal.
    let code =
        status.and_then(|digits| digits.parse::<u32>().ok()).map(|status| match cfg!(unix) {
            true => status >> 8,
            false => status,
        });
    match code {
        Some(code) if code > 0 => format!("{program} failed with exit code {code}"),
        _ => format!("{program} failed"),
    }
}

pub(super) fn can_show_images(session: &Session) -> Result<bool> {
    if cfg!(feature = "preview") {
        let why_not = session.printer.why_no_images();
        if let Some(why) = why_not {
            session.printer.warn(&format!("--preview shows nothing: {why}"));
        }
        return Ok(why_not.is_none());
    }
    Err(Failure::usage("--preview is not part of this build")
        .hint("build svc with the feature `preview`"))
}

#[cfg(not(feature = "preview"))]
pub(super) fn show(_: &Session, _: &Path) {}

/// Shows the file if it is an image. A failure is a warning.
#[cfg(feature = "preview")]
pub(super) fn show(session: &Session, path: &Path) {
    if let Err(reason) = try_to_show(session, path) {
        let path = path.display().to_string();
        session.printer.warn(&format!("cannot show {}: {}", sanitize(&path), sanitize(&reason)));
    }
}

/// Decodes an image, or returns `None` if the file is none.
#[cfg(feature = "preview")]
fn try_to_show(session: &Session, path: &Path) -> Result<(), String> {
    use crate::download::{image::Picture, terminal_image};

    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let Some(image) = Picture::decode(io::BufReader::new(file))? else { return Ok(()) };
    let sequences = terminal_image::encode(&image)?;
    session.printer.print_image(&sequences).map_err(|failure| failure.headline())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_launcher_is_named_with_its_exit_code() {
        let reason = |text: &str| reason_of(&io::Error::other(text.to_owned()));
        let status = if cfg!(unix) { "unix_wait_status(768)" } else { "3" };
        assert_eq!(
            reason(&format!(
                "Launcher \"xdg-open\" \"pics/4.png\" failed with ExitStatus({status})"
            )),
            "xdg-open failed with exit code 3"
        );
        assert_eq!(reason("Launcher \"open\" \"a\" failed with ?"), "open failed");
        assert_eq!(reason("out of memory"), "out of memory");
        let missing = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(reason_of(&missing), "no program that opens files was found");
    }
}
