//! `svc webhook verify`: a delivery that was written down, held against the signing secrets.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use svc_webhook_verify::{Event, VerifiedSignature, Verifier, VerifyError};

use crate::args::SecretArgs;
use crate::clock;
use crate::error::Failure;
use crate::input::read_file;
use crate::output::Table;
use crate::session::Session;
use crate::webhook::Secrets;

/// The flags of `svc webhook verify`. It ends with 0 where the delivery is genuine and fresh, with
/// 1 where it is refused; then the reason is on standard error.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// The header x-svc-webhook-timestamp, as it came.
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    timestamp: String,
    /// The header x-svc-webhook-signature, as it came.
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    signature: String,
    /// How far the timestamp may be from now, in the past and in the future; 0 leaves it unchecked.
    #[arg(long, value_name = "SECONDS", default_value_t = Verifier::DEFAULT_TOLERANCE.as_secs())]
    tolerance: u64,
    #[command(flatten)]
    secret: SecretArgs,
    /// The raw body as it came, or - for standard input.
    #[arg(value_name = "FILE|-")]
    body: PathBuf,
}

#[derive(Serialize)]
struct VerifiedDelivery {
    valid: bool,
    timestamp: u64,
    /// Which of the secrets it was signed with.
    fingerprint: Option<String>,
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
}

/// Runs it.
pub(super) fn run(session: &Session, args: &Verify) -> Result<(), Failure> {
    let secrets = Secrets::require(session, args.secret.secret_file.as_deref())?;
    let body = read_file("FILE", &args.body)?;
    let verifier =
        Verifier::new(secrets.keys().clone()).tolerance(Duration::from_secs(args.tolerance));
    let verified = verifier
        .verify(
            &args.timestamp,
            &args.signature,
            &body,
            clock::unix_seconds(),
        )
        .map_err(verification_failure)?;
    session.printer.print_item(
        &VerifiedDelivery::new(&secrets, verified, &body),
        VerifiedDelivery::table,
    )
}

/// Why a delivery is refused, as the command's failure.
fn verification_failure(error: VerifyError) -> Failure {
    let code = Some(error.code().to_owned());
    Failure::other(error.to_string())
        .context("the delivery is refused")
        .with_response(code, None, None, None)
}

impl VerifiedDelivery {
    fn new(secrets: &Secrets, verified: VerifiedSignature, body: &[u8]) -> Self {
        let key = secrets.keys().iter().nth(verified.key_index());
        // A genuine body need not be an event that this build can read.
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
        table.field("timestamp", Some(self.timestamp));
        table.field("signed with", self.fingerprint.as_ref());
        table.field("event", self.event.as_ref());
        table.field("job", self.job_id.as_ref());
        table.field("run", self.run_id.as_ref());
        table
    }
}
