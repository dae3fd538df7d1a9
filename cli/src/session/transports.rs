//! Transports between the client and the service: refused connections are tried again for two seconds, until
//! the service has answered once, and a person at a terminal is told that an answer is waited for. In the sandbox
//! it is a mock of the service in this process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use svc_mock_server::{DEVELOPER_API_KEY, InProcess, OPEN_API_KEY, Setup, Speed};
use svc_sdk::ApiKey;
use svc_sdk::transport::{ResponseFuture, Transport, TransportError};

use crate::args::SurfaceChoice;
use crate::clock;
use crate::error::{ConnectionRefused, Failure, Result, causes};
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
    let mut kinds =
        causes(error).filter_map(|it| it.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.any(|kind| kind == io::ErrorKind::ConnectionRefused)
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

/// Says why a job of an earlier command is missing in the sandbox.
pub(crate) const EMPTY_SANDBOX: &str = "each command with --sandbox starts with an empty mock; to \
    keep jobs between commands, run the mock in another terminal: svc mock serve";

/// At 2, a video takes about four seconds, so that its progress is visible.
const SPEED: &str = "2";

/// A mock of the service for one invocation of the program.
#[derive(Debug)]
pub(crate) struct Sandbox {
    mock: InProcess,
}

impl Sandbox {
    pub(crate) const FIRST_PARTY_OWNER: &str = "studio";

    pub(crate) fn start() -> Self {
        let speed: Speed = SPEED.parse().unwrap_or_default();
        Self { mock: InProcess::new(Setup::default().speed(speed)) }
    }

    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(self.mock.clone())
    }

    pub(crate) fn base_url(&self, surface: SurfaceChoice) -> String {
        match surface {
            SurfaceChoice::Open => self.mock.base_url().to_owned(),
            SurfaceChoice::Developer => self.mock.developer_base_url().to_owned(),
        }
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn mcp_url(&self) -> String {
        self.mock.mcp_url().to_owned()
    }

    pub(crate) fn webhook_secret(&self) -> String {
        self.mock.webhook_secret()
    }

    pub(crate) fn key(surface: SurfaceChoice) -> Result<ApiKey> {
        let key = match surface {
            SurfaceChoice::Open => OPEN_API_KEY,
            SurfaceChoice::Developer => DEVELOPER_API_KEY,
        };
        ApiKey::new(key).map_err(|error| Failure::other(error.to_string()))
    }
}
