//! `svc`: the command line of the service.
//!
//! Data goes to standard output, messages go to standard error, and exit codes are stable. Paid
//! requests are recorded in the `journal` before they are sent, so that an interrupted command can
//! be resumed.

mod args;
mod cli;
mod clock;
mod commands;
mod config;
mod error;
mod files;
mod help;
mod input;
mod interrupt;
mod join_all;
mod journal;
mod listen;
mod listing;
mod operation_commands;
mod output;
mod pricing;
mod random;
mod request_body;
mod resource;
mod sandbox;
mod session;
mod submit;
mod tables;
mod text;
mod types;
mod wait;
mod webhook;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::args::{Color, Format};
use crate::cli::{Cli, Command};
use crate::error::{Exit, Failure};
use crate::output::{Printer, PrinterOptions};
use crate::session::Session;

fn main() -> ExitCode {
    let cli = match cli::command_line()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
    {
        Ok(cli) => cli,
        Err(error) => return report_usage_error(&error).into(),
    };
    let command = match cli.command {
        Some(Command::Help { topic }) => {
            return report_usage_error(&help::topic_page(cli::command_line(), &topic)).into();
        }
        Some(command) => command,
        None => return report_usage_error(&help::welcome_page()).into(),
    };
    let session = match Session::new(cli.global.clone()) {
        Ok(session) => session,
        Err(failure) => return report_without_session(cli.global.output, &failure).into(),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let failure = Failure::other(format!("cannot start the async runtime: {error}"));
            session.printer.print_failure(&failure);
            return failure.exit().into();
        }
    };
    let exit = match runtime.block_on(cli::run(&session, command)) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            session.printer.print_failure(&failure);
            failure.exit()
        }
    };
    // Do not wait for blocking tasks, such as a keyring that does not respond.
    runtime.shutdown_background();
    exit.into()
}

/// Prints help to standard output, and usage errors to standard error: as JSON if the arguments
/// request it.
fn report_usage_error(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        return match error.print() {
            // A closed pipe, as after `| head`, is not an error.
            Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => Exit::Failure,
            _ => Exit::Done,
        };
    }
    let mut words =
        std::env::args().skip_while(|word| word != "-o" && !word.starts_with("--output"));
    let json = match (words.next().as_deref(), words.next().as_deref()) {
        (Some("-o" | "--output"), Some("json" | "jsonl"))
        | (Some("--output=json" | "--output=jsonl"), _) => true,
        _ => std::env::args().any(|word| word == "-ojson" || word == "-ojsonl"),
    };
    if json {
        let text = error.to_string();
        let text = text
            .trim_start_matches("error: ")
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        return report_without_session(Some(Format::Json), &Failure::usage(text));
    }
    let _ = error.print();
    Exit::Usage
}

fn report_without_session(format: Option<Format>, failure: &Failure) -> Exit {
    let options = PrinterOptions {
        format,
        jq: None,
        quiet: false,
        color: Color::Auto,
    };
    if let Ok(printer) = Printer::new(&options) {
        printer.print_failure(failure);
    }
    failure.exit()
}
