//! The accept loop. Errors of clients never end it. Errors of the listener end it after retries for
//! almost a minute.

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

use crate::listen::receive::Receiver;

const MAX_CONNECTIONS: u32 = 256;
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(15);
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// The delay after the first failed accept, such as for lack of file descriptors.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// The maximum number of retries. Each delay is twice the one before: 51 s in total.
const MAX_RETRIES: u32 = 10;
const MAX_HEADER_BYTES: usize = 64 * 1024;

pub(super) trait Accept: Send + 'static {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl Accept for TcpListener {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send {
        Self::accept(self)
    }
}

/// Accepts connections until it is stopped, then waits for the open ones. Returns why it ended.
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
            () = wait_for_stop(&mut stop) => break io::ErrorKind::Interrupted.into(),
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
            (_, Err(error)) if failures >= MAX_RETRIES => break error,
            (_, Err(_)) => {
                sleep(INITIAL_BACKOFF * 2_u32.pow(failures)).await;
                failures += 1;
            }
        }
    };
    drop(listener);
    let _ = timeout(SHUTDOWN_GRACE, slots.acquire_many(MAX_CONNECTIONS)).await;
    error
}

fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
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
        // Errors of a connection are the client's.
        _ = connection.as_mut() => {}
        () = wait_for_stop(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(SHUTDOWN_GRACE, connection).await;
        }
    }
}

pub(super) async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // The sender is dropped only when the listener has ended.
    let _ = stop.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use svc_webhook_inbox::{Inbox, MemoryStore};
    use tokio::sync::mpsc;

    use crate::listen::keys::Keys;
    use crate::webhook::{SecretSource, Secrets};

    struct FailingListener {
        failures: Mutex<u32>,
        kind: io::ErrorKind,
    }

    impl Accept for FailingListener {
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

    async fn gives_up(failures: u32, kind: io::ErrorKind) -> bool {
        let secrets = Secrets::from_text("whsec_newest", SecretSource::Service).unwrap();
        let keys = Arc::new(Keys::new(&secrets, Duration::from_secs(300), None));
        let (events, _received) = mpsc::channel(1);
        let inbox = Inbox::new(MemoryStore::new());
        let receiver = Arc::new(Receiver::new(keys, inbox, events));
        let (_stop, stopped) = watch::channel(false);
        let failures = Mutex::new(failures);
        let accepting = accept(FailingListener { failures, kind }, receiver, stopped);
        timeout(Duration::from_secs(600), accepting).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn errors_of_the_listener_are_retried_a_limited_number_of_times() {
        assert!(!gives_up(8, io::ErrorKind::OutOfMemory).await);
        assert!(gives_up(u32::MAX, io::ErrorKind::OutOfMemory).await);
    }

    #[tokio::test(start_paused = true)]
    async fn errors_of_connections_do_not_end_the_loop() {
        assert!(!gives_up(1000, io::ErrorKind::ConnectionAborted).await);
    }
}
