//! The accept loop. Errors of clients never end it. Errors of the listener end it after retries for
//! almost a minute.

use std::io;
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
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// The maximum number of retries. Each delay is twice the one before: 51 s in total.
const MAX_RETRIES: u32 = 10;
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Accepts connections until it is stopped, then waits for the open ones. Returns why it ended.
pub(super) async fn accept(
    listener: TcpListener,
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

/// Returns whether an accept failed because of the connection rather than the listener.
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
