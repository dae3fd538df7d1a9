//! `svc webhook trigger` and `svc webhook test`: events that are sent to a receiver.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use svc_sdk::types::TestDeliveryCreate;
use svc_sdk::{Developer, transport};
use svc_webhook_verify::{Event, SignatureHeaders, Signer};

use crate::args::{BodyArgs, SecretArgs};
use crate::clock;
use crate::error::{ClientCode, Exit, Failure, Result, Suggestion};
use crate::input::read_file;
use crate::listen::DEFAULT_PORT;
use crate::output::Table;
use crate::request::body::RequestBody;
use crate::session::Session;
use crate::text::nearest;
use crate::webhook::{Secrets, Target, fill, samples};

const RECEIVER_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
pub(crate) struct Trigger {
    /// Event type: job.completed, job.failed, job.canceled, action.run.terminal,
    /// format.run.terminal, agent.run.terminal or webhook.test; with --payload, any other
    #[arg(value_name = "EVENT")]
    event: String,
    /// URL of the receiver: HTTPS, or HTTP on this machine [default: that of `svc webhook listen`,
    /// http://127.0.0.1:9010]
    #[arg(long, value_name = "URL")]
    to: Option<Target>,
    /// Id of the job in the event [default: random]
    #[arg(long, value_name = "ID", conflicts_with = "payload")]
    job_id: Option<String>,
    /// Id of the run in the event [default: random]
    #[arg(long, value_name = "ID", conflicts_with_all = ["payload", "job_id"])]
    run_id: Option<String>,
    /// File with the whole raw body, or - for stdin; its `event` must be EVENT
    #[arg(long, value_name = "FILE|-")]
    payload: Option<PathBuf>,
    /// Time of the signature, in Unix seconds [default: now]
    #[arg(long, value_name = "T")]
    timestamp: Option<u64>,
    #[command(flatten)]
    secret: SecretArgs,
}

#[derive(Serialize)]
struct DeliveryReport {
    event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    to: String,
    timestamp: String,
    status: u16,
}

pub(super) async fn trigger(session: &Session, args: Trigger) -> Result {
    args.secret.check_stdin("--payload", args.payload.as_deref())?;
    let to = match args.to.clone() {
        Some(to) => to,
        None => format!("http://127.0.0.1:{DEFAULT_PORT}").parse().map_err(Failure::other)?,
    };
    let body = match &args.payload {
        Some(path) => read_file("--payload", path)?,
        None => sample_body(&args)?.to_string().into_bytes(),
    };
    let event = Event::parse(&body).map_err(|error| Failure::usage(error.to_string()))?;
    let (found, expected) = (event.event_type(), &args.event);
    if found.as_str() != *expected {
        let why = format!("invalid payload: its event is `{found}`, expected `{expected}`");
        return Err(Failure::usage(why));
    }
    let secrets = secrets(session, &args.secret)?;
    let timestamp = args.timestamp.unwrap_or_else(clock::unix_seconds);
    let headers = Signer::new(secrets.keys().clone()).sign(timestamp, &body);
    let status = tokio::select! {
        biased;
        status = send(session, &to, &headers, body) => status,
        _ = session.interrupts.first() => Err(Failure::interrupted()),
    };
    let report = DeliveryReport {
        event: args.event,
        job_id: event.job_id().map(str::to_owned),
        run_id: event.run_id().map(str::to_owned),
        to: to.to_string(),
        timestamp: headers.timestamp().to_owned(),
        status: status?,
    };
    let fields = "event, job=job_id, run=run_id, to, status";
    session.printer.print_item(&report, |report| Table::of(report, fields))?;
    match report.status {
        200..=299 => Ok(()),
        status => {
            let failure = Failure::other(format!("the receiver returned status {status}"))
                .with_client_code(ClientCode::HTTP_ERROR);
            let sandbox = ["--sandbox", "webhook", "trigger", &report.event, "--to", &report.to];
            Err(match status {
                401 if !session.is_sandbox() => failure
                    .hint("if it has another signing secret, pass that with --secret-file FILE")
                    .hint(Suggestion::from("for svc --sandbox webhook listen: ").svc(sandbox)),
                _ => failure,
            })
        }
    }
}

