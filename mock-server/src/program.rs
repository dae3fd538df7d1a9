//! The command line program: its options, its output and its shutdown.

use std::fmt;
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::pin::pin;
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serializer;
use serde_json::{Value, json};
use svc_sdk::contract::Plan;
use svc_sdk::types::Usd;
use tokio::sync::oneshot;
use tokio::time::sleep;
use url::Host;

use crate::addresses::PublicUrl;
use crate::clock::{ClockMode, Speed, WebhookTimestamps};
use crate::engine::{Settings, UndocumentedKeys};
use crate::serve::{BindError, Log, Server};
use crate::service::Service;
use crate::setup::Setup;
use crate::webhook_route::WebhookRoute;

/// How often new requests are logged.
const LOG_INTERVAL: Duration = Duration::from_millis(100);

/// The options of the program, for any command line that includes it.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// First of four consecutive ports: open surface, developer surface and MCP, media, control
    /// API. Use 0 for any four free ports
    #[arg(long, value_name = "PORT", default_value_t = 4010)]
    pub port_base: u16,

    /// Address to listen on. Everyone who can reach it can control the mock: use 0.0.0.0 in
    /// containers only
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,

    /// Name or address of this machine in the URLs of the mock, such as `mock` in docker-compose.
    /// The control API and the dashboard accept it beside loopback names [default: that of --bind]
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub host: Option<Host>,

    /// URL under which clients reach the mock, for example that of a published port, or
    /// `SURFACE=URL` for one of open, developer, mcp, media and control; repeatable. A URL without a
    /// surface is that of the open surface, and the others are on the next three ports
    #[arg(long = "public-url", value_name = "[SURFACE=]URL", conflicts_with = "urls_from_host")]
    pub public_urls: Vec<PublicUrl>,

    /// Use the host name of each request in the URLs of its response
    #[arg(long)]
    pub urls_from_host: bool,

    /// Name that requests to the control API may have in `Host` and `Origin`, and that receivers of
    /// webhooks may have, besides those of this machine; repeatable
    #[arg(long = "allow-host", value_name = "NAME", value_parser = host_name)]
    pub allowed_hosts: Vec<String>,

    /// Origin of web pages that may read responses, such as http://localhost:5173; repeatable
    #[arg(long = "cors", value_name = "ORIGIN")]
    pub cors_origins: Vec<String>,

    /// Maximum number of connections of each port: one more closes the longest idle one
    #[arg(long, value_name = "N", default_value_t = NonZeroU32::new(512).unwrap_or(NonZeroU32::MIN))]
    pub max_connections: NonZeroU32,

    /// The options of the mock itself.
    #[command(flatten)]
    pub mock: MockOptions,

    /// Print the addresses and keys as shell exports
    #[arg(long, conflicts_with = "json")]
    pub env: bool,

    /// Print the addresses and keys as one line of JSON (default if stdout is not a
    /// terminal)
    #[arg(long, hide = true)]
    pub json: bool,

    /// Log each request, other than those to the control API: method, path, status and error code
    #[arg(long)]
    pub log_requests: bool,

    /// Exit when standard input is closed, as it is when the process that started the mock ends
    #[arg(long)]
    pub exit_on_stdin_eof: bool,

    /// Format of the log; json logs each request with its time, workspace, key, operation, duration
    /// and request id, and every line is an object
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Whether standard output is a terminal.
    #[arg(skip = io::stdout().is_terminal())]
    pub terminal: bool,
}

/// The options of the mock itself, for command lines that choose its ports and output on their own.
#[derive(Args, Clone, Debug)]
pub struct MockOptions {
    /// Clock: `real` follows real time, `manual` stands still until the control API advances it, and
    /// with it the responses to submits with the mode `sync` or `subscribe`
    #[arg(long, value_name = "KIND", value_enum, default_value_t = ClockKind::Real)]
    pub clock: ClockKind,

