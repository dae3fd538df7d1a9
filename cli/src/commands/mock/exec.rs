//! `svc mock exec`: a command in the environment of a mock.

use std::ffi::OsString;

use clap::Args;
use serde_json::Value;
use svc_mock_server::program::{MockOptions, request_line};
use svc_mock_server::serve::Server;

use super::child::{Ended, run_child};
use super::log;
use crate::error::{Exit, Failure};
use crate::session::Session;
use crate::text::sanitize;

/// How many requests are listed if the command fails.
const LISTED_REQUESTS: usize = 20;

/// The flags of `svc mock exec`.
#[derive(Args, Debug)]
pub(crate) struct Exec {
    /// First of four consecutive ports, or 0 for any four free ports
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port_base: u16,
    #[command(flatten)]
    mock: MockOptions,
    /// Command to run, and its arguments
    #[arg(
        value_names = ["COMMAND", "ARG"],
        num_args = 1..,
        required = true,
        last = true,
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    command: Vec<OsString>,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Exec) -> Result<(), Failure> {
    let server = Server::bind(args.mock.setup(), args.port_base, log)
        .await
        .map_err(|error| Failure::other(error.to_string()).context("could not start the mock"))?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::usage("no command was given"));
    };
    let ended = run_child(program, arguments, server.environment()).await;
    let requests = server.requests(0);
    server.shutdown().await;

    let shown = sanitize(&program.to_string_lossy());
    let code = match ended {
        Ok(Ended::Code(0)) => return Ok(()),
        Ok(Ended::Code(code)) => {
            report(session, &requests, &format!("`{shown}` exited with {code}"));
            code
        }
        Ok(Ended::Signal(signal)) => {
            let what = format!("`{shown}` was ended by signal {signal}");
            report(session, &requests, &what);
            u8::try_from(signal).unwrap_or_default().saturating_add(128)
        }
        Err(error) => {
            let (exit, why) = match error.kind() {
                std::io::ErrorKind::NotFound => (127, "command not found".to_owned()),
                _ => (126, error.to_string()),
            };
            let why = format!("cannot run `{shown}`: {why}");
            return Err(Failure::new(Exit::Command(exit), why));
        }
    };
    Err(Failure::already_reported(Exit::Command(code)))
}

/// Lists the last requests that the mock received.
fn report(session: &Session, requests: &[Value], what: &str) {
    let requests: Vec<String> = requests.iter().filter_map(request_line).collect();
    let printer = &session.printer;
    let last = requests.get(requests.len().saturating_sub(LISTED_REQUESTS)..);
    let last = last.unwrap_or_default();
    match (last.len(), requests.len()) {
        (0, _) => printer.note(&format!(
            "svc mock: {what}; it sent no requests to the mock"
        )),
        (shown, all) if shown == all => printer.note(&format!(
            "svc mock: {what}; its requests to the mock ({all}), oldest first:"
        )),
        (shown, all) => printer.note(&format!(
            "svc mock: {what}; the last {shown} of its {all} requests to the mock, oldest first:"
        )),
    }
    for request in last {
        printer.note(&format!("  {}", sanitize(request)));
    }
}
