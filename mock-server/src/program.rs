//! The program: its options, what it prints, and when it ends.

use std::fmt;
use std::future::Future;
use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use serde::Serializer;
use svc_sdk::contract::Plan;
use svc_sdk::types::{ParseUsdError, Usd};

use crate::clock::{ClockMode, Speed};
use crate::serve::{BindError, Log, Server};
use crate::service::Service;
use crate::setup::Setup;
use crate::webhook_route::WebhookRoute;

/// The options of the program, for any command line that has it in it.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The first of four ports: open surface, developer surface and MCP, media, control.
    /// With 0, any four that are free
    #[arg(long, value_name = "PORT", default_value_t = 4010)]
    pub port_base: u16,

    /// How service time passes: with real time, or only when the control API advances it
    #[arg(long, value_name = "KIND", value_enum, default_value_t = ClockKind::Real)]
    pub clock: ClockKind,

    /// How many times as fast as real time service time passes
    #[arg(long, value_name = "FACTOR", default_value_t = Speed::default())]
    pub speed: Speed,

    /// Same seed, same requests at the same moments: same answers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// The plan of the workspaces: free, pro, startup, scale or enterprise
    #[arg(long, value_name = "PLAN", default_value = "free", value_parser = plan)]
    pub plan: Plan,

    /// What each workspace has to spend
    #[arg(long, value_name = "USD", default_value = "100", value_parser = balance)]
    pub balance_usd: Usd,

    /// Deliver webhooks for a public origin to a program on this machine, such as
    /// `https://hooks.example.com=http://127.0.0.1:9000`. May be given several times. Webhooks
    /// without a route are not sent
    #[arg(long = "webhook-route", value_name = "HTTPS_ORIGIN=HTTP_ORIGIN")]
    pub webhook_routes: Vec<WebhookRoute>,

    /// Print the addresses and keys as shell exports
    #[arg(long, conflicts_with = "json")]
    pub env: bool,

    /// Print the addresses and keys as one line of JSON, which is the default unless a person
    /// is looking
    #[arg(long)]
    pub json: bool,

    /// Whether a person is looking: standard output is a terminal.
    #[arg(skip = io::stdout().is_terminal())]
    pub terminal: bool,
}

/// How service time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockKind {
    /// With real time.
    Real,
    /// Only when it is advanced.
    Manual,
}

fn plan(text: &str) -> Result<Plan, String> {
    let plans = [
        Plan::Free,
        Plan::Pro,
        Plan::Startup,
        Plan::Scale,
        Plan::Enterprise,
    ];
    let known = plans.into_iter().find(|plan| plan.to_string() == text);
    known.ok_or_else(|| "a plan is free, pro, startup, scale or enterprise".to_owned())
}

fn balance(text: &str) -> Result<Usd, String> {
    let balance: Usd = text
        .parse()
        .map_err(|error: ParseUsdError| error.to_string())?;
    match balance >= Usd::ZERO {
        true => Ok(balance),
        false => Err("a balance is not less than nothing".to_owned()),
    }
}

impl Options {
    fn setup(&self) -> Setup {
        let clock_mode = match self.clock {
            ClockKind::Real => ClockMode::Real(self.speed),
            ClockKind::Manual => ClockMode::Manual,
        };
        let setup = Setup::default()
            .seed(self.seed)
            .plan(self.plan.clone())
            .balance(self.balance_usd)
            .clock_mode(clock_mode);
        self.webhook_routes
            .iter()
            .cloned()
            .fold(setup, Setup::route_webhooks)
    }

    fn print_addresses(&self, service: &Service, out: &mut impl Write) -> io::Result<()> {
        let environment = service.environment();
        if self.env {
            for (name, value) in environment {
                writeln!(out, "export {name}='{value}'")?;
            }
        } else if self.terminal && !self.json {
            for (name, value) in environment {
                writeln!(out, "{name:<23}  {value}")?;
            }
        } else {
            serde_json::Serializer::new(&mut *out).collect_map(environment)?;
            writeln!(out)?;
        }
        out.flush()
    }
}

/// Runs the mock until `shutdown`: says on `stdout` where it is once it answers, and on `log` what
/// goes wrong later.
///
/// # Errors
///
/// A port cannot be had, or `stdout` takes nothing.
pub async fn run(
    options: Options,
    stdout: &mut impl Write,
    log: Log,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let server = Server::bind(options.setup(), options.port_base, log).await?;
    options
        .print_addresses(&server, stdout)
        .map_err(Error::Output)?;
    shutdown.await;
    server.shutdown().await;
    Ok(())
}

/// Ends when the system or a person asks the program to end: SIGINT, SIGTERM, Ctrl-C.
///
/// # Errors
///
/// The signals cannot be listened for.
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    {
        Ok(async {
            let _ = tokio::signal::ctrl_c().await;
        })
    }
}

/// Why the program cannot run.
#[derive(Debug)]
pub enum Error {
    /// A port cannot be had.
    Bind(BindError),
    /// The addresses cannot be told.
    Output(io::Error),
}

impl From<BindError> for Error {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(error) => error.fmt(f),
            Self::Output(_) => f.write_str("cannot write to standard output"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind(error) => error.source(),
            Self::Output(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests;