    /// Speed of the real clock, as a multiple of real time
    #[arg(long, value_name = "FACTOR", default_value_t = Speed::default())]
    pub speed: Speed,

    /// Seed of all generated values: the same seed and requests give the same responses
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// Plan of the workspaces: free, pro, startup, scale or enterprise
    #[arg(long, value_name = "PLAN", default_value = "free", value_parser = plan)]
    pub plan: Plan,

    /// Initial balance of each workspace
    #[arg(long, value_name = "USD", default_value = "100", value_parser = balance, allow_negative_numbers = true)]
    pub balance_usd: Usd,

    /// Deliver webhooks that are addressed to a public origin to a local server instead, for example
    /// `https://hooks.example.com=http://127.0.0.1:9000`; repeatable. Webhooks without a
    /// route are not sent
    #[arg(long = "webhook-route", value_name = "HTTPS_ORIGIN=HTTP_ORIGIN")]
    pub webhook_routes: Vec<WebhookRoute>,

    /// Run Actions by their schedules, which are paused otherwise
    #[arg(long)]
    pub schedules: bool,

    /// Clock that the timestamps of webhooks show: wall, so that receivers that check their age accept
    /// them, or service
    #[arg(long, value_name = "CLOCK", value_enum, default_value_t = WebhookTimestamps::Wall)]
    pub webhook_timestamps: WebhookTimestamps,

    /// How to treat an `Idempotency-Key` on operations that do not document one: ignore (a repeated
    /// submit is charged again) or honor
    #[arg(long, value_name = "TREATMENT", value_enum, default_value_t = UndocumentedKeys::Ignore)]
    pub undocumented_keys: UndocumentedKeys,

    /// Number of reads that the rate limit of a key allows for each write
    #[arg(long, value_name = "N", default_value_t = Settings::default().read_multiple, value_parser = clap::value_parser!(u32).range(1..))]
    pub read_multiple: u32,

    /// Days of service time after which jobs, runs and webhook deliveries that have ended are
    /// dropped, with their ledger entries (the sum stays). Without it, everything is kept
    #[arg(long = "retain", value_name = "DAYS")]
    pub retain_days: Option<NonZeroU32>,

    /// Number of writes per minute of a plan, for example `enterprise=5000`; repeatable
    #[arg(long, value_name = "PLAN=N", value_parser = plan_limit)]
    pub writes_per_minute: Vec<(Plan, u32)>,

    /// Maximum number of jobs in flight of a plan, for example `free=4`; repeatable
    #[arg(long, value_name = "PLAN=N", value_parser = plan_limit)]
    pub concurrent_jobs: Vec<(Plan, u32)>,
}

/// The formats of logged requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Method, path, status and error code.
    Text,
    /// An object of JSON.
    Json,
}

/// The kinds of clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockKind {
    /// Follows real time.
    Real,
    /// Stands still until it is advanced.
    Manual,
}

fn plan(text: &str) -> Result<Plan, String> {
    let plans = [Plan::Free, Plan::Pro, Plan::Startup, Plan::Scale, Plan::Enterprise];
    let known = plans.into_iter().find(|plan| plan.to_string() == text);
    known.ok_or_else(|| "expected free, pro, startup, scale or enterprise".to_owned())
}

fn plan_limit(text: &str) -> Result<(Plan, u32), String> {
    let (name, limit) = text
        .split_once('=')
        .ok_or_else(|| format!("invalid limit `{text}`: expected PLAN=N, such as free=4"))?;
    let limit = limit.parse().ok().filter(|limit| *limit > 0);
    let limit =
        limit.ok_or_else(|| format!("invalid limit `{text}`: expected a number of at least 1"))?;
    Ok((plan(name)?, limit))
}

fn host(text: &str) -> Result<Host, String> {
    Host::parse(text).map_err(|error| format!("invalid host `{text}`: {error}"))
}

