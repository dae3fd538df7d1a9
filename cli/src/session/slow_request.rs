//! Requests that the service does not answer soon, of which a person at a terminal is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use svc_sdk::transport::{ResponseFuture, Transport};

use crate::output::Printer;

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
