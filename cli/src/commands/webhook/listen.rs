//! `svc webhook listen`: its flags. What it does is in `listen`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use svc_sdk::{Developer, developer};
use svc_webhook_verify::Verifier;

use crate::args::SecretArgs;
use crate::error::Failure;
use crate::listen::{Keys, Options, fetch_secrets, listen};
use crate::session::Session;
use crate::webhook::{Secrets, Target};

/// The flags of `svc webhook listen`.
#[derive(Args, Debug)]
pub(crate) struct Listen {
    /// Sends each event on to that URL, byte for byte: https, or http on this machine.
    #[arg(long, value_name = "URL")]
    forward_to: Option<Target>,
    /// Keeps events in that file, through crashes and restarts [default: in memory].
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// The port; 0 is any that is free.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// How far a timestamp may be from now, in the past and in the future; 0 leaves it unchecked.
    #[arg(long, value_name = "SECONDS", default_value_t = Verifier::DEFAULT_TOLERANCE.as_secs())]
    tolerance: u64,
    /// How often the target may refuse an event (3xx, 4xx) before it is given up; while the target
    /// is down, answers 5xx or 429, it is tried for as long as this runs.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    refusals: u32,
    /// Prints the signing secret in the first line, for a program that verifies too.
    #[arg(long)]
    print_secret: bool,
    #[command(flatten)]
    secret: SecretArgs,
}

/// Runs it.
pub(super) async fn run(session: &Session, args: Listen) -> Result<(), Failure> {
    let (secrets, client) = secrets(session, &args.secret).await?;
    let options = Options {
        address: SocketAddr::new(args.bind, args.port),
        target: args.forward_to,
        store: args.store,
        max_rejections: args.refusals,
        secret: args.print_secret.then(|| secrets.newest().to_owned()),
    };
    let keys = Keys::new(&secrets, Duration::from_secs(args.tolerance), client);
    listen(session, options, keys).await
}

/// The secrets that are configured; where there are none and a key of the developer surface is,
/// those of the service.
async fn secrets(
    session: &Session,
    args: &SecretArgs,
) -> Result<(Secrets, Option<developer::Client>), Failure> {
    let secret_file = args.secret_file.as_deref();
    if let Some(secrets) = Secrets::find(session, secret_file)? {
        return Ok((secrets, None));
    }
    let access = match session.access::<Developer>() {
        Ok(access) => access,
        Err(why) => {
            let missing = Secrets::missing();
            let why = why.headline();
            return Err(missing.hint(format!(
                "or have it fetched from the service, which cannot be done now: {why}"
            )));
        }
    };
    let secrets = fetch_secrets(&access.client).await.map_err(|failure| {
        failure.context("could not fetch the signing secret from the service")
    })?;
    secrets.redact(session);
    Ok((secrets, Some(access.client)))
}
