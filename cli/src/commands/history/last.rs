//! The newest entry of the journal, for `--last`.

use crate::args::SurfaceChoice;
use crate::clock;
use crate::error::{Exit, Failure};
use crate::journal::Entry;
use crate::output::values::seconds_ago;
use crate::session::Session;
use crate::text::sanitize;
use crate::types::ResourceId;

/// Returns the newest submit to the configured service of a resource that matches, with its id.
///
/// # Errors
///
/// Returns an error if there is none.
pub(in crate::commands) fn newest_entry(
    session: &Session,
    noun: &str,
    is_match: impl Fn(&ResourceId, &Entry) -> bool,
) -> Result<(ResourceId, Entry), Failure> {
    let entries = match session.journal()? {
        Some(journal) => journal.entries()?,
        None => Vec::new(),
    };
    let settings = session.settings()?;
    let is_configured = |entry: &Entry| {
        let surfaces = [SurfaceChoice::Open, SurfaceChoice::Developer];
        let mut urls = surfaces
            .into_iter()
            .filter_map(|surface| settings.url_of(surface));
        urls.any(|url| url.value == entry.intent.base_url)
    };
    if settings.url_of(SurfaceChoice::Developer).is_none() {
        settings.require_url(SurfaceChoice::Open)?;
    }
    let newest = entries.into_iter().find_map(|entry| {
        let id = entry.resource.clone()?;
        (is_match(&id, &entry) && is_configured(&entry)).then_some((id, entry))
    });
    let (id, entry) = newest.ok_or_else(|| {
        let why = format!("this machine has not submitted a {noun} to the configured service");
        Failure::new(Exit::NotFound, why).hint(format!("pass the id of a {noun}"))
    })?;
    let age = clock::now().as_second() - entry.intent.created_at.as_second();
    session.printer.note(&format!(
        "Using {} ({}, submitted {})",
        sanitize(id.id()),
        sanitize(&entry.intent.summary),
        seconds_ago(age)
    ));
    Ok((id, entry))
}
