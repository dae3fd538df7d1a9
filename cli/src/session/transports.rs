//! Transports between the client and the service: refused connections are tried again for two seconds, until
//! the service has answered once, and a person at a terminal is told that an answer is waited for.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use svc_sdk::transport::{ResponseFuture, Transport, TransportError};

use crate::clock;
use crate::error::ConnectionRefused;
use crate::output::Printer;

const RETRY_LIMIT: Duration = Duration::from_secs(2);
const RETRY_PAUSE: Duration = Duration::from_millis(400);

/// Tries refused connections again, until the first answer: then the client decides.
pub(super) struct ConnectRetry {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) url: String,
    pub(super) is_answered: Arc<AtomicBool>,
}

impl Transport for ConnectRetry {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture {
        if self.is_answered.load(Ordering::Relaxed) {
            return self.transport.send(request);
        }
        let (transport, is_answered) = (Arc::clone(&self.transport), Arc::clone(&self.is_answered));
        let url = self.url.trim_end_matches('/').to_owned();
        Box::pin(async move {
            let began = clock::monotonic();
            loop {
                match transport.send(request.clone()).await {
                    Err(error) if is_refused(&error) => {}
                    answer => {
                        is_answered.store(true, Ordering::Relaxed);
                        return answer;
                    }
                }
                if clock::monotonic() - began + RETRY_PAUSE > RETRY_LIMIT {
                    // The client would try an error of a connection again.
                    return Err(TransportError::setup(ConnectionRefused { url }));
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        })
    }

    fn reconnect(&self) {
        self.transport.reconnect();
    }
}

fn is_refused(error: &TransportError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let refused = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if refused == Some(io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// How long a request may stay unanswered until a note says that it is waited for.
const SILENCE: Duration = Duration::from_secs(2);

/// A transport that says once that it waits for an answer.
pub(super) struct SlowRequestNote {
    transport: Arc<dyn Transport>,
    note: Arc<dyn Fn() + Send + Sync>,
}

impl SlowRequestNote {
    /// Wraps the transport of a client, if progress is shown.
    pub(super) fn around(
        transport: Arc<dyn Transport>,
        printer: &Printer,
        url: &str,
    ) -> Arc<dyn Transport> {
        if !printer.shows_progress() {
            return transport;
        }
        let text = format!("waiting for an answer from {}", url.trim_end_matches('/'));
        let (write, is_written) = (printer.progress_note(text), AtomicBool::new(false));
        let note = move || {
            if !is_written.swap(true, Ordering::Relaxed) {
                write();
            }
        };
        Arc::new(Self { transport, note: Arc::new(note) })
    }
}

impl Transport for SlowRequestNote {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture {
        let (mut response, note) = (self.transport.send(request), Arc::clone(&self.note));
        Box::pin(async move {
            tokio::select! {
                biased;
                answer = &mut response => return answer,
                () = tokio::time::sleep(SILENCE) => note(),
            }
            response.await
        })
    }

    fn reconnect(&self) {
        self.transport.reconnect();
    }
}
