//! `svc`: the command line of the service.
//!
//! Standard output is data, standard error is talk, the exit code is a promise. What is paid for is
//! on disk before it is sent (`journal`), and can always be taken up again.

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
use crate::cli::Cli;
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
            let failure = Failure::other(format!("cannot start: {error}"));
            session.printer.print_failure(&failure);
            return failure.exit().into();
        }
    };
    let exit = match runtime.block_on(cli::run(&session, cli.command)) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            session.printer.print_failure(&failure);
            failure.exit()
        }
    };
    // A keyring that still thinks, or a file system that still writes, keeps nobody here.
    runtime.shutdown_background();
    exit.into()
}

/// Help goes to standard output; what cannot be understood is bad usage, as JSON where that was
/// asked for.
fn report_usage_error(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        return match error.print() {
            // Nobody reads the help any more: nothing is left to do.
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
