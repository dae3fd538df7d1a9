//! Images in the terminal.

use std::path::Path;

use crate::error::Failure;
use crate::session::Session;

/// Returns whether images can be shown: both streams are terminals.
///
/// # Errors
///
/// Returns an error if this build has no support for images.
pub(super) fn is_possible(session: &Session) -> Result<bool, Failure> {
    if cfg!(feature = "preview") {
        let is_terminal = session.printer.is_terminal();
        if !is_terminal {
            session
                .printer
                .warn("--preview shows nothing: stdout and stderr are not terminals");
        }
        return Ok(is_terminal);
    }
    Err(Failure::usage("--preview is not part of this build")
        .hint("build svc with the feature `preview`"))
}

#[cfg(not(feature = "preview"))]
pub(super) fn show(_: &Session, _: &Path) {}

/// Shows the file if it is an image. A failure is a warning.
#[cfg(feature = "preview")]
pub(super) fn show(session: &Session, path: &Path) {
    let reason = match decode(path) {
        Ok(None) => return,
        Ok(Some(image)) => match super::terminal_image::encode(&image) {
            Ok(sequences) => match session.printer.print_image(&sequences) {
                Ok(()) => return,
                Err(failure) => failure.headline(),
            },
            Err(reason) => reason,
        },
        Err(reason) => reason,
    };
    let path = path.display().to_string();
    session.printer.warn(&format!(
        "cannot show {}: {}",
        crate::text::sanitize(&path),
        crate::text::sanitize(&reason)
    ));
}

/// Decodes an image, or returns `None` if the file is none.
#[cfg(feature = "preview")]
fn decode(path: &Path) -> Result<Option<image::DynamicImage>, String> {
    let reader = image::ImageReader::open(path)
        .and_then(image::ImageReader::with_guessed_format)
        .map_err(|error| error.to_string())?;
    let is_image = reader
        .format()
        .is_some_and(|format| format.reading_enabled());
    if !is_image {
        return Ok(None);
    }
    // The default limits keep a small file from taking all memory.
    reader.decode().map(Some).map_err(|error| error.to_string())
}
