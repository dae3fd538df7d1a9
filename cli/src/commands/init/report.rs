//! The report of a setup: what works, and what to do next.

use std::path::Path;

use serde::Serialize;

use super::McpSetup;
use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, KeyOrigin};
use crate::error::Failure;
use crate::output::{Column, Table};
use crate::session::Session;
use crate::text::shell_quote;

/// What was set up.
#[derive(Serialize)]
pub(super) struct Report {
    profile: String,
    config_file: String,
    endpoints: Vec<Endpoint>,
    /// Commands to try next.
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
    /// The redacted key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl Report {
    pub(super) fn new(profile: &str, config_file: &Path) -> Self {
        Self {
            profile: profile.to_owned(),
            config_file: config_file.display().to_string(),
            endpoints: Vec::new(),
            next: Vec::new(),
        }
    }

    pub(super) fn add_surface(
        &mut self,
        surface: SurfaceChoice,
        url: &str,
        key: &ConfiguredKey,
        stored: &KeyOrigin,
    ) {
        self.endpoints.push(Endpoint {
            name: surface.as_str(),
            url: url.to_owned(),
            status: "ok",
            message: format!("the key is valid; stored {}", stored.stored_location()),
            key: Some(key.redacted()),
        });
    }

    pub(super) fn add_mcp(&mut self, mcp: &McpSetup) {
        let (status, message) = match mcp.tools {
            Some(count) => ("ok", format!("{count} tools")),
            None => (
                "not_checked",
                "not tried: it takes the developer surface's key".to_owned(),
            ),
        };
        self.endpoints.push(Endpoint {
            name: "mcp",
            url: mcp.url.clone(),
            status,
            message,
            key: None,
        });
    }

    /// Prints the report, and then the commands to try next.
    pub(super) fn print(mut self, session: &Session) -> Result<(), Failure> {
        self.next = self.next_commands(session)?;
        if self.endpoints.is_empty() && session.printer.prints_tables() {
            session.printer.note("nothing was set up");
            session.printer.note(
                "next: run svc mock serve in another terminal, and answer with its URLs and keys",
            );
        } else {
            session.printer.print_item(&self, Self::table)?;
        }
        for command in &self.next {
            session.printer.note(&format!("next: {command}"));
        }
        Ok(())
    }

    fn next_commands(&self, session: &Session) -> Result<Vec<String>, Failure> {
        let generate = "video generate \"a red fox in snow\" --download out";
        let profile = match session.settings()?.profile.origin {
            crate::config::Origin::Default => String::new(),
            _ => format!(" --profile {}", shell_quote(&self.profile)),
        };
        let has = |names: &[&str]| self.endpoints.iter().any(|it| names.contains(&it.name));
        Ok(if has(&["open", "developer"]) {
            vec![
                format!("svc {generate}{profile}"),
                format!("svc doctor{profile}"),
            ]
        } else {
            vec![
                format!("svc --sandbox {generate}"),
                format!("svc init{profile}"),
            ]
        })
    }

    fn table(&self) -> Table {
        let mut table =
            Table::new(["endpoint", "status", "url", "key", "result"].map(Column::required));
        for endpoint in &self.endpoints {
            table.row([
                endpoint.name,
                endpoint.status,
                &endpoint.url,
                endpoint.key.as_deref().unwrap_or("-"),
                &endpoint.message,
            ]);
        }
        table
    }
}
