//! `svc api`: raw requests, sent to the surface that the path belongs to.

use clap::{Args, ValueEnum};
use serde_json::Value;
use svc_sdk::contract::{Auth, Method, Operation, RetryClass, Surface as Host};
use svc_sdk::types::IdempotencyKey;
use svc_sdk::{Call, ClientSurface, Developer, Open, RawResponse};

use crate::args::{Pair, SurfaceArg, SurfaceChoice};
use crate::clock;
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::input::read_json;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Api {
    /// HTTP method
    #[arg(value_name = "METHOD", ignore_case = true)]
    method: MethodChoice,
    /// Path, such as /v1/jobs
    #[arg(value_name = "PATH")]
    path: String,
    /// Query parameter; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    query: Vec<Pair>,
    /// Request body: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    body: Option<String>,
    /// Idempotency key [default: generated for operations that use one]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,
    #[command(flatten)]
    surface: SurfaceArg,
}

/// The HTTP methods. The service's operations use the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodChoice {
    /// Read
    Get,
    /// Write
    Post,
    Put,
    Patch,
    Delete,
    Head,
    Options,
}

impl From<MethodChoice> for Method {
    fn from(method: MethodChoice) -> Self {
        match method {
            MethodChoice::Get => Self::Get,
            MethodChoice::Post => Self::Post,
            MethodChoice::Put => Self::Put,
            MethodChoice::Patch => Self::Patch,
            MethodChoice::Delete => Self::Delete,
            MethodChoice::Head => Self::Head,
            MethodChoice::Options => Self::Options,
        }
    }
}

pub(crate) async fn run(session: &Session, args: Api) -> Result {
    let (path, query) = split_target(&args.path)?;
    let (surface, operation) = route(session, &args, path)?;
    let body = args.body.as_deref().map(|body| read_json("--body", body)).transpose()?;
    let raw = match surface {
        SurfaceChoice::Open => prepare::<Open>(session, args.method.into(), path, operation)?,
        SurfaceChoice::Developer => {
            prepare::<Developer>(session, args.method.into(), path, operation)?
        }
    };
    let mut raw = query.iter().fold(raw, |raw, (name, value)| raw.query(name, value));
    raw = args.query.iter().fold(raw, |raw, pair| raw.query(&pair.name, &pair.value));
    if let Some(body) = &body {
        raw = raw.body(body);
    }
    let retry_class = match operation {
        Some(operation) => operation.retry(),
        None if Method::from(args.method).is_read() => RetryClass::Safe,
        None => RetryClass::Never,
    };
    // Generated here rather than by the SDK, so that failure messages can include it.
    let key = match args.idempotency_key {
        None if retry_class.sends_idempotency_key() => Some(clock::idempotency_key()?),
        given => given,
    };
    if let Some(key) = &key {
        raw = raw.idempotency_key(key.clone());
    }
    let sent = tokio::select! {
        biased;
        sent = raw => sent,
        _ = session.interrupts.first() => return Err(with_key(interrupt_failure(retry_class), key.as_ref())),
    };
    let (response, failure) = match sent {
        Ok(response) => {
            let failure = check_body(&response, retry_class);
            (Some(response), failure)
        }
        Err(error) => {
            let (response, ambiguous) = (error.response().cloned(), error.is_ambiguous());
            let failure = mark_ambiguous(Failure::from(error), ambiguous, retry_class);
            (response, Some(failure))
        }
    };
    if let Some(response) = &response {
        print(session, response)?;
    }
    failure.map_or(Ok(()), |failure| Err(with_key(failure, key.as_ref())))
}

fn with_key(failure: Failure, key: Option<&IdempotencyKey>) -> Failure {
    failure.with_some(key.map(IdempotencyKey::as_str), Failure::with_idempotency_key)
}

fn prepare<S: ClientSurface>(
    session: &Session,
    method: Method,
    path: &str,
    operation: Option<Operation>,
) -> Result<Call<RawResponse>> {
    let access = match operation {
        Some(operation) if operation.auth() == Auth::Key => session.access::<S>()?,
        _ => session.access_without_key::<S>()?,
    };
    Ok(access.client.raw_request(method, path))
}

type Query = Vec<(String, String)>;

fn split_target(target: &str) -> Result<(&str, Query)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let dots =
        |part: &str| matches!(part.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    let plain = path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains(['#', '\\'])
        && !path.chars().any(|c| c.is_whitespace() || c.is_control())
        && !path.split('/').any(dots);
    if !plain {
        let why = format!(
            "invalid path `{target}`: expected exactly one slash at the start and no `.` or `..` segments"
        );
        return Err(Failure::usage(why).hint(
            Suggestion::from("the host is taken from the configuration: ")
                .svc(["config", "show", "--origin"]),
        ));
    }
    Ok((path, url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
}

fn route(session: &Session, args: &Api, path: &str) -> Result<(SurfaceChoice, Option<Operation>)> {
    let method = Method::from(args.method).as_str();
    let known = |host| Operation::route(host, method, path).map(|(operation, _)| operation);
    let (open, developer) = (known(Host::Open), known(Host::Developer));
    let surface = match (args.surface.surface, open, developer) {
        (Some(given), ..) => given,
        (None, Some(_), None) => SurfaceChoice::Open,
        (None, None, Some(_)) => SurfaceChoice::Developer,
        (None, ..) => session.surface(None)?,
    };
    let operation = match surface {
        SurfaceChoice::Open => open,
        SurfaceChoice::Developer => developer,
    };
    Ok((surface, operation))
}

fn print(session: &Session, response: &RawResponse) -> Result {
    match serde_json::from_slice::<Value>(&response.body) {
        Ok(value) => session.printer.print_document(&value, &response.body),
        Err(_) => session.printer.print_bytes(&response.body),
    }
}

/// Returns an ambiguous failure if the response to a request with side effects is not JSON.
fn check_body(response: &RawResponse, retry_class: RetryClass) -> Option<Failure> {
    let is_json = response.body.is_empty()
        || serde_json::from_slice::<serde::de::IgnoredAny>(&response.body).is_ok();
    let failure = || Failure::other("the response body is not valid JSON");
    (!is_json && has_effects(retry_class)).then(|| mark_ambiguous(failure(), true, retry_class))
}

fn interrupt_failure(retry_class: RetryClass) -> Failure {
    match has_effects(retry_class) {
        true => mark_ambiguous(Failure::interrupted_in_flight(), true, retry_class),
        false => Failure::interrupted(),
    }
}

/// Returns whether sending a request once more could have another effect.
const fn has_effects(retry_class: RetryClass) -> bool {
    !matches!(retry_class, RetryClass::Safe | RetryClass::Idempotent)
}

/// Gives an ambiguous failure of a request with side effects its exit code and a hint.
fn mark_ambiguous(failure: Failure, ambiguous: bool, retry_class: RetryClass) -> Failure {
    if !ambiguous || !has_effects(retry_class) {
        return failure;
    }
    let failure = failure.with_exit(Exit::Ambiguous);
    match retry_class {
        RetryClass::Key => failure.hint(
            "send it again with --idempotency-key and the same key: it is executed only once",
        ),
        _ => failure.hint("check whether it was executed before sending it again"),
    }
}
