//! The configuration file, and where each value comes from.

use super::check::{Check, Status};
use crate::args::SurfaceChoice;
use crate::config::{Setting, Settings, config_file};
use crate::error::Failure;
use crate::session::Session;
use crate::webhook::Secrets;

/// The settings that have a check of their own.
const SETTINGS: [&str; 4] = [
    "base_url",
    "developer_base_url",
    "mcp_url",
    "first_party_owner",
];

/// Checks the configuration.
pub(super) fn check(session: &Session) -> Vec<Check> {
    if session.is_sandbox() {
        let message = "the sandbox needs no configuration";
        return vec![Check::skipped("configuration", message)];
    }
    let settings = match session.settings() {
        Ok(settings) => settings,
        Err(failure) => return vec![invalid(session, &failure)],
    };
    let mut checks = vec![file(session, settings)];
    let open_url = settings.get("base_url").map(|url| &url.value);
    for name in SETTINGS {
        checks.push(match settings.get(name) {
            Some(setting) if name == "developer_base_url" && open_url == Some(&setting.value) => {
                let message = format!("{}, the same as base_url", with_origin(setting));
                Check::warning(name, message).next(format!(
                    "each surface has a URL of its own: {}",
                    session.command(&["init"])
                ))
            }
            Some(setting) => Check::ok(name, with_origin(setting)),
            None => Check::skipped(name, "not configured"),
        });
    }
    checks.push(webhook_secret(session, settings));
    checks
}

fn invalid(session: &Session, failure: &Failure) -> Check {
    let path = config_file(session.environment()).ok();
    let check = Check::failed("configuration", failure.headline());
    match path {
        Some(path) => check.next(format!("correct or remove {}", path.display())),
        None => check.next("set SVC_CONFIG to the path of a configuration file"),
    }
}

fn file(session: &Session, settings: &Settings) -> Check {
    if let Err(failure) = settings.check_profile() {
        return Check::failed("configuration", failure.headline())
            .next(format!("svc init --profile {}", settings.profile.value));
    }
    let path = settings.file.path();
    let exists = match path.exists() {
        true => "",
        false => ", which does not exist",
    };
    let profile = &settings.profile;
    let message = format!(
        "profile {} ({}) in {}{exists}",
        profile.value,
        profile.origin,
        path.display()
    );
    let surfaces = [SurfaceChoice::Open, SurfaceChoice::Developer];
    if surfaces.into_iter().all(|it| settings.url_of(it).is_none()) {
        let message = format!("{message}: no URL of either surface is configured");
        return Check::failed("configuration", message).next(format!(
            "{}, or try it without the service: svc --sandbox doctor",
            session.command(&["init"])
        ));
    }
    Check::ok("configuration", message)
}

fn with_origin(setting: &Setting) -> String {
    format!("{} ({})", setting.value, setting.origin)
}

fn webhook_secret(session: &Session, settings: &Settings) -> Check {
    const NAME: &str = "webhook_secret";
    if let Ok(Some(origin)) = Secrets::origin(session) {
        return Check::ok(NAME, format!("set, not shown ({origin})"));
    }
    let Some(file) = settings.get("webhook_secret_file") else {
        return Check::skipped(NAME, "not configured");
    };
    match Secrets::from_file(std::path::Path::new(&file.value)) {
        Ok(_) => Check::ok(NAME, format!("file {} ({})", file.value, file.origin)),
        Err(failure) => Check {
            status: Status::Warning,
            ..Check::failed(NAME, failure.headline())
        }
        .next("svc webhook secret show --jq .secret > FILE"),
    }
}
