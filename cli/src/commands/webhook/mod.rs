//! `svc webhook`: tools for receivers of webhooks.
//!
//! `secret` and `test` call the service; the others work offline.

mod inbox;
mod signing;
mod trigger;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use clap::{Args, Subcommand};
use svc_sdk::{Developer, developer};
use svc_webhook_verify::Verifier;

use crate::args::SecretArgs;
use crate::error::Result;
use crate::listen::{Options, listen};
use crate::session::Session;
use crate::webhook::{Keys, Secrets, StoreAddress, Target, fetch_secrets};

#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Show and rotate the workspace's signing secret
    #[command(subcommand)]
    Secret(signing::Secret),
    /// Send a signed test event from the service to a URL
    Test(trigger::Test),
    /// Receive webhooks on this machine: verify, store and forward them
    ///
    /// Prints one line when it is ready, and one for each event. Runs until Ctrl-C, or until it can
    /// no longer receive events.
    ///
    /// Without a configured secret, that of the service is fetched; where no key of the developer
    /// surface is configured either, only events of `svc webhook trigger` are accepted.
    Listen(Listen),
    /// Have received events handled again, also while `svc webhook listen` runs
    Replay(inbox::Replay),
    /// List, show, replay and purge received events
    #[command(subcommand)]
    Inbox(inbox::Inbox),
    /// Verify the signature of a delivery (offline)
    ///
    /// The exit code is 0 if the delivery is genuine and recent, and 1 if it is rejected; the reason
    /// is printed to stderr.
    Verify(signing::Verify),
    /// Sign a body as the service does (offline)
    Sign(signing::Sign),
    /// Create and sign an event, and send it to a receiver (does not call the service)
    ///
    /// Without a configured secret it is signed with one that is made once, which `svc webhook listen`
    /// accepts.
    ///
    /// The exit code is 0 if the receiver returns a 2xx status, 1 if it returns another status, and
    /// 10 if it cannot be reached.
    Trigger(trigger::Trigger),
}

pub(crate) async fn run(session: &Session, webhook: Webhook) -> Result {
    match webhook {
        Webhook::Secret(args) => signing::secret(session, args).await,
        Webhook::Test(args) => trigger::send_test(session, args).await,
        Webhook::Listen(args) => listen_on(session, args).await,
        Webhook::Replay(args) => inbox::replay(session, args).await,
        Webhook::Inbox(args) => inbox::run(session, args).await,
        Webhook::Verify(args) => signing::verify(session, &args),
        Webhook::Sign(args) => signing::sign(session, &args),
        Webhook::Trigger(args) => trigger::trigger(session, args).await,
    }
}

#[derive(Args, Debug)]
pub(crate) struct Listen {
    /// URL to forward events to, byte for byte: HTTPS, or HTTP on this machine
    #[arg(long, value_name = "URL")]
    forward_to: Option<Target>,
    /// Store for events, which survive crashes and restarts: a file, the URL of a store that several
    /// processes can share (sqlite:FILE, postgres://…, redis://…, nats://…), or memory [default: a
    /// file in the state directory] [env: SVC_WEBHOOK_STORE]
    #[arg(long, value_name = "FILE|URL|memory")]
    store: Option<StoreAddress>,
    /// Port to listen on; 0 selects a free port [default: 9010, or a free port if that is in use]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
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

async fn listen_on(session: &Session, args: Listen) -> Result {
    let store = StoreAddress::resolve(args.store, session)?;
    let (secrets, client) = secrets(session, &args.secret).await?;
    let options = Options {
        address: args.bind,
        port: args.port,
        target: args.forward_to,
        store,
        max_rejections: args.refusals,
        secret: args.print_secret.then(|| secrets.newest().to_owned()),
    };
    let mut keys = Keys::new(&secrets, Duration::from_secs(args.tolerance), client);
    if !session.is_sandbox() {
        keys = keys.with_trigger_file(Secrets::trigger_file(session)?);
    }
    listen(session, options, keys).await
}

/// Without configured secrets, returns those of the service, and its client for later rotations. Without the
/// service's API key, only the local events of `svc webhook trigger` are accepted.
async fn secrets(
    session: &Session,
    args: &SecretArgs,
) -> Result<(Secrets, Option<developer::Client>)> {
    let secret_file = args.secret_file.as_deref();
    if let Some(secrets) = Secrets::find(session, secret_file)? {
        return Ok((secrets, None));
    }
    let access = match session.access::<Developer>() {
        Ok(access) => access,
        Err(why) => {
            let why = why.headline();
            session.printer.warn(&format!(
                "no signing secret is configured, and none can be fetched from the service ({why}): only \
                 events of svc webhook trigger are accepted; for those of the service, pass \
                 --secret-file FILE or set SVC_WEBHOOK_SECRET"
            ));
            return Ok((Secrets::of_trigger(session)?, None));
        }
    };
    let secrets = fetch_secrets(&access.client).await.map_err(|failure| {
        failure.context("could not fetch the signing secret from the service")
    })?;
    secrets.redact(session);
    Ok((secrets, Some(access.client)))
}
