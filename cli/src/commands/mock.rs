//! `svc mock`: the mock server, built into this program.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::process::ExitStatus;

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_mock_server::program::{self, MockOptions, request_line};
use svc_mock_server::serve::Server;
use tokio::process::Command;

use crate::error::{Exit, Failure, Result};
use crate::interrupt::{Interrupt, Signals};
use crate::session::Session;
use crate::text::sanitize;

#[derive(Debug, Subcommand)]
pub(crate) enum Mock {
    /// Run a local mock of the service until interrupted
    ///
    /// Prints its URLs and API keys when it is ready, and logs each request with -v. Jobs, balances
    /// and keys are lost when it ends, unless the control API exports them.
    ///
    /// Words in a prompt decide how a job ends: `[mock:fail]`, `[mock:fail=CODE]`, `[mock:stuck]`,
    /// `[mock:seconds=N]`. The control API makes requests fail (POST /faults), moves the clock, ends
    /// jobs and more; its root lists the endpoints, and shows a dashboard in a browser.
    Serve(Box<program::Options>),
    /// Run a command against a mock of the service, and stop the mock when it ends
    ///
    /// Starts the mock on free ports, and puts its URLs, API keys and signing secret into the
    /// environment of the command, and a temporary folder for the history of `svc` unless
    /// SVC_STATE_DIR is set. The exit code is that of the command, 126 if it cannot be
    /// executed, 127 if it is not found, or 128 plus the number of the signal that ended it. If it
    /// fails, the last 20 requests to the mock are listed on stderr.
    ///
    /// Words in a prompt decide how a job ends, such as `[mock:fail]`, and $SVC_CONTROL_URL/faults makes
    /// requests fail: see `svc mock serve --help`.
    Exec(Box<Exec>),
}

pub(crate) async fn run(session: &Session, mock: Mock) -> Result {
    match mock {
        Mock::Serve(mut options) => {
            options.log_requests |= session.global.verbose > 0;
            serve(*options).await
        }
        Mock::Exec(args) => exec(session, *args).await,
    }
}

async fn serve(options: program::Options) -> Result {
    // Installed before the first line is printed: a reader of that line may send a signal at once.
    let end = program::shutdown_signal()
        .map_err(|error| Failure::other(format!("cannot install signal handlers: {error}")))?;
    program::run(options, &mut io::stdout(), log, end).await.map_err(|error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::other(format!("{error}{cause}")).context("could not run the mock")
    })
}

fn log(line: &str) {
    // A closed stderr must not stop the mock.
    let _ = writeln!(io::stderr(), "svc mock: {}", sanitize(line));
}

const LISTED_REQUESTS: usize = 20;
const STATE_DIR: &str = "SVC_STATE_DIR";

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

async fn exec(session: &Session, args: Exec) -> Result {
    let server = Server::bind(args.mock.setup(), args.port_base, log)
        .await
        .map_err(|error| Failure::other(error.to_string()).context("could not start the mock"))?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::usage("no command was given"));
    };
    // What is submitted to the mock is gone with it, and does not belong to the history of its user.
    let state_dir = match std::env::var_os(STATE_DIR).filter(|folder| !folder.is_empty()) {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(|error| {
            Failure::other(format!("cannot create a temporary folder: {error}"))
        })?),
    };
    let state_dir = state_dir.as_ref().map(|folder| (STATE_DIR, folder.path().into()));
    let variables = server.environment().into_iter().map(|(name, value)| (name, value.into()));
    let ended = run_child(program, arguments, variables.chain(state_dir)).await;
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

fn report(session: &Session, requests: &[Value], what: &str) {
    let requests: Vec<String> = requests.iter().filter_map(request_line).collect();
    let printer = &session.printer;
    let last = requests.get(requests.len().saturating_sub(LISTED_REQUESTS)..);
    let last = last.unwrap_or_default();
    let sent = match (last.len(), requests.len()) {
        (0, _) => "it sent no requests to the mock".to_owned(),
        (shown, all) if shown == all => format!("its requests to the mock ({all}), oldest first:"),
        (shown, all) => {
            format!("the last {shown} of its {all} requests to the mock, oldest first:")
        }
    };
    printer.note(&format!("svc mock: {what}; {sent}"));
    for request in last {
        printer.note(&format!("  {}", sanitize(request)));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Code(u8),
    Signal(i32),
}

/// Runs a program until it ends. SIGINT, SIGTERM and SIGHUP are forwarded to it.
async fn run_child(
    program: &OsStr,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> io::Result<Ended> {
    // Installed before the child starts, so that a signal never ends this process alone.
    let mut signals = Signals::new()?;
    let mut child = Command::new(program).args(arguments).envs(variables).spawn()?;
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(Ended::from(ended?)),
            signal = signals.next() => forward(signal, &child),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        // Codes of other platforms can be larger than those of this program.
        let code = status.code().unwrap_or(1);
        Self::Code(u8::try_from(code).unwrap_or(1))
    }
}

#[cfg(unix)]
fn forward(signal: Interrupt, child: &tokio::process::Child) {
    use rustix::process::{Pid, Signal, kill_process};

    let signal = match signal {
        // A terminal sends Ctrl-C to all of its foreground processes. Programs often take
        // a second one as the order to exit at once.
        Interrupt::CtrlC if is_in_foreground() => return,
        Interrupt::CtrlC => Signal::INT,
        Interrupt::Terminate => Signal::TERM,
        Interrupt::HangUp => Signal::HUP,
    };
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = pid.and_then(Pid::from_raw) {
        // A child that has just ended cannot receive it any more.
        let _ = kill_process(pid, signal);
    }
}

/// Returns whether this process belongs to the foreground processes of its terminal.
#[cfg(unix)]
fn is_in_foreground() -> bool {
    use rustix::stdio::{stderr, stdin, stdout};
    use rustix::termios::tcgetpgrp;

    let group = rustix::process::getpgrp();
    let stdio = [tcgetpgrp(stdin()), tcgetpgrp(stderr()), tcgetpgrp(stdout())];
    stdio.into_iter().flatten().any(|foreground| foreground == group)
}

#[cfg(not(unix))]
fn forward(_: Interrupt, _: &tokio::process::Child) {}