/// Parses a host name, which is compared with those of requests and routes whatever their port.
fn host_name(text: &str) -> Result<String, String> {
    let expected = "expected a name or address without scheme and port, such as test";
    let name = Host::parse(text);
    name.map(|name| name.to_string()).map_err(|_| format!("invalid host `{text}`: {expected}"))
}

fn balance(text: &str) -> Result<Usd, String> {
    let balance = text.parse().ok().filter(|balance| *balance >= Usd::ZERO);
    balance.ok_or_else(|| {
        format!(
            "invalid amount `{text}`: expected dollars of at least 0 with at most six decimals, \
             such as 0.50"
        )
    })
}

impl MockOptions {
    /// Returns the configuration of a mock with these options.
    pub fn setup(&self) -> Setup {
        let clock_mode = match self.clock {
            ClockKind::Real => ClockMode::Real(self.speed),
            ClockKind::Manual => ClockMode::Manual,
        };
        let setup = Setup::default()
            .seed(self.seed)
            .plan(self.plan.clone())
            .balance(self.balance_usd)
            .clock_mode(clock_mode)
            .undocumented_keys(self.undocumented_keys)
            .webhook_timestamps(self.webhook_timestamps)
            .read_multiple(self.read_multiple);
        let setup = if self.schedules { setup.schedules() } else { setup };
        let setup = match self.retain_days {
            Some(days) => setup.retain_days(days),
            None => setup,
        };
        let setup = self
            .writes_per_minute
            .iter()
            .cloned()
            .fold(setup, |setup, (plan, writes)| setup.writes_per_minute(plan, writes));
        let setup = self
            .concurrent_jobs
            .iter()
            .cloned()
            .fold(setup, |setup, (plan, jobs)| setup.concurrent_jobs(plan, jobs));
        self.webhook_routes.iter().cloned().fold(setup, Setup::route_webhooks)
    }
}

impl Options {
    fn setup(&self) -> Setup {
        let setup = self.mock.setup().bind(self.bind).max_connections(self.max_connections);
        let setup = if self.urls_from_host { setup.urls_from_host() } else { setup };
        let setup = self.public_urls.iter().cloned().fold(setup, Setup::public_url);
        let setup = self.allowed_hosts.iter().fold(setup, Setup::allow_host);
        let setup = self.cors_origins.iter().fold(setup, Setup::cors);
        match self.host.clone() {
            Some(host) => setup.host(host),
            None => setup,
        }
    }

    /// Returns whether others can reach the mock, but not the URLs that it responds with.
    fn lacks_reachable_urls(&self) -> bool {
        let is_named = self.host.is_some() || !self.public_urls.is_empty() || self.urls_from_host;
        self.bind.is_unspecified() && !is_named
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
            writeln!(
                out,
                "\nRunning until Ctrl-C. Try it in another terminal: svc init asks for these URLs and keys."
            )?;
        } else {
            serde_json::Serializer::new(&mut *out).collect_map(environment)?;
            writeln!(out)?;
        }
        out.flush()
    }
}

/// Runs the mock until `shutdown` completes.
///
/// Prints the addresses and keys to `stdout` as soon as the mock accepts connections, and reports
/// the address of the dashboard, later problems and, if the options say so, each request to `log`. With
/// the format JSON, the log goes to standard error instead, so that its lines have no prefix.
///
/// # Errors
///
/// Returns an error if a port cannot be bound or `stdout` cannot be written.
pub async fn run(
    options: Options,
    stdout: &mut impl Write,
    log: Log,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ProgramError> {
    let log = match options.log_format {
        LogFormat::Text => log,
        LogFormat::Json => log_message,
    };
    let server = Server::bind(options.setup(), options.port_base, log).await?;
    options.print_addresses(&server, stdout).map_err(ProgramError::Output)?;
    if options.lacks_reachable_urls() {
        log(
            "the URLs in responses lead to 127.0.0.1: for other machines and containers, use --host, \
             --public-url or --urls-from-host",
        );
    }
    #[cfg(feature = "dashboard")]
    log(&format!("dashboard: {}/", server.control_url()));
    let mut requests = RequestLogger::new(&server, options.log_format);
    let logs_requests = options.log_requests || options.log_format == LogFormat::Json;
    let mut shutdown = pin!(shutdown);
    let mut stdin_eof = pin!(stdin_eof());
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            () = &mut stdin_eof, if options.exit_on_stdin_eof => break,
            () = sleep(LOG_INTERVAL), if logs_requests => requests.write(&server, log),
        }
    }
    if logs_requests {
        requests.write(&server, log);
    }
    server.shutdown().await;
    Ok(())
}

