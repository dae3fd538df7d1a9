//! `svc webhook listen`: a local receiver, implemented in `crate::listen`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use svc_sdk::{Developer, developer};
use svc_webhook_verify::Verifier;

use crate::args::SecretArgs;
use crate::error::Failure;
use crate::listen::{Keys, Options, fetch_secrets, listen};
use crate::session::Session;
use crate::webhook::{Secrets, StoreAddress, Target};

/// The flags of `svc webhook listen`.
#[derive(Args, Debug)]
pub(crate) struct Listen {
    /// URL to forward events to, byte for byte: HTTPS, or HTTP on this machine
    #[arg(long, value_name = "URL")]
    forward_to: Option<Target>,
    /// Store for events, so that they survive crashes and restarts: a file, or the URL of a store
    /// that several processes can share (sqlite:FILE, postgres://…, redis://…, nats://…) [default:
    /// in memory] [env: SVC_WEBHOOK_STORE]
    #[arg(long, value_name = "FILE|URL")]
    store: Option<StoreAddress>,
    /// Port to listen on; 0 selects a free port
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Maximum difference between a timestamp and the current time; 0 disables the check
    #[arg(long, value_name = "SECONDS", default_value_t = Verifier::DEFAULT_TOLERANCE.as_secs())]
    tolerance: u64,
    /// Stop forwarding an event after the target rejected it N times with 3xx or 4xx; 5xx, 429 and
    /// connection failures are retried without a limit
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    refusals: u32,
    /// Include the signing secret in the first line of the output, for a target that verifies signatures
    #[arg(long)]
    print_secret: bool,
    #[command(flatten)]
    secret: SecretArgs,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Listen) -> Result<(), Failure> {
    let store = match args.store {
        Some(store) => Some(store),
        None => StoreAddress::from_environment(session)?,
    };
    let (secrets, client) = secrets(session, &args.secret).await?;
    let options = Options {
        address: SocketAddr::new(args.bind, args.port),
        target: args.forward_to,
        store,
        max_rejections: args.refusals,
        secret: args.print_secret.then(|| secrets.newest().to_owned()),
    };
    let keys = Keys::new(&secrets, Duration::from_secs(args.tolerance), client);
    listen(session, options, keys).await
}

/// Returns the configured secrets. If there are none, fetches them from the service, and returns the
/// client for fetching them again after a rotation.
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
                "or let svc fetch it from the service, which failed: {why}"
            )));
        }
    };
    let secrets = fetch_secrets(&access.client).await.map_err(|failure| {
        failure.context("could not fetch the signing secret from the service")
    })?;
    secrets.redact(session);
    Ok((secrets, Some(access.client)))
}
