//! `svc webhook listen`: a receiver that stores deliveries before it acknowledges them.
//!
//! `accept` accepts the connection, `receive` reads the delivery, verifies it with `keys`, and has
//! the inbox store it. Only then is the response 2xx. `forward` is a worker of the inbox, which
//! sends stored events to the target and retries as needed; several listeners can share a store.
//! All of them report an `event`, which the loop in this module prints.

mod accept;
mod forward;
mod keys;
mod receive;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use svc_sdk::transport;
use svc_webhook_inbox::{Inbox, MemoryStore, Worker};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::error::Failure;
use crate::listen::accept::accept;
use crate::listen::forward::Forwarder;
use crate::listen::receive::{Receiver, StdoutWriter, report};
use crate::output::write_stdout;
use crate::session::Session;
use crate::webhook::{StoreAddress, Target, store_failure};

pub(crate) use crate::listen::keys::{Keys, fetch_secrets};

/// The time that open requests get to finish after a stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// The maximum size of events in memory.
const MAX_MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// How long handled events are kept. The service retries for some hours, and a user may redeliver
/// later.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The time after which the events of a listener that was killed are free. Another one polls for them, and
/// takes them over within 15 s.
const LEASE_DURATION: Duration = Duration::from_secs(12);

#[derive(Debug)]
pub(crate) struct Options {
    /// The address to listen on. Port 0 is any free port.
    pub(crate) address: SocketAddr,
    /// The target to forward events to.
    pub(crate) target: Option<Target>,
    /// The store of the events. Without one they are stored in memory.
    pub(crate) store: Option<StoreAddress>,
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
    store: Option<String>,
    /// The number of events of earlier runs that are still to be forwarded.
    pending: u64,
    /// The fingerprints of the secrets, newest first.
    fingerprints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Listens until the process is asked to stop.
pub(crate) async fn listen(session: &Session, options: Options, keys: Keys) -> Result<(), Failure> {
    let inbox = forward::inbox(match &options.store {
        Some(address) => address.open().await?,
        None => Arc::new(MemoryStore::new().max_bytes(MAX_MEMORY_BYTES)),
    });
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
    let address = listener.local_addr().map_err(|error| io_failure("listen", &error))?;
    if !address.ip().is_loopback() {
        session.printer.warn(&format!("{address} is plain HTTP and can be reached from other machines: put a TLS proxy in front of it"));
    }

    // The signals are handled before the first line, because its reader may send one.
    let mut interrupted = pin!(session.interrupts.first());
    tokio::select! {
        biased;
        _ = &mut interrupted => return Ok(()),
        () = std::future::ready(()) => {}
    }

    let (stop, stopped_listener) = watch::channel(false);
    let stopped_worker = stopped_listener.clone();
    let (sender, mut events) = mpsc::channel(1024);
    let pending = unfinished_count(&inbox).await?;
    let ready = Ready {
        ready: true,
        url: format!("http://{address}"),
        port: address.port(),
        forward_to: options.target.as_ref().map(ToString::to_string),
        store: options.store.as_ref().map(ToString::to_string),
        pending,
        fingerprints: keys.fingerprints(),
        secret: options.secret,
    };
    let is_forwarding = options.target.is_some();
    let worker = match options.target {
        Some(target) => {
            let forwarder = Forwarder::new(
                target,
                transport::hyper(),
                Arc::clone(&keys),
                options.max_rejections,
                sender.clone(),
            );
            Some(forwarder.worker(inbox.clone()))
        }
        // The memory is for events that are still to be forwarded.
        None if options.store.is_none() => {
            Some(Worker::new(inbox.clone(), |_| async { Ok(()) }).purge_after(RETENTION))
        }
        None => None,
    };
    let receiver = Arc::new(Receiver::new(keys, inbox.clone(), sender));
    let mut accepting = pin!(tokio::spawn(accept(listener, receiver, stopped_listener)));
    write_stdout(session.printer.format_line(&ready, Ready::text)?.as_bytes())?;
    let working = worker.map(|worker| {
        let mut stop = stopped_worker;
        tokio::spawn(worker.run_until(async move { wait_for_stop(&mut stop).await }))
    });

    let mut stdout = StdoutWriter::default();
    let result = loop {
        tokio::select! {
            biased;
            _ = &mut interrupted => break Ok(()),
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
        if let Some(working) = working {
            let _ = working.await;
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
    if is_forwarding && let Ok(pending) = unfinished_count(&inbox).await {
        report_pending(session, pending, options.store.is_some());
    }
    result
}

/// Returns the number of events that are not handled yet.
async fn unfinished_count(inbox: &Inbox) -> Result<u64, Failure> {
    let stats = inbox.store().stats().await;
    let stats = stats.map_err(|error| store_failure(&error))?;
    Ok(stats.pending + stats.in_progress)
}

fn report_pending(session: &Session, pending: u64, on_disk: bool) {
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

/// Waits for the stop signal.
async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // The sender is dropped only when the listener has ended.
    let _ = stop.wait_for(|stop| *stop).await;
}
