//! `svc webhook secret`, `sign` and `verify`: the secret with which the service signs deliveries, and their
//! signatures, offline.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use svc_sdk::Developer;
use svc_sdk::types::{SigningSecret, Timestamp};
use svc_webhook_verify::{DeliveryHeaders, Event, Signer, Verifier, VerifyError};

use crate::args::SecretArgs;
use crate::clock;
use crate::error::{Exit, Failure, Result, SuggestedCommand, Suggestion};
use crate::input::read_file;
use crate::output::Table;
use crate::session::Session;
use crate::webhook::Secrets;

#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Show the signing secret: its fingerprint in the table, and in JSON the secret itself
    ///
    /// Also shows any rotation in progress.
    Show,
    /// Rotate the signing secret
    ///
    /// For 24 hours, deliveries are also signed with the previous secret. A second rotation within
    /// that time revokes the previous secret immediately.
    Rotate(Rotate),
}

#[derive(Args, Debug)]
pub(crate) struct Rotate {
    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,
}

pub(super) async fn secret(session: &Session, secret: Secret) -> Result {
    match secret {
        Secret::Show => {
            let client = session.access::<Developer>()?.client;
            let secret = client.webhooks().signing_secret().await?;
            session.printer.print_item(&secret, |secret| secret_table(session, secret))
        }
        Secret::Rotate(args) => rotate(session, &args).await,
    }
}

async fn rotate(session: &Session, args: &Rotate) -> Result {
    let client = session.access::<Developer>()?.client;
    let current = client.webhooks().signing_secret().await.map_err(|error| {
        Failure::from(error).context("could not read the signing secret; nothing was rotated")
    })?;
    let consequence = rotation_effect(&current);
    if args.yes {
        session.printer.note(&consequence);
    } else if !session.printer.can_prompt() {
        return Err(Failure::usage(
            "cannot prompt for confirmation: stdin or stderr is not a terminal",
        )
        .hint(consequence)
        .hint("pass --yes to rotate without a prompt"));
    } else {
        let question = format!("{consequence}\nRotate the signing secret?");
        session.confirm(&question, "nothing was rotated").await?;
    }
    let sent = session.send(client.webhooks().rotate_signing_secret()).await;
    let rotated = sent.map_err(|failure| {
        let failure = failure.context("could not rotate the signing secret");
        match failure.exit() {
            Exit::Ambiguous => failure.hint(
                Suggestion::from(
                    "check whether the fingerprint has changed before rotating again: ",
                )
                .svc(["webhook", "secret", "show"]),
            ),
            _ => failure,
        }
    })?;
    session.printer.print_item(&rotated, |secret| secret_table(session, secret))?;
    session.printer.note(&format!(
        "configure receivers with both secrets, the newest first; print the new one with: {}",
        show_command(session)
    ));
    Ok(())
}

/// Returns the command that prints the secret. A second rotation would revoke it.
fn show_command(session: &Session) -> SuggestedCommand {
    session.command(&["webhook", "secret", "show", "--jq", ".secret"])
}

fn rotation_effect(current: &SigningSecret) -> String {
    let newest = current.fingerprint.as_deref().unwrap_or("in use");
    let rotation = current.rotation.as_ref();
    let until = rotation.and_then(|it| {
        let until = it.previous_valid_until.as_ref();
        match until.map(Timestamp::unix_seconds) {
            Some(until_second) if until_second <= clock::now().as_second() => None,
            Some(_) => until.map(ToString::to_string),
            // A time that cannot be parsed is assumed to be in the future, which is the worse case.
            None => it.extra.get_as("previous_valid_until"),
        }
    });
    match until {
        Some(until) => {
            let previous = rotation.and_then(|it| it.previous_fingerprint.as_deref());
            let previous = previous.map(|print| format!(" {print}")).unwrap_or_default();
            format!(
                "a rotation is in progress until {until}; rotating again revokes the previous secret{previous} immediately: receivers without a newer secret will reject all deliveries; secret {newest} stays valid for 24 hours"
            )
        }
        None => format!(
            "for 24 hours, deliveries are also signed with secret {newest}; a second rotation within that time would revoke it immediately"
        ),
    }
}

fn secret_table(session: &Session, secret: &SigningSecret) -> Table {
    let rotation = secret.rotation.as_ref();
    let mut table = Table::key_value();
    table.field("fingerprint", secret.fingerprint.as_ref());
    let hidden = |_| format!("(not shown; printed by: {})", show_command(session));
    table.field("secret", secret.secret.as_ref().map(hidden));
    table.field("created", secret.created_at.as_ref());
    table.field("previous fingerprint", rotation.and_then(|it| it.previous_fingerprint.as_ref()));
    table.field("previous valid until", rotation.and_then(|it| it.previous_valid_until.as_ref()));
    table
}

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
    // A genuine body may be an event that this version cannot parse.
    let event = Event::parse(&body).ok();
    let event = event.as_ref();
    let key = secrets.keys().iter().nth(verified.key_index());
    let delivery = VerifiedDelivery {
        valid: true,
        timestamp: verified.timestamp(),
        fingerprint: key.map(|key| key.fingerprint().to_string()),
        event: event.map(|event| event.event_type().to_string()),
        job_id: event.and_then(Event::job_id).map(str::to_owned),
        run_id: event.and_then(Event::run_id).map(str::to_owned),
    };
    session.printer.print_item(&delivery, |delivery| {
        let mut table = Table::key_value();
        table.field("valid", Some("yes"));
        table.fields(delivery, "timestamp, signed with=fingerprint, event, job=job_id, run=run_id");
        table
    })
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