fn secrets(session: &Session, args: &SecretArgs) -> Result<Secrets> {
    let found = Secrets::find(session, args.secret_file.as_deref())?;
    if session.is_sandbox() || found.is_some() {
        return found.map_or_else(|| Secrets::require(session, None), Ok);
    }
    let secrets = Secrets::of_trigger(session)?;
    session.printer.note(&format!(
        "signed with a secret of this command, which svc webhook listen accepts; for another receiver:\n\
        export SVC_WEBHOOK_SECRET={}",
        secrets.newest()
    ));
    Ok(secrets)
}

fn sample_body(args: &Trigger) -> Result<serde_json::Value> {
    let mut samples = samples();
    let mut sample = samples.remove(&args.event).ok_or_else(|| {
        let names: Vec<_> = samples.keys().map(String::as_str).collect();
        let guess = nearest(&args.event, names.iter().copied());
        let guess = guess.map(|name| format!(": did you mean `{name}`?")).unwrap_or_default();
        Failure::usage(format!("unknown event type `{}`{guess}", args.event))
            .hint(format!("use one of: {}", names.join(", ")))
            .hint("or pass the whole body with --payload FILE")
    })?;
    let mut prefixes = ["job", "run"].into_iter();
    let prefix = prefixes.find(|prefix| sample.get(format!("{prefix}_id")).is_some());
    let given_id = match (prefix, &args.job_id, &args.run_id) {
        (Some("job"), id, None) | (Some("run"), None, id) | (None, None, id @ None) => id,
        _ => {
            let flag = if args.job_id.is_some() { "--job-id" } else { "--run-id" };
            let why = format!("{flag} does not apply to `{}` events", args.event);
            return Err(Failure::usage(why));
        }
    };
    let id = match given_id {
        Some(id) => id.clone(),
        None => random_id(prefix.unwrap_or_default())?,
    };
    let (request_id, at) = (random_id("req")?, clock::now().to_string());
    fill(&mut sample, &[("{id}", &id), ("{request_id}", &request_id), ("{at}", &at)]);
    Ok(sample)
}

/// Returns a random id, so that a receiver does not discard the event as a duplicate.
fn random_id(prefix: &str) -> Result<String> {
    Ok(format!("{prefix}_{}", clock::random_hex(10)?))
}

async fn send(
    session: &Session,
    to: &Target,
    headers: &SignatureHeaders,
    body: Vec<u8>,
) -> Result<u16> {
    let mut request = to.post(Bytes::from(body));
    let json = http::HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    request.headers_mut().extend(http::HeaderMap::from(headers.clone()));
    let sending = transport::hyper().send(request);
    match tokio::time::timeout(RECEIVER_TIMEOUT, sending).await {
        Ok(Ok(response)) => Ok(response.status().as_u16()),
        Ok(Err(error)) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            let why = format!("could not reach {to}{}", cause.unwrap_or_default());
            let listen = session.command(&["webhook", "listen"]);
            Err(Failure::new(Exit::Unreachable, why)
                .hint(Suggestion::from("start a receiver: ").command(listen)))
        }
        Err(_) => {
            let why = format!("no response from {to} within {} s", RECEIVER_TIMEOUT.as_secs());
            Err(Failure::new(Exit::Unreachable, why))
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Test {
    /// Public HTTPS URL to send the event to
    #[arg(value_name = "URL", required_unless_present_any = ["params", "input"])]
    url: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
}

pub(super) async fn send_test(session: &Session, args: Test) -> Result {
    let client = session.access::<Developer>()?.client;
    let (url, fields) =
        RequestBody::read(&args.body)?.with("url", args.url)?.finish_with_text("url")?;
    let mut body = TestDeliveryCreate::new(url);
    body.extra = fields.into();
    let is_local = body.url.starts_with("http://") && body.url.parse::<Target>().is_ok();
    let local = is_local.then(|| {
        let trigger = ["webhook", "trigger", "webhook.test", "--to", &body.url];
        Suggestion::from("for a receiver on this machine, use: ").svc(trigger)
    });
    let sent = session.send(client.webhooks().send_test(&body)).await;
    let delivery = sent.map_err(|failure| {
        let failure = failure.context("could not send a test event");
        local.into_iter().fold(failure, Failure::hint)
    })?;
    let fields = "delivery=delivery_id, event, to=url, status";
    session.printer.print_item(&delivery, |delivery| Table::of(delivery, fields))?;
    session.printer.note(
        "the service sends the event after this answer, and does not say what became of it: look at the \
         receiver",
    );
    Ok(())
}
