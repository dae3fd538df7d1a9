//! The accept loop. Nothing that a client does ends it; the system does, once it has refused for
//! close to a minute.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::receive::Receiver;
use super::shutdown::stopped;

/// Connections at once; more wait in the system's queue.
const MAX_CONNECTIONS: u32 = 256;
/// For a request's head, and between requests.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(15);
/// For what is under way when it ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// The first pause after an accept that failed for want of something, such as file descriptors.
const FIRST_ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The pauses after which it is given up, each twice as long as the one before: 51 s in all.
const MAX_ACCEPT_PAUSES: u32 = 10;
/// The head of a request may take up so much.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Where connections come from.
pub(super) trait Accept: Send + 'static {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl Accept for TcpListener {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send {
        Self::accept(self)
    }
}

/// Accepts until told to stop, then waits for the connections to end. Gives back why it stopped.
pub(super) async fn accept(
    listener: impl Accept,
    receiver: Arc<Receiver>,
    mut stop: watch::Receiver<bool>,
) -> io::Error {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
    let mut failures = 0;
    let error = loop {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listener.accept().await)
        };
        let (slot, accepted) = select! {
            () = stopped(&mut stop) => break io::ErrorKind::Interrupted.into(),
            next = next => next,
        };
        match (slot, accepted) {
            (Ok(slot), Ok((stream, _))) => {
                failures = 0;
                let connection = serve(stream, Arc::clone(&receiver), stop.clone());
                tokio::spawn(async move {
                    connection.await;
                    drop(slot);
                });
            }
            (Err(closed), _) => break io::Error::other(closed),
            (_, Err(error)) if is_client_error(&error) => {}
            (_, Err(error)) if failures >= MAX_ACCEPT_PAUSES => break error,
            (_, Err(_)) => {
                sleep(FIRST_ACCEPT_PAUSE * 2_u32.pow(failures)).await;
                failures += 1;
            }
        }
    };
    drop(listener);
    let _ = timeout(SHUTDOWN_GRACE, slots.acquire_many(MAX_CONNECTIONS)).await;
    error
}

/// Whether an accept failed because of the connection, not because of the listener.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}

async fn serve(stream: TcpStream, receiver: Arc<Receiver>, mut stop: watch::Receiver<bool>) {
    let service = service_fn(move |request| Arc::clone(&receiver).handle(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    select! {
        // An error is the client's.
        _ = connection.as_mut() => {}
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(SHUTDOWN_GRACE, connection).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::sync::mpsc;

    use super::super::keys::Keys;
    use super::super::store::{self, Store};
    use super::*;
    use crate::webhook::{Secrets, Source};

    /// A listener for which the system has nothing left, so many times in a row.
    struct Poor {
        failures: Mutex<u32>,
        kind: io::ErrorKind,
    }

    impl Accept for Poor {
        async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
            let left = {
                let mut failures = self.failures.lock().unwrap();
                *failures = failures.saturating_sub(1);
                *failures
            };
            match left {
                0 => std::future::pending().await,
                _ => Err(self.kind.into()),
            }
        }
    }

    async fn ends(failures: u32, kind: io::ErrorKind) -> bool {
        let secrets = Secrets::from_text("whsec_newest", Source::Service).unwrap();
        let keys = Arc::new(Keys::new(&secrets, Duration::from_secs(300), None));
        let (events, _received) = mpsc::channel(1);
        let store = store::shared(Store::in_memory(false));
        let receiver = Arc::new(Receiver::new(keys, store, None, events));
        let (_stop, stopped) = watch::channel(false);
        let failures = Mutex::new(failures);
        let accepting = accept(Poor { failures, kind }, receiver, stopped);
        timeout(Duration::from_secs(600), accepting).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_file_table_is_waited_for_and_then_it_is_over() {
        assert!(!ends(8, io::ErrorKind::OutOfMemory).await);
        assert!(ends(u32::MAX, io::ErrorKind::OutOfMemory).await);
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_break_before_they_are_accepted_end_nothing() {
        assert!(!ends(1000, io::ErrorKind::ConnectionAborted).await);
    }
}
