//! `svc`: the command line of the service.
//!
//! Data goes to standard output, messages go to standard error, and exit codes are stable. Paid
//! requests are recorded in the `journal` before they are sent, so that an interrupted command can
//! be resumed.

mod args;
mod batch;
mod cli;
mod clock;
mod commands;
mod completion;
mod config;
mod download;
mod error;
mod follow;
mod help;
mod input;
mod interrupt;
mod journal;
mod listen;
mod listing;
mod output;
mod request;
mod resource;
mod session;
mod setup;
mod submit;
mod text;
mod usage_error;
mod version;
mod webhook;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use svc_sdk::contract::RetryClass;

use crate::args::{Color, Format};
use crate::cli::{Cli, Command};
use crate::commands::operations::command_of;
use crate::error::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::{Printer, PrinterOptions, write_stdout};
use crate::session::Session;
use crate::usage_error::{
    advise, check_text_options, plain_number_error, requested_color, requests_json, usage_failure,
};

/// Runs the command line of this process, and returns its exit code.
pub fn run() -> ExitCode {
    if let Some(exit) = completion::complete(cli::full_command_line) {
        return exit.into();
    }
    let arguments: Vec<_> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let parsed = cli::command_line().try_get_matches().and_then(|matches| {
        check_text_options(cli::full_command_line, &arguments)?;
        Ok((Cli::from_arg_matches(&matches)?, matches))
    });
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if error.use_stderr() => {
            let error = advise(error, &cli::full_command_line(), &arguments);
            return report_usage_error(&error, &arguments).into();
        }
        Err(help) => return report_usage_error(&help, &arguments).into(),
    };
    let command = match cli.command {
        Some(Command::Help { topic }) => {
            let page = help::topic_page(cli::command_line(), &topic);
            return report_usage_error(&page, &arguments).into();
        }
        Some(command) => command,
        None => return report_usage_error(&help::welcome_page(), &arguments).into(),
    };
    let session = match Session::new(cli.global.clone()) {
        Ok(session) => session,
        Err(failure) => return report_without_session(cli.global.output, &failure).into(),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let failure = Failure::other(format!("cannot start the async runtime: {error}"));
            session.printer.print_failure(&failure);
            return failure.exit().into();
        }
    };
    if cli::waits_for_service(&matches) {
        session.wait_for_service();
    }
    // The mock and its child processes handle signals themselves.
    if !matches!(command, Command::Mock(_)) {
        session.report_interrupts();
    }
    let exit = match runtime.block_on(cli::run(&session, command)) {
        Ok(()) => Exit::Done,
        Err(failure) => report_failure(&session, &matches, session.explain(failure)),
    };
    session.keep_statuses();
    // Do not wait for blocking tasks, such as a keyring that does not respond.
    runtime.shutdown_background();
    exit.into()
}

/// Prints instead a response that only lacks expected fields.
fn report_failure(session: &Session, matches: &ArgMatches, failure: Failure) -> Exit {
    let root = cli::full_command_line();
    let (command, path, given) = help::given_command(&root, matches);
    let answer = failure.unexpected_answer().filter(|(operation, _)| {
        let retry = operation.retry();
        matches!(retry, RetryClass::Safe | RetryClass::Idempotent)
            && help::is_command_line_of(&path, command_of(*operation))
    });
    let mut failure = match answer {
        Some((_, answer)) => match session.printer.print_unexpected(answer) {
            Ok(()) => return Exit::Done,
            Err(failure) => failure,
        },
        None => failure.with_field_flag(|field| help::flag_of_field(command, field)),
    };
    failure = failure.interrupted_by(session.interrupts.received().map(Interrupt::exit));
    if !session.is_sandbox() {
        let [group, verb] = [path.split(' ').nth(1), path.rsplit(' ').next()];
        let (group, verb) = (group.unwrap_or_default(), verb.unwrap_or_default());
        let id = command.get_positionals().next().map(|arg| arg.get_id().as_str());
        let id = id.and_then(|id| given.try_get_raw(id).ok()??.next()?.to_str());
        let has_verb = |noun: &str| {
            let group = root.find_subcommand(noun);
            group.is_some_and(|group| group.find_subcommand(verb).is_some())
        };
        failure = failure.with_kind_of_id([group, verb, id.unwrap_or_default()], &has_verb);
    }
    failure = failure.with_flags(&session.global.kept_flags());
    session.printer.print_failure(&failure);
    failure.exit()
}

/// Help goes to standard output, and usage errors to standard error, as JSON if asked for.
fn report_usage_error(error: &clap::Error, arguments: &[String]) -> Exit {
    let color = requested_color(arguments);
    if !error.use_stderr() {
        let text = styled_text(error, color.applies(io::stdout().is_terminal()));
        return match write_stdout(text.as_bytes()) {
            Ok(()) => Exit::Done,
            Err(failure) => failure.exit(),
        };
    }
    if requests_json(arguments) {
        return report_without_session(Some(Format::Json), &usage_failure(error));
    }
    let text = styled_text(error, color.applies(io::stderr().is_terminal()));
    // There is nowhere to report that standard error cannot be written.
    let _ = io::stderr().write_all(plain_number_error(&text).as_bytes());
    Exit::Usage
}

/// Renders the parser's error with the colors that the printer decides on.
fn styled_text(error: &clap::Error, is_colored: bool) -> String {
    let text = error.render();
    let text = if is_colored { text.ansi().to_string() } else { text.to_string() };
    text::shown(&text).into_owned()
}

fn report_without_session(format: Option<Format>, failure: &Failure) -> Exit {
    let options = PrinterOptions { format, jq: None, quiet: false, color: Color::Auto };
    if let Ok(printer) = Printer::new(&options) {
        printer.print_failure(failure);
    }
    failure.exit()
}
