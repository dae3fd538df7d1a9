//! `svc webhook sign` and `svc webhook verify`: the signature of a delivery, offline.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use svc_webhook_verify::{
    DeliveryHeaders, Event, Signer, VerifiedSignature, Verifier, VerifyError,
};

use crate::args::SecretArgs;
use crate::clock;
use crate::error::{Failure, Result};
use crate::input::read_file;
use crate::output::Table;
use crate::session::Session;
use crate::webhook::Secrets;

#[derive(Args, Debug)]
pub(crate) struct Sign {
    /// Time of the signature, in Unix seconds [default: now]
    #[arg(long, value_name = "T")]
    timestamp: Option<u64>,
    #[command(flatten)]
    secret: SecretArgs,
    /// File with the raw body, or - for stdin
    #[arg(value_name = "FILE|-")]
    body: PathBuf,
}

#[derive(Serialize)]
struct Signed {
    timestamp: String,
    signature: String,
    fingerprint: String,
    headers: BTreeMap<&'static str, String>,
}

pub(super) fn sign(session: &Session, args: &Sign) -> Result {
    args.secret.check_stdin("FILE", Some(args.body.as_path()))?;
    let secrets = Secrets::require(session, args.secret.secret_file.as_deref())?;
    let body = read_file("FILE", &args.body)?;
    let timestamp = args.timestamp.unwrap_or_else(clock::unix_seconds);
    let headers = Signer::new(secrets.keys().clone()).sign(timestamp, &body);
    let signed = Signed {
        timestamp: headers.timestamp().to_owned(),
        signature: headers.signature().to_owned(),
        fingerprint: headers.fingerprint().to_owned(),
        headers: headers.pairs().map(|(name, value)| (name, value.to_owned())).into(),
    };
    session.printer.print_item(&signed, |signed| {
        let mut table = Table::key_value();
        for (name, value) in &signed.headers {
            table.field(name, Some(value));
        }
        table
    })
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Value of the header x-svc-webhook-timestamp
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    timestamp: String,
    /// Value of the header x-svc-webhook-signature
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    signature: String,
    /// Maximum difference between the timestamp and the current time; 0 disables the check
    #[arg(long, value_name = "SECONDS", default_value_t = Verifier::DEFAULT_TOLERANCE.as_secs())]
    tolerance: u64,
    #[command(flatten)]
    secret: SecretArgs,
    /// File with the raw body, or - for stdin
    #[arg(value_name = "FILE|-")]
    body: PathBuf,
}

#[derive(Serialize)]
struct VerifiedDelivery {
    valid: bool,
    timestamp: u64,
    fingerprint: Option<String>,
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
}

pub(super) fn verify(session: &Session, args: &Verify) -> Result {
    args.secret.check_stdin("FILE", Some(args.body.as_path()))?;
    let secret_file = args.secret.secret_file.as_deref();
    let secrets = match Secrets::find(session, secret_file)? {
        Some(secrets) => secrets,
        // Without a configured secret, `svc webhook listen` accepts what is signed with this one.
        None => match Secrets::made_by_trigger(session)? {
            Some(secrets) => secrets,
            None => Secrets::require(session, None)?,
        },
    };
    let body = read_file("FILE", &args.body)?;
    let headers = DeliveryHeaders { timestamp: &args.timestamp, signature: &args.signature };
    let verified = secrets
        .verifier(Duration::from_secs(args.tolerance))
        .verify(headers, &body, clock::unix_seconds())
        .map_err(|error| verification_failure(&error, &secrets))?;
    session
        .printer
        .print_item(&VerifiedDelivery::new(&secrets, verified, &body), VerifiedDelivery::table)
}

fn verification_failure(error: &VerifyError, secrets: &Secrets) -> Failure {
    let code = Some(error.code().to_owned());
    let failure = Failure::other(error.to_string())
        .context("the delivery was rejected")
        .with_response(code, None, None, None);
    let (source, fingerprint) = (secrets.source(), secrets.keys().newest().fingerprint());
    match error {
        VerifyError::SignatureMismatch => failure.hint(format!(
            "the newest secret of {source} has the fingerprint {fingerprint}, and a delivery names its own in \
             x-svc-webhook-secret-fingerprint; pass another secret with --secret-file FILE"
        )),
        _ => failure,
    }
}

impl VerifiedDelivery {
    fn new(secrets: &Secrets, verified: VerifiedSignature, body: &[u8]) -> Self {
        let key = secrets.keys().iter().nth(verified.key_index());
        // A genuine body may be an event that this version cannot parse.
        let event = Event::parse(body).ok();
        let event = event.as_ref();
        let text = |text: &str| text.to_owned();
        Self {
            valid: true,
            timestamp: verified.timestamp(),
            fingerprint: key.map(|key| key.fingerprint().to_string()),
            event: event.map(|event| event.event_type().to_string()),
            job_id: event.and_then(Event::job_id).map(text),
            run_id: event.and_then(Event::run_id).map(text),
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::key_value();
        table.field("valid", Some("yes"));
        table.fields(self, "timestamp, signed with=fingerprint, event, job=job_id, run=run_id");
        table
    }
}