/// Completes at the end of standard input. It is read by a thread of its own, which does not delay the end of the
/// process as a task of the runtime would.
async fn stdin_eof() {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = sender.send(());
    });
    let _ = receiver.await;
}

/// Logs each request once. Holds the position in the request log.
struct RequestLogger {
    last: u64,
    generation: u64,
    format: LogFormat,
}

impl RequestLogger {
    fn new(service: &Service, format: LogFormat) -> Self {
        Self { last: 0, generation: service.generation(), format }
    }

    fn write(&mut self, service: &Service, log: Log) {
        let generation = service.generation();
        if generation != self.generation {
            // After a reset or restore, the sequence numbers start again.
            (self.last, self.generation) = (0, generation);
        }
        for request in service.requests(self.last) {
            let number = request.get("seq").and_then(Value::as_u64);
            self.last = number.unwrap_or(self.last);
            match self.format {
                LogFormat::Text => request_line(&request).iter().for_each(|line| log(line)),
                LogFormat::Json => log_json(&json_line(&request, service)),
            }
        }
    }
}

/// Logs a text as an object with this `message`.
fn log_message(text: &str) {
    log_json(&json!({"message": text}));
}

/// Writes a line of JSON to standard error. A failure to do so cannot be reported anywhere.
fn log_json(line: &Value) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Returns a request of [`Service::requests`] as an object for the log.
fn json_line(request: &Value, service: &Service) -> Value {
    let field = |name: &str| request.get(name).cloned().unwrap_or_default();
    let duration = request.get("seq").and_then(Value::as_u64);
    json!({
        "time": field("at"),
        "workspace": field("workspace"),
        "key": field("key"),
        "method": field("method"),
        "path": field("path"),
        "operation": field("operation"),
        "status": field("status"),
        "code": field("code"),
        "duration_ms": duration.and_then(|seq| service.duration_ms(seq)),
        "request_id": field("request_id"),
    })
}

/// Formats a request of [`Service::requests`]: method, path, status and error code. Returns `None` for
/// those to the control API.
#[must_use]
pub fn request_line(request: &Value) -> Option<String> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    if text("surface") == Some("control") {
        return None;
    }
    let status = match request.get("status").and_then(Value::as_u64) {
        Some(status) => status.to_string(),
        None => "no response".to_owned(),
    };
    let line = format!(
        "{:<6} {}  {status}  {}",
        text("method").unwrap_or_default(),
        text("path").unwrap_or_default(),
        text("code").unwrap_or_default()
    );
    Some(line.trim_end().to_owned())
}

/// Returns a future that completes on SIGINT, SIGTERM or Ctrl-C.
///
/// # Errors
///
/// Returns an error if the signal handlers cannot be installed.
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

/// The error returned when the program cannot run.
#[derive(Debug)]
pub enum ProgramError {
    /// A port cannot be bound.
    Bind(BindError),
    /// The addresses cannot be printed.
    Output(io::Error),
}

impl From<BindError> for ProgramError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(error) => error.fmt(f),
            Self::Output(_) => f.write_str("cannot write to standard output"),
        }
    }
}

impl std::error::Error for ProgramError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind(error) => error.source(),
            Self::Output(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests;
