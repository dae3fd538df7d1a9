//! `svc webhook listen`: a receiver that stores deliveries before it acknowledges them.
//!
//! `accept` accepts the connection, `receive` reads the delivery and verifies it with `keys`, and
//! `store` stores it. Only then is the response 2xx. `forward` sends stored deliveries to the
//! target and retries as needed. All of them report an `event`, which the loop in this module
//! prints.

mod accept;
mod delivery;
mod event;
mod event_log;
mod forward;
mod keys;
mod receive;
mod seen_events;
mod shutdown;
mod store;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use svc_sdk::transport;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use self::accept::accept;
use self::event::{StdoutWriter, report};
use self::forward::Forwarder;
pub(crate) use self::keys::{Keys, fetch_secrets};
use self::receive::Receiver;
use self::store::Store;
use crate::error::Failure;
use crate::interrupt::terminated;
use crate::output::write_stdout;
use crate::session::Session;
use crate::webhook::Target;

/// The time that open requests get to finish after a stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// The options of a listener.
#[derive(Debug)]
pub(crate) struct Options {
    /// The address to listen on. Port 0 is any free port.
    pub(crate) address: SocketAddr,
    /// The target to forward events to.
    pub(crate) target: Option<Target>,
    /// The file to store events in. Without one they are stored in memory.
    pub(crate) store: Option<PathBuf>,
    /// The number of times that the target may reject an event before forwarding stops.
    pub(crate) max_rejections: u32,
    /// The newest secret, if it is to be printed.
    pub(crate) secret: Option<String>,
}

/// The first line of output, printed when the listener is ready.
#[derive(Serialize)]
struct Ready {
    ready: bool,
    url: String,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    forward_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<PathBuf>,
    /// The number of events of earlier runs that are still to be forwarded.
    pending: usize,
    /// The fingerprints of the secrets, newest first.
    fingerprints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Listens until the process is asked to stop.
///
/// # Errors
///
/// Returns an error if the listener cannot be started, or can no longer receive.
pub(crate) async fn listen(session: &Session, options: Options, keys: Keys) -> Result<(), Failure> {
    let store = match &options.store {
        Some(path) => Store::open(path, crate::clock::unix_seconds())?,
        None => Store::in_memory(options.target.is_some()),
    };
    let store = store::shared(store);
    let keys = Arc::new(keys);
    let io_failure =
        |what: &str, error: &std::io::Error| Failure::other(format!("cannot {what}: {error}"));
    let address = options.address;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let failure = io_failure(&format!("listen on {address}"), &error);
        match error.kind() {
            ErrorKind::AddrNotAvailable => {
                failure.hint("--bind must be an address of this machine, such as 127.0.0.1")
            }
            _ => failure.hint("choose another port with --port, or any free port with --port 0"),
        }
    })?;
    let address = listener
        .local_addr()
        .map_err(|error| io_failure("listen", &error))?;
    if !address.ip().is_loopback() {
        session.printer.warn(&format!("{address} is plain HTTP and can be reached from other machines: put a TLS proxy in front of it"));
    }

    // The handlers are installed before the first line, because its reader may send a signal.
    let mut interrupted = pin!(session.interrupts.first());
    let mut terminated =
        pin!(terminated().map_err(|error| io_failure("install a signal handler", &error))?);
    tokio::select! {
        biased;
        () = &mut interrupted => return Ok(()),
        () = std::future::ready(()) => {}
    }

    let (stop, stopped) = watch::channel(false);
    let (sender, mut events) = mpsc::channel(1024);
    let pending = store::lock(&store).pending();
    let ready = Ready {
        ready: true,
        url: format!("http://{address}"),
        port: address.port(),
        forward_to: options.target.as_ref().map(ToString::to_string),
        store: options.store.clone(),
        pending: pending.len(),
        fingerprints: keys.fingerprints(),
        secret: options.secret,
    };
    let forwarder = options.target.map(|target| {
        Arc::new(Forwarder::new(
            target,
            transport::reqwest(),
            Arc::clone(&store),
            Arc::clone(&keys),
            options.max_rejections,
            sender.clone(),
            stopped.clone(),
        ))
    });
    let receiver = Arc::new(Receiver::new(
        keys,
        Arc::clone(&store),
        forwarder.clone(),
        sender,
    ));
    let mut accepting = pin!(tokio::spawn(accept(listener, receiver, stopped)));
    write_stdout(session.printer.format_line(&ready, Ready::text)?.as_bytes())?;
    if let Some(forwarder) = &forwarder {
        pending.into_iter().for_each(|id| forwarder.spawn(id));
    }

    let mut stdout = StdoutWriter::default();
    let result = loop {
        tokio::select! {
            biased;
            () = &mut interrupted => break Ok(()),
            () = &mut terminated => break Ok(()),
            flushed = stdout.flush(), if stdout.is_writing() => {
                if let Err(failure) = flushed {
                    break Err(failure);
                }
            }
            Some(event) = events.recv(), if !stdout.is_writing() => {
                if let Err(failure) = report(&session.printer, event).map(|text| stdout.write(text)) {
                    break Err(failure);
                }
            }
            result = &mut accepting => {
                let why = result.map_or_else(|error| error.to_string(), |error| error.to_string());
                break Err(Failure::other(format!("can no longer receive: {why}")));
            }
        }
    };
    stop.send_replace(true);
    let finish_requests = async {
        if result.is_ok() {
            let _ = (&mut accepting).await;
        }
        if let Some(forwarder) = &forwarder {
            forwarder.wait_idle().await;
        }
    };
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, finish_requests).await;
    let finish_output = async {
        while stdout.flush().await.is_ok()
            && let Ok(event) = events.try_recv()
            && let Ok(text) = report(&session.printer, event)
        {
            stdout.write(text);
        }
    };
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, finish_output).await;
    if forwarder.is_some() {
        let pending = store::lock(&store).pending().len();
        report_pending(session, pending, options.store.is_some());
    }
    result
}

fn report_pending(session: &Session, pending: usize, on_disk: bool) {
    match (pending, on_disk) {
        (0, _) => {}
        (pending, true) => session.printer.note(&format!(
            "{pending} events are not forwarded yet; the next run with this store forwards them"
        )),
        (pending, false) => session.printer.warn(&format!(
            "{pending} events were not forwarded and are lost; pass --store FILE to keep events on disk"
        )),
    }
}

impl Ready {
    fn text(&self) -> String {
        let mut text = format!("listening on {}", self.url);
        if let Some(target) = &self.forward_to {
            text.push_str(&format!(", forwarding to {target}"));
        }
        if let Some(secret) = &self.secret {
            text.push_str(&format!("\nsigning secret: {secret}"));
        }
        text
    }
}
