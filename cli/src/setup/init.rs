//! `svc init`: URLs and API keys of a first run, verified and stored.

use std::path::Path;

use serde::Serialize;

use crate::args::SurfaceChoice;
use crate::config::{ConfigFile, DEFAULT_PROFILE, KeyOrigin, Origin};
use crate::error::{Exit, Result};
use crate::input::check_single_stdin_reader;
use crate::output::Table;
use crate::output::layout::required;
use crate::session::Session;
use crate::setup;
use crate::setup::plan::{Init, McpSetup, SetupPlan, SurfaceSetup, asked_plan, given_plan};
use crate::text::shell_quote;

pub(crate) async fn init(session: &Session, args: Init) -> Result {
    session.check_is_configurable("init")?;
    check_single_stdin_reader(
        &SurfaceChoice::ALL.map(|surface| {
            (surface.names().key_flag, args.key_file(surface).and_then(Path::to_str))
        }),
    )?;
    let plan = match session.printer.can_prompt() {
        true => asked_plan(session, &args).await?,
        false => given_plan(session, &args, true).await?,
    };
    let report = store(session, plan)?;
    if !report.endpoints.is_empty() {
        offer_as_default(session).await?;
    }
    report.print(session)
}

async fn offer_as_default(session: &Session) -> Result {
    let settings = session.settings()?;
    let profile = &settings.profile.value;
    let default = settings.file.default_profile()?;
    if default.as_deref().unwrap_or(DEFAULT_PROFILE) == profile || !session.printer.can_prompt() {
        return Ok(());
    }
    let question = format!("Make {profile} the default profile?");
    match session.confirm(&question, "the default profile stays").await {
        Ok(()) => {
            let mut file = ConfigFile::load(settings.file.path().to_owned())?;
            file.set_default_profile(Some(profile));
            file.save()
        }
        Err(failure) if failure.exit() == Exit::Interrupted => Err(failure),
        Err(_) => Ok(()),
    }
}

/// Stores the URLs in the profile, and the keys that are not stored yet.
fn store(session: &Session, plan: SetupPlan) -> Result<SetupReport> {
    let settings = session.settings()?;
    let profile = settings.profile.value.clone();
    let mut file = ConfigFile::load(settings.file.path().to_owned())?;
    let mut endpoints = Vec::new();
    let mut changed = false;
    for setup in &plan.surfaces {
        changed |= set_url(&mut file, &profile, setup.surface.names().url, &setup.url)?;
    }
    if let Some(mcp) = &plan.mcp {
        changed |= set_url(&mut file, &profile, "mcp_url", &mcp.url)?;
    }
    // The keys are stored first: without its URL a key is unused, but a URL without its key would
    // make commands fail.
    let mut why_no_keyring = None;
    for SurfaceSetup { surface, url, key } in &plan.surfaces {
        let stored = match &key.origin {
            stored @ KeyOrigin::Stored { .. } => stored.clone(),
            _ => {
                let (origin, why_not) = setup::store_key(session, *surface, &key.key, url)?;
                why_no_keyring = why_no_keyring.or(why_not);
                origin
            }
        };
        let stored = stored.stored_location();
        endpoints.push(Endpoint {
            name: surface.as_str(),
            url: url.clone(),
            status: "ok",
            message: format!("the key is valid; stored {stored}"),
            key: Some(key.redacted()),
            stored: Some(stored),
        });
    }
    setup::note_unused_keyring(session, why_no_keyring.as_deref());
    if changed {
        file.save()?;
    }
    if let Some(McpSetup { url, tools }) = plan.mcp {
        let (status, message) = match tools {
            Some(count) => ("ok", format!("{count} tools")),
            None => ("not_checked", "not tried: it takes the developer surface's key".to_owned()),
        };
        endpoints.push(Endpoint { name: "mcp", url, status, message, key: None, stored: None });
    }
    for SurfaceSetup { surface, url, key } in &plan.surfaces {
        setup::warn_of_overrides(session, *surface, &key.key, url);
    }
    let config_file = file.path().display().to_string();
    Ok(SetupReport { profile, config_file, endpoints, next: Vec::new() })
}

/// Sets a URL of the profile. Returns whether it was different before.
fn set_url(file: &mut ConfigFile, profile: &str, name: &str, url: &str) -> Result<bool> {
    if file.get(profile, name)?.as_deref() == Some(url) {
        return Ok(false);
    }
    file.set(profile, name, url)?;
    Ok(true)
}

#[derive(Serialize)]
pub(super) struct SetupReport {
    profile: String,
    config_file: String,
    endpoints: Vec<Endpoint>,
    next: Vec<String>,
}

#[derive(Serialize)]
struct Endpoint {
    /// `open`, `developer` or `mcp`.
    name: &'static str,
    url: String,
    /// `ok`, or `not_checked` without a key.
    status: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip)]
    stored: Option<String>,
}

impl SetupReport {
    pub(super) fn print(mut self, session: &Session) -> Result {
        self.next = self.next_commands(session)?;
        if self.endpoints.is_empty() && session.printer.is_table() {
            session.printer.note("nothing was set up");
            session.printer.note(
                "next: run svc mock serve in another terminal, and answer with its URLs and keys",
            );
        } else {
            session.printer.print_item(&self, Self::table)?;
            let stored = self.endpoints.iter().find_map(|it| it.stored.as_ref());
            if let Some(stored) = stored.filter(|_| session.printer.is_table()) {
                session.printer.note(&format!("the keys are stored {stored}"));
            }
        }
        for command in &self.next {
            session.printer.note(&format!("next: {command}"));
        }
        let missing = SurfaceChoice::ALL.into_iter().find(|it| !self.has(it.as_str()));
        if let Some(missing) = missing.filter(|it| self.has(it.other().as_str())) {
            let login = session.resume_command_on(missing, &["auth", "login"]);
            session.printer.note(&format!("for {}, also: {login}", setup::only_on(missing)));
        }
        Ok(())
    }

    fn next_commands(&self, session: &Session) -> Result<Vec<String>> {
        let generate = "video generate \"a red fox in snow\" --download out";
        let profile = match session.settings()?.profile.origin {
            Origin::Default | Origin::File => String::new(),
            _ => format!(" --profile {}", shell_quote(&self.profile)),
        };
        Ok(if SurfaceChoice::ALL.iter().any(|it| self.has(it.as_str())) {
            vec![format!("svc {generate}{profile}"), format!("svc doctor{profile}")]
        } else {
            vec![format!("svc --sandbox {generate}"), format!("svc init{profile}")]
        })
    }

    fn has(&self, name: &str) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.name == name)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["endpoint", "status", "url", "key", "result"].map(required));
        for endpoint in &self.endpoints {
            table.row([
                endpoint.name,
                endpoint.status,
                &endpoint.url,
                endpoint.key.as_deref().unwrap_or("-"),
                if endpoint.stored.is_some() { "the key is valid" } else { &endpoint.message },
            ]);
        }
        table
    }
}
