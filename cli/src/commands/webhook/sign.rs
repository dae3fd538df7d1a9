//! `svc webhook sign`: the signature headers of a body.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use svc_webhook_verify::{SignatureHeaders, Signer};

use crate::args::SecretArgs;
use crate::clock;
use crate::error::Failure;
use crate::input::read_file;
use crate::output::Table;
use crate::session::Session;
use crate::webhook::Secrets;

/// The flags of `svc webhook sign`.
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
    /// The same values as HTTP headers.
    headers: BTreeMap<&'static str, String>,
}

/// Runs the command.
pub(super) fn run(session: &Session, args: &Sign) -> Result<(), Failure> {
    args.secret.check_stdin("FILE", Some(args.body.as_path()))?;
    let secrets = Secrets::require(session, args.secret.secret_file.as_deref())?;
    let body = read_file("FILE", &args.body)?;
    let timestamp = args.timestamp.unwrap_or_else(clock::unix_seconds);
    let headers = Signer::new(secrets.keys().clone()).sign(timestamp, &body);
    session
        .printer
        .print_item(&Signed::from(headers), |signed| {
            let mut table = Table::key_value();
            for (name, value) in &signed.headers {
                table.field(name, Some(value));
            }
            table
        })
}

impl From<SignatureHeaders> for Signed {
    fn from(headers: SignatureHeaders) -> Self {
        let pairs = headers
            .pairs()
            .map(|(name, value)| (name, value.to_owned()));
        Self {
            timestamp: headers.timestamp().to_owned(),
            signature: headers.signature().to_owned(),
            fingerprint: headers.fingerprint().to_owned(),
            headers: pairs.into(),
        }
    }
}
